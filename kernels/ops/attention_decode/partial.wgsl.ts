/**
 * WGSL of attention while decoding: partial softmaxes over pieces of the keys, and their merge.
 *
 *   prefix  One workgroup a tile of queries (pairs of a branch and a query head, branch by branch), a key head
 *           and a piece of the prompts' keys. Neighbouring branches with the same prefix are one run: its keys
 *           are read once for all of them.
 *   own     One workgroup a branch, a key head and a piece of the branch's own keys.
 *   merge   Piece by piece in order: peak = max peaks, total = Σ e^(peak_z − peak)·total_z, the mixes likewise.
 *
 * A piece of no keys has the total 0 and no mix. How many pieces there are is the host's choice; how long they are
 * is found out here, because the host does not see the branch table.
 */
import {
  softmaxDeclarations,
  softmaxEnd,
  softmaxStart,
  softmaxTile,
} from "../attention/softmax.wgsl.ts";
import { headType, rowOf, Tiles, type TileSizes } from "../attention/tiles.wgsl.ts";
import type { KernelSpec } from "../common/wgsl/kernel.ts";
import { EXP } from "../common/wgsl/math.ts";
import { BRANCH } from "./spec.ts";

export interface PartialOptions {
  headDim: number;
  sizes: TileSizes;
}

/** Keys of a piece, at least. */
export const PIECE_KEYS = 64;

const PARAMS = {
  count: "u32",
  branch_count: "u32",
  heads: "u32",
  kv_heads: "u32",
  per_kv: "u32",
  /** Pieces of each range, and the number of the first one among all. */
  pieces: "u32",
  first_piece: "u32",
  /** What is bound of the keys and values: rows, or slots of `max_new` rows. */
  bound_begin: "u32",
  bound_end: "u32",
  scale: "f32",
} as const;

const column = (branch: string, name: keyof typeof BRANCH) =>
  `branches[(${branch}) * ${BRANCH.columns}u + ${BRANCH[name]}u]`;

/** Keys in a piece of `range` keys. */
const pieceLength = ({ n }: Tiles) => `
fn piece_length(range: u32) -> u32 {
  let even = (range + p.pieces - 1u) / p.pieces;
  return max(${PIECE_KEYS}u, (even + ${n - 1}u) / ${n}u * ${n}u);
}`;

/** Stores peak, total and mix of row i under `at_i`, NONE where there is no such query. */
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
  { headDim, sizes }: PartialOptions,
  params: Record<string, "u32">,
  body: (tiles: Tiles) => string,
): KernelSpec {
  const tiles = new Tiles(sizes, headDim, 1), type = headType(headDim);
  return {
    name,
    buffers: {
      queries: `read ${type}`,
      keys: `read ${type}`,
      values: `read ${type}`,
      branches: "read u32",
      mixes: `write ${type}`,
      sums: "write vec2<f32>",
    },
    params: { ...PARAMS, ...params },
    code: `${tiles.declarations(["queries", "keys", "values"])}
${tiles.storing("mixes")}
${softmaxDeclarations(tiles)}
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
    const query = (r: string) => `query_number(first + ${r}, queries_end, head)`;
    return `let first = unit * ${m}u;
  let queries_end = min(first + ${m}u, p.branch_count * p.per_kv);
  let branches_end = (queries_end - 1u) / p.per_kv + 1u;
  ${tiles.rowNumbers(query)}
  ${
      tiles.eachRow((i) =>
        `let at${i} = ${query(tiles.row(i))};
  let branch${i} = (first + ${tiles.row(i)}) / p.per_kv;`
      )
    }
  ${softmaxStart(tiles)}
  var branch = first / p.per_kv;
  while (branch < branches_end) {
    let prefix_begin = ${column("branch", "prefixBegin")};
    let prefix_end = ${column("branch", "prefixEnd")};
    var next = branch + 1u;
    while (next < branches_end) {
      let other = ${column("next", "prefixBegin")} != prefix_begin ||
        ${column("next", "prefixEnd")} != prefix_end;
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
        row: (key) => `(${key} - p.bound_begin) * p.kv_heads + head`,
      })
    }
    }
    branch = next;
  }`;
  };
  const spec = partialSpec("attention_decode.prefix", options, {}, body);
  return {
    ...spec,
    code: `fn query_number(query: u32, end: u32, head: u32) -> u32 {
  return select(NONE, query / p.per_kv * p.heads + head * p.per_kv + query % p.per_kv, query < end);
}
${spec.code}`,
  };
}

export function ownSpec(options: PartialOptions): KernelSpec {
  const body = (tiles: Tiles) => {
    const { m, n } = tiles;
    const query = (r: string) => `select(NONE, first_query + ${r}, first + ${r} < p.per_kv)`;
    return `let head_tiles = (p.per_kv + ${m - 1}u) / ${m}u;
  let branch = unit / head_tiles;
  let slot = ${column("branch", "slot")};
  if (slot < p.bound_begin || slot >= p.bound_end) { return; }
  let first = unit % head_tiles * ${m}u;
  let first_query = branch * p.heads + head * p.per_kv + first;
  let length = ${column("branch", "length")};
  let visible = min(length, p.window);
  let cache_row = (slot - p.bound_begin) * p.max_new;
  ${tiles.rowNumbers(query)}
  ${tiles.eachRow((i) => `let at${i} = ${query(tiles.row(i))};`)}
  ${softmaxStart(tiles)}
  let piece_begin = length - visible + piece * piece_length(visible);
  let end = min(piece_begin + piece_length(visible), length);
  for (var begin = piece_begin; begin < end; begin += ${n}u) {
    ${
      softmaxTile(tiles, {
        ...BUFFERS,
        allowed: () => "key4 < vec4<u32>(end)",
        row: (key) => `(cache_row + ${key}) * p.kv_heads + head`,
      })
    }
  }`;
  };
  return partialSpec("attention_decode.own", options, { max_new: "u32", window: "u32" }, body);
}

/** One invocation a vector of the output. The branches' own pieces come first; one of them has keys. */
export function mergeSpec({ headDim }: { headDim: number }): KernelSpec {
  const type = headType(headDim), vectors = headDim / (headDim % 4 === 0 ? 4 : 2);
  const peaks = (kind: string) =>
    `for (var z = 0u; z < p.${kind}_pieces; z++) { peak = max(peak, ${kind}_sums[z * p.rows + row].x); }`;
  const mixes = (kind: string) =>
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
    buffers: {
      own_mixes: `read ${type}`,
      own_sums: "read vec2<f32>",
      prefix_mixes: `read ${type}`,
      prefix_sums: "read vec2<f32>",
      outputs: `write ${type}`,
    },
    params: { n: "u32", rows: "u32", own_pieces: "u32", prefix_pieces: "u32" },
    code: `${EXP}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let at = (group.x + group.y * groups.x) * 256u + local;
  if (at >= p.n) { return; }
  let row = at / ${vectors}u;
  var peak = -1e30;
  ${peaks("own")}
  ${peaks("prefix")}
  var total = 0.0;
  var mix = ${type}();
  ${mixes("own")}
  ${mixes("prefix")}
  outputs[at] = mix / total;
}`,
  };
}
