/** Can a note be written with the letters of a magazine? */
import { counts, defineTask, exactScore, float } from "../../../define.ts";

export default defineTask({
  description: "Decide whether a note can be made from the letters of a magazine.",
  ...exactScore("the right word"),
  params: {
    note_length: counts([1, 10], "letters of the note", { min: 1, spans: [10, 50, 100, 500] }),
    magazine_length: counts([2, 30], "letters of the magazine", {
      min: 2,
      spans: [50, 100, 500, 1000],
    }),
    p_solvable: float(0.5, "probability that the note can be made", { min: 0, max: 1 }),
  },
  rules: {
    "max_note_length: must be below max_magazine_length": (c) =>
      c.max_note_length < c.max_magazine_length,
  },
  generate(random, config) {
    const noteLength = random.int(config.min_note_length, config.max_note_length);
    const magazineLength = random.int(
      Math.max(noteLength, config.min_magazine_length),
      config.max_magazine_length,
    );
    const solvable = random.chance(config.p_solvable);
    const note = Array.from({ length: noteLength }, () => letter(random.below(26)));
    const magazine = note.slice();
    // An impossible note lacks one occurrence of one letter; later draws must not add that letter.
    const missing = solvable ? "" : magazine.splice(random.below(noteLength), 1)[0]!;
    while (magazine.length < magazineLength) {
      const drawn = letter(random.below(solvable ? 26 : 25));
      magazine.push(drawn === missing ? "z" : drawn);
    }
    const text = random.shuffle(magazine).join(""), wanted = random.shuffle(note).join("");
    return {
      question:
        "You cut letters out of a magazine to make a note; each letter of the magazine can be " +
        `used once.\nNote: ${wanted}\nMagazine: ${text}\n` +
        "Can the note be made from the letters of the magazine? Answer with True or False.",
      answer: solvable ? "True" : "False",
      metadata: {
        ransom_note: wanted,
        magazine: text,
        solution: solvable,
        solvable,
        note_length: noteLength,
        magazine_length: magazineLength,
      },
    };
  },
});

function letter(index: number): string {
  return String.fromCharCode(97 + index);
}
