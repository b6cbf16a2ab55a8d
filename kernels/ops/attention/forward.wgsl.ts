/**
 * WGSL of attention over a packed batch. A workgroup does a tile of queries: pairs of a row and a
 * query head, row by row, of the query heads that share a key head. It loops over the keys that any
 * of them attends to: first the prefix of the tile's first row, then the span from the beginning of
 * that row's segment to the tile's last row. Both ranges together hold all keys of the tile's other
 * rows: their prefix is the same, or it lies within the span. Keys that a row does not attend to
 * are masked.
 */
import type { KernelSpec } from "../common/wgsl/kernel.ts";
import { LOG } from "../common/wgsl/math.ts";
import { softmaxDeclarations, softmaxEnd, softmaxStart, softmaxTile } from "./softmax.wgsl.ts";
import { type AttentionArgs, SEGMENT } from "./spec.ts";
import { headType, rowOf, Tiles, type TileSizes } from "./tiles.wgsl.ts";

export interface AttentionOptions {
  headDim: number;
  sizes: TileSizes;
  /**
   * The binding has a part of the keys; results are merged with, or added to, those of the parts
   * before it.
   */
  keyParts?: boolean;
  /** The scores have a soft cap. */
  capped?: boolean;
}

/**
 * `row_begin` is the row of the batch of the first query in the binding; `window` is the largest
 * u32 where there is none.
 */
export const QUERY_PARAMS = "u32 count rows row_begin heads kv_heads per_kv window, f32 scale";

/** The parameter of a soft cap, where there is one. */
export const capParam = (capped: boolean): string => capped ? "f32 cap" : "";

/** The value of that parameter. */
export const capValue = ({ softCap }: Pick<AttentionArgs, "softCap">): { cap?: number } =>
  softCap === undefined ? {} : { cap: softCap };

/** The bound rows of keys and values, of the batch. */
export const KEY_PART_PARAMS = "u32 key_begin key_end";

/** WGSL: a column of the segment table, in the row of segment `s`. */
export const segmentColumn = (s: string, column: keyof typeof SEGMENT) =>
  `segments[${s} * ${SEGMENT.columns}u + ${SEGMENT[column]}u]`;

/**
 * WGSL: which queries a workgroup does, the keys that they attend to, and the rows of the tile that
 * an invocation has. The workgroups go through the queries from the last to the first: within a
 * segment the last ones have the most keys, and the longest work should not begin last.
 */
export function queryTile(tiles: Tiles, keyParts = false): string {
  const { m, n } = tiles;
  const bound = (row: string) => keyParts ? `clamp(${row}, p.key_begin, p.key_end)` : row;
  return `let head = number % p.kv_heads;
  let first = (p.count - 1u - number) / p.kv_heads * ${m}u;
  let queries_end = min(first + ${m}u, p.rows * p.per_kv);
  let first_segment = row_segment[p.row_begin + first / p.per_kv];
  let prefix_begin = ${bound(segmentColumn("first_segment", "prefixBegin"))};
  let prefix_end = ${bound(segmentColumn("first_segment", "prefixEnd"))};
  let span_begin = ${bound("attended(p.row_begin + first / p.per_kv, true).z")};
  let span_end = ${bound("p.row_begin + (queries_end - 1u) / p.per_kv + 1u")};
  let prefix_tiles = (prefix_end - prefix_begin + ${n - 1}u) / ${n}u;
  let key_tiles = prefix_tiles + (span_end - span_begin + ${n - 1}u) / ${n}u;
  ${tiles.matrixRowsOfRows((r) => `query_number(first + ${r}, queries_end, head)`)}
  ${
    tiles.eachRow((i) =>
      `let query${i} = first + ${tiles.tileRow(i)};
  let row${i} = query${i} / p.per_kv;
  let range${i} = attended(p.row_begin + row${i}, query${i} < queries_end);`
    )
  }`;
}

/** WGSL: where tile t of the keys begins and ends. */
export function keyRange({ n }: Pick<Tiles, "n">): string {
  return `let in_prefix = t < prefix_tiles;
    let begin = select(span_begin + (t - prefix_tiles) * ${n}u, prefix_begin + t * ${n}u, in_prefix);
    let end = select(span_end, prefix_end, in_prefix);`;
}

/** WGSL: which of the keys `key4` row i of the invocation attends to. */
export const attends = (i: number) =>
  `(key4 < vec4<u32>(end)) & (((key4 >= vec4<u32>(range${i}.x)) & ` +
  `(key4 < vec4<u32>(range${i}.y))) | ` +
  `((key4 >= vec4<u32>(range${i}.z)) & (key4 < vec4<u32>(range${i}.w))))`;

/** WGSL: `query_number`, the row of a query in q as a matrix [rows·heads, headDim]. */
const QUERY_NUMBER = `
fn query_number(query: u32, end: u32, head: u32) -> u32 {
  let row = query / p.per_kv;
  return select(NONE, row * p.heads + head * p.per_kv + query % p.per_kv, query < end);
}`;

