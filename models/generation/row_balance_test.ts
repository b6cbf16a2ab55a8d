import assert from "node:assert/strict";
import { shareOfRows } from "../../kernels/ops/decode_layer/spec.ts";
import { stream } from "../../kernels/testing.ts";
import { balanceRows } from "./row_threads.ts";

interface Row {
  prompt: { begin: number; end: number };
  position: number;
}

/** Groups of `n` rows with prompts of 40 to 140 tokens and answers of up to 256 tokens. */
function rowsOf(groups: number, n: number): Row[] {
  const random = stream(`order of ${groups} x ${n}`);
  return Array.from({ length: groups }, () => {
    const prompt = { begin: 16, end: 56 + random.below(100) };
    return Array.from({ length: n }, () => ({ prompt, position: 1 + random.below(256) }));
  }).flat();
}

function keysOfShares(rows: readonly Row[], threads: number): number[] {
  const share = shareOfRows(rows.length, threads), keys: number[] = [];
  rows.forEach(({ prompt: { begin, end }, position }, row) => {
    const at = Math.floor(row / share);
    keys[at] = (keys[at] ?? 0) + end - begin + position;
  });
  return keys;
}

Deno.test("threads get about the same number of keys", () => {
  for (
    const [groups, n, threads, maxRatio] of [[36, 1, 2, 1.02], [35, 1, 2, 1.1], [72, 1, 4, 1.05], [
      8,
      8,
      2,
      1.1,
    ]] as const
  ) {
    const rows = balanceRows(rowsOf(groups, n), threads), keys = keysOfShares(rows, threads);
    assert.equal(keys.length, threads);
    assert.ok(Math.max(...keys) <= maxRatio * Math.min(...keys), `${groups} x ${n}: ${keys}`);
  }
});

Deno.test("all rows stay, groups stay together, and one thread keeps the order", () => {
  for (
    const [groups, n, threads] of [[36, 1, 2], [5, 7, 2], [3, 1, 4], [1, 1, 2], [0, 1, 2], [
      2,
      90,
      3,
    ]]
  ) {
    const rows = rowsOf(groups!, n!), ordered = balanceRows(rows, threads!);
    assert.deepEqual(new Set(ordered), new Set(rows));
    assert.equal(ordered.length, rows.length);
    const prompts = ordered.map(({ prompt }) => prompt);
    const changes = prompts.filter((prompt, i) => i > 0 && prompt !== prompts[i - 1]).length;
    // When a share is full, one group may be split.
    assert.ok(changes <= Math.max(0, groups! - 1) + threads! * 2, `${changes} changes`);
    assert.deepEqual(balanceRows(rows, 1), rows);
  }
});
