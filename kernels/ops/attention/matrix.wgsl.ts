/**
 * WGSL of attention on matrix units: the same steps as forward.wgsl.ts and backward.wgsl.ts, over
 * the tiles of matrix_tiles.wgsl.ts. An invocation has one row of a tile, or shares it.
 */
import type { KernelSpec } from "../common/wgsl/kernel.ts";
import { EXP, LOG } from "../common/wgsl/math.ts";
import { IN_WINDOW, keyPart, PARTS } from "./backward.wgsl.ts";
import { ATTENDED, keyRange, QUERY_PARAMS, tileOfQueries } from "./forward.wgsl.ts";
import { type MatrixHeads, MatrixTiles } from "./matrix_tiles.wgsl.ts";

const ENABLE = ["f16", "wgpu_cooperative_matrix"];

/**
 * Packed rows of a key head's queries and of its keys; the first packed row of the keys, of the
 * values, and of the outputs' gradients; the elements of the high parts, after which the low parts
 * are.
 */
const MATRIX_PARAMS =
  `${QUERY_PARAMS}, u32 query_rows key_rows keys_from values_from douts_from low`;

/** WGSL: where queries and keys are in their matrices, packed and not packed. */
const PLACES = `
fn query_row(query: u32, head: u32) -> u32 {
  return query / p.per_kv * p.heads + head * p.per_kv + query % p.per_kv;
}
fn query_at(query: u32, head: u32) -> u32 { return head * p.query_rows + query; }
fn key_at(key: u32, head: u32) -> u32 { return head * p.key_rows + key; }`;

/** The query of an invocation's row, and what it attends to. */
const QUERY_OF_ROW = `let query = first + row;
  let exists = query < queries_end;
  let range = attended(query / p.per_kv, exists);
  let query_scale = scales[query_at(query, head)];`;

/** WGSL, for each column: `allowed`, whether the row attends to its key; and the key's factor. */
const keysOfRow = (tiles: MatrixTiles) =>
  tiles.eachColumn((i) =>
    `let key${i} = begin + ${tiles.columnOf(i)};
    let allowed${i} = key${i} < end && ((key${i} >= range.x && key${i} < range.y) ||
      (key${i} >= range.z && key${i} < range.w));
    let key_scale${i} = scales[p.keys_from + key_at(key${i}, head)];`
  );

export function matrixAttentionSpec(heads: MatrixHeads): KernelSpec {
  const tiles = new MatrixTiles(heads, 1), { headDim } = heads;
  const columns = [...Array(tiles.each).keys()];
  return {
    name: `attention.matrix${heads.edge}`,
    enable: ENABLE,
    reads: "vec4<f16> halves, f32 scales, u32 segments row_segment",
    writes: "f32 outputs lses",
    params: MATRIX_PARAMS,
    code: `${tiles.declarations}
${EXP}
${LOG}
${PLACES}
${ATTENDED}
${
      tiles.main(`${tileOfQueries(tiles)}
  ${QUERY_OF_ROW}
  var peak = -1e30;
  var total = 0.0;
  ${tiles.declareMix("out")}
  for (var t = 0u; t < key_tiles; t++) {
    ${keyRange(tiles)}
    ${
        tiles.scores([{
          rows: "query_at(first, head)",
          columns: "p.keys_from + key_at(begin, head)",
        }])
      }
    ${keysOfRow(tiles)}
    ${
        tiles.eachColumn((i) =>
          `let score${i} = select(-1e30,
      p.scale * (${tiles.score(0, i)} * query_scale * key_scale${i}), allowed${i});`
        )
      }
    ${
        tiles.largestOfRow(
          "highest",
          columns.map((i) => `score${i}`).reduce((a, b) => `max(${a}, ${b})`),
        )
      }
    let new_peak = max(peak, highest);
    let shrink = exp_f32(peak - new_peak);
    peak = new_peak;
    ${
        tiles.eachColumn((i) =>
          `let weight${i} = select(0.0, exp_f32(score${i} - peak), allowed${i});
    let scaled${i} = select(0.0, weight${i} * scales[p.values_from + key_at(key${i}, head)],
      allowed${i});`
        )
      }
    total = total * shrink + (${columns.map((i) => `weight${i}`).join(" + ")});
    ${
        tiles.mix(
          "out",
          "p.values_from + key_at(begin, head)",
          (i) => `scaled${i}`,
          (sum) => `${sum} * shrink`,
        )
      }
  }
  ${tiles.sumOfRow("sum", "total")}
  if (!exists) { return; }
  let at = query_row(query, head);
  ${store(tiles, headDim, (i, to) => `outputs[at * ${headDim}u + ${to}] = out${i} / sum;`)}
  if (lane == 0u) { lses[at] = peak + log_f32(sum); }`)
    }`,
  };
}

