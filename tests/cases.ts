/**
 * For tests only: how many random inputs a test tries. With `RGX_TEST_FAST=1`, which
 * `deno task test:fast` sets, this is a twentieth of `count`.
 */
export function cases(count: number): number {
  return Deno.env.get("RGX_TEST_FAST") === "1" ? Math.ceil(count / 20) : count;
}

/**
 * All items of a list; the first and every 16th after it if `few` or with `RGX_TEST_FAST=1`, and
 * every nth with `RGX_TEST_STEP=n`.
 */
export function someOf<T>(list: readonly T[], few = false): T[] {
  const isFew = few || Deno.env.get("RGX_TEST_FAST") === "1";
  const step = isFew ? 16 : Number(Deno.env.get("RGX_TEST_STEP") ?? 1);
  return list.filter((_, i) => i % step === 0);
}