/** WGSL: `attended`, the two ranges that a row attends to: in its prefix and in its segment. */
export const ATTENDED = `
fn attended(row: u32, exists: bool) -> vec4<u32> {
  if (!exists) { return vec4<u32>(); }
  let s = row_segment[row];
  let prefix_begin = ${segmentColumn("s", "prefixBegin")};
  let prefix_end = ${segmentColumn("s", "prefixEnd")};
  let in_segment = min(row + 1u - ${segmentColumn("s", "begin")}, p.window);
  let in_prefix = min(prefix_end - prefix_begin, p.window - in_segment);
  return vec4<u32>(prefix_end - in_prefix, prefix_end, row + 1u - in_segment, row + 1u);
}`;

export const QUERY_FUNCTIONS = QUERY_NUMBER + ATTENDED;

/** WGSL: the row of the bound keys that a row of the batch is. */
export const boundRow = (row: string, keyParts: boolean) =>
  keyParts ? `(${row} - p.key_begin)` : row;

/**
 * WGSL for row i: stores the result of a part of the keys, merged with that of the parts before it
 * by their lse. A row that attends to no key yet has the lse −1e30.
 */
function mergeRow(tiles: Tiles, i: number): string {
  const { each, across } = tiles.sizes;
  const mixed = Array.from({ length: tiles.mixed }, (_, j) => ({ c: `x + ${j * across}u`, j }));
  return `if (query${i} < queries_end) {
    let at = query_number(query${i}, queries_end, head);
    let sum = ${rowOf("total", each, i)};
    if (sum > 0.0) {
      let lse = ${rowOf("peak", each, i)} + log_f32(sum);
      let high = max(lse, before${i});
      let old_weight = exp_f32(before${i} - high);
      let new_weight = exp_f32(lse - high);
      let both = old_weight + new_weight;
      let old_share = old_weight / both;
      let new_share = new_weight / both / sum;
      if (old_share > 0.0) {
        ${
    mixed.map(({ c, j }) =>
      `store_outputs(at, ${c}, old_share * load_outputs(at, ${c}) + new_share * out${i}_${j});`
    ).join("\n")
  }
      } else {
        ${mixed.map(({ c, j }) => `store_outputs(at, ${c}, new_share * out${i}_${j});`).join("\n")}
      }
      if (x == 0u) { lses[at] = high + log_f32(both); }
    } else if (p.key_begin == 0u) {
      ${mixed.map(({ c }) => `store_outputs(at, ${c}, vec4<f32>());`).join("\n")}
      if (x == 0u) { lses[at] = -1e30; }
    }
  }`;
}

/** WGSL for row i: stores the result of all keys. */
function storeRow(tiles: Tiles, i: number): string {
  const { each, across } = tiles.sizes;
  return `if (query${i} < queries_end) {
    let at = query_number(query${i}, queries_end, head);
    let sum = ${rowOf("total", each, i)};
    ${
    Array.from(
      { length: tiles.mixed },
      (_, j) => `store_outputs(at, x + ${j * across}u, out${i}_${j} / sum);`,
    ).join("\n")
  }
    if (x == 0u) { lses[at] = ${rowOf("peak", each, i)} + log_f32(sum); }
  }`;
}

/** The forward: one workgroup for each tile of queries and each key head. */
export function attentionSpec(
  { headDim, sizes, keyParts = false, capped = false }: AttentionOptions,
): KernelSpec {
  const tiles = new Tiles(sizes, headDim, 1), type = headType(headDim);
  const read = ["queries", "keys", "values", ...(keyParts ? ["outputs"] : [])];
  // Invocations of a row share its lse, so all of them read it before one writes it.
  const before = keyParts
    ? `${
      tiles.eachRow((i) =>
        `var before${i} = -1e30;
  if (p.key_begin > 0u && query${i} < queries_end) {
    before${i} = lses[query_number(query${i}, queries_end, head)];
  }`
      )
    }
  storageBarrier();
  `
    : "";
  return {
    name: `attention${keyParts ? ".key_part" : ""}`,
    reads: `${type} queries keys values, u32 segments row_segment`,
    writes: `${type} outputs, f32 lses`,
    params: `${QUERY_PARAMS}${keyParts ? `, ${KEY_PART_PARAMS}` : ""}, ${capParam(capped)}`,
    code: `${tiles.declarations(read)}
${tiles.storing("outputs")}
${softmaxDeclarations(tiles, capped)}
${LOG}
${QUERY_FUNCTIONS}
${
      tiles.main(`${queryTile(tiles, keyParts)}
  ${before}${softmaxStart(tiles)}
  for (var t = 0u; t < key_tiles; t++) {
    ${keyRange(tiles)}
    ${
        softmaxTile(tiles, {
          queries: "queries",
          keys: "keys",
          values: "values",
          allowed: attends,
          capped,
          matrixRow: (key) => `${boundRow(key, keyParts)} * p.kv_heads + head`,
        })
      }
  }
  ${softmaxEnd(tiles)}
  ${tiles.eachRow((i) => keyParts ? mergeRow(tiles, i) : storeRow(tiles, i))}`)
    }`,
  };
}
