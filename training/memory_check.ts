/**
 * What a run will need beside the model that is already on the device, planned before step 1 from the
 * longest prompts, and refused with advice when it does not fit. An upper bound: every completion is
 * taken at its full length.
 */
import { batchSizes } from "../configs/derived.ts";
import type { RunConfig } from "../configs/run_config.ts";
import { UsageError } from "../core/errors.ts";
import { availableBytes } from "../core/memory.ts";
import type { SplitProblems } from "../data/held_out.ts";
import type { Device } from "../kernels/device.ts";
import { gpuAvailableBytes } from "../kernels/webgpu/gpu_memory.ts";
import {
  planInferenceBytes,
  planParameterBytes,
  planPassBytes,
  refuseIfTooLarge,
} from "../models/memory_plan.ts";
import type { ModelSizes } from "../models/model_sizes.ts";
import { MOST_COPIED_BYTES } from "../models/merge_lora.ts";
import { packedBytes } from "../models/packed_weights.ts";
import { floatBytes } from "../models/workspace.ts";
import type { PromptEncoder } from "./prompts.ts";

/** Bytes. */
export interface MemoryPlan {
  /** Values and gradients (already allocated when the plan is made). */
  parameters: number;
  optimizer: number;
  /** Copies for the KL term. */
  reference: number;
  /** Largest generation wave, the packed weights, and passes without gradient. */
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

/** Longest prompt and worked answer among the problems that a run will meet, in tokens. */
export interface Lengths {
  prompt: number;
  /** 1 when there is no supervised warm start. */
  answer: number;
}

/** Of all held-out problems and the first few hundred training problems. */
export function longest(
  prompts: PromptEncoder,
  problems: SplitProblems,
  trainProblems: number,
  withAnswers: boolean,
): Lengths {
  let prompt = 1, answer = 1;
  for (const entry of problems.heldOut) prompt = Math.max(prompt, prompts.prompt(entry).ids.length);
  for (let i = 0; i < Math.min(LOOKED_AT, trainProblems); i++) {
    const entry = problems.trainEntry(i);
    prompt = Math.max(prompt, prompts.prompt(entry).ids.length);
    if (withAnswers) answer = Math.max(answer, prompts.workedAnswer(entry).length);
  }
  return { prompt, answer };
}

/** @throws UsageError when a prompt and its completion have more tokens than the model has positions */
export function checkPositions(config: RunConfig, maxPositions: number, { prompt }: Lengths): void {
  const { max_completion_length: completion } = config.training;
  if (prompt + completion <= maxPositions) return;
  throw new UsageError(
    `training.max_completion_length: the longest prompt has ${prompt} tokens, with ${completion} of the ` +
      `completion that is more than the model's ${maxPositions} (max_position_embeddings)`,
    {
      advice: prompt < maxPositions
        ? `Set training.max_completion_length=${maxPositions - prompt} or less.`
        : "The prompt alone is too long for this model: choose shorter problems or another model.",
    },
  );
}

/**
 * Whether prompts that are longer than those the run was planned with would still fit: the model's positions, and
 * the memory that was there. The answer is why not, in words, or null.
 */
export function promptMisfit(
  config: RunConfig,
  device: Device,
  modelSizes: ModelSizes,
  maxPositions: number,
  needs: Needs,
  { available }: MemoryPlan,
): (tokens: number) => string | null {
  const { max_completion_length: completion } = config.training;
  const sizes = { ...modelSizes, floatBytes: floatBytes(device) };
  const { values, gradients } = planParameterBytes(sizes);
  return (tokens) => {
    if (tokens + completion > maxPositions) {
      return `its longest prompt has ${tokens} tokens, with ${completion} of the completion that is ` +
        `more than the model's ${maxPositions}`;
    }
    const size = stepSize(config, { ...needs, prompt: Math.max(tokens, needs.prompt) });
    const bytes = values + gradients + beside(sizes, size);
    if (bytes <= available) return null;
    const megabytes = (count: number) => `${Math.round(count / 1e6)} MB`;
    return `its longest prompt has ${tokens} tokens, which takes ${megabytes(bytes)} of memory, ` +
      `${megabytes(available)} are available`;
  };
}

/** What a run needs beside what its configuration says. */
export interface Needs extends Lengths {
  /** The reference of the KL term is a copy of the trained values. */
  copiedReference: boolean;
  /** There is no GRPO. */
  supervisedOnly: boolean;
}

/**
 * Whether activations should be computed again in the backward pass, where the configuration allows it: when
 * the run would take more than half of the memory otherwise. The results are the same bits, and it takes
 * about a third more time.
 */
export async function needsRecompute(
  config: RunConfig,
  device: Device,
  sizes: ModelSizes,
  needs: Needs,
  available?: number,
): Promise<boolean> {
  const own = { ...sizes, floatBytes: floatBytes(device) };
  const { values, gradients } = planParameterBytes(own);
  const { room } = await memoryRoom(device, available);
  return values + gradients + beside(own, stepSize(config, needs)) > room / 2;
}

/**
 * To be asked before the model is made, so that one which does not fit costs no time.
 * @param available bytes that may be taken; default: what the machine has
 * @throws UsageError "needs …, … available" with what to set
 */
export async function planMemory(
  config: RunConfig,
  device: Device,
  modelSizes: ModelSizes,
  needs: Needs,
  available?: number,
): Promise<MemoryPlan> {
  const sizes = { ...modelSizes, floatBytes: floatBytes(device) }, size = stepSize(config, needs);
  const { values, gradients, optimizer } = planParameterBytes(sizes);
  const held = device.allocatedBytes, { room, where } = await memoryRoom(device, available);
  const own = values + gradients, needed = own + beside(sizes, size);
  refuseIfTooLarge(
    "the run",
    held + needed,
    held + room,
    needed > room ? whatFits(size, (other) => own + beside(sizes, other) <= room) : [],
    where,
  );
  return {
    parameters: own,
    optimizer,
    ...planStep(sizes, size),
    peak: needed,
    available: held + room,
  };
}

/** What the device may still take, and what limits it where that is not the machine's memory. */
async function memoryRoom(
  device: Device,
  available?: number,
): Promise<{ room: number; where: string | null }> {
  if (device.adapter !== undefined && available === undefined) {
    const room = await gpuAvailableBytes(device.adapter);
    // Nobody tells for some cards: then the card itself refuses.
    return { room: room ?? Infinity, where: `what ${device.adapter.name} has free` };
  }
  const held = device.allocatedBytes, free = available ?? await availableBytes();
  const isWasm = device.name === "wasm" && WASM_LIMIT - held < free;
  return isWasm
    ? { room: WASM_LIMIT - held, where: "all that one WebAssembly memory can hold" }
    : { room: free, where: null };
}

/** What the memory of a step depends on, apart from the model. */
interface StepSize {
  /** Completions of a forward pass. */
  batch: number;
  accumulation: number;
  /** Completions generated at a time. */
  generated: number;
  /** Completions of a prompt. */
  group: number;
  /** Tokens. */
  completion: number;
  /** Rules of sampling change logits. */
  adjusted: boolean;
  /** Problems of a supervised step; 0 = none. */
  items: number;
  /** Prompts and completions of each kind of evaluation, at a time. */
  evaluations: { prompts: number; completions: number }[];
  /** Longest prompt and worked answer, in tokens. */
  prompt: number;
  answer: number;
  copiedReference: boolean;
}

function stepSize(config: RunConfig, needs: Needs): StepSize {
  const { training, sft, eval: heldOut } = config, sizes = batchSizes(training);
  const each = sizes.generationsInEval;
  const during = training.eval_strategy === "no" && !training.eval_on_start
    ? 0
    : Math.max(1, Math.floor(training.per_device_eval_batch_size / each));
  const around = Math.min(heldOut.batch_size, heldOut.num_examples);
  const { supervisedOnly } = needs;
  return {
    batch: supervisedOnly ? 0 : training.per_device_train_batch_size,
    accumulation: training.gradient_accumulation_steps,
    generated: supervisedOnly ? 0 : sizes.generationBatchSize,
    group: training.num_generations,
    completion: training.max_completion_length,
    adjusted: training.repetition_penalty !== 1 || training.min_new_tokens > 0,
    items: sft !== null && sft.max_steps > 0 ? sft.per_device_train_batch_size : 0,
    evaluations: heldOut.num_examples === 0 ? [] : [
      { prompts: around, completions: around },
      ...(supervisedOnly ? [] : [{ prompts: during, completions: during * each }]),
    ],
    ...needs,
  };
}

/** Bytes beside values and gradients. */
function beside(sizes: ModelSizes, size: StepSize): number {
  const { reference, generation, training } = planStep(sizes, size);
  return planParameterBytes(sizes).optimizer + reference + generation + training;
}

function planStep(
  sizes: ModelSizes,
  size: StepSize,
): Pick<MemoryPlan, "reference" | "generation" | "training"> {
  const { batch, generated, group, completion, items, prompt, answer } = size;
  const rows = Math.ceil(batch / group) * prompt + batch * completion;
  const passes = batch === 0 ? [] : [planPassBytes(sizes, rows, batch * completion, true)];
  if (items > 0) {
    passes.push(planPassBytes(sizes, items * (prompt + answer), items * answer, true));
  }
  const copies = packedBytes(sizes);
  const waves = [
    { prompts: Math.ceil(generated / group), completions: generated },
    ...size.evaluations,
  ].map(({ prompts, completions }) => ({
    promptRows: prompts * prompt,
    branches: completions,
    maxNewTokens: completion,
    adjusted: size.adjusted,
  }));
  // Passes without gradient: of the reference, of the policy that generated, of groups that teach nothing,
  // of evaluations while training.
  const { prompts, completions } = size.evaluations[1] ?? { prompts: 0, completions: 0 };
  const pairs = Math.max(batch, completions) * completion;
  const inferenceRows = Math.max(rows, prompts * prompt + completions * completion);
  // The policy meanwhile, and the copy that takes its place.
  const reference = size.copiedReference ? planParameterBytes(sizes).optimizer : 0;
  return {
    reference,
    generation: (copies <= MOST_COPIED_BYTES ? copies : 0) +
      planInferenceBytes(sizes, waves, { rows: inferenceRows, pairs }),
    training: Math.max(...passes),
  };
}

/** Settings that would fit, each enough by itself; those that change least come first. */
function whatFits(size: StepSize, fits: (size: StepSize) => boolean): string[] {
  const { batch, accumulation, group, completion, items } = size;
  const options: string[] = [];
  for (let parts = 2; parts <= batch; parts++) {
    const smaller = { ...size, batch: batch / parts, accumulation: accumulation * parts };
    if (batch % parts !== 0 || !fits(smaller)) continue;
    options.push(
      `training.per_device_train_batch_size=${smaller.batch} ` +
        `training.gradient_accumulation_steps=${smaller.accumulation} (the same step in ${parts} parts)`,
    );
    break;
  }
  const prompts = largest(
    Math.floor(batch / group),
    (n) => fits({ ...size, batch: n * group }),
  );
  if (options.length === 0 && prompts > 0) {
    options.push(`training.per_device_train_batch_size=${prompts * group}`);
  }
  const tokens = largest(completion, (n) => fits({ ...size, completion: n }));
  if (tokens > 0) options.push(`training.max_completion_length=${tokens}`);
  const problems = largest(items, (n) => fits({ ...size, items: n }));
  if (problems > 0) options.push(`sft.per_device_train_batch_size=${problems}`);
  return options.length > 0 ? options : ["smaller batches, shorter completions or a smaller model"];
}

/** The largest integer in [1, below) for which `works`, which gets false once and stays so; 0 = none. */
function largest(below: number, works: (n: number) => boolean): number {
  let low = 0, high = below;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (works(middle)) low = middle;
    else high = middle;
  }
  return low;
}
