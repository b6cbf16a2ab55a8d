/**
 * What a run will need beside the model that is already on the device, planned before step 1 from
 * the longest prompts, and refused with advice when it does not fit. An upper bound: every
 * completion is taken at its full length.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { bytesText } from "../../core/bytes.ts";
import { UsageError } from "../../core/errors.ts";
import { memoryRoom as machineRoom } from "../../core/machine/memory.ts";
import type { SplitProblems } from "../../data/held_out.ts";
import type { Device } from "../../kernels/device.ts";
import { WEIGHTS_WITHIN } from "../../kernels/devices/wasm/memory.ts";
import { gpuAvailableBytes } from "../../kernels/devices/webgpu/gpu_memory.ts";
import { generationRoom } from "../../models/generation/generation_room.ts";
import { planParameterBytes, refuseIfTooLarge } from "../../models/network/memory_plan.ts";
import { DEFAULT_GENERATION_BYTES } from "../../models/generation/generation_memory.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import { floatBytes } from "../../models/network/workspace.ts";
import type { PromptEncoder } from "../../evaluation/prompt_encoder.ts";
import {
  beside,
  type Lengths,
  type MemoryParts,
  memoryParts,
  type Needs,
  planStep,
  type StepSize,
  stepSize,
  whatFits,
} from "./step_memory.ts";

/** Training problems whose prompts are encoded to find the longest one. */
export const MAX_PROMPTS_MEASURED = 256;

/** Bytes. */
export interface MemoryPlan {
  /** Values and gradients (already allocated when the plan is made). */
  parameters: number;
  optimizer: number;
  /** Copies for the KL term. */
  reference: number;
  /** Largest generation wave, the packed weights, and passes without gradient. */
  generation: number;
  /** Most bytes that a wave may take. */
  generationRoom: number;
  /** Largest forward and backward pass, supervised or GRPO. */
  training: number;
  /** The same, and more finely. */
  parts: MemoryParts;
  /** All of them together. */
  peak: number;
  available: number;
  /** Of frozen weights that lie where kernels write; null where nothing lies elsewhere. */
  weightRoom: number | null;
}

/** Said beside a size that does not fit. */
const LIMITED_BY = {
  machine: null,
  cgroup: "all that the cgroup of this process allows",
  job: "all that SLURM gave the job: sbatch --mem",
} as const;

/**
 * One wasm32 memory; the kernels' pointers have 32 bits. Of frozen weights only so many need lie in
 * it.
 */
const WASM_LIMIT = 2 ** 32;

/** Of all held-out problems and the first few hundred training problems. */
export function longest(
  prompts: PromptEncoder,
  problems: SplitProblems,
  trainProblems: number,
  withAnswers: boolean,
): Lengths {
  let prompt = 1, answer = 1;
  for (const entry of problems.heldOut) prompt = Math.max(prompt, prompts.prompt(entry).ids.length);
  for (let i = 0; i < Math.min(MAX_PROMPTS_MEASURED, trainProblems); i++) {
    const entry = problems.trainEntry(i);
    prompt = Math.max(prompt, prompts.prompt(entry).ids.length);
    if (withAnswers) answer = Math.max(answer, prompts.workedAnswer(entry).length);
  }
  return { prompt, answer };
}

/** Tokens behind a prompt: supervised training without an evaluation generates nothing. */
function mostGenerated({ training, eval: heldOut }: RunConfig, supervisedOnly: boolean): number {
  return supervisedOnly && heldOut.num_examples === 0 ? 0 : training.max_completion_length;
}

/**
 * @throws UsageError when a prompt and its completion have more tokens than the model has positions
 */
export function checkPositions(
  config: RunConfig,
  maxPositions: number,
  { prompt }: Lengths,
  phases: "all" | "sft",
): void {
  const completion = mostGenerated(config, phases === "sft");
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
 * Whether prompts that are longer than those the run was planned with would still fit: the model's
 * positions, and the memory that was there. The answer is why not, in words, or null.
 */
export function promptMisfit(
  config: RunConfig,
  device: Device,
  modelSizes: ModelSizes,
  maxPositions: number,
  needs: Needs,
  { available, generationRoom }: MemoryPlan,
): (tokens: number) => string | null {
  const completion = mostGenerated(config, needs.supervisedOnly);
  const sizes = { ...modelSizes, floatBytes: floatBytes(device) };
  const { values, gradients } = planParameterBytes(sizes);
  return (tokens) => {
    if (tokens + completion > maxPositions) {
      return `its longest prompt has ${tokens} tokens, with ${completion} of the completion that is ` +
        `more than the model's ${maxPositions}`;
    }
    const longer = { ...needs, prompt: Math.max(tokens, needs.prompt) };
    const size = { ...stepSize(config, longer), generationRoom };
    const bytes = values + gradients + beside(sizes, size);
    if (bytes <= available) return null;
    return `its longest prompt has ${tokens} tokens, which takes ${bytesText(bytes)} of memory, ` +
      `${bytesText(available)} are available`;
  };
}

/**
 * Whether activations should be computed again in the backward pass, where the configuration allows
 * it: when the run would take more than half of the memory otherwise. The results are the same
 * bits, and it takes about a third more time.
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
  const room = roomFor(await memoryRoom(device, available), own);
  return values + gradients + beside(own, stepSize(config, needs)) > room / 2;
}

export interface PlanOptions {
  /** Bytes that may be taken; default: what the machine has. */
  available?: number;
  /** Told the plan, also one that does not fit. */
  seen?: (plan: MemoryPlan) => void;
  /** Name of a model that would fit, or null; asked where no setting helps. */
  smaller?: (fits: (sizes: ModelSizes) => boolean) => string | null;
}

