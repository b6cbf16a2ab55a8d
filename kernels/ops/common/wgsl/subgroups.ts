/**
 * WGSL: neighbouring invocations exchange values within a subgroup (the invocations that a card
 * runs in step), which needs no barrier. What subgroups share goes through workgroup memory.
 * Kernels read the size of a subgroup when they run. `devices/webgpu/subgroups.ts` finds out
 * whether a device can do this.
 */

/** How neighbouring invocations exchange values. */
export type Exchange = "memory" | "subgroups";

/** The smallest subgroup for which kernels have enough workgroup memory. */
export const MIN_SUBGROUP = 4;

/** The declaration of `subgroup_lanes`, the size of a subgroup, a power of two. */
export const subgroupLanes = "var<private> subgroup_lanes: u32;";

/**
 * The steps that combine `variable` over invocations whose numbers differ by multiples of `first`,
 * up to `lanes` and up to the size of a subgroup. All invocations of a subgroup must do them. The
 * order depends on that size and on nothing else, since every step names its partner.
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
