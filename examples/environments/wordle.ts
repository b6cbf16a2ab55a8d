/**
 * Wordle: a word of five letters in six guesses. A guess stands in brackets, [crane]. Of each
 * letter the model hears whether its place is right (G), it is elsewhere (Y), or nowhere (X).
 */

const WORDS = ("about other which their there first would these click price state world " +
  "right house point water place great small sound light story plant stone river brown " +
  "green black white table chair bread fruit apple lemon grape peach berry sugar honey").split(" ");
const GUESSES = 6;

interface Game {
  observation: string;
  secret: string;
  guesses: number;
  best: number;
}

/** In two passes, so that a letter is marked as often as it is left. */
function feedback(guess: string, secret: string): string {
  const marks = [...guess].map((letter, i) => letter === secret[i] ? "G" : "X");
  const left = [...secret].filter((_, i) => marks[i] !== "G");
  return marks.map((mark, i) => {
    const at = left.indexOf(guess[i]!);
    if (mark === "G" || at < 0) return mark;
    left.splice(at, 1);
    return "Y";
  }).join("");
}

export default {
  reset(_row: unknown, { seed }: { seed: number }): Game {
    const secret = WORDS[seed % WORDS.length]!;
    const observation = "Find my word of five letters. Guess as in [crane].";
    return { observation, secret, guesses: 0, best: 0 };
  },

  step({ content }: { content: string }, game: Game) {
    const guess = /\[([a-z]{5})\]/i.exec(content)?.[1]?.toLowerCase();
    const isLast = ++game.guesses === GUESSES;
    if (guess === game.secret) {
      return { content: "", done: true, reward: 1, metrics: { solved: 1, guesses: game.guesses } };
    }
    const marks = guess === undefined ? "" : feedback(guess, game.secret);
    game.best = Math.max(game.best, marks.split("G").length - 1);
    // The best share of right places is better than nothing.
    if (isLast) return { content: "", done: true, reward: game.best / 10, metrics: { solved: 0 } };
    return guess === undefined ? "Write a word of five letters in brackets." : `${guess}: ${marks}`;
  },
};
