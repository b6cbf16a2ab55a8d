/**
 * The value at `n` on the straight line through the values at two smaller sizes, but at least that
 * at the larger one.
 */
export function continuedTo(
  n: number,
  [size, value]: [size: number, value: number],
  [smaller, before]: [size: number, value: number],
): number {
  if (size === smaller) return value;
  const slope = Math.max(0, value - before) / (size - smaller);
  return Math.round(value + slope * (n - size));
}

/**
 * The largest integer in [1, most] that works, or 0. If one works, all below do. A try takes time,
 * so the next one is where a straight line through two of those before crosses zero. Between
 * borders, one that stays counts half each time (the Illinois method).
 * @param left what a number leaves of something limited; it works if that is not negative
 */
export async function largestThat(
  most: number,
  left: (n: number) => number | Promise<number>,
  first = most,
): Promise<number> {
  let low = 0, high = most + 1, atLow: number | null = null, atHigh: number | null = null;
  let next = Math.max(1, Math.min(first, most)), before: boolean | null = null;
  while (high - low > 1) {
    const found = await left(next), works = found >= 0;
    let wanted = (low + high) / 2;
    if (works) {
      // Nothing has failed yet: at least the double.
      const end = atLow === null ? 0 : next + found * (next - low) / (atLow - found);
      wanted = Math.min(most, Math.max(2 * next, Math.min(8 * next, end || 0)));
      [low, atLow] = [next, found];
      if (before === true && atHigh !== null) atHigh /= 2;
    } else {
      [high, atHigh] = [next, found];
      if (before === false && atLow !== null) atLow /= 2;
    }
    before = works;
    if (atHigh !== null) {
      const share = atLow === null ? NaN : atLow / (atLow - atHigh);
      wanted = low + (high - low) * (Number.isFinite(share) ? share : 1 / 2);
    }
    next = Math.min(high - 1, Math.max(low + 1, Math.round(wanted)));
  }
  return low;
}
