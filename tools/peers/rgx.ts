/**
 * The process of rgx in `deno task bench:peers`. It loads a model. For every line on stdin it does
 * the work of its JSON argument once (a GRPO step, or prefill and decoding) and answers with a line
 * of JSON. The scripts of this folder do the same in other programs.
 */
import { readLines } from "../../core/line_pipe.ts";
import { ownSeconds } from "../../core/machine/other_work.ts";
import { createWasmDevice, type WasmDevice } from "../../kernels/devices/wasm/device.ts";
import { CausalLM } from "../../models/causal_lm.ts";
import { readModelFolder } from "../../models/model_folder.ts";
import type { GenerateOptions } from "../../models/generation/types.ts";
import type { StorageOptions } from "../../models/network/weights/weight_storage.ts";
import { BenchStep, STEP_PHASES } from "../../training/grpo_step_bench.ts";
import type { DecodeJob, DecodeTimes, StepJob, StepTimes } from "./jobs.ts";

type Weights = Required<Pick<StorageOptions, "dtype">> & Pick<GenerateOptions, "activations">;

/** The peak of this process's resident memory, in bytes. */
async function peakBytes(): Promise<number> {
  const status = await Deno.readTextFile("/proc/self/status").catch(() => "");
  return 1024 * Number(status.match(/VmHWM:\s*(\d+)/)?.[1] ?? NaN);
}

async function stepper(job: StepJob & Weights, device: WasmDevice) {
  const { model: path, promptIds, completions, newTokens, rank: r, dtype, keeps = false } = job;
  device.computeDtype = job.computeDtype;
  const { config, files, tokenizer } = await readModelFolder(path);
  const model = await CausalLM.create(device, config, files, {
    trainable: "lora",
    lora: { r, alpha: 32, targetModules: "all-linear" },
    weights: { dtype },
  });
  const step = new BenchStep(device, model, tokenizer!);
  return async (): Promise<StepTimes> => {
    const cpu = ownSeconds();
    const shape = { promptIds, completions, newTokens, eosIds: [], keeps };
    const times = await step.run(shape);
    return {
      seconds: STEP_PHASES.reduce((sum, phase) => sum + times[phase], 0) / 1000,
      cpuSeconds: ownSeconds() - cpu,
      generate: times.generate / 1000,
      peakBytes: await peakBytes(),
    };
  };
}

async function decoder(job: DecodeJob & Weights, device: WasmDevice) {
  const { model: path, promptTokens, sequences, newTokens, dtype, activations } = job;
  const { config, files } = await readModelFolder(path);
  const model = await CausalLM.create(device, config, files, {
    trainable: "none",
    weights: { dtype },
  });
  const ids = (count: number, seed: number) =>
    Array.from({ length: count }, (_, i) => (31 * seed + 7 * i) % config.vocabSize);
  const rate = async (tokens: number, work: () => Promise<unknown>) => {
    const start = performance.now(), cpu = ownSeconds();
    await work();
    const clock = performance.now() - start;
    return { clock: 1000 * tokens / clock, cpu: tokens / (ownSeconds() - cpu) };
  };
  // Opened once, like in a server, so that copies of weights do not count for every request.
  const room = { promptRows: 2 * promptTokens, branches: sequences, maxNewTokens: newTokens };
  const generation = model.openGeneration(room, {
    maxNewTokens: newTokens,
    temperature: 0,
    seed: 1,
    eosIds: [],
    ...(activations === undefined ? {} : { activations }),
  });
  const generate = (prompts: number[][], maxNewTokens: number) =>
    Promise.all(
      prompts.map((promptIds, promptId) =>
        generation.add({ promptId, promptIds, n: 1, sampling: { maxNewTokens } })
      ),
    );
  return async (): Promise<DecodeTimes> => {
    const all = Array.from({ length: sequences }, (_, i) => ids(1, i));
    return {
      prefill: await rate(promptTokens, () => generate([ids(promptTokens, 1)], 1)),
      one: await rate(newTokens, () => generate([ids(1, 1)], newTokens)),
      many: await rate(sequences * newTokens, () => generate(all, newTokens)),
      peakBytes: await peakBytes(),
    };
  };
}

if (import.meta.main) {
  const job: (StepJob | DecodeJob) & Weights = JSON.parse(Deno.args[0]!);
  const device = await createWasmDevice({ threads: job.threads });
  const once = "rank" in job ? await stepper(job, device) : await decoder(job, device);
  console.log(JSON.stringify({ version: "rgx" }));
  for await (const lines of readLines(Deno.stdin.readable)) {
    for (const _ of lines) console.log(JSON.stringify(await once()));
  }
  device.close();
}
