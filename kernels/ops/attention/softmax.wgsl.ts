/**
 * WGSL of the online softmax over tiles of keys, for the forward and for decoding. An invocation keeps for each
 * of its rows the largest score `peak`, the sum `total` of e^(score − peak) over its own columns, and the mix
 * `out…` of the values; a tile with a larger score scales all three down. Masked scores are −1e30, and their
 * weight is set to 0, because a tile may hold nothing but masked scores.
 */
import { EXP } from "../common/wgsl/math.ts";
import { rowOf, rowsType, type Tiles } from "./tiles.wgsl.ts";

/** Bytes of workgroup memory beside the tiles'. */
export function softmaxBytes(threads: number): number {
  return 16 * threads;
}

/** Declarations outside of `main`. */
export function softmaxDeclarations(tiles: Tiles): string {
  const { each } = tiles.sizes, type = rowsType(each);
  const exps = Array.from({ length: each }, (_, i) => `exp_f32(${rowOf("x", each, i)})`);
  return `${EXP}
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

/** Before the first tile. */
export function softmaxStart(tiles: Tiles): string {
  const type = rowsType(tiles.sizes.each);
  return `var peak = ${type}(-1e30);
  var total = ${type}(0.0);
  ${tiles.mixes("out")}`;
}

export interface KeyTile {
  /** Buffers. */
  queries: string;
  keys: string;
  values: string;
  /** Expression of vec4<bool>: which of the keys `key4` row i attends to. */
  allowed: (i: number) => string;
  /** Row of the buffers of keys and values where key `key` is. */
  row: (key: string) => string;
}

/** One tile: the keys from `begin` up to the next `n`, all before `end`; the same in all invocations. */
export function softmaxTile(
  tiles: Tiles,
  { queries, keys, values, allowed, row }: KeyTile,
): string {
  const { each, across } = tiles.sizes;
  const number = (n: string) => `select(NONE, ${row(`(begin + ${n})`)}, begin + ${n} < end)`;
  const max = (i: number) => `largest_of(score${i})`;
  const of = (name: string, i: number) => rowOf(name, each, i);
  const rows = Array.from({ length: each }, (_, i) => i), type = rowsType(each);
  return `${tiles.columnNumbers(number)}
  ${tiles.scores([{ rows: queries, columns: keys, sums: "dot" }])}
  let key4 = vec4<u32>(begin + 4u * x) + vec4<u32>(0u, 1u, 2u, 3u);
  ${
    tiles.eachRow((i) =>
      `let score${i} = select(vec4<f32>(-1e30), p.scale * dot${i}, ${allowed(i)});`
    )
  }
  row_slots[local] = ${type}(${rows.map(max).join(", ")});
  workgroupBarrier();
  var new_peak = peak;
  ${
    Array.from({ length: across }, (_, t) =>
      `new_peak = max(new_peak, row_slots[y * ${across}u + ${t}u]);`).join("\n")
  }
  let shrink = exp_rows(peak - new_peak);
  peak = new_peak;
  ${tiles.eachRow((i) => `let weight${i} = weights_of(score${i}, ${of("peak", i)});`)}
  total = total * shrink + ${type}(${rows.map((i) => `sum_of(weight${i})`).join(", ")});
  ${tiles.eachMixed((i, j) => `out${i}_${j} *= ${of("shrink", i)};`)}
  ${tiles.keepWeights("weight")}
  ${tiles.mix("out", values, "end - begin", number)}`;
}

/** After the last tile: `total` over all columns, the same in all invocations of a row. */
export function softmaxEnd(tiles: Tiles): string {
  const { each, across } = tiles.sizes;
  return `workgroupBarrier();
  row_slots[local] = total;
  workgroupBarrier();
  total = ${rowsType(each)}(0.0);
  ${
    Array.from({ length: across }, (_, t) => `total += row_slots[y * ${across}u + ${t}u];`).join(
      "\n",
    )
  }`;
}
