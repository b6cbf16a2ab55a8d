/**
 * Holm's correction of p-values (Holm, "A simple sequentially rejective multiple test procedure",
 * 1979): rejecting all corrected values below a level keeps the chance of any false rejection below
 * that level.
 */
export function holm(pValues: readonly number[]): number[] {
  const order = [...pValues.keys()].sort((a, b) => pValues[a]! - pValues[b]!);
  const corrected = new Array<number>(pValues.length);
  let highest = 0;
  for (const [rank, i] of order.entries()) {
    highest = Math.max(highest, Math.min(1, (pValues.length - rank) * pValues[i]!));
    corrected[i] = highest;
  }
  return corrected;
}
