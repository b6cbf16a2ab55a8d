/**
 * WGSL of the gradient of attention. Scores are computed again. The kernels are:
 *
 *   delta   δ = dout·out of each row and head, stored beside its lse.
 *   limits  For each key the end of the rows that may attend to it: its segment's groupEnd, or the
 *           end of a window. For each tile of keys the largest of these limits. Only rows of
 *           [j, limit) attend to key j; without a window all of them do.
 *   queries dq, over the same tiles of queries and keys as in the forward.
 *   keys    dk and dv, over tiles of keys. A tile needs all queries from its first key to its
 *           limit. Because all branches attend to a prompt's keys, these queries are divided into
 *           parts with separate sums.
 *   sum     Adds the sums of the parts in order.
 */
import { entryPoint } from "../common/wgsl/entry.ts";
import type { KernelSpec } from "../common/wgsl/kernel.ts";
import { EXP, SOFT_CAP } from "../common/wgsl/math.ts";
import { GROUP, reduceSum } from "../common/wgsl/reduce.ts";
import {
  ATTENDED,
  attends,
  type AttentionOptions,
  boundRow,
  capParam,
  KEY_PART_PARAMS,
  keyRange,
  QUERY_FUNCTIONS,
  QUERY_PARAMS,
  queryTile,
  segmentColumn,
} from "./forward.wgsl.ts";
import { cappedScore } from "./softmax.wgsl.ts";
import { headType, headVectors, type Product, Tiles } from "./tiles.wgsl.ts";

/** Number of invocations that share a row and head in `delta`. */
const DELTA_LANES = 8;
const DELTA_GROUP = 256;
/** Number of pairs of a row and a head in a workgroup of `delta`. */
export const DELTA_ROWS = DELTA_GROUP / DELTA_LANES;

/** Minimum number of rows in a part of the queries of a tile of keys. */
export const MIN_PART_ROWS = 128;

const SCORES: readonly Product[] = [
  { rows: "queries", columns: "keys", sums: "dot" },
  { rows: "douts", columns: "values", sums: "slope" },
];

const EXP4 = `${EXP}
fn exp4(x: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(exp_f32(x.x), exp_f32(x.y), exp_f32(x.z), exp_f32(x.w));
}`;

/** WGSL: a factor of dS. */
const capSlope = (capped: boolean, i: number) => capped ? ` * cap_slope4(score${i})` : "";

export function deltaSpec({ headDim }: { headDim: number }): KernelSpec {
  const width = headDim % 4 === 0 ? 4 : 2, vectors = headDim / width;
  return {
    name: "attention_backward.delta",
    reads: `${headType(headDim)} douts outputs, f32 lses`,
    writes: "vec2<f32> stats",
    params: "u32 n",
    code: `${reduceSum(DELTA_LANES, DELTA_GROUP)}
${entryPoint(DELTA_GROUP)}
  let at = (group.x + group.y * groups.x) * ${DELTA_ROWS}u + local / ${DELTA_LANES}u;
  let lane = local % ${DELTA_LANES}u;
  var sum = 0.0;
  if (at < p.n) {
    for (var c = lane; c < ${vectors}u; c += ${DELTA_LANES}u) {
      sum += dot(douts[at * ${vectors}u + c], outputs[at * ${vectors}u + c]);
    }
  }
  let delta = reduce_sum(local, sum);
  if (at < p.n && lane == 0u) { stats[at] = vec2<f32>(lses[at], delta); }
}`,
  };
}

/** Writes the limits of the keys, and after them those of the tiles of `tileKeys` keys. */
export function limitsSpec({ tileKeys }: { tileKeys: number }): KernelSpec {
  return {
    name: "attention_backward.limits",
    reads: "u32 segments row_segment",
    writes: "u32 limits",
    params: "u32 rows count window",
    code: `var<workgroup> largest: atomic<u32>;
${entryPoint(tileKeys)}
  let number = group.x + group.y * groups.x;
  if (number >= p.count) { return; }
  let row = number * ${tileKeys}u + local;
  if (row < p.rows) {
    let s = row_segment[row];
    var limit = ${segmentColumn("s", "groupEnd")};
    // A window shortens the limit only where no branches attend to the key: their rows come later.
    if (limit == ${segmentColumn("s", "end")}) { limit = row + min(limit - row, p.window); }
    limits[row] = limit;
    atomicMax(&largest, limit);
  }
  workgroupBarrier();
  if (local == 0u) { limits[p.rows + number] = atomicLoad(&largest); }
}`,
  };
}

