/** Read a word that is drawn with characters. */
import { didYouMean } from "../../../core/suggest.ts";
import { readCompressedAsset } from "../../asset.ts";
import { bool, counts, defineTask, nullable, type RandomStream, text } from "../../define.ts";
import { strip } from "../../python/text.ts";
import { isOverlong } from "../../scoring_rules.ts";
import { MAX_WORD_LENGTH, MIN_WORD_LENGTH, wordAt, wordCount } from "../../text/words.ts";
import { once } from "../../once.ts";

/** Number of columns between spaced letters. */
const GAP = 3;

export default defineTask({
  description: "Read a word that is drawn in a FIGlet font.",
  scoring: "1 for the word (spaces and case do not count), else 0.1 a letter in its place, at " +
    "most 0.9.",
  params: {
    static_word: nullable(text("", "the word, of letters A to Z; null = one of a list")),
    static_font: nullable(text("", "name of the font; null = any")),
    word_len: counts([3, 7], "letters", {
      note: "; beyond 11 words are joined",
      min: 1,
      max: 1000,
      spans: [3, 5, 10, 15, 20, 30],
    }),
    space_letters: bool(true, "leave space between letters"),
  },
  rules: {
    "static_word: must be one or more letters A to Z": ({ static_word }) =>
      static_word === null || /^[A-Za-z]+$/.test(static_word),
  },
  validate: ({ static_font: name }) =>
    name === null || fontNames().includes(name) ? [] : [
      `static_font: must be a known font, found ${JSON.stringify(name)}` +
      `${didYouMean(name, fontNames())} (such as ${fontNames().slice(0, 5).join(", ")})`,
    ],
  generate(random, config) {
    const word = config.static_word?.toUpperCase() ??
      drawText(random, config.min_word_len, config.max_word_len);
    const name = config.static_font ?? random.choice(fontNames());
    return {
      question:
        "Which word is drawn here in large letters? A long word goes on in further rows of " +
        "letters; only the letters A to Z occur.\n\n" +
        `${drawWord(word, loadFont(name), config.space_letters ? GAP : 0)}\n\n` +
        "Answer with the word only.",
      answer: word,
      metadata: { font: name, space_letters: config.space_letters },
    };
  },
  score(answer, entry) {
    if (isOverlong(answer, entry)) return 0;
    const given = plain(answer), oracle = plain(entry.answer ?? "");
    if (oracle === "") return 0;
    if (given === oracle) return 1;
    let equal = 0;
    const others = given[Symbol.iterator]();
    for (const letter of oracle) {
      const other = others.next();
      if (other.done) break;
      if (other.value === letter) equal++;
    }
    return Math.min(0.9, equal / 10);
  },
});

/**
 * A word with `min` to `max` letters. If the list has none that long, several words without spaces.
 */
function drawText(random: RandomStream, min: number, max: number): string {
  if (max <= MAX_WORD_LENGTH) return drawListed(random, min, max);
  let left = random.int(Math.max(min, MIN_WORD_LENGTH), max);
  let text = "";
  while (left > MAX_WORD_LENGTH) {
    // The rest must be long enough for a word.
    const word = drawListed(
      random,
      MIN_WORD_LENGTH,
      Math.min(MAX_WORD_LENGTH, left - MIN_WORD_LENGTH),
    );
    text += word;
    left -= word.length;
  }
  return text + drawListed(random, left, left);
}

function drawListed(random: RandomStream, min: number, max: number): string {
  return wordAt(random.below(wordCount(min, max)), min).toUpperCase();
}

function plain(text: string): string {
  return strip(text).replaceAll(" ", "").toUpperCase();
}

/**
 * Words drawn with characters: the capital letters of FIGlet fonts. Licence: `assets/LICENCE.md`.
 * Each font is a line `name height`, followed by the lines of A, B, … Z.
 */

/** Each letter is a list of its lines from top to bottom. */
type Font = ReadonlyMap<string, readonly string[]>;

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/** Maximum number of columns of a row of letters; further letters begin a new row. */
const MAX_COLUMNS = 80;

/** The lines of each font: its height and then the letters. Read once. */
const allFonts = once(() => {
  const fonts = new Map<string, readonly string[]>();
  const lines = readCompressedAsset("fonts.br").split("\n");
  for (let at = 0; at < lines.length - 1;) {
    const [name, height] = lines[at]!.split(" ");
    const end = at + 1 + LETTERS.length * Number(height);
    fonts.set(name!, [height!, ...lines.slice(at + 1, end)]);
    at = end;
  }
  return fonts;
});

export const fontNames = once((): readonly string[] => [...allFonts().keys()]);

/** Loads the letters of a font in `fontNames`. */
const loadFont = once((name: string): Font => {
  const [height, ...lines] = allFonts().get(name)!;
  const rows = Number(height);
  return new Map(
    Array.from(LETTERS, (letter, i) => {
      const drawing = lines.slice(i * rows, (i + 1) * rows);
      const width = Math.max(...drawing.map((line) => line.length));
      return [letter, drawing.map((line) => line.padEnd(width))];
    }),
  );
});

/**
 * Draws capital letters side by side, `gap` columns apart. Long words take several rows of letters.
 */
function drawWord(word: string, font: Font, gap: number): string {
  const space = " ".repeat(gap);
  const rows: string[][] = [];
  for (const letter of word) {
    const drawing = font.get(letter)!;
    const row = rows.at(-1);
    if (row === undefined || row[0]!.length + gap + drawing[0]!.length > MAX_COLUMNS) {
      rows.push([...drawing]);
    } else drawing.forEach((line, i) => row[i] += space + line);
  }
  return rows.flat().map((line) => line.trimEnd()).join("\n");
}
