import assert from "node:assert/strict";
import { RolloutBuffer } from "./rollout_buffer.ts";
import type { TrainingRow } from "./gradient_accumulation.ts";

const rows = (count: number, old = true): TrainingRow[] =>
  Array.from({ length: count }, (_, i) => ({
    // Adjacent groups may have the same prompt: the number distinguishes them.
    group: 2 ** 40 + Math.floor(i / 3),
    promptId: 2 ** 40 + Math.floor(i / 3),
    branch: i % 3,
    promptIds: i < 6 ? [5, 6, 7] : [8],
    ids: i === 4 ? [] : Array.from({ length: 1 + i % 4 }, (_, t) => 10 * i + t),
    advantage: Math.sin(i) / 3,
    oldLogp: old
      ? Float64Array.from({ length: i === 4 ? 0 : 1 + i % 4 }, (_, t) => -Math.sqrt(i + t + 1))
      : null,
  }));

Deno.test("a batch is decoded exactly, with and without old log-probabilities", async () => {
  for (const old of [true, false]) {
    const buffer = new RolloutBuffer(7, 3, rows(9, old));
    const again = await RolloutBuffer.decode(buffer.encode(), "rollout.safetensors");
    assert.deepEqual(again, buffer);
    assert.deepEqual(again.encode(), buffer.encode());
  }
  const masked = rows(9).map((row) => ({
    ...row,
    mask: row.ids.map((id) => id % 2),
    tokenAdvantages: row.ids.map((id) => Math.cos(id)),
  }));
  const taught = masked.map((row) =>
    row.promptId === 2 ** 40 ? row : { ...row, teacherPromptIds: [9, ...row.promptIds] }
  );
  const hinted = new RolloutBuffer(7, 3, taught);
  assert.deepEqual(await RolloutBuffer.decode(hinted.encode(), "rollout.safetensors"), hinted);
  const buffer = new RolloutBuffer(7, 3, masked);
  assert.deepEqual(await RolloutBuffer.decode(buffer.encode(), "rollout.safetensors"), buffer);
  const empty = new RolloutBuffer(1, 2, []);
  assert.deepEqual(await RolloutBuffer.decode(empty.encode(), ""), empty);
});

Deno.test("slices take all rows in order, in equal shares", () => {
  for (const [count, slices] of [[12, 3], [12, 4], [7, 3], [2, 4], [0, 2]] as const) {
    const buffer = new RolloutBuffer(0, slices, rows(count));
    const parts = Array.from({ length: slices }, (_, i) => buffer.slice(i));
    assert.deepEqual(parts.flat(), buffer.rows);
    const sizes = parts.map((part) => part.length);
    assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1);
  }
});
