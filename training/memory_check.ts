/**
 * What a run will need beside the model that is already on the device, planned before step 1 from the
 * longest prompts, and refused with advice when it does not fit. An upper bound: every completion is
 * taken at its full length.
 */
import type { RunConfig } from "../configs/run_config.ts";
import { availableBytes } from "../core/memory.ts";
import type { SplitProblems } from "../data/held_out.ts";
import type { Device } from "../kernels/device.ts";
import type { LlamaModel } from "../models/llama.ts";
import {
  planGenerationBytes,
  planParameterBytes,
  planPassBytes,
  refuseIfTooLarge,
} from "../models/memory_plan.ts";
import type { PromptEncoder } from "./prompts.ts";

/** Bytes. */
export interface MemoryPlan {
  /** Values and gradients (already allocated when the plan is made). */
  parameters: number;
  optimizer: number;
  /** Largest generation wave. */
  generation: number;
  /** Largest forward and backward pass, supervised or GRPO. */
  training: number;
  /** All of them together. */
  peak: number;
  available: number;
}

/** Training problems that are encoded to find the longest prompt. */
const LOOKED_AT = 256;

/** One wasm32 memory; the kernels' pointers have 32 bits. */
const WASM_LIMIT = 2 ** 32;

/** @throws RgxError "needs …, … available" with what to set. */
export async function planMemory(
  config: RunConfig,
  device: Device,
  model: LlamaModel,
  prompts: PromptEncoder,
  problems: SplitProblems,
  trainProblems: number,
): Promise<MemoryPlan> {
  const { training, sft } = config, { sizes } = model;
  let prompt = 1, answer = 1;
  for (const entry of problems.heldOut) prompt = Math.max(prompt, prompts.prompt(entry).ids.length);
  for (let i = 0; i < Math.min(LOOKED_AT, trainProblems); i++) {
    const entry = problems.trainEntry(i);
    prompt = Math.max(prompt, prompts.prompt(entry).ids.length);
    if (sft !== null) answer = Math.max(answer, prompts.workedAnswer(entry).length);
  }
  const { per_device_train_batch_size: batch, num_generations: group } = training;
  const longest = training.max_completion_length;
  const rows = Math.ceil(batch / group) * prompt + batch * longest;
  let pass = planPassBytes(sizes, rows, batch * longest, true);
  if (sft !== null && sft.max_steps > 0) {
    const items = sft.per_device_train_batch_size;
    pass = Math.max(pass, planPassBytes(sizes, items * (prompt + answer), items * answer, true));
  }
  const branches = batch * training.gradient_accumulation_steps;
  const generation = planGenerationBytes(sizes, {
    promptRows: Math.ceil(branches / group) * prompt,
    branches,
    maxNewTokens: longest,
  });
  const { values, gradients, optimizer } = planParameterBytes(sizes);
  const held = device.allocatedBytes;
  const room = device.name === "wasm"
    ? Math.min(await availableBytes(), WASM_LIMIT - held)
    : await availableBytes();
  const plan = {
    parameters: values + gradients,
    optimizer,
    generation,
    training: pass,
    peak: values + gradients + optimizer + generation + pass,
    available: held + room,
  };
  refuseIfTooLarge("the run", held + optimizer + generation + pass, held + room, [
    `training.per_device_train_batch_size below ${batch} (and gradient_accumulation_steps higher)`,
    `training.max_completion_length below ${longest}`,
  ]);
  return plan;
}
