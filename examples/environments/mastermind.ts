/**
 * Mastermind: a code of four digits from 1 to 6 in ten guesses. The model hears how many digits are
 * at the right place, and how many more are in the code.
 */

const LENGTH = 4, DIGITS = 6, GUESSES = 10;

interface Game {
  observation: string;
  code: string;
  guesses: number;
}

export default {
  reset(_row: unknown, { seed }: { seed: number }): Game {
    const number = seed % DIGITS ** LENGTH;
    const code = Array.from(
      { length: LENGTH },
      (_, i) => 1 + Math.floor(number / DIGITS ** i) % DIGITS,
    ).join("");
    const observation = `Find my code of ${LENGTH} digits from 1 to ${DIGITS}, such as 1234.`;
    return { observation, code, guesses: 0 };
  },

  step({ content }: { content: string }, game: Game) {
    game.guesses++;
    const guess = new RegExp(`[1-${DIGITS}]{${LENGTH}}`).exec(content)?.[0] ?? "";
    const isRight = guess === game.code, done = isRight || game.guesses === GUESSES;
    const metrics = { solved: isRight ? 1 : 0, guesses: game.guesses };
    if (done) return { content: "", done, reward: isRight ? 1 : 0, metrics };
    if (guess === "") return `Say ${LENGTH} digits from 1 to ${DIGITS}.`;
    const placed = [...guess].filter((digit, i) => digit === game.code[i]).length;
    let common = 0;
    for (let digit = 1; digit <= DIGITS; digit++) {
      const count = (text: string) => text.split(String(digit)).length - 1;
      common += Math.min(count(guess), count(game.code));
    }
    return `${placed} at the right place, ${common - placed} elsewhere`;
  },
};
