/**
 * WGSL of the product of one to three rows with a weight (for decoding). Its time is that of
 * reading the weight once. A workgroup makes four columns of the result. Its invocations divide the
 * terms among them, so that they read neighbouring memory, and add their sums in a fixed tree. A
 * LoRA product is added to the same sums. An invocation does four terms of four rows at a time. For
 * weights in blocks see stored_vector.wgsl.ts.
 */
import {
  bufferType,
  type Elements,
  type ElementType,
  fourElements,
  rounded,
  roundFunction,
  type Rounding,
  roundingOfStored,
} from "./elements.wgsl.ts";
import { entryPoint } from "../../common/wgsl/entry.ts";
import type { KernelSpec } from "../../common/wgsl/kernel.ts";

export interface VectorOptions {
  /** 1 … 3. */
  rows: number;
  /** Number of invocations, at least 64. */
  threads: number;
  bType: ElementType;
  aligned: boolean;
  lora: boolean;
  rounding: Rounding;
}

/** Number of columns of a workgroup. */
export const VECTOR_COLUMNS = 4;
/** Max number of partial sums that one invocation adds in the last step. */
const LAST_SUMS = 16;

const range = (n: number) => [...Array(n).keys()];

export const PARAMS = "u32 n k ldo a_base b_base out_base add, f32 alpha";
export const LORA_PARAMS = "u32 r x_base w_base, f32 lora_scale";

/** WGSL: the workgroup memory and the entry point, in lines. */
export const vectorEntry = ({ rows, threads }: Pick<VectorOptions, "rows" | "threads">) => [
  `var<workgroup> partial: array<vec4f, ${rows * threads}>;`,
  entryPoint(threads),
];

/**
 * WGSL: adds `values` over the invocations, by a fixed tree, and stores the result. There is one
 * value, a vec4f, for each row: the sums of an invocation for the columns of quad `local % quads`.
 */
export function sumAndStore(
  { rows, threads }: Pick<VectorOptions, "rows" | "threads">,
  quads: number,
  values: readonly string[],
): string[] {
  // All rows are added at once, each by different invocations.
  let left = LAST_SUMS;
  while (rows * left * quads > threads) left /= 2;
  const last = left * quads;
  const sumOf = (count: number, step: number) =>
    range(count).map((s) => `partial[begin + ${s * step}u]`).join(" + ");
  return [
    ...values.map((value, i) => `  partial[local + ${i * threads}u] = ${value};`),
    "  workgroupBarrier();",
    `  if (local < ${rows * last}u) {`,
    `    let begin = local / ${last}u * ${threads}u + local % ${last}u;`,
    `    partial[begin] = ${sumOf(threads / last, last)};`,
    "  }",
    "  workgroupBarrier();",
    `  if (local < ${rows * quads}u) {`,
    `    let begin = local / ${quads}u * ${threads}u + local % ${quads}u;`,
    `    let sum = ${sumOf(left, quads)};`,
    `    let column = first + 4u * (local % ${quads}u);`,
    `    let at = p.out_base + local / ${quads}u * p.ldo + column;`,
    ...range(4).map((j) => {
      const lane = `sum.${"xyzw"[j]}`, out = `mat_out[at + ${j}u]`;
      const value = `select(${lane}, ${out} + ${lane}, p.add != 0u)`;
      return `    if (column + ${j}u < p.n) { ${out} = ${value}; }`;
    }),
    "  }",
    "}",
  ];
}

export function vectorKernel(options: VectorOptions): KernelSpec {
  const { rows, threads, bType, aligned, lora, rounding } = options;
  const f32: Elements = { type: "f32", aligned, rounding };
  const weight: Elements = {
    type: bType,
    aligned,
    rounding: roundingOfStored(rounding, bType),
  };
  const each = range(rows), columns = range(VECTOR_COLUMNS);
  const sums = each.flatMap((i) => columns.map((j) => `c${i}_${j}`));
  /** WGSL: adds the products of the rows of x and of w, `length` terms each, to all sums. */
  const addProducts = (x: string, w: string, length: string, scale: string) => [
    `  for (var at = 4u * local; at < ${length}; at += ${4 * threads}u) {`,
    ...each.map((i) =>
      `    let x${i} = ${scale}four_${x}(p.${x}_base + ${i}u * ${length}, at, ${length});`
    ),
    ...columns.map((j) => {
      const start = `p.${w}_base + min(first + ${j}u, p.n - 1u) * ${length}`;
      return `    let w${j} = four_${w}(${start}, at, ${length});`;
    }),
    ...each.flatMap((i) => columns.map((j) => `    c${i}_${j} = fma(x${i}, w${j}, c${i}_${j});`)),
    "  }",
  ];
  const laneSum = (c: string) => `(${c}.x + ${c}.y) + (${c}.z + ${c}.w)`;
  const code = [
    ...roundLines(rounding),
    fourElements("a", "mat_a", f32),
    fourElements("b", "mat_b", weight),
    ...(lora ? [fourElements("x", "lora_x", f32), fourElements("w", "lora_w", f32)] : []),
    ...vectorEntry(options),
    `  let first = (group.x + group.y * groups.x) * ${VECTOR_COLUMNS}u;`,
    "  if (first >= p.n) { return; }",
    ...sums.map((c) => `  var ${c} = vec4f(0.0);`),
    ...addProducts("a", "b", "p.k", ""),
    ...sums.map((c) => `  ${c} *= p.alpha;`),
    ...(lora ? addProducts("x", "w", "p.r", "p.lora_scale * ") : []),
    ...sumAndStore(
      options,
      1,
      each.map((i) => `vec4f(${columns.map((j) => laneSum(`c${i}_${j}`)).join(", ")})`),
    ),
  ];
  return {
    name: `matmul.vector${rows}${lora ? ".lora" : ""}${suffix(rounding)}`,
    reads: `${bufferType(f32)} mat_a${lora ? " lora_x lora_w" : ""}, ${bufferType(weight)} mat_b`,
    writes: "f32 mat_out",
    params: `${PARAMS}${lora ? `, ${LORA_PARAMS}` : ""}`,
    code: code.join("\n"),
  };
}

/** WGSL: the function that rounds; none in float32. */
export function roundLines(rounding: Rounding): string[] {
  return rounding === null ? [] : [roundFunction(rounding)];
}

/** The end of a kernel's name. */
export const suffix = (rounding: Rounding) => rounding === null ? "" : `.to_${rounding}`;

/**
 * WGSL: adds an adapter's product to c0 …, the sums of the four columns from `column` on. An
 * invocation does one term at a time.
 */
export function loraTerms(
  rows: number,
  threads: number,
  quads: number,
  rounding: Rounding,
): string[] {
  return [
    `  for (var at = local / ${quads}u; at < p.r; at += ${threads / quads}u) {`,
    `    let w = p.lora_scale * ${
      rounded(
        rounding,
        `vec4f(${
          range(4).map((j) => `lora_w[p.w_base + min(column + ${j}u, p.n - 1u) * p.r + at]`)
            .join(", ")
        })`,
      )
    };`,
    ...range(rows).map((i) => {
      const x = rounded(rounding, `vec4f(lora_x[p.x_base + ${i}u * p.r + at])`);
      return `    c${i} = fma(${x}, w, c${i});`;
    }),
    "  }",
  ];
}
