/**
 * Damaged checkpoints: whatever happened to a folder, a resume reads the bytes that were written,
 * or throws an RgxError, or uses the previous checkpoint. tests/faults/ has saves that fail.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "../../core/testing.ts";
import type { FileWriter } from "../../core/atomic_file.ts";
import { SUMS_FILE } from "../../core/checksums.ts";
import { RgxError } from "../../core/errors.ts";
import { encodeSafetensors } from "../../models/formats/safetensors/safetensors_writer.ts";
import { readCheckpoint } from "./checkpoint_files.ts";
import { findNewestValid, saveCheckpoint } from "./checkpoint_folders.ts";
import { RolloutBuffer } from "../step/rollout_buffer.ts";
import { decodeState, encodeState, freshState } from "./run_state.ts";
import { cases } from "../../tests/cases.ts";

const RUNS = { numRuns: cases(500), seed: 4 };
const WEIGHTS = "model.safetensors";

const text = (value: string) => new TextEncoder().encode(value);

const STATE = encodeState({ ...freshState("grpo"), step: 7, entropy: { coef: 0.1, last: 1 } }, {
  version: "0.1.0",
  config: "config",
  metrics_bytes: 120,
  epoch: 0.5,
  rng: { seed: 3, counters: {} },
  sampler: { seed: 4, epoch: 0, position: 0 },
  micro_step: 14,
  rollout: null,
});

const ROLLOUT = new RolloutBuffer(
  3,
  2,
  [0, 1, 2, 3].map((i) => ({
    group: i >> 1,
    promptId: 40 + (i >> 1),
    branch: i % 2,
    promptIds: [5, 6, 7 + (i >> 1)],
    ids: Array.from({ length: i + 1 }, (_, t) => t),
    advantage: i - 1.5,
    oldLogp: null,
  })),
).encode();

function files(step: number): Map<string, Uint8Array> {
  const tensor = {
    name: "w",
    dtype: "F32",
    shape: [4],
    data: new Float32Array(4).fill(step),
  } as const;
  return new Map([
    [WEIGHTS, encodeSafetensors([tensor])],
    ["optimizer.safetensors", encodeSafetensors([{ ...tensor, name: "m.w" }], { step: "3" })],
    ["rollout.safetensors", ROLLOUT],
    ["rgx_state.json", text(STATE)],
    ["trainer_state.json", text('{"log_history": [{"step": 1}]}')],
    ["README.md", text("a model\n")],
  ]);
}

const writeFast: FileWriter = (path, pieces) => Deno.writeFile(path, ReadableStream.from(pieces));

const damage = fc.record({
  file: fc.constantFrom(...files(1).keys(), SUMS_FILE),
  kind: fc.constantFrom("change", "cut", "append", "delete", "folder", "swap"),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  byte: fc.integer({ min: 1, max: 255 }),
});
type Damage = typeof damage extends fc.Arbitrary<infer D> ? D : never;

async function apply(folder: string, { file, kind, at, byte }: Damage): Promise<void> {
  const path = `${folder}/${file}`;
  const bytes = await Deno.readFile(path).catch(() => null);
  if (bytes === null) return;
  const place = Math.floor(at * bytes.length);
  switch (kind) {
    case "change":
      bytes[place]! ^= byte;
      return await Deno.writeFile(path, bytes);
    case "cut":
      return await Deno.writeFile(path, bytes.subarray(0, place));
    case "append":
      return await Deno.writeFile(path, Uint8Array.from([...bytes, byte]));
    case "delete":
      return await Deno.remove(path);
    case "folder":
      await Deno.remove(path);
      return await Deno.mkdir(path);
    case "swap":
      return await Deno.copyFile(`${folder}/README.md`, path).catch(() => {});
  }
}

async function repair(
  folder: string,
  whole: ReadonlyMap<string, Uint8Array>,
  damages: readonly Damage[],
): Promise<void> {
  for (const name of new Set(damages.map(({ file }) => file))) {
    const bytes = whole.get(name)!;
    const path = `${folder}/${name}`;
    await Deno.writeFile(path, bytes).catch(async () => {
      await Deno.remove(path, { recursive: true });
      await Deno.writeFile(path, bytes);
    });
  }
}

Deno.test("a sum of losses that is not finite is not finite after a resume", () => {
  const state = JSON.parse(STATE);
  state.totals.loss_sum = NaN;
  const { lossSum } = decodeState(JSON.stringify(state), "trainer_state.json").state;
  assert.ok(Number.isNaN(lossSum + 1));
});

test.inFolder("500 damaged checkpoints are read as they were written, or skipped", async (run) => {
  for (const step of [1, 2]) await saveCheckpoint(run, step, files(step), { write: writeFast });
  const folder = `${run}/checkpoint-2`;
  const whole = new Map(files(2));
  whole.set(SUMS_FILE, await Deno.readFile(`${folder}/${SUMS_FILE}`));
  let passedOver = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 3 }), async (damages) => {
      for (const one of damages) await apply(folder, one);
      const { newest } = await findNewestValid(run);
      const { step } = newest!;
      if (step === 1) passedOver++;
      let read;
      try {
        read = await readCheckpoint(folder, WEIGHTS);
      } catch (error) {
        assert.ok(error instanceof RgxError, String(error));
        assert.ok(error.message.startsWith(folder), error.message);
        return await repair(folder, whole, damages);
      }
      assert.equal(step, 2);
      assert.deepEqual(await read.weights.float32("w"), new Float32Array(4).fill(2));
      if (read.optimizer !== null) {
        assert.deepEqual(await read.optimizer.float32("m.w"), new Float32Array(4).fill(2));
      }
      assert.equal(read.state.step, 7);
      await repair(folder, whole, damages);
    }),
    RUNS,
  );
  assert.ok(passedOver > RUNS.numRuns / 2, `only ${passedOver} were passed over`);
  assert.equal((await readCheckpoint(`${run}/checkpoint-1`, WEIGHTS)).state.step, 7);
});

/** JSON with a value replaced, or a text that was cut or changed. */
const edited = fc.oneof(
  fc.tuple(fc.nat(60), fc.jsonValue()).map(([which, value]) => {
    let n = 0;
    return JSON.stringify(
      JSON.parse(STATE),
      (key, old) => key !== "" && n++ === which ? value : old,
    );
  }),
  fc.tuple(fc.nat(60)).map(([which]) => {
    let n = 0;
    return JSON.stringify(
      JSON.parse(STATE),
      (key, old) => key !== "" && n++ === which ? undefined : old,
    );
  }),
  fc.tuple(fc.nat(STATE.length), fc.nat(9), fc.string({ maxLength: 3 })).map(([at, out, put]) =>
    STATE.slice(0, at) + put + STATE.slice(at + out)
  ),
  fc.json(),
);