/**
 * To be asked before the model is made, so that one which does not fit costs no time.
 * @throws UsageError "needs …, … available" with what to set
 */
export async function planMemory(
  config: RunConfig,
  device: Device,
  modelSizes: ModelSizes,
  needs: Needs,
  { available, seen = () => {}, smaller = () => null }: PlanOptions = {},
): Promise<MemoryPlan> {
  const sizes = { ...modelSizes, floatBytes: floatBytes(device) }, least = stepSize(config, needs);
  const held = device.allocatedBytes, machine = await memoryRoom(device, available);
  const room = roomFor(machine, sizes), { where } = machine;
  const bytes = (model: ModelSizes, step: StepSize) => {
    const { values, gradients } = planParameterBytes(model);
    return values + gradients + beside(model, step);
  };
  const { values, gradients, optimizer } = planParameterBytes(sizes);
  const left = room - bytes(sizes, least);
  const size = {
    ...least,
    generationRoom: generationRoom(device, DEFAULT_GENERATION_BYTES + left / 2),
  };
  const plan = {
    parameters: values + gradients,
    optimizer,
    ...planStep(sizes, size),
    generationRoom: size.generationRoom,
    parts: memoryParts(sizes, size),
    peak: bytes(sizes, size),
    available: held + room,
    weightRoom: weightRoom(machine, sizes, bytes(sizes, size)),
  };
  seen(plan);
  if (plan.peak > room) {
    const settingsFor = (model: ModelSizes) =>
      whatFits(least, (other) => bytes(model, other) <= roomFor(machine, model));
    const settings = settingsFor(sizes);
    const other = settings.length > 0
      ? null
      : smaller((model) =>
        bytes(model, least) <= roomFor(machine, model) || settingsFor(model).length > 0
      );
    if (other !== null) settings.push(`model.model_name_or_path=${other}`);
    if (settings.length === 0) {
      settings.push("smaller batches, shorter completions or a smaller model");
    }
    const alone = plan.parameters > room
      ? `the model alone needs ${bytesText(plan.parameters)}`
      : null;
    const why = [where, alone].filter((text) => text !== null).join("; ");
    refuseIfTooLarge(
      "the run",
      held + plan.peak,
      plan.available,
      settings,
      why === "" ? null : why,
    );
  }
  return plan;
}

interface Room {
  /** What the device may still take. */
  bytes: number;
  /** The same, were all of it weights that are only read. */
  withWeights: number;
  /** What limits it, where that is not the machine's memory. */
  where: string | null;
}

async function memoryRoom(
  device: Device,
  available?: number,
): Promise<Room> {
  if (device.adapter !== undefined && available === undefined) {
    const room = await gpuAvailableBytes(device.adapter);
    // Nobody tells for some cards: then the card itself refuses.
    const bytes = room ?? Infinity;
    return { bytes, withWeights: bytes, where: `what ${device.adapter.name} has free` };
  }
  const held = device.allocatedBytes, machine = machineRoom();
  const free = available ?? machine.bytes;
  const isWasm = device.name === "wasm" && WASM_LIMIT - held < free;
  const byMachine = available === undefined ? LIMITED_BY[machine.by] : null;
  return isWasm
    ? {
      bytes: WASM_LIMIT - held,
      withWeights: free,
      where: "what kernels on the CPU can address, and weights beyond it",
    }
    : { bytes: free, withWeights: free, where: byMachine };
}

/**
 * What a model may take: on the CPU frozen weights can lie outside the kernels' memory, but for the
 * largest one and a copy of another.
 */
function roomFor({ bytes, withWeights }: Room, sizes: ModelSizes): number {
  const { values, gradients, largestFrozen: [largest, second] } = planParameterBytes(sizes);
  const outside = Math.max(0, values - gradients - largest - second);
  return Math.min(withWeights, bytes + outside);
}

/**
 * How many bytes of weights the kernels' memory can hold beside everything else; null: the device
 * has one room.
 */
function weightRoom(
  { bytes, withWeights }: Room,
  sizes: ModelSizes,
  peak: number,
): number | null {
  if (bytes === withWeights) return null;
  const { values, gradients, largestFrozen: [largest, second] } = planParameterBytes(sizes);
  const others = peak - (values - gradients);
  return Math.max(largest, Math.min(WEIGHTS_WITHIN, bytes - others - second));
}
