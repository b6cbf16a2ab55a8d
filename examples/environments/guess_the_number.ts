/**
 * Guess the number: the model names a number and hears whether the secret is higher or lower. The
 * fewest guesses that are always enough are the logarithm of the range to base 2, rounded up.
 */

const LARGEST = 15, GUESSES = 6;

interface Game {
  observation: string;
  secret: number;
  guesses: number;
}

export default {
  reset(_row: unknown, { seed }: { seed: number }): Game {
    return {
      observation: `Guess my number from 1 to ${LARGEST}.`,
      secret: 1 + seed % LARGEST,
      guesses: 0,
    };
  },

  step({ content }: { content: string }, game: Game) {
    game.guesses++;
    const guess = Number(/\d+/.exec(content)?.[0] ?? NaN), isRight = guess === game.secret;
    const done = isRight || game.guesses === GUESSES;
    // The sooner, the better; without the number there is nothing.
    const reward = isRight ? 1 - (game.guesses - 1) / GUESSES : 0;
    const metrics = { solved: isRight ? 1 : 0, guesses: game.guesses };
    if (done) return { content: "", reward, done, metrics };
    if (Number.isNaN(guess)) return "Say a number.";
    return guess < game.secret ? "higher" : "lower";
  },
};
