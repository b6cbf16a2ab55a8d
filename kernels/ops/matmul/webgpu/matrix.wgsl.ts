/**
 * WGSL of products in 16 bits on a card's matrix units (cooperative matrices). They multiply halves
 * (f16) and add in f32. Every unit has f16, and only some have bfloat16. For it, the rows of both
 * operands are rounded to bfloat16 and multiplied by a power of two that brings their largest
 * element near f16's largest. A number of bfloat16 has 8 significant bits and fits into the 11 of a
 * half exactly, if it is at least 2^-31 of the largest of its row. Smaller ones lose bits that are
 * below the rounding error of the row's sum in f32. Products in float16 are done in the same way.
 *
 * First each operand is packed into halves [rows, k], padded with zeros to whole tiles, whatever
 * its layout and type; then they are multiplied.
 */
import { rounded, roundFunction, type Rounding } from "./elements.wgsl.ts";
import type { Layout } from "./operands.wgsl.ts";
import { entryPoint } from "../../common/wgsl/entry.ts";
import type { KernelSpec } from "../../common/wgsl/kernel.ts";
import { GROUP, reduceMax } from "../../common/wgsl/reduce.ts";
import {
  BLOCK_PARAMS,
  rowBufferType,
  widenBlocks,
  widenPair,
} from "../../../weights/widen.wgsl.ts";
import { isBlockType, type WeightType } from "../../../weights/types.ts";

/** Outputs of a workgroup: MATRIX_TILE × MATRIX_TILE, made by 2 × 2 subgroups. */
export const MATRIX_TILE = 64;
/** Terms in workgroup memory. */
export const MATRIX_TERMS = 32;
/** Four halves at a time: of single ones, compilers make loads and stores of two and four bytes. */
const QUARTER = MATRIX_TERMS / 4;
/** A line of terms, in fours, with a gap so that lines begin in different memory banks. */
const LINE = QUARTER + 2;
/** Sums in workgroup memory: a row of matrices of each subgroup at a time. */
const sumsOf = (edge: number) => 2 * edge * MATRIX_TILE;
/** Bytes of workgroup memory: the tiles of both operands, and sums. */
export const matrixBytes = (edge: number) => 2 * 8 * MATRIX_TILE * LINE + 4 * sumsOf(edge);
/** Rows that a workgroup packs; 16 invocations share a row. */
export const PACKED_ROWS = 16;

const range = (n: number) => [...Array(n).keys()];

export interface PackOptions {
  /** Rows along k, or across k. */
  layout: Layout;
  type: "f32" | WeightType;
  rounding: Exclude<Rounding, null>;
}

/** Packs the rows of an operand; `row_scales` gets what the sums of a row must be multiplied by. */
export function packHalvesKernel({ layout, type, rounding }: PackOptions): KernelSpec {
  const inBlocks = isBlockType(type);
  // Neighbouring invocations read neighbours in memory.
  const [row, lane] = layout === "along"
    ? ["local / 16u", "local % 16u"]
    : ["local % 16u", "local / 16u"];
  return {
    name: `matmul.pack_halves.${layout}${type === "f32" ? "" : `.${type}`}${
      rounding === "f16" ? ".to_f16" : ""
    }`,
    reads: `${rowBufferType(type)} mat_b`,
    writes: "u32 packed_halves, f32 row_scales",
    params: `u32 rows k padded_k, ${inBlocks ? `${BLOCK_PARAMS} b_column` : "u32 ldb b_base"}`,
    code: `${roundFunction(rounding)}
${elementOfB(layout, type)}
${reduceMax(16)}
var<workgroup> of_row: array<f32, ${GROUP}>;
fn pair_at(row: u32, t: u32) -> vec2f {
  var pair = vec2f(0.0);
  if (row < p.rows) {
    if (t < p.k) { pair.x = b_at(row, t); }
    if (t + 1u < p.k) { pair.y = b_at(row, t + 1u); }
  }
  return ${rounded(rounding, "vec4f(pair, pair)")}.xy;
}
${entryPoint(GROUP)}
  let row_of_group = ${row};
  let row = (group.x + group.y * groups.x) * ${PACKED_ROWS}u + row_of_group;
  let lane = ${lane};
  var largest = 0.0;
  for (var t = 2u * lane; t < p.padded_k; t += 32u) {
    let pair = abs(pair_at(row, t));
    largest = max(largest, max(pair.x, pair.y));
  }
  of_row[row_of_group * 16u + lane] = largest;
  workgroupBarrier();
  let largest_of_row = reduce_max(local, of_row[local]);
  workgroupBarrier();
  of_row[local] = largest_of_row;
  workgroupBarrier();
  let exponent = i32(bitcast<u32>(of_row[row_of_group * 16u]) >> 23u) - 127;
  // Zeros, infinities and NaN are not scaled.
  let shift = select(min(14 - exponent, 100), 0, exponent == -127 || exponent == 128);
  let scale = bitcast<f32>(u32(shift + 127) << 23u);
  if (lane == 0u && row < p.rows) { row_scales[row] = bitcast<f32>(u32(127 - shift) << 23u); }
  let line = row * (p.padded_k / 2u);
  for (var t = 2u * lane; t < p.padded_k; t += 32u) {
    packed_halves[line + t / 2u] = pack2x16float(scale * pair_at(row, t));
  }
}`,
  };
}

export interface MatrixOptions {
  /** Rows, columns and terms of a cooperative matrix. */
  edge: number;
  /** Invocations of a subgroup. */
  subgroup: number;
}

