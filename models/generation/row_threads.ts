/**
 * How many slots decode best on a device, and whether each of its threads takes its own rows
 * through the layers.
 */
import { coreCacheBytes } from "../../core/machine/caches.ts";
import { weightsFitInCache } from "../network/fused_layers.ts";
import type { Network } from "../network/weights/model_weights.ts";
import { floatBytes } from "../network/workspace.ts";
import { shareOfRows } from "../../kernels/ops/decode_layer/spec.ts";
import type { RowRange } from "./cache/cached_prompt.ts";

/**
 * Rows that a core takes through the layers together, measured: three tiles of the matrix product
 * where its own cache has 1 MB, which their keys and values share with the weights, and more where
 * it is larger. Each row has the same bits with any number of others.
 */
const ROWS_PER_CORE = 18, ROWS_PER_LARGE_CORE = 32;
const LARGE_CACHE = 2 ** 21;

/** Whether each thread of a CPU takes its own rows through the layers. */
function ownsRows({ config, device }: Network): boolean {
  return device.name === "wasm" && weightsFitInCache(config, floatBytes(device));
}

/**
 * The number of branches that a CPU decodes best together. While the layers' weights stay in the
 * caches of the cores, more rows only evict each other's keys and values. Weights that are read
 * from memory in each step are used by as many rows as there are.
 */
export function bestSlots(network: Network): number {
  if (!ownsRows(network)) return Infinity;
  const isLarge = (coreCacheBytes() ?? 0) >= LARGE_CACHE;
  return (isLarge ? ROWS_PER_LARGE_CORE : ROWS_PER_CORE) * network.device.threads;
}

/**
 * Number of threads that take their own rows through the layers; 1 when all threads work on the
 * same rows.
 */
export function rowThreads(network: Network): number {
  return ownsRows(network) ? network.device.threads : 1;
}

// The order of the rows of a decode step for devices whose threads each take a share of the rows
// through whole layers (kernels/ops/decode_layer). The shares should have about the same number of
// keys to attend to; otherwise all threads wait for the one with the longest sequences. What a row
// computes does not depend on its place. Left out: that rows with the same prompt in one share are
// faster.

interface OrderedRow {
  /** Rows with the same prompt have the same object. */
  prompt: RowRange;
  /** Number of tokens that it has so far. */
  position: number;
}

/**
 * Orders rows so that each thread has about the same number of keys. Rows with the same prompt stay
 * together unless a share is full.
 */
export function balanceRows<Row extends OrderedRow>(
  rows: readonly Row[],
  threads: number,
): readonly Row[] {
  const shareRows = shareOfRows(rows.length, threads);
  if (threads === 1 || shareRows === rows.length) return rows;
  const shares = Array.from({ length: Math.ceil(rows.length / shareRows) }, (_, share) => ({
    rows: [] as Row[],
    keys: 0,
    rounds: 0,
    room: Math.min(shareRows, rows.length - share * shareRows),
  }));
  // Each round gives every share one group, so that shares have about the same number of rows. In a
  // round the largest group goes to the share with the fewest keys.
  for (const group of longestFirst(rows)) {
    for (let next = 0; next < group.length;) {
      const share = shares.filter(({ room }) => room > 0).reduce((a, b) =>
        b.rounds < a.rounds || (b.rounds === a.rounds && b.keys < a.keys) ? b : a
      );
      const taken = group.slice(next, next + share.room);
      share.rows.push(...taken);
      share.room -= taken.length;
      share.keys += keysOf(taken);
      share.rounds++;
      next += taken.length;
    }
  }
  return shares.flatMap(({ rows }) => rows);
}

function longestFirst<Row extends OrderedRow>(rows: readonly Row[]): Row[][] {
  const groups = new Map<RowRange, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.prompt);
    if (group === undefined) groups.set(row.prompt, [row]);
    else group.push(row);
  }
  return [...groups.values()]
    .map((group) => ({ group, keys: keysOf(group) }))
    .sort((a, b) => b.keys - a.keys)
    .map(({ group }) => group);
}

function keysOf(rows: readonly OrderedRow[]): number {
  return rows.reduce(
    (sum, { prompt: { begin, end }, position }) => sum + end - begin + position,
    0,
  );
}
