/**
 * WGSL: prefix sums over the invocations of a workgroup, in a fixed order: within blocks of 32,
 * then over the sums of the blocks. At each level the upper half of a group takes the last sum of
 * the lower half.
 */

export interface PrefixOptions {
  /** The function is `<name>_sum(local, value)`, the sums are in the workgroup's `<name>_slots`. */
  name: string;
  type: string;
  add: (a: string, b: string) => string;
  /** Number of invocations, a power of two. */
  invocations: number;
}

const BLOCK = 32;

/**
 * The function returns the sum of the values of this invocation and all before it. All invocations
 * must call it. It ends with a barrier, after which all sums are in the slots.
 */
export function prefixSum(options: PrefixOptions): string {
  const { name, type, invocations } = options, blocks = invocations / BLOCK;
  if (blocks > BLOCK) throw new Error(`prefix sums of ${invocations} invocations`);
  return `
var<workgroup> ${name}_slots: array<${type}, ${invocations}>;
${blocks > 1 ? `var<workgroup> ${name}_blocks: array<${type}, ${blocks}>;` : ""}
${sumFunction(options)}
`;
}

/** The distances 1, 2, 4 … of the levels over `count` values. */
function levels(count: number): number[] {
  return Array.from({ length: Math.log2(count) }, (_, level) => 2 ** level);
}

/** WGSL: the last invocation of the lower half, in the group of this level. */
const lowerLast = (half: number) => `(local & ${0x1_0000_0000 - 2 * half}u) + ${half - 1}u`;

/** In place: at each level nothing is written that another invocation reads. */
function sumFunction({ name, type, add, invocations }: PrefixOptions): string {
  const slots = `${name}_slots`, sums = `${name}_blocks`, blocks = invocations / BLOCK;
  const level = (array: string, half: number, among = "") => {
    const both = add(`${array}[local]`, `${array}[${lowerLast(half)}]`);
    return `if (${among}(local & ${half}u) != 0u) { ${array}[local] = ${both}; }
  workgroupBarrier();`;
  };
  const others = blocks > 1
    ? `if ((local & ${BLOCK - 1}u) == ${
      BLOCK - 1
    }u) { ${sums}[local / ${BLOCK}u] = ${slots}[local]; }
  workgroupBarrier();
  ${levels(blocks).map((half) => level(sums, half, `local < ${blocks}u && `)).join("\n  ")}
  if (local >= ${BLOCK}u) {
    ${slots}[local] = ${add(`${slots}[local]`, `${sums}[local / ${BLOCK}u - 1u]`)};
  }
  workgroupBarrier();`
    : "";
  return `fn ${name}_sum(local: u32, value: ${type}) -> ${type} {
  workgroupBarrier();
  ${slots}[local] = value;
  workgroupBarrier();
  ${levels(Math.min(BLOCK, invocations)).map((half) => level(slots, half)).join("\n  ")}
  ${others}
  return ${slots}[local];
}`;
}
