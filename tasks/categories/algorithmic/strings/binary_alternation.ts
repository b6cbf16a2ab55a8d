/** The minimum number of swaps that make a binary string alternate. */
import { counts, defineTask, exactScore, float } from "../../../define.ts";

export default defineTask({
  description: "Find the fewest swaps that make a binary string alternate.",
  ...exactScore("the number"),
  params: {
    n: counts([10, 30], "characters", { min: 1, spans: [10, 50, 500, 1000] }),
    p_solvable: float(0.8, "share of strings that can be made to alternate", { min: 0, max: 1 }),
  },
  generate(random, config) {
    const n = random.int(config.min_n, config.max_n);
    const solvable = random.chance(config.p_solvable);
    const counts = [n >> 1, n >> 1];
    const surplus = random.below(2);
    counts[surplus]! += n % 2;
    // Makes one count too large to alternate: two more for equal counts, one more for unequal ones.
    if (!solvable) counts[surplus]! += n % 2 === 0 ? 2 : 1;
    const bits: string[] = [];
    for (let i = 0; i < counts[0]! + counts[1]!; i++) bits.push(i < counts[0]! ? "0" : "1");
    const string = random.shuffle(bits).join("");
    const solution = fewestSwaps(string);
    return {
      question:
        "A binary string alternates when no two neighbouring characters are equal, as in 0101 or " +
        "10101. One swap exchanges any two characters of the string, which need not be " +
        "neighbours. What is the smallest number of swaps after which this string alternates?\n" +
        `${string}\nAnswer with the number only, or with -1 when it is impossible.`,
      answer: String(solution),
      metadata: { string, solution, solvable, n },
    };
  },
});

/**
 * Half of the characters that differ from the nearest alternating string with the same counts, or
 * −1.
 */
function fewestSwaps(string: string): number {
  let ones = 0, oddlyPlaced = 0;
  for (let i = 0; i < string.length; i++) {
    const bit = string.charCodeAt(i) & 1;
    ones += bit;
    // Differences from 0101…
    if (bit !== (i & 1)) oddlyPlaced++;
  }
  const zeros = string.length - ones;
  if (Math.abs(ones - zeros) > 1) return -1;
  if (zeros > ones) return oddlyPlaced / 2;
  if (ones > zeros) return (string.length - oddlyPlaced) / 2;
  return Math.min(oddlyPlaced, string.length - oddlyPlaced) / 2;
}
