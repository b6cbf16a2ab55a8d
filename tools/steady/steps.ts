/**
 * The measured process of `deno task bench:steady`. For every line on stdin it makes GRPO steps for
 * some seconds and answers with their number and the exact time.
 */
import { createWasmDevice, type WasmDevice } from "../../kernels/devices/wasm/device.ts";
import { CausalLM } from "../../models/causal_lm.ts";
import { readModelFolder } from "../../models/model_folder.ts";
import { BenchStep, quickstartStep } from "../../training/grpo_step_bench.ts";
import { lines } from "../peers/jobs.ts";
import { LARGE_STEP, type StepsJob, type StepsTimes } from "./steps_job.ts";

async function largeStep(path: string, device: WasmDevice) {
  const { promptTokens, completions, newTokens, rank: r } = LARGE_STEP;
  const { config, files, tokenizer } = await readModelFolder(path);
  const model = await CausalLM.create(device, config, files, {
    trainable: "lora",
    lora: { r, alpha: 32, targetModules: "all-linear" },
  });
  const promptIds = [Array.from({ length: promptTokens }, (_, i) => 100 + 7 * i)];
  const shape = { promptIds, completions, newTokens, eosIds: [], repeatPrompt: false };
  return { step: new BenchStep(device, model, tokenizer!), shape };
}

if (import.meta.main) {
  const { model, threads, seconds }: StepsJob = JSON.parse(Deno.args[0]!);
  const device = await createWasmDevice(threads === null ? {} : { threads });
  const { step, shape } = model === null
    ? await quickstartStep(device)
    : await largeStep(model, device);
  await step.run(shape);
  console.log(JSON.stringify({ version: `${device.threads} threads, ${device.tiles}` }));
  for await (const _line of lines(Deno.stdin.readable)) {
    const start = performance.now();
    let steps = 0, took = 0;
    while (took < seconds) {
      await step.run(shape);
      // As the trainer does between steps, so that finished promises and timers are freed.
      await new Promise((resolve) => setTimeout(resolve, 0));
      steps++;
      took = (performance.now() - start) / 1000;
    }
    console.log(JSON.stringify({ steps, seconds: took } satisfies StepsTimes));
  }
  step.dispose();
  device.close();
}