export function queryGradientSpec(
  { headDim, sizes, keyParts = false, capped = false }: AttentionOptions,
): KernelSpec {
  const tiles = new Tiles(sizes, headDim, 2), type = headType(headDim);
  const keyRow = (n: string) =>
    `select(NONE, ${boundRow(`(begin + ${n})`, keyParts)} * p.kv_heads + head, begin + ${n} < end)`;
  const sum = (i: number, j: number, c: string) =>
    `p.scale * sum${i}_${j}${
      keyParts ? ` + select(vec4<f32>(), load_dqueries(at, ${c}), p.key_begin > 0u)` : ""
    }`;
  const read = ["queries", "keys", "values", "douts", ...(keyParts ? ["dqueries"] : [])];
  return {
    name: `attention_backward.queries${keyParts ? "_key_part" : ""}`,
    reads: `${type} queries keys values douts, vec2<f32> stats, u32 segments row_segment`,
    writes: `${type} dqueries`,
    params: `${QUERY_PARAMS}${keyParts ? `, ${KEY_PART_PARAMS}` : ""}, ${capParam(capped)}`,
    code: `${tiles.declarations(read)}
${tiles.storing("dqueries")}
${EXP4}${capped ? SOFT_CAP : ""}
${QUERY_FUNCTIONS}
${
      tiles.main(`${queryTile(tiles, keyParts)}
  ${
        tiles.eachRow((i) =>
          `var stat${i} = vec2<f32>();
  if (query${i} < queries_end) { stat${i} = stats[query_number(query${i}, queries_end, head)]; }`
        )
      }
  ${tiles.declareMix("sum")}
  for (var t = 0u; t < key_tiles; t++) {
    ${keyRange(tiles)}
    ${tiles.matrixRowsOfColumns(keyRow)}
    ${tiles.scores(SCORES)}
    let key4 = vec4<u32>(begin + 4u * x) + vec4<u32>(0u, 1u, 2u, 3u);
    ${
        tiles.eachRow((i) =>
          `let score${i} = ${cappedScore(capped, i)};
    let weight${i} = select(vec4<f32>(), exp4(score${i} - stat${i}.x), ${attends(i)});
    let ds${i} = weight${i} * (slope${i} - stat${i}.y)${capSlope(capped, i)};`
        )
      }
    ${tiles.storeWeights("ds")}
    ${tiles.mix("sum", "keys", "end - begin", keyRow)}
  }
  ${
        tiles.eachRow((i) =>
          `if (query${i} < queries_end) {
    let at = query_number(query${i}, queries_end, head);
    ${
            Array.from({ length: tiles.mixed }, (_, j) => {
              const c = `x + ${j * sizes.across}u`;
              return `store_dqueries(at, ${c}, ${sum(i, j, c)});`;
            }).join("\n")
          }
  }`
        )
      }`)
    }`,
  };
}

/** WGSL: `in_range`, whether a key is in one of the two ranges that a row attends to. */
const IN_WINDOW = `
fn in_range(key: u32, range: vec4<u32>) -> bool {
  return (key >= range.x && key < range.y) || (key >= range.z && key < range.w);
}`;

/** WGSL: `part_rows`, the number of rows in each part of `range` rows. */
const PARTS = `fn part_rows(range: u32) -> u32 {
  return max(${MIN_PART_ROWS}u, (range + p.parts - 1u) / p.parts);
}`;

/** The bound rows of queries, and of keys. */
const ROW_PART_PARAMS = "u32 row_end key_begin";

/**
 * WGSL: `rows_begin` and `rows_end`, the rows that may attend to a tile of keys, of the bound ones;
 * and whether their sums are added to those of earlier rows. Both bindings begin at a tile, and the
 * first key of a tile attends to itself. So the binding with this row is the first for the tile.
 */
