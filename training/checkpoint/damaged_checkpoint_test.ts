/**
 * Damaged checkpoints: whatever happened to one of its files, a resume reads what was written, or
 * throws an RgxError, or uses the previous checkpoint. tests/faults/ has saves that fail, and
 * states and generation batches that are damaged by chance.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { RgxError } from "../../core/errors.ts";
import { goldenPath } from "../../tests/golden.ts";
import { copyFolder } from "../testing.ts";
import { readCheckpoint } from "./checkpoint_files.ts";
import { findNewestValid } from "./checkpoint_folders.ts";
import { decodeState } from "./run_state.ts";

const WRITTEN = goldenPath("versions/run-1/checkpoint-2");

/** Of the tensors, of the state, of other programs, and the checksums. */
const FILES = [
  "model.safetensors",
  "optimizer.safetensors",
  "rgx_state.json",
  "trainer_state.json",
  "config.json",
  "SHA256SUMS",
];

/** What may happen to a file, of which `bytes` is the content. */
const DAMAGES: Record<string, (path: string, bytes: Uint8Array) => Promise<unknown>> = {
  "a byte is changed": (path, bytes) => {
    bytes[bytes.length >> 1]! ^= 4;
    return Deno.writeFile(path, bytes);
  },
  "its second half is lost": (path, { length }) => Deno.truncate(path, length >> 1),
  "its last line is lost": (path, bytes) =>
    Deno.writeFile(path, bytes.subarray(0, bytes.lastIndexOf(10, -2) + 1)),
  "it is longer": (path) => Deno.writeFile(path, Uint8Array.of(10), { append: true }),
  "it is gone": (path) => Deno.remove(path),
  "a folder is in its place": (path) => Deno.remove(path).then(() => Deno.mkdir(path)),
  "another file is in its place": (path) => Deno.copyFile(`${WRITTEN}/config.json`, path),
};

/** What a resume takes from a checkpoint. */
async function contentOf(folder: string) {
  const { state, weights, optimizer, reference } = await readCheckpoint(
    folder,
    "model.safetensors",
  );
  const values = [];
  for (const file of [weights, optimizer!, reference!]) {
    for (const name of file.tensors.keys()) values.push(await file.bytes(name));
  }
  return { state, values };
}

test.inFolder("whatever happens to a file, a checkpoint is read as it was written, or passed over", async (run) => {
  const folder = `${run}/checkpoint-2`, written = await contentOf(WRITTEN);
  for (const step of [1, 2]) await copyFolder(WRITTEN, `${run}/checkpoint-${step}`);
  let read = 0;
  for (const name of FILES) {
    const path = `${folder}/${name}`, bytes = await Deno.readFile(path);
    for (const [what, damage] of Object.entries(DAMAGES)) {
      await damage(path, bytes.slice());
      const { newest } = await findNewestValid(run);
      const found = await contentOf(folder).catch((error) => error);
      if (found instanceof Error) {
        assert.ok(found instanceof RgxError, `${name}: ${what}: ${found}`);
        assert.ok(found.message.startsWith(folder), found.message);
        assert.equal(newest?.step, 1, `${name}: ${what}`);
      } else {
        assert.deepEqual([newest?.step, found], [2, written], `${name}: ${what}`);
        read++;
      }
      await Deno.remove(path, { recursive: true }).catch(() => {});
      await Deno.writeFile(path, bytes);
    }
  }
  // The configuration in its own place; the list of checksums with an empty line, and without that
  // of the trainer's state.
  assert.equal(read, 3);
});

/** All paths of an object's values, and of those within them. */
const pathsIn = (value: unknown): string[][] =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).flatMap(([key, inner]) => [
      [key],
      ...pathsIn(inner).map((path) => [key, ...path]),
    ]);

Deno.test("a state with any other value is read with valid fields, or refused with a field's name", async () => {
  const written = JSON.parse(await Deno.readTextFile(`${WRITTEN}/rgx_state.json`));
  let refused = 0;
  for (const path of pathsIn(written)) {
    for (const value of [undefined, null, -1, 0.5, "x", [], {}, { a: "b" }]) {
      const json = structuredClone(written), last = path.at(-1)!;
      path.slice(0, -1).reduce((map, key) => map[key], json)[last] = value;
      try {
        const { state } = decodeState(JSON.stringify(json), "rgx_state.json");
        for (const count of [state.step, state.nextPrompt, state.numTokens, state.warmStartStep]) {
          assert.ok(Number.isSafeInteger(count) && count >= 0, `${path} ${value}`);
        }
        assert.equal(typeof state.secondsByPhase, "object");
      } catch (error) {
        assert.ok(error instanceof RgxError, `${path} ${value}: ${error}`);
        assert.match(error.message, /^rgx_state\.json: (format |[\w.]+ is )/);
        refused++;
      }
    }
  }
  assert.ok(refused > 100, `${refused} were refused`);
});

Deno.test("a sum of losses that is not finite is not finite after a resume", async () => {
  const written = JSON.parse(await Deno.readTextFile(`${WRITTEN}/rgx_state.json`));
  written.totals.loss_sum = NaN;
  const { lossSum } = decodeState(JSON.stringify(written), "rgx_state.json").state;
  assert.ok(Number.isNaN(lossSum + 1));
});
