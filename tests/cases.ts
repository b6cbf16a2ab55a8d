/**
 * For tests only: how many random inputs a test tries. With `RGX_TEST_FAST=1`, which
 * `deno task test:fast` sets, this is a twentieth of `count`.
 */
export function cases(count: number): number {
  return Deno.env.get("RGX_TEST_FAST") === "1" ? Math.ceil(count / 20) : count;
}

/** All items of a list; if `few` or with `RGX_TEST_FAST=1`, the first and every 16th after it. */
export function someOf<T>(list: readonly T[], few = false): T[] {
  return list.filter((_, i) => i % 16 === 0 || !(few || Deno.env.get("RGX_TEST_FAST") === "1"));
}
