/**
 * WGSL of attention while decoding: partial softmaxes over pieces of the keys, and their merge.
 *
 *   prefix  One workgroup for each tile of queries, each key head and each piece of the prompts'
 *           keys. Queries are pairs of a branch and a query head, branch by branch. Neighbouring
 *           branches with the same prefix form a run, whose keys are read once for all of them.
 *   branch  One workgroup for each branch, each key head and each piece of the branch's keys.
 *   merge   Merges the pieces in order: peak = max_z peak_z, total = Σ_z e^(peak_z − peak)·total_z,
 *           and the mixes like the totals.
 *
 * A piece without keys has the total 0 and no mix. The host chooses the number of pieces. Their
 * length is computed here, because the host does not read the branch table.
 */
import {
  softmaxDeclarations,
  softmaxEnd,
  softmaxStart,
  softmaxTile,
} from "../attention/softmax.wgsl.ts";
import { capParam } from "../attention/forward.wgsl.ts";
import { headType, rowOf, Tiles, type TileSizes } from "../attention/tiles.wgsl.ts";
import { entryPoint } from "../common/wgsl/entry.ts";
import type { KernelSpec } from "../common/wgsl/kernel.ts";
import { EXP } from "../common/wgsl/math.ts";
import { GROUP } from "../common/wgsl/reduce.ts";
import { BRANCH } from "./spec.ts";

export interface PartialOptions {
  headDim: number;
  sizes: TileSizes;
  /** The scores have a soft cap. */
  capped: boolean;
}

/** Minimum number of keys in a piece. */
export const MIN_PIECE_KEYS = 64;

/**
 * Each range has `pieces`, of which the first has the number `first_piece` among all; the keys and
 * values from `bound_begin` to `bound_end` are bound, in rows, or in slots of `max_new` rows.
 */
const PARAMS = "u32 count branch_count heads kv_heads per_kv pieces first_piece, " +
  "u32 bound_begin bound_end, f32 scale";

/** WGSL: a column of the branch table. */
const branchColumn = (branch: string, name: keyof typeof BRANCH) =>
  `branches[(${branch}) * ${BRANCH.columns}u + ${BRANCH[name]}u]`;

/** WGSL: `piece_length`, the number of keys in each piece of `range` keys. */
const pieceLength = ({ n }: Tiles) => `
fn piece_length(range: u32) -> u32 {
  let even = (range + p.pieces - 1u) / p.pieces;
  return max(${MIN_PIECE_KEYS}u, (even + ${n - 1}u) / ${n}u * ${n}u);
}`;

/** WGSL: stores peak, total and mix of row i under the index `at<i>`, unless that is NONE. */
function storePartial(tiles: Tiles): string {
  const { each, across } = tiles.sizes;
  return `${softmaxEnd(tiles)}
  let rows = p.branch_count * p.heads;
  let piece_at = (p.first_piece + piece) * rows;
  ${
    tiles.eachRow((i) =>
      `if (at${i} != NONE) {
    let sum = ${rowOf("total", each, i)};
    if (x == 0u) { sums[piece_at + at${i}] = vec2<f32>(${rowOf("peak", each, i)}, sum); }
    if (sum > 0.0) {
      ${
        Array.from({ length: tiles.mixed }, (_, j) =>
          `store_mixes(piece_at + at${i}, x + ${j * across}u, out${i}_${j});`).join("\n")
      }
    }
  }`
    )
  }`;
}

function partialSpec(
  name: string,
  { headDim, sizes, capped }: PartialOptions,
  params: string,
  body: (tiles: Tiles) => string,
): KernelSpec {
  const tiles = new Tiles(sizes, headDim, 1), type = headType(headDim);
  return {
    name,
    reads: `${type} queries keys values, u32 branches`,
    writes: `${type} mixes, vec2<f32> sums`,
    params: `${PARAMS}, ${params}, ${capParam(capped)}`,
    code: `${tiles.declarations(["queries", "keys", "values"])}
${tiles.storing("mixes")}
${softmaxDeclarations(tiles, capped)}
${pieceLength(tiles)}
${
      tiles.main(`let piece = number % p.pieces;
  let head = number / p.pieces % p.kv_heads;
  let unit = number / p.pieces / p.kv_heads;
  ${body(tiles)}
  ${storePartial(tiles)}`)
    }`,
  };
}

const BUFFERS = { queries: "queries", keys: "keys", values: "values" };

