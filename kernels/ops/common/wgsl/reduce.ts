/**
 * WGSL: sums and maxima over neighbouring invocations, by a fixed tree, so that a result always has
 * the same bits. The steps are unrolled: loops are slow in the code that naga generates.
 */
import { type Exchange, MIN_SUBGROUP } from "./subgroups.ts";

/** Number of invocations of a workgroup, where a kernel needs no other. */
export const GROUP = 256;

/**
 * `reduce_sum(local, value)`: each group of `lanes` neighbouring invocations gets the sum of its
 * values. All invocations must call it, because it contains barriers.
 * @param lanes a power of two, at most `group`
 * @param exchange changes no bit: the tree is the same, whatever the size of a subgroup. For
 * "subgroups", the entry point must have it, too, and the invocations must fill whole subgroups.
 */
export function reduceSum(lanes: number, group = GROUP, exchange: Exchange = "memory"): string {
  return reduction("reduce_sum", "reduce_slots", (a, b) => `${a} + ${b}`, lanes, group, exchange);
}

/** `reduce_max(local, value)`: the largest value; otherwise like {@link reduceSum}. */
export function reduceMax(lanes: number, group = GROUP, exchange: Exchange = "memory"): string {
  return reduction("reduce_max", "max_slots", (a, b) => `max(${a}, ${b})`, lanes, group, exchange);
}

type Combine = (a: string, b: string) => string;

function reduction(
  name: string,
  slots: string,
  combine: Combine,
  lanes: number,
  group: number,
  exchange: Exchange,
): string {
  const body = exchange === "memory"
    ? inMemory(slots, combine, lanes, group)
    : inSubgroups(slots, combine, lanes);
  return `
var<workgroup> ${slots}: array<f32, ${group}>;
fn ${name}(local: u32, value: f32) -> f32 {
  ${body}
}
`;
}

/** WGSL: the number of the first invocation of this one's group of `lanes`. */
const firstOf = (lanes: number) => `local & ${0x1_0000_0000 - lanes}u`;

function inMemory(slots: string, combine: Combine, lanes: number, group: number): string {
  const steps: string[] = [];
  for (let half = lanes / 2; half >= 1; half /= 2) {
    const among = lanes === group ? "local" : `(local & ${lanes - 1}u)`;
    const both = combine(`${slots}[local]`, `${slots}[local + ${half}u]`);
    steps.push(`if (${among} < ${half}u) { ${slots}[local] = ${both}; }`, "workgroupBarrier();");
  }
  const first = lanes === group ? "0u" : firstOf(lanes);
  return `workgroupBarrier();
  ${slots}[local] = value;
  workgroupBarrier();
  ${steps.join("\n  ")}
  return ${slots}[${first}];`;
}

/** Invocations whose values are exchanged; the tree above them is read from memory at once. */
const EXCHANGED = 32;

/**
 * The same tree. Its upper part comes from memory, where every invocation reads all that it needs.
 * The steps below are exchanges: both partners add the same two numbers, so both have the same
 * bits. Steps that are wider than a subgroup go through memory.
 */
function inSubgroups(slots: string, combine: Combine, lanes: number): string {
  const tree = (first: number, step: number): string =>
    step === lanes
      ? `${slots}[column${first === 0 ? "" : ` + ${first}u`}]`
      : `(${combine(tree(first, 2 * step), tree(first + step, 2 * step))})`;
  const start = lanes <= EXCHANGED ? "var result = value;" : `workgroupBarrier();
  ${slots}[local] = value;
  workgroupBarrier();
  let column = (${firstOf(lanes)}) + (local & ${EXCHANGED - 1}u);
  var result = ${tree(0, EXCHANGED)};`;
  const steps: string[] = [];
  for (let half = Math.min(lanes, EXCHANGED) / 2; half >= 1; half /= 2) {
    const shuffled = `result = ${combine("result", `subgroupShuffleXor(result, ${half}u)`)};`;
    steps.push(
      half < MIN_SUBGROUP ? shuffled : `if (subgroup_lanes > ${half}u) { ${shuffled} } else {
    workgroupBarrier();
    ${slots}[local] = result;
    workgroupBarrier();
    result = ${combine("result", `${slots}[local ^ ${half}u]`)};
  }`,
    );
  }
  return `${start}
  ${steps.join("\n  ")}
  return result;`;
}
