/**
 * The order of a step's rows where threads take equal runs of them through whole layers (kernels/decode_layer): the
 * runs should have about equally many keys to attend to, or all threads wait for the one with the long answers. What
 * a row computes does not depend on its place. Left out: what a run saves whose rows share a prompt.
 */
import { shareOfRows } from "../../kernels/ops/decode_layer/spec.ts";
import type { RowRange } from "./row_allocator.ts";

/** What decides where a row goes. */
interface OrderedRow {
  /** Rows of one group have the same object. */
  prompt: RowRange;
  /** Tokens that it has so far. */
  position: number;
}

/** The rows in an order in which each thread has about equally many keys; groups are cut only where a run is full. */
export function balanceRows<Row extends OrderedRow>(
  rows: readonly Row[],
  threads: number,
): readonly Row[] {
  const share = shareOfRows(rows.length, threads);
  if (threads === 1 || share === rows.length) return rows;
  const runs = Array.from({ length: Math.ceil(rows.length / share) }, (_, run) => ({
    ...{ rows: [] as Row[], keys: 0, rounds: 0 },
    room: Math.min(share, rows.length - run * share),
  }));
  // In turns, so that runs have as many rows as others, and in each turn the longest to the run that has least.
  for (const group of longestFirst(rows)) {
    for (let next = 0; next < group.length;) {
      const run = runs.filter(({ room }) => room > 0).reduce((a, b) =>
        b.rounds < a.rounds || (b.rounds === a.rounds && b.keys < a.keys) ? b : a
      );
      const taken = group.slice(next, next + run.room);
      run.rows.push(...taken);
      run.room -= taken.length;
      run.keys += keysOf(taken);
      run.rounds++;
      next += taken.length;
    }
  }
  return runs.flatMap(({ rows }) => rows);
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