export function prefixSpec(options: PartialOptions): KernelSpec {
  const body = (tiles: Tiles) => {
    const { m, n } = tiles;
    const queryRow = (r: string) => `query_number(first + ${r}, queries_end, head)`;
    return `let first = unit * ${m}u;
  let queries_end = min(first + ${m}u, p.branch_count * p.per_kv);
  let branches_end = (queries_end - 1u) / p.per_kv + 1u;
  ${tiles.matrixRowsOfRows(queryRow)}
  ${
      tiles.eachRow((i) =>
        `let at${i} = ${queryRow(tiles.tileRow(i))};
  let branch${i} = (first + ${tiles.tileRow(i)}) / p.per_kv;`
      )
    }
  ${softmaxStart(tiles)}
  var branch = first / p.per_kv;
  while (branch < branches_end) {
    let prefix_begin = ${branchColumn("branch", "prefixBegin")};
    let prefix_end = ${branchColumn("branch", "prefixEnd")};
    var next = branch + 1u;
    while (next < branches_end) {
      let other = ${branchColumn("next", "prefixBegin")} != prefix_begin ||
        ${branchColumn("next", "prefixEnd")} != prefix_end;
      if (other) { break; }
      next++;
    }
    let range_begin = max(prefix_begin, p.bound_begin);
    let range_end = max(range_begin, min(prefix_end, p.bound_end));
    let length = piece_length(range_end - range_begin);
    let piece_begin = range_begin + piece * length;
    let end = min(piece_begin + length, range_end);
    ${
      tiles.eachRow((i) =>
        `let end${i} = select(0u, end, branch${i} >= branch && branch${i} < next);`
      )
    }
    for (var begin = piece_begin; begin < end; begin += ${n}u) {
      ${
      softmaxTile(tiles, {
        ...BUFFERS,
        allowed: (i) => `key4 < vec4<u32>(end${i})`,
        capped: options.capped,
        matrixRow: (key) => `(${key} - p.bound_begin) * p.kv_heads + head`,
      })
    }
    }
    branch = next;
  }`;
  };
  const spec = partialSpec("attention_decode.prefix", options, "", body);
  return {
    ...spec,
    code: `fn query_number(query: u32, end: u32, head: u32) -> u32 {
  return select(NONE, query / p.per_kv * p.heads + head * p.per_kv + query % p.per_kv, query < end);
}
${spec.code}`,
  };
}

export function branchSpec(options: PartialOptions): KernelSpec {
  const body = (tiles: Tiles) => {
    const { m, n } = tiles;
    const queryRow = (r: string) => `select(NONE, first_query + ${r}, first + ${r} < p.per_kv)`;
    return `let head_tiles = (p.per_kv + ${m - 1}u) / ${m}u;
  let branch = unit / head_tiles;
  let slot = ${branchColumn("branch", "slot")};
  if (slot < p.bound_begin || slot >= p.bound_end) { return; }
  let first = unit % head_tiles * ${m}u;
  let first_query = branch * p.heads + head * p.per_kv + first;
  let length = ${branchColumn("branch", "length")};
  let visible = min(length, p.window);
  let cache_row = (slot - p.bound_begin) * p.max_new;
  ${tiles.matrixRowsOfRows(queryRow)}
  ${tiles.eachRow((i) => `let at${i} = ${queryRow(tiles.tileRow(i))};`)}
  ${softmaxStart(tiles)}
  let piece_begin = length - visible + piece * piece_length(visible);
  let end = min(piece_begin + piece_length(visible), length);
  for (var begin = piece_begin; begin < end; begin += ${n}u) {
    ${
      softmaxTile(tiles, {
        ...BUFFERS,
        allowed: () => "key4 < vec4<u32>(end)",
        capped: options.capped,
        matrixRow: (key) => `(cache_row + ${key}) * p.kv_heads + head`,
      })
    }
  }`;
  };
  return partialSpec("attention_decode.branch", options, "u32 max_new window", body);
}

/**
 * One invocation for each vector of the output. The pieces of the branch's keys come first; at
 * least one of them has keys.
 */
export function mergeSpec(
  { headDim, sinks = false }: { headDim: number; sinks?: boolean },
): KernelSpec {
  const type = headType(headDim), vectors = headDim / (headDim % 4 === 0 ? 4 : 2);
  const findPeak = (kind: string) =>
    `for (var z = 0u; z < p.${kind}_pieces; z++) ` +
    `{ peak = max(peak, ${kind}_sums[z * p.rows + row].x); }`;
  const addMixes = (kind: string) =>
    `for (var z = 0u; z < p.${kind}_pieces; z++) {
    let part = ${kind}_sums[z * p.rows + row];
    if (part.y > 0.0) {
      let share = exp_f32(part.x - peak);
      total += share * part.y;
      mix += share * ${kind}_mixes[z * p.n + at];
    }
  }`;
  return {
    name: "attention_decode.merge",
    reads: `${type} branch_mixes prefix_mixes, vec2<f32> branch_sums prefix_sums${
      sinks ? ", f32 sinks" : ""
    }`,
    writes: `${type} outputs`,
    params: "u32 n rows heads branch_pieces prefix_pieces",
    code: `${EXP}
${entryPoint(GROUP)}
  let at = (group.x + group.y * groups.x) * ${GROUP}u + local;
  if (at >= p.n) { return; }
  let row = at / ${vectors}u;
  var peak = ${sinks ? "sinks[row % p.heads]" : "-1e30"};
  ${findPeak("branch")}
  ${findPeak("prefix")}
  var total = ${sinks ? "exp_f32(sinks[row % p.heads] - peak)" : "0.0"};
  var mix = ${type}();
  ${addMixes("branch")}
  ${addMixes("prefix")}
  outputs[at] = mix / total;
}`,
  };
}
