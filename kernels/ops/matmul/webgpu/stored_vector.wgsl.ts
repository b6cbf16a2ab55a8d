/**
 * WGSL of the product of one to three rows with a weight in blocks (for decoding), like in
 * vector.wgsl.ts. A workgroup makes columns of the result that are in one panel. An invocation does
 * 16 terms of four columns at a time: these share their scales, which are computed once, and the
 * loads of all their words overlap.
 */
import { rounded, type Rounding } from "./elements.wgsl.ts";
import {
  LORA_PARAMS,
  loraTerms,
  PARAMS,
  roundLines,
  suffix,
  sumAndStore,
  vectorEntry,
} from "./vector.wgsl.ts";
import type { KernelSpec } from "../../common/wgsl/kernel.ts";
import type { BlockType } from "../../../weights/types.ts";
import { BLOCK_PARAMS, widenBlocks } from "../../../weights/widen.wgsl.ts";

export interface StoredVectorOptions {
  /** 1 … 3. */
  rows: number;
  /** Number of invocations, at least 64. */
  threads: number;
  /** Number of columns of a workgroup: 8 or 16. */
  columns: number;
  type: BlockType;
  lora: boolean;
  rounding: Rounding;
}

/** Number of terms of a row that an invocation does at a time. */
export const TERMS = 16;

const range = (n: number) => [...Array(n).keys()];

export function storedVectorKernel(options: StoredVectorOptions): KernelSpec {
  const { rows, threads, columns, type, lora, rounding } = options;
  const each = range(rows), quads = columns / 4, fours = range(TERMS / 4);
  const inputName = (i: number, u: number) => `x${i}_${u}`;
  const weightName = (u: number, j: number) => rounding === null ? `w${u}[${j}]` : `w${u}_${j}`;
  const code = [
    ...roundLines(rounding),
    widenBlocks("mat_b", type),
    ...vectorEntry(options),
    `  let first = (group.x + group.y * groups.x) * ${columns}u;`,
    "  if (first >= p.n) { return; }",
    `  let column = first + 4u * (local % ${quads}u);`,
    ...each.map((i) => `  var c${i} = vec4f(0.0);`),
    `  for (var at = local / ${quads}u * ${TERMS}u; at < p.k; at += ${threads / quads * TERMS}u) {`,
    ...fours.map((u) => `    let words${u} = block_words(column, at + ${4 * u}u);`),
    ...each.flatMap((i) =>
      fours.map((u) => {
        const x = `mat_a[((p.a_base + ${i}u * p.k + at) >> 2u) + ${u}u]`;
        return `    let ${inputName(i, u)} = ${rounded(rounding, x)};`;
      })
    ),
    ...fours.flatMap((u) => [
      `    let w${u} = block_values(words${u}, at + ${4 * u}u);`,
      ...(rounding === null
        ? []
        : range(4).map((j) =>
          `    let ${weightName(u, j)} = ${rounded(rounding, `w${u}[${j}]`)};`
        )),
      ...range(4).flatMap((j) =>
        each.map((i) =>
          `    c${i} = fma(vec4f(${inputName(i, u)}.${"xyzw"[j]}), ${weightName(u, j)}, c${i});`
        )
      ),
    ]),
    "  }",
    ...each.map((i) => `  c${i} *= p.alpha;`),
    ...(lora ? loraTerms(rows, threads, quads, rounding) : []),
    ...sumAndStore(options, quads, each.map((i) => `c${i}`)),
  ];
  return {
    name: `matmul.${type}.vector${rows}${lora ? ".lora" : ""}${suffix(rounding)}`,
    reads: `vec4<f32> mat_a, vec4<u32> mat_b${lora ? ", f32 lora_x lora_w" : ""}`,
    writes: "f32 mat_out",
    params: `${PARAMS}, ${BLOCK_PARAMS}${lora ? `, ${LORA_PARAMS}` : ""}`,
    code: code.join("\n"),
  };
}
