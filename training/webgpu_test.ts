/**
 * Training and generation on the GPU (a software adapter here): results close to the other devices,
 * the same bits in every run, little data read back, constant memory, and a run that can be resumed
 * after the device is lost.
 */
import assert from "node:assert/strict";
import { withFolder } from "../core/testing.ts";
import { EXIT, RgxError } from "../core/errors.ts";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import { createWebgpuDevice, type WebgpuDevice } from "../kernels/devices/webgpu/device.ts";
import { initWeights } from "../models/network/weights/init.ts";
import { CausalLM } from "../models/causal_lm.ts";
import type { ModelConfig } from "../models/architectures/model_config.ts";
import { BenchStep } from "./grpo_step_bench.ts";
import {
  metricsWithoutClock,
  stopsAfter,
  tinyRunConfig,
  trainOn,
  varying,
  VARYING_RUBRIC,
  weightsOf,
} from "./testing.ts";
import { webgpuTest } from "../kernels/devices/webgpu/testing.ts";

/** One for all tests that do not lose it: its pipelines are made once. */
let shared: WebgpuDevice | undefined;
globalThis.addEventListener("unload", () => shared?.close());

async function onGpu<T>(work: (device: WebgpuDevice) => Promise<T>): Promise<T> {
  return await work(shared ??= await createWebgpuDevice());
}

const short = (path: string, max_steps = 3) =>
  tinyRunConfig(path, { training: { max_steps, save_steps: 1 }, sft: { max_steps: 2 } });

webgpuTest(
  "a run on webgpu names its adapter, reads little back, and is reproducible",
  () =>
    withFolder(async (folder) => {
      const outcomes: { metrics: unknown; weights: Uint8Array }[] = [];
      for (const name of ["first", "second"]) {
        const path = `${folder}/${name}`;
        await onGpu(async (device) => {
          const perStep: { dispatches: number; readBytes: number }[] = [];
          let last = device.counters;
          // No checkpoint between the steps, because a checkpoint has to read all weights.
          const config = tinyRunConfig(path, {
            training: { max_steps: 3, save_steps: 100 },
            sft: { max_steps: 2 },
          });
          const { summary } = await trainOn(device, config, {
            ...varying,
            listeners: [(event) => {
              if (event.type !== "step" || event.phase !== "grpo") return;
              const now = device.counters;
              perStep.push({
                dispatches: now.dispatches - last.dispatches,
                readBytes: now.readBytes - last.readBytes,
              });
              last = now;
            }],
          });
          assert.equal(summary.status, "completed");
          // What is read: tokens, log-probabilities and sums of eight completions of ten tokens,
          // but no weights or activations.
          assert.equal(perStep.length, 3);
          for (const { dispatches, readBytes } of perStep.slice(1)) {
            assert.ok(dispatches > 50, `${dispatches} dispatches`);
            assert.ok(readBytes < 30_000, `${readBytes} bytes read in a step`);
          }
          const run = JSON.parse(await Deno.readTextFile(`${path}/run.json`));
          assert.deepEqual([run.device, run.adapter], ["webgpu", device.adapter]);
        });
        outcomes.push({ metrics: await metricsWithoutClock(path), weights: await weightsOf(path) });
      }
      assert.deepEqual(outcomes[1], outcomes[0]);
    }),
);

webgpuTest(
  "a run can be resumed on the GPU from the CPU's checkpoint, and back",
  () =>
    withFolder(async (folder) => {
      using cpu = await createWasmDevice({ threads: 1 });
      const rubric = VARYING_RUBRIC, path = `${folder}/mixed`, alone = `${folder}/alone`;
      await trainOn(cpu, short(alone, 6), { rubric });
      const stopped = await trainOn(cpu, short(path, 6), { rubric, ...stopsAfter(2) });
      assert.equal(stopped.summary.status, "stopped");
      const onwards = await onGpu((gpu) =>
        trainOn(gpu, short(path, 6), { rubric, resume: true, ...stopsAfter(2) })
      );
      assert.equal(onwards.summary.status, "stopped");
      const { summary } = await trainOn(cpu, short(path, 6), { rubric, resume: true });
      assert.equal(summary.status, "completed");
      const steps = (await metricsWithoutClock(path)).filter((line) => "step" in line);
      assert.ok(steps.length >= 3);
      // The weights differ only in their last bits, because the same tokens were sampled.
      const aloneWeights = new Float32Array((await weightsOf(alone)).slice(-4 * 1000).buffer);
      const mixed = new Float32Array((await weightsOf(path)).slice(-4 * 1000).buffer);
      aloneWeights.forEach((x, i) =>
        assert.ok(Math.abs(x - mixed[i]!) < 2e-3, `${x} and ${mixed[i]}`)
      );
    }),
);

