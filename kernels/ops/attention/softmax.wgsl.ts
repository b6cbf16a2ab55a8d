/**
 * WGSL of the online softmax over tiles of keys, for the forward and for decoding. For each of its
 * rows an invocation keeps the largest score `peak`, the sum `total` of e^(score − peak) over its
 * columns, and its part `out…` of the weighted sum of the values. A tile with a larger score scales
 * total and out down. Masked scores are −1e30 and get the weight 0: a tile may contain only masked
 * scores.
 */
import { EXP, SOFT_CAP } from "../common/wgsl/math.ts";
import { rowOf, rowsType, type Tiles } from "./tiles.wgsl.ts";

/** Bytes of workgroup memory that the softmax needs in addition to the tiles. */
export function softmaxBytes(threads: number): number {
  return 16 * threads;
}

/** Declarations that stand outside of `main`. */
export function softmaxDeclarations(tiles: Tiles, capped: boolean): string {
  const { each } = tiles.sizes, type = rowsType(each);
  const exps = Array.from({ length: each }, (_, i) => `exp_f32(${rowOf("x", each, i)})`);
  return `${EXP}${capped ? SOFT_CAP : ""}
var<workgroup> row_slots: array<${type}, ${tiles.threads}>;
fn exp_rows(x: ${type}) -> ${type} { return ${type}(${exps.join(", ")}); }
fn weights_of(scores: vec4<f32>, peak: f32) -> vec4<f32> {
  let x = scores - peak;
  let e = vec4<f32>(exp_f32(x.x), exp_f32(x.y), exp_f32(x.z), exp_f32(x.w));
  return select(vec4<f32>(), e, scores > vec4<f32>(-9e29));
}
fn largest_of(x: vec4<f32>) -> f32 { return max(max(x.x, x.y), max(x.z, x.w)); }
fn sum_of(x: vec4<f32>) -> f32 { return (x.x + x.y) + (x.z + x.w); }`;
}

/** The code before the first tile. */
export function softmaxStart(tiles: Tiles): string {
  const type = rowsType(tiles.sizes.each);
  return `var peak = ${type}(-1e30);
  var total = ${type}(0.0);
  ${tiles.declareMix("out")}`;
}

export interface KeyTile {
  /** Names of the buffers. */
  queries: string;
  keys: string;
  values: string;
  /** WGSL expression, a vec4<bool>: which of the keys `key4` row i attends to. */
  allowed: (i: number) => string;
  /** Whether the scores have a soft cap, the parameter `cap`. */
  capped: boolean;
  /** WGSL expression: the row of key `key` in the matrices of keys and values. */
  matrixRow: (key: string) => string;
}

/**
 * The code for one tile: the keys from `begin` on that are less than `begin + n` and less than
 * `end`. `begin` and `end` are the same in all invocations.
 */
export function softmaxTile(
  tiles: Tiles,
  { queries, keys, values, allowed, capped, matrixRow }: KeyTile,
): string {
  const { each } = tiles.sizes;
  const keyRow = (n: string) => `select(NONE, ${matrixRow(`(begin + ${n})`)}, begin + ${n} < end)`;
  const largestScore = (i: number) => `largest_of(score${i})`;
  const rowComponent = (name: string, i: number) => rowOf(name, each, i);
  const rows = Array.from({ length: each }, (_, i) => i), type = rowsType(each);
  return `${tiles.matrixRowsOfColumns(keyRow)}
  ${tiles.scores([{ rows: queries, columns: keys, sums: "dot" }])}
  let key4 = vec4<u32>(begin + 4u * x) + vec4<u32>(0u, 1u, 2u, 3u);
  ${
    tiles.eachRow((i) =>
      `let score${i} = select(vec4<f32>(-1e30), ${cappedScore(capped, i)}, ${allowed(i)});`
    )
  }
  ${largestOfRow(tiles, `${type}(${rows.map(largestScore).join(", ")})`)}
  let shrink = exp_rows(peak - new_peak);
  peak = new_peak;
  ${tiles.eachRow((i) => `let weight${i} = weights_of(score${i}, ${rowComponent("peak", i)});`)}
  total = total * shrink + ${type}(${rows.map((i) => `sum_of(weight${i})`).join(", ")});
  ${tiles.eachMixed((i, j) => `out${i}_${j} *= ${rowComponent("shrink", i)};`)}
  ${tiles.storeWeights("weight")}
  ${tiles.mix("out", values, "end - begin", keyRow)}`;
}

/** WGSL: the scores of row i with four keys. */
export const cappedScore = (capped: boolean, i: number) =>
  capped ? `soft_cap4(p.scale * dot${i})` : `p.scale * dot${i}`;

/** The places of a row's invocations in `row_slots`. */
const slotsOfRow = (across: number) =>
  Array.from({ length: across }, (_, t) => `row_slots[y * ${across}u + ${t}u]`);

/** The code for `new_peak`: the largest of `peak` and of `values` over a row's invocations. */
function largestOfRow({ sizes: { across } }: Tiles, values: string): string {
  return `row_slots[local] = ${values};
  workgroupBarrier();
  var new_peak = peak;
  ${slotsOfRow(across).map((slot) => `new_peak = max(new_peak, ${slot});`).join("\n")}`;
}

/** The code after the last tile: `total` becomes the sum over all columns, in all invocations. */
export function softmaxEnd({ sizes: { each, across } }: Tiles): string {
  return `workgroupBarrier();
  row_slots[local] = total;
  workgroupBarrier();
  total = ${rowsType(each)}(0.0);
  ${slotsOfRow(across).map((slot) => `total += ${slot};`).join("\n")}`;
}