const boundRows = (tileKeys: number) =>
  `let first = key_tile * ${tileKeys}u;
  let rows_begin = max(first, p.row_begin);
  let rows_end = min(limits[p.rows + key_tile], p.row_end);
  if (rows_begin >= rows_end) { return; }
  let adds = p.row_begin > first;`;

/**
 * WGSL: which tile of keys a workgroup does, and the part of the queries for it.
 * @param rowParts see {@link KeyGradientOptions}
 */
function keyPart({ m }: Pick<Tiles, "m">, rowParts: boolean): string {
  const tile = `number / p.parts / p.kv_heads${rowParts ? ` + p.key_begin / ${m}u` : ""}`;
  const rows = rowParts ? boundRows(m) : `let first = key_tile * ${m}u;
  let last_limit = limits[p.rows + key_tile];`;
  const [begin, end] = rowParts ? ["rows_begin", "rows_end"] : ["first", "last_limit"];
  return `let piece = number % p.parts;
  let head = number / p.parts % p.kv_heads;
  let key_tile = ${tile};
  ${rows}
  let length = part_rows(${end} - ${begin});
  let from_row = ${begin} + piece * length;
  if (from_row >= ${end}) { return; }
  let queries_end = min(from_row + length, ${end}) * p.per_kv;`;
}

export interface KeyGradientOptions extends Omit<AttentionOptions, "keyParts"> {
  windowed?: boolean;
  /** The bindings have a part of the queries and a part of the keys. */
  rowParts?: boolean;
}

/** One workgroup for each part of the queries, each tile of keys and each key head. */
export function keyGradientSpec(
  { headDim, sizes, windowed = false, rowParts = false, capped = false }: KeyGradientOptions,
): KernelSpec {
  const tiles = new Tiles(sizes, headDim, 2), type = headType(headDim), { n } = tiles;
  const queryRow = (q: string) =>
    `select(NONE, query_row(begin + ${q}, head), begin + ${q} < queries_end)`;
  const products = SCORES.map(({ rows, columns, sums }) => ({
    rows: columns,
    columns: rows,
    sums,
  }));
  const queryBegin = rowParts ? " - p.row_begin" : "", keyBegin = rowParts ? " - p.key_begin" : "";
  const adds = (name: string, c: string) =>
    rowParts ? ` + select(vec4<f32>(), load_${name}(at, ${c}), adds && p.parts == 1u)` : "";
  const read = ["queries", "keys", "values", "douts", ...(rowParts ? ["dkeys", "dvalues"] : [])];
  const inside = (row: string) => rowParts ? `(${row})` : row;
  return {
    name: `attention_backward.keys${rowParts ? "_row_part" : ""}`,
    reads: `${type} queries keys values douts, vec2<f32> stats, u32 limits${
      windowed ? " segments row_segment" : ""
    }`,
    writes: `${type} dkeys dvalues`,
    params: `u32 parts, ${QUERY_PARAMS}${rowParts ? `, ${ROW_PART_PARAMS}` : ""}, ${
      capParam(capped)
    }`,
    code: `${tiles.declarations(read)}
${tiles.storing("dkeys")}
${tiles.storing("dvalues")}
${EXP4}${capped ? SOFT_CAP : ""}
${PARTS}
fn query_row(query: u32, head: u32) -> u32 {
  return ${inside(`query / p.per_kv${queryBegin}`)} * p.heads + head * p.per_kv + query % p.per_kv;
}
fn limit_of(key: u32) -> u32 {
  if (key >= p.rows) { return 0u; }
  return limits[key];
}
fn key_number(key: u32, head: u32) -> u32 {
  return select(NONE, ${inside(`key${keyBegin}`)} * p.kv_heads + head, key < p.rows);
}
${windowed ? ATTENDED + IN_WINDOW : ""}
${
      tiles.main(`${keyPart(tiles, rowParts)}
  ${tiles.matrixRowsOfRows((r) => `key_number(first + ${r}, head)`)}
  ${
        tiles.eachRow((i) =>
          `let key${i} = first + ${tiles.tileRow(i)};
  let limit${i} = limit_of(key${i});`
        )
      }
  ${tiles.declareMix("dk")}
  ${tiles.declareMix("dv")}
  for (var begin = from_row * p.per_kv; begin < queries_end; begin += ${n}u) {
    ${tiles.matrixRowsOfColumns(queryRow)}
    ${tiles.scores(products)}
    let query4 = vec4<u32>(begin + 4u * x) + vec4<u32>(0u, 1u, 2u, 3u);
    let inside = query4 < vec4<u32>(queries_end);
    let row4 = query4 / p.per_kv;
    ${
        ["x", "y", "z", "w"].map((c) =>
          `var stat_${c} = vec2<f32>();
    if (inside.${c}) { stat_${c} = stats[query_row(query4.${c}, head)]; }`
        ).join("\n")
      }
    let lse4 = vec4<f32>(stat_x.x, stat_y.x, stat_z.x, stat_w.x);
    let delta4 = vec4<f32>(stat_x.y, stat_y.y, stat_z.y, stat_w.y);
    ${
        windowed
          ? ["x", "y", "z", "w"].map((c) => `let range_${c} = attended(row4.${c}, inside.${c});`)
            .join("\n")
          : ""
      }
    ${
        tiles.eachRow((i) =>
          `let attended${i} = inside & (row4 >= vec4<u32>(key${i})) & (row4 < vec4<u32>(limit${i}));
    let score${i} = ${cappedScore(capped, i)};
    let weight${i} = select(vec4<f32>(), exp4(score${i} - lse4), ${
            windowed
              ? `attended${i} & vec4<bool>(${
                ["x", "y", "z", "w"].map((c) => `in_range(key${i}, range_${c})`).join(", ")
              })`
              : `attended${i}`
          });
    let ds${i} = weight${i} * (slope${i} - delta4)${capSlope(capped, i)};`
        )
      }
    ${tiles.storeWeights("weight")}
    ${tiles.mix("dv", "douts", "queries_end - begin", queryRow)}
    ${tiles.storeWeights("ds")}
    ${tiles.mix("dk", "queries", "queries_end - begin", queryRow)}
  }
  let part_at = piece * p.rows * p.kv_heads;
  ${
        tiles.eachRow((i) =>
          `if (key${i} < p.rows) {
    let at = part_at + ${inside(`key${i}${keyBegin}`)} * p.kv_heads + head;
    ${
            Array.from({ length: tiles.mixed }, (_, j) => {
              const c = `x + ${j * sizes.across}u`;
              return `store_dkeys(at, ${c}, p.scale * dk${i}_${j}${adds("dkeys", c)});
    store_dvalues(at, ${c}, dv${i}_${j}${adds("dvalues", c)});`;
            }).join("\n")
          }
  }`
        )
      }`)
    }`,
  };
}