export function matrixQueryGradientSpec(heads: MatrixHeads): KernelSpec {
  const tiles = new MatrixTiles(heads, 2), { headDim } = heads;
  return {
    name: `attention_backward.queries.matrix${heads.edge}`,
    enable: ENABLE,
    reads: "vec4<f16> halves, f32 scales, vec2<f32> stats, u32 segments row_segment",
    writes: "f32 dqueries",
    params: MATRIX_PARAMS,
    code: `${tiles.declarations}
${EXP}
${PLACES}
${ATTENDED}
${
      tiles.main(`${tileOfQueries(tiles)}
  ${QUERY_OF_ROW}
  let dout_scale = scales[p.douts_from + query_at(query, head)];
  var stat = vec2<f32>();
  if (exists) { stat = stats[query_row(query, head)]; }
  ${tiles.declareMix("sum")}
  for (var t = 0u; t < key_tiles; t++) {
    ${keyRange(tiles)}
    ${
        tiles.scores([
          { rows: "query_at(first, head)", columns: "p.keys_from + key_at(begin, head)" },
          {
            rows: "p.douts_from + query_at(first, head)",
            columns: "p.values_from + key_at(begin, head)",
          },
        ])
      }
    ${keysOfRow(tiles)}
    ${
        tiles.eachColumn((i) =>
          `let dot${i} = ${tiles.score(0, i)} * query_scale * key_scale${i};
    let slope${i} = ${tiles.score(1, i)} * dout_scale *
      scales[p.values_from + key_at(key${i}, head)];
    let ds${i} = select(0.0, exp_f32(p.scale * dot${i} - stat.x) * (slope${i} - stat.y) *
      key_scale${i}, allowed${i});`
        )
      }
    ${tiles.mix("sum", "p.keys_from + key_at(begin, head)", (i) => `ds${i}`)}
  }
  if (!exists) { return; }
  let at = query_row(query, head) * ${headDim}u;
  ${store(tiles, headDim, (i, to) => `dqueries[at + ${to}] = p.scale * sum${i};`)}`)
    }`,
  };
}

/** One workgroup for each part of the queries, each tile of keys and each key head. */
export function matrixKeyGradientSpec(
  { windowed, ...heads }: MatrixHeads & { windowed: boolean },
): KernelSpec {
  const tiles = new MatrixTiles(heads, 2), { headDim } = heads;
  return {
    name: `attention_backward.keys.matrix${heads.edge}`,
    enable: ENABLE,
    reads: `vec4<f16> halves, f32 scales, vec2<f32> stats, u32 limits${
      windowed ? " segments row_segment" : ""
    }`,
    writes: "f32 dkeys dvalues",
    params: `u32 parts, ${MATRIX_PARAMS}`,
    code: `${tiles.declarations}
${EXP}
${PLACES}
${PARTS}
${windowed ? ATTENDED + IN_WINDOW : ""}
${
      // Matrices are no use after a return that naga cannot see to be the same in all invocations.
      tiles.main(`var has_part = true;
  ${keyPart(tiles, "has_part = false;")}
  let key = first + row;
  let exists = key < p.rows && has_part;
  var limit = 0u;
  if (key < p.rows) { limit = limits[key]; }
  let key_scale = scales[p.keys_from + key_at(key, head)];
  let value_scale = scales[p.values_from + key_at(key, head)];
  ${tiles.declareMix("dk")}
  ${tiles.declareMix("dv")}
  for (var begin = from_row * p.per_kv; begin < queries_end; begin += ${tiles.n}u) {
    ${
        tiles.scores([
          { rows: "p.keys_from + key_at(first, head)", columns: "query_at(begin, head)" },
          {
            rows: "p.values_from + key_at(first, head)",
            columns: "p.douts_from + query_at(begin, head)",
          },
        ])
      }
    ${
        tiles.eachColumn((i) =>
          `let query${i} = begin + ${tiles.columnOf(i)};
    let row${i} = query${i} / p.per_kv;
    var stat${i} = vec2<f32>();
    if (query${i} < queries_end) { stat${i} = stats[query_row(query${i}, head)]; }
    let allowed${i} = query${i} < queries_end && row${i} >= key && row${i} < limit${
            windowed ? ` &&\n      in_range(key, attended(row${i}, query${i} < queries_end))` : ""
          };
    let query_scale${i} = scales[query_at(query${i}, head)];
    let dout_scale${i} = scales[p.douts_from + query_at(query${i}, head)];
    let weight${i} = select(0.0,
      exp_f32(p.scale * (${tiles.score(0, i)} * key_scale * query_scale${i}) - stat${i}.x),
      allowed${i});
    let slope${i} = ${tiles.score(1, i)} * value_scale * dout_scale${i};
    let ds${i} = select(0.0, weight${i} * (slope${i} - stat${i}.y) * query_scale${i}, allowed${i});
    let scaled${i} = select(0.0, weight${i} * dout_scale${i}, allowed${i});`
        )
      }
    ${tiles.mix("dv", "p.douts_from + query_at(begin, head)", (i) => `scaled${i}`)}
    ${tiles.mix("dk", "query_at(begin, head)", (i) => `ds${i}`)}
  }
  if (!exists) { return; }
  let at = (piece * p.rows * p.kv_heads + key * p.kv_heads + head) * ${headDim}u;
  ${
        store(
          tiles,
          headDim,
          (i, to) => `dkeys[at + ${to}] = p.scale * dk${i}; dvalues[at + ${to}] = dv${i};`,
        )
      }`)}`,
  };
}

/** WGSL: `text` for the elements of the head that an invocation has, without the padding. */
function store(
  tiles: MatrixTiles,
  headDim: number,
  text: (i: number, element: string) => string,
): string {
  return tiles.eachMixed((i) => {
    const code = text(i, tiles.elementOf(i));
    return (i + 1) * tiles.lanes <= headDim ? code : `if (${tiles.elementOf(i)} < ${headDim}u) {
    ${code} }`;
  });
}
