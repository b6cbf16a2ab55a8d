/** A small GRPO step of SmolLM2-135M. */
import type { WasmDevice } from "../../kernels/devices/wasm/device.ts";
import { CausalLM } from "../../models/causal_lm.ts";
import { readModelFolder } from "../../models/model_folder.ts";
import { BenchStep, type StepShape } from "../../training/grpo_step_bench.ts";
import { LARGE_STEP } from "./steps_job.ts";

/** @param path the GGUF file */
export async function largeStep(
  path: string,
  device: WasmDevice,
): Promise<{ step: BenchStep; shape: StepShape }> {
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