/**
 * Adds the sums of the parts: one invocation for each vector of dk and dv. Each of these fits one
 * binding.
 */
export function sumSpec(
  { headDim, tileKeys, rowParts = false }: {
    headDim: number;
    tileKeys: number;
    rowParts?: boolean;
  },
): KernelSpec {
  const type = headType(headDim);
  const vectors = headDim % 4 === 0 ? headVectors(headDim) : headDim / 2;
  return {
    name: `attention_backward.sum${rowParts ? "_row_part" : ""}`,
    reads: `${type} dkey_parts dvalue_parts, u32 limits`,
    writes: `${type} dkeys dvalues`,
    params: `u32 n rows kv_heads parts${rowParts ? " row_begin row_end" : ""}`,
    code: `${PARTS}
${entryPoint(GROUP)}
  let at = (group.x + group.y * groups.x) * ${GROUP}u + local;
  if (at >= p.n) { return; }
  let key_tile = at / (p.kv_heads * ${vectors}u) / ${tileKeys}u;
  ${
      rowParts
        ? `${boundRows(tileKeys)}
  let range = rows_end - rows_begin;`
        : `let range = limits[p.rows + key_tile] - key_tile * ${tileKeys}u;`
    }
  let length = part_rows(range);
  var dk = dkey_parts[at];
  var dv = dvalue_parts[at];
  for (var from_row = length; from_row < range; from_row += length) {
    let part = from_row / length * p.n + at;
    dk += dkey_parts[part];
    dv += dvalue_parts[part];
  }${
      rowParts
        ? `
  if (adds) {
    dk += dkeys[at];
    dv += dvalues[at];
  }`
        : ""
    }
  dkeys[at] = dk;
  dvalues[at] = dv;
}`,
  };
}
