/** "1 problem", "2 problems": a number with its noun. */
export function counted(n: number, noun: string, plural = `${noun}s`): string {
  return `${n} ${n === 1 ? noun : plural}`;
}

/**
 * A share as percent with one decimal, without the sign: 23 of 80 is "28.8". A product such as
 * 100 · 0.2875 is a little below 28.75, so its last bits are rounded away first.
 */
export function percentDigits(share: number): string {
  return Number((100 * share).toPrecision(12)).toFixed(1);
}
