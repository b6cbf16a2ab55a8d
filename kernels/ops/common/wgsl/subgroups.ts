/**
 * WGSL: sums over neighbouring invocations by the exchange of values within a subgroup (the
 * invocations that a card runs in step), which needs no barrier. What several subgroups share then
 * goes through workgroup memory. The order of a sum depends on the subgroup's size and on nothing
 * else, since every step names its partner. Kernels read the size when they run.
 * `devices/webgpu/subgroups.ts` finds out whether a device can do this.
 */

/** How neighbouring invocations exchange values. */
export type Exchange = "memory" | "subgroups";

/** The smallest subgroup for which kernels have enough workgroup memory. */
export const MIN_SUBGROUP = 4;

/** The declaration of `subgroup_lanes`, the size of a subgroup, a power of two. */
export const subgroupLanes = "var<private> subgroup_lanes: u32;";

/**
 * The steps that combine `variable` over invocations whose numbers differ by multiples of `first`,
 * up to `lanes` and up to the size of a subgroup. All invocations of a subgroup must do them.
 * @param first,lanes powers of two
 */
export function exchangeSteps(
  variable: string,
  first: number,
  lanes: number,
  combine: (a: string, b: string) => string = (a, b) => `${a} + ${b}`,
): string[] {
  const steps: string[] = [];
  for (let stride = first; stride < lanes; stride *= 2) {
    const other = `subgroupShuffleXor(${variable}, ${stride}u)`;
    const step = `${variable} = ${combine(variable, other)};`;
    steps.push(stride < MIN_SUBGROUP ? step : `if (subgroup_lanes > ${stride}u) { ${step} }`);
  }
  return steps;
}

/**
 * `reduce_sum(local, value)` like `reduceSum` (reduce.ts), with another order of the sum. For an
 * entry point with `exchange: "subgroups"`.
 */
export function subgroupSum(lanes: number, group: number): string {
  return `
var<workgroup> reduce_slots: array<f32, ${group / MIN_SUBGROUP}>;
fn reduce_sum(local: u32, value: f32) -> f32 {
  var sum = value;
  ${exchangeSteps("sum", 1, lanes).join("\n  ")}
  workgroupBarrier();
  if ((local & (subgroup_lanes - 1u)) == 0u) { reduce_slots[local / subgroup_lanes] = sum; }
  workgroupBarrier();
  if (subgroup_lanes < ${lanes}u) {
    let first = (local & ${0x1_0000_0000 - lanes}u) / subgroup_lanes;
    sum = reduce_slots[first];
    for (var i = 1u; i < ${lanes}u / subgroup_lanes; i++) { sum += reduce_slots[first + i]; }
  }
  return sum;
}
`;
}