/** out = alpha · scale_a · scale_b · (a · bᵀ) for packed halves a and b. */
export function matrixKernel({ edge, subgroup }: MatrixOptions): KernelSpec {
  const half = MATRIX_TILE / 2, parts = range(half / edge), threads = 4 * subgroup;
  const loads = MATRIX_TILE * QUARTER;
  const each = (code: (i: number, j: number) => string) =>
    parts.flatMap((i) => parts.map((j) => code(i, j))).join("\n");
  const load = (
    name: string,
    transposed: string,
    use: string,
    side: string,
    i: number,
    k: number,
  ) =>
    `      let ${name}${i} = coopLoad${transposed}<coop_mat${edge}x${edge}<f16, ${use}>>(` +
    `&tile_${name}[(${side} + ${i * edge}u) * ${LINE}u + ${k * edge / 4}u], ${LINE}u);`;
  // naga 29 fails at a stride by name here.
  const storeRow = (i: number) =>
    `${
      parts.map((j) => `  coopStoreT(c${i}_${j}, &sums[at + ${j * edge}u], ${MATRIX_TILE}u);`)
        .join("\n")
    }
  workgroupBarrier();
  for (var i = local; i < ${sumsOf(edge)}u; i += ${threads}u) {
    let line = i / ${MATRIX_TILE}u;
    let row = row0 + line / ${edge}u * ${half}u + line % ${edge}u + ${i * edge}u;
    let column = column0 + i % ${MATRIX_TILE}u;
    if (row < p.m && column < p.n) {
      let value = p.alpha * (sums[i] * scale_a[row] * scale_b[column]);
      let to = row * p.ldo + column;
      if (p.add != 0u) { mat_out[to] += value; } else { mat_out[to] = value; }
    }
  }
  workgroupBarrier();`;
  return {
    name: `matmul.matrix${edge}`,
    enable: ["f16", "wgpu_cooperative_matrix"],
    reads: "vec4<f16> mat_a mat_b, f32 scale_a scale_b",
    writes: "f32 mat_out",
    params: "u32 m n padded_k ldo m_first add, f32 alpha",
    code: `
var<workgroup> tile_a: array<vec4<f16>, ${MATRIX_TILE * LINE}>;
var<workgroup> tile_b: array<vec4<f16>, ${MATRIX_TILE * LINE}>;
var<workgroup> sums: array<f32, ${sumsOf(edge)}>;
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32, @builtin(subgroup_id) sub: u32) {
  let number = group.x + group.y * groups.x;
  let tiles_m = (p.m + ${MATRIX_TILE - 1}u) / ${MATRIX_TILE}u;
  let tiles_n = (p.n + ${MATRIX_TILE - 1}u) / ${MATRIX_TILE}u;
  if (number >= tiles_m * tiles_n) { return; }
  let tile_m = select(number / tiles_n, number % tiles_m, p.m_first != 0u);
  let tile_n = select(number % tiles_n, number / tiles_m, p.m_first != 0u);
  let row0 = tile_m * ${MATRIX_TILE}u;
  let column0 = tile_n * ${MATRIX_TILE}u;
  let sub_m = (sub / 2u) * ${half}u;
  let sub_n = (sub % 2u) * ${half}u;
${each((i, j) => `  var c${i}_${j} = coop_mat${edge}x${edge}<f32, C>();`)}
  for (var k0 = 0u; k0 < p.padded_k; k0 += ${MATRIX_TERMS}u) {
    for (var i = local; i < ${loads}u; i += ${threads}u) {
      let row = i / ${QUARTER}u;
      let part = i % ${QUARTER}u;
      let to = row * ${LINE}u + part;
      tile_a[to] = mat_a[((row0 + row) * p.padded_k + k0) / 4u + part];
      tile_b[to] = mat_b[((column0 + row) * p.padded_k + k0) / 4u + part];
    }
    workgroupBarrier();
${
      range(MATRIX_TERMS / edge).map((k) =>
        `    {
${parts.map((i) => load("a", "T", "A", "sub_m", i, k)).join("\n")}
${parts.map((j) => load("b", "", "B", "sub_n", j, k)).join("\n")}
${each((i, j) => `      c${i}_${j} = coopMultiplyAdd(a${i}, b${j}, c${i}_${j});`)}
    }`
      ).join("\n")
    }
    workgroupBarrier();
  }
  let at = (sub / 2u) * ${edge * MATRIX_TILE}u + sub_n;
${parts.map(storeRow).join("\n")}
}`,
  };
}

/** fn b_at(column, t): the element of b for a column of the result and a term. */
function elementOfB(layout: Layout, type: "f32" | WeightType): string {
  const signature = "fn b_at(column: u32, t: u32) -> f32 {";
  if (isBlockType(type)) {
    const [row, i] = layout === "along" ? ["column", "t"] : ["t", "p.b_column + column"];
    return `${widenBlocks("mat_b", type)}
${signature}
  let row = ${row};
  let i = ${i};
  let values = block_values(block_words(row & ~3u, i & ~3u), i & ~3u);
  return values[i & 3u][row & 3u];
}`;
  }
  const at = `p.b_base + ${layout === "along" ? "column * p.ldb + t" : "t * p.ldb + column"}`;
  return type === "f32" ? `${signature} return mat_b[${at}]; }` : `${signature}
  let at = ${at};
  let word = mat_b[at >> 1u];
  return ${widenPair(type, "word")}[at & 1u];
}`;
}
