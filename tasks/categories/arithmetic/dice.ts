/** The probability that several dice show at least a given sum, as a reduced fraction. */
import { defineTask, int } from "../../define.ts";

export default defineTask({
  description: "Find the probability of a sum of dice.",
  scoring: "1 for the reduced fraction exactly as in 5/36, else 0.",
  params: {
    num_dice: int(4, "number of dice", { min: 1, max: 100, levels: [4, 6, 8, 10] }),
    max_dice_size: int(20, "sides of the largest die", {
      min: 2,
      max: 1000,
      levels: [20, 25, 30, 35],
    }),
  },
  generate(random, { num_dice, max_dice_size }) {
    const dice = [max_dice_size];
    while (dice.length < num_dice) dice.push(random.int(2, Math.max(2, max_dice_size - 1)));
    dice.sort((a, b) => b - a);
    const maximum = dice.reduce((sum, sides) => sum + sides, 0), range = maximum - num_dice;
    const low = num_dice + Math.max(1, Math.floor(range / 3));
    const target = random.int(low, Math.max(low, num_dice + Math.floor(2 * range / 3)));
    const ways = waysAtLeast(dice, target);
    const all = dice.reduce((product, sides) => product * BigInt(sides), 1n);
    const common = gcd(ways, all), num = ways / common, den = all / common;
    const names = dice.map((sides) => `1d${sides}`).join(", ");
    return {
      question:
        `These dice are rolled together: ${names} (1d6 is one die with six sides, numbered 1 to ` +
        "6, all equally likely). What is the probability that the numbers add up to at least " +
        `${target}? Answer with a reduced fraction only, such as 5/36.`,
      answer: `${num}/${den}`,
      metadata: {
        puzzle: {
          dice_str: names,
          target,
          num: Number(num),
          den: Number(den),
          probability: quotient(num, den),
        },
      },
    };
  },
  score(answer, entry) {
    const text = (value: string) => value.replaceAll("\n", "").toLowerCase();
    return entry.answer != null && text(answer) === text(entry.answer) ? 1 : 0;
  },
});

/** Counts the outcomes whose sum is at least `target`: sum by sum and die by die, in a window. */
function waysAtLeast(dice: readonly number[], target: number): bigint {
  /** counts[s] is the number of outcomes in which the dice so far show s more than one pip each. */
  let counts = [1n];
  for (const sides of dice) {
    const next: bigint[] = [];
    let window = 0n;
    for (let s = 0; s < counts.length + sides - 1; s++) {
      window += (counts[s] ?? 0n) - (counts[s - sides] ?? 0n);
      next.push(window);
    }
    counts = next;
  }
  return counts.slice(Math.max(0, target - dice.length)).reduce((sum, ways) => sum + ways, 0n);
}

function gcd(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

/** num / den, even when both exceed the range of a double. */
function quotient(num: bigint, den: bigint): number {
  return den < 10n ** 300n ? Number(num) / Number(den) : Number(num * 10n ** 20n / den) / 1e20;
}
