/**
 * WGSL: sums and maxima over neighbouring invocations, by a fixed tree, so that a result always has
 * the same bits. The steps are unrolled: loops are slow in the code that naga generates.
 */
/** Number of invocations of a workgroup, where a kernel needs no other. */
export const GROUP = 256;

/**
 * `reduce_sum(local, value)`: each group of `lanes` neighbouring invocations gets the sum of its
 * values. All invocations must call it, because it contains barriers.
 * @param lanes a power of two, at most `group`
 */
export function reduceSum(lanes: number, group = GROUP): string {
  return reduction("reduce_sum", "reduce_slots", (a, b) => `${a} + ${b}`, lanes, group);
}

/** `reduce_max(local, value)`: the largest value; otherwise like {@link reduceSum}. */
export function reduceMax(lanes: number, group = GROUP): string {
  return reduction("reduce_max", "max_slots", (a, b) => `max(${a}, ${b})`, lanes, group);
}

function reduction(
  name: string,
  slots: string,
  combine: (a: string, b: string) => string,
  lanes: number,
  group: number,
): string {
  const steps: string[] = [];
  for (let half = lanes / 2; half >= 1; half /= 2) {
    const among = lanes === group ? "local" : `(local & ${lanes - 1}u)`;
    const both = combine(`${slots}[local]`, `${slots}[local + ${half}u]`);
    steps.push(`if (${among} < ${half}u) { ${slots}[local] = ${both}; }`, "workgroupBarrier();");
  }
  const first = lanes === group ? "0u" : `local & ${0x1_0000_0000 - lanes}u`;
  return `
var<workgroup> ${slots}: array<f32, ${group}>;
fn ${name}(local: u32, value: f32) -> f32 {
  workgroupBarrier();
  ${slots}[local] = value;
  workgroupBarrier();
  ${steps.join("\n  ")}
  return ${slots}[${first}];
}
`;
}
