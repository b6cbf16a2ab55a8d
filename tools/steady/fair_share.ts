/** What a program may expect of a machine that it shares. */

/**
 * Divides cores fairly: none gets more than it wants, and what one leaves goes to the others.
 * @param wishes cores that each of them wants; the first is the program in question
 * @returns the share of its wish that the program gets
 */
export function fairShare(cores: number, wishes: readonly number[]): number {
  const wish = wishes[0]!, sorted = wishes.toSorted((a, b) => a - b);
  let left = cores;
  for (let i = 0; i < sorted.length; i++) {
    const level = left / (sorted.length - i);
    if (sorted[i]! > level) return Math.min(1, level / wish);
    left -= sorted[i]!;
  }
  return 1;
}
