/**
 * A step is recorded when it has come some times, and replayed only while nothing that it depends
 * on has changed.
 */
import assert from "node:assert/strict";
import type { Device, Recording } from "../../kernels/device.ts";
import { createWasmDevice } from "../../kernels/devices/wasm/device.ts";
import { RecordedSteps, RUNS_BEFORE_RECORDING } from "./decoder.ts";
import { randomModel, TINY_MODELS } from "../testing.ts";
import type { GenerateRequest } from "./types.ts";

/** A device that can only record, with a log of what was asked of it. */
function fakeDevice(canRecord = true) {
  const log: string[] = [];
  let valid = true;
  const record = (work: () => void): Recording | null => {
    log.push("record");
    if (!canRecord) return null;
    work();
    valid = true;
    return {
      get isValid() {
        return valid;
      },
      run: () => void log.push("replay"),
      free: () => void log.push("free"),
    };
  };
  const said = () => log.splice(0).join(" ");
  const [lose, refuse] = [() => valid = false, () => canRecord = false];
  return { device: { record } as unknown as Device, log, said, lose, refuse };
}

Deno.test("a step is recorded after some runs, and replayed from then on", () => {
  const { device, log, said, lose } = fakeDevice();
  const steps = new RecordedSteps<string>(device, 1);
  const run = (...key: unknown[]) => steps.run(0, key, () => (log.push("work"), `of ${key}`));
  const first = () => {
    for (let i = 0; i < RUNS_BEFORE_RECORDING; i++) {
      assert.deepEqual([run(1, device), said()], [OF_1, "work"]);
    }
  };
  const OF_1 = "of 1,[object Object]";
  first();
  assert.deepEqual([run(1, device), said()], [OF_1, "record work replay"]);
  assert.deepEqual([run(1, device), said()], [OF_1, "replay"]);
  lose();
  assert.deepEqual(
    [run(1, device), said()],
    [OF_1, "record work replay"],
    "its tensors were freed",
  );
  assert.deepEqual([run(2, device), said()], ["of 2,[object Object]", "free work"]);
  assert.deepEqual([run(2), said()], ["of 2", "work"]);
  first();
  assert.deepEqual([run(1, device), said()], [OF_1, "record work replay"]);
  steps.forget();
  assert.deepEqual([run(1, device), said()], [OF_1, "free work"]);
});

Deno.test("of steps with different numbers the most recent recordings are kept", () => {
  const { device, log, said, refuse } = fakeDevice();
  const steps = new RecordedSteps<number>(device, 2);
  const run = (number: number) => steps.run(number, [], () => log.push("work"));
  for (let i = 0; i <= RUNS_BEFORE_RECORDING; i++) for (const number of [1, 2]) run(number);
  assert.match(said(), /^(work )+record work replay record work replay$/);
  run(1);
  run(2);
  assert.equal(said(), "replay replay");
  run(3);
  assert.equal(said(), "free work", "1 came before 2");
  run(2);
  assert.equal(said(), "replay");
  steps.forget();
  assert.equal(said(), "free");
  for (let i = 0; i <= RUNS_BEFORE_RECORDING; i++) run(1);
  refuse();
  for (let i = 0; i <= RUNS_BEFORE_RECORDING; i++) run(2);
  assert.match(said(), / replay (work )+record work$/);
  run(1);
  run(2);
  assert.equal(said(), "replay work", "there was no memory for 2");
});

Deno.test("generation gives the same bits whether steps are recorded or not", async () => {
  const requests: GenerateRequest[] = Array.from({ length: 9 }, (_, r) => ({
    promptId: r,
    promptIds: [r, 2 * r, 5],
    n: 1 + r % 3,
    sampling: { maxNewTokens: 3 + 12 * (r % 4) },
  }));
  for (const [part, config] of TINY_MODELS) {
    const found = [];
    for (const records of [false, true]) {
      const device = await createWasmDevice({ threads: 2 });
      const record = device.record.bind(device);
      let recorded = 0;
      (device as Device).record = records ? (work) => (recorded++, record(work)) : undefined;
      const model = await randomModel(device, config, { trainable: "none" });
      const options = { maxNewTokens: 40, temperature: 0.9, seed: 5, eosIds: [] };
      found.push(await model.generate(requests, options, { slots: 6 }));
      // Again: what was recorded for other buffers is not used.
      found.push(await model.generate(requests, options, { slots: 11 }));
      if (records) assert.ok(recorded > 3, `${recorded} recordings`);
      device.close();
    }
    for (const again of found) assert.deepEqual(again, found[0], part);
  }
});

Deno.test("recordings do not outlive changed weights or a switched adapter", async () => {
  const requests: GenerateRequest[] = Array.from({ length: 5 }, (_, r) => ({
    promptId: r,
    promptIds: [r, 7, 5],
    n: 2,
    sampling: r === 2 ? { repetitionPenalty: 1.3, maxNewTokens: 4 } : {},
  }));
  const lora = { r: 2, alpha: 4, targetModules: "all-linear" };
  const options = { maxNewTokens: 30, temperature: 0.9, seed: 5, eosIds: [] };
  const results = [];
  for (const records of [false, true]) {
    const device = await createWasmDevice({ threads: 2 });
    if (!records) (device as Device).record = undefined;
    const model = await randomModel(device, TINY_MODELS[0]![1], { trainable: "lora", lora });
    const found = [await model.generate(requests, options)];
    found.push(await model.generate(requests, { ...options, adapter: false }));
    for (const { name } of model.trainable) {
      model.writeParameter(name, (await model.readParameter(name)).map((value) => value / 2));
    }
    found.push(await model.generate(requests, options));
    device.close();
    assert.notDeepEqual(found[0], found[1]);
    assert.notDeepEqual(found[0], found[2]);
    results.push(found);
  }
  assert.deepEqual(results[1], results[0]);
});
