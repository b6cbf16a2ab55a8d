/**
 * WGSL: sums over neighbouring invocations by a fixed tree in workgroup memory, so that a result has the same bits
 * always. Written out step by step: loops are slow in the code that naga makes.
 */

/** Invocations of a workgroup that uses {@link reduceSum}. */
export const GROUP = 256;

/**
 * `reduce_sum(local, value)`: each `lanes` neighbours among the workgroup's 256 invocations get the sum of their
 * values. All invocations must call it: it holds barriers. @param lanes A power of two up to 256.
 */
export function reduceSum(lanes: number): string {
  const steps: string[] = [];
  for (let half = lanes / 2; half >= 1; half /= 2) {
    const among = lanes === GROUP ? "local" : `(local & ${lanes - 1}u)`;
    steps.push(
      `if (${among} < ${half}u) { reduce_slots[local] += reduce_slots[local + ${half}u]; }`,
      "workgroupBarrier();",
    );
  }
  const first = lanes === GROUP ? "0u" : `local & ${0x1_0000_0000 - lanes}u`;
  return `
var<workgroup> reduce_slots: array<f32, ${GROUP}>;
fn reduce_sum(local: u32, value: f32) -> f32 {
  workgroupBarrier();
  reduce_slots[local] = value;
  workgroupBarrier();
  ${steps.join("\n  ")}
  return reduce_slots[${first}];
}
`;
}