webgpuTest(
  "a lost device ends the run with exit code 75, and the run can be resumed",
  () =>
    withFolder(async (folder) => {
      const path = `${folder}/run`, whole = `${folder}/whole`, rubric = VARYING_RUBRIC;
      await onGpu((device) => trainOn(device, short(whole), { rubric }));
      using device = await createWebgpuDevice();
      const lost = trainOn(device, short(path), {
        rubric,
        listeners: [(event) => {
          if (event.type === "step" && event.step === 2) device.lose();
        }],
      });
      await assert.rejects(
        lost,
        (error: Error) =>
          error instanceof RgxError && error.exitCode === EXIT.resumable &&
          /was lost/.test(error.message),
      );
      const { summary } = await onGpu((device) =>
        trainOn(device, short(path), { rubric, resume: true })
      );
      assert.equal(summary.status, "completed");
      assert.deepEqual(await weightsOf(path), await weightsOf(whole));
    }),
);

const CONFIG: ModelConfig = {
  vocabSize: 96,
  hiddenSize: 32,
  intermediateSize: 48,
  numLayers: 2,
  numHeads: 4,
  numKvHeads: 2,
  headDim: 8,
  maxPositions: 64,
  ropeTheta: 10000,
  ropeScaling: null,
  rmsNormEps: 1e-5,
  tieWordEmbeddings: true,
};

webgpuTest("sixty steps leave device memory flat", () =>
  onGpu(async (device) => {
    const tiny = { ...CONFIG, numLayers: 1, hiddenSize: 16, numHeads: 2, numKvHeads: 1 };
    const model = await CausalLM.create(device, tiny, initWeights(tiny, 1, 0.1), {
      trainable: "full",
    });
    const bench = new BenchStep(device, model, { decode: (ids) => String.fromCharCode(...ids) });
    const held: number[] = [];
    for (let step = 0; step < 60; step++) {
      // The lengths vary from step to step, as in training.
      const promptIds = [Array.from({ length: 3 + step % 5 }, (_, i) => i + 6)];
      const eosIds = [0, 1, 2];
      await bench.run({ promptIds, completions: 2, newTokens: 2, eosIds });
      held.push(device.heldBytes);
    }
    assert.equal(held[59], held[30], `${held[30]} → ${held[59]} bytes`);
    bench.dispose();
    assert.equal(device.allocatedBytes, 0);
  }));

webgpuTest("a model whose embedding exceeds one binding trains like any other", async () => {
  const config = { ...CONFIG, vocabSize: 9000 };
  const weights: Float32Array[] = [];
  for (const limits of [{}, { bindingElements: 2 ** 18 }]) {
    using device = await createWebgpuDevice({ limits });
    const model = await CausalLM.create(device, config, initWeights(config, 5, 0.2), {
      trainable: "full",
    });
    const bench = new BenchStep(device, model, { decode: (ids) => `${ids}` });
    const promptIds = [[3, 1, 4, 1, 5], [9, 2, 6]];
    const shape = { promptIds, completions: 4, newTokens: 6, eosIds: [] };
    await bench.run(shape);
    await bench.run(shape);
    const all: Float32Array[] = [];
    for (const { value } of model.trainable) {
      all.push(await device.read(value) as Float32Array);
    }
    weights.push(Float32Array.from(all.flatMap((part) => [...part])));
    bench.dispose();
  }
  assert.ok(weights[0]!.length > 2 ** 18);
  weights[0]!.forEach((x, i) => assert.ok(Math.abs(x - weights[1]![i]!) < 1e-6, `element ${i}`));
});
