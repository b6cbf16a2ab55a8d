/**
 * For tests only: how many random inputs a test tries. With `RGX_TEST_FAST=1`, which
 * `deno task test:fast` sets, this is a twentieth of `count`.
 */
export function cases(count: number): number {
  return Deno.env.get("RGX_TEST_FAST") === "1" ? Math.ceil(count / 20) : count;
}

/** All items of a list; with `RGX_TEST_FAST=1` the first and every 16th after it. */
export function someOf<T>(list: readonly T[]): T[] {
  return list.filter((_, i) => Deno.env.get("RGX_TEST_FAST") !== "1" || i % 16 === 0);
}