Deno.test("500 edited states are read with valid fields, or refused with a field's name", () => {
  fc.assert(
    fc.property(edited, (json) => {
      let decoded;
      try {
        decoded = decodeState(json, "rgx_state.json");
      } catch (error) {
        assert.ok(error instanceof RgxError, String(error));
        return assert.match(error.message, /^rgx_state\.json: /);
      }
      const { state } = decoded;
      for (const count of [state.step, state.nextPrompt, state.numTokens, state.warmStartStep]) {
        assert.ok(Number.isSafeInteger(count) && count >= 0);
      }
      assert.equal(typeof state.secondsByPhase, "object");
    }),
    RUNS,
  );
});

Deno.test("500 damaged generation batches are read or refused", async () => {
  const edit = fc.tuple(fc.nat(ROLLOUT.length - 1), fc.integer({ min: 1, max: 255 }));
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), async (edits) => {
      const bytes = ROLLOUT.slice();
      for (const [at, bits] of edits) bytes[at]! ^= bits;
      try {
        const { rows } = await RolloutBuffer.decode(bytes, "rollout.safetensors");
        assert.ok(rows.length === 0 || rows.flatMap(({ ids }) => ids).length === 10);
      } catch (error) {
        assert.ok(error instanceof RgxError, String(error));
      }
    }),
    RUNS,
  );
});
