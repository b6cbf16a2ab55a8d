/**
 * The memory that a run needs, planned before step 1 from the longest prompts. A run that does not
 * fit is refused with advice. The plan is an upper bound: every completion counts with its maximum
 * length.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import {
  fittingSettings,
  isUseful,
  type LargestBatch,
  largestBatch,
  smallestSizes,
} from "./fitting_settings.ts";
import { bytesText } from "../../core/bytes.ts";
import { UsageError } from "../../core/errors.ts";
import { mean } from "../../core/statistics.ts";
import { sharedPrefixLength } from "../../models/generation/cache/prefill_batch.ts";
import { largestThat } from "../../models/generation/memory/largest_that.ts";
import { memoryRoom as machineRoom } from "../../core/machine/memory.ts";
import type { SplitProblems } from "../../data/held_out.ts";
import type { Device } from "../../kernels/device.ts";
import { MAX_WEIGHT_ROOM } from "../../kernels/devices/wasm/memory.ts";
import { gpuAvailableBytes } from "../../kernels/devices/webgpu/gpu_memory.ts";
import { generationLimit } from "../../models/generation/memory/generation_limit.ts";
import { DEFAULT_GENERATION_BYTES } from "../../models/generation/memory/counted_generation.ts";
import { parameterBytes } from "../../models/network/counted_network.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import { idsOf } from "../../bench/dialogue/segments.ts";
import type { PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";
import { type CountedStep, countStep, type LargestBuffer, type Part } from "./counted_step.ts";
import { type Lengths, type RunNeeds, type StepSize, stepSize } from "./step_size.ts";
import { isMatrix, modelTensors } from "../../models/architectures/mod.ts";
import type { OptimizerKind } from "../step/state_tensors.ts";

/** Number of training problems whose prompts are encoded to find the longest one. */
export const MAX_PROMPTS_MEASURED = 256;

/** What a plan depends on of its device, which need not be on this machine. */
export type PlanDevice = Pick<
  Device,
  | "name"
  | "float"
  | "adapter"
  | "matrixUnits"
  | "allocatedBytes"
  | "largestTensor"
  | "promisedTensor"
>;

/** A plan, in bytes. */
export interface MemoryPlan {
  /** What the bytes are for. */
  parts: MemoryParts;
  /** The sum of the parts. */
  peak: number;
  /** Maximum bytes of a generation. */
  generationLimit: number;
  /** What the run may take; Infinity: not known. */
  available: number;
  /** What limits `available`, in words; null if the caller gave it, or nothing does. */
  limit: string | null;
  /** The largest tensor, which a graphics card must allow. */
  largestBuffer: LargestBuffer;
  /** Searches how large the batch of a training pass may be, which takes a moment. */
  largestBatch: () => Promise<LargestBatch>;
  /** Bytes of frozen weights in the kernels' memory; null: the device has only one memory. */
  weightRoom: number | null;
}

/** What limits the memory, for the message that a run does not fit. */
const LIMITED_BY = {
  machine: null,
  cgroup: "all that the cgroup of this process allows",
  job: "all that SLURM gave the job: sbatch --mem",
} as const;

/** Size of a wasm32 memory, whose pointers have 32 bits. Frozen weights may be outside of it. */
const WASM_LIMIT = 2 ** 32;

/** The longest prompt and answer among the evaluated problems and the first training problems. */
export function longestLengths(
  prompts: PromptEncoder,
  problems: SplitProblems,
  trainProblems: number,
  { hasAnswers, teacher, dpo, sft }:
    & { hasAnswers: boolean }
    & Pick<RunConfig, "teacher" | "dpo" | "sft">,
): Lengths {
  let prompt = 1, answer = 1, teacherPrompt = 0;
  for (const entry of [...problems.heldOut, ...problems.validation]) {
    prompt = Math.max(prompt, prompts.prompt(entry).ids.length);
  }
  for (let i = 0; i < Math.min(MAX_PROMPTS_MEASURED, trainProblems); i++) {
    const entry = problems.trainEntry(i);
    prompt = Math.max(prompt, prompts.prompt(entry).ids.length);
    const hinted = teacher && prompts.teacherPrompt(entry, teacher.teacher_prompt_template);
    teacherPrompt = Math.max(teacherPrompt, hinted?.ids.length ?? 0);
    if (!hasAnswers) continue;
    const answers = entry.preference === undefined
      ? [idsOf(prompts.workedParts(entry, sft?.assistant_only_loss ?? false))]
      : prompts.pairs([entry], dpo?.max_length ?? null).flatMap(({ chosen, rejected }) => [
        chosen,
        rejected,
      ]);
    answer = Math.max(answer, ...answers.map(({ length }) => length));
  }
  return { prompt, answer, teacherPrompt };
}

const MEASURED_PROMPTS = 16;

export interface TypicalTokens {
  /** Of a prompt. */
  promptTokens: number;
  /** Of those, how many the next prompt begins with too. */
  sharedTokens: number;
  /** Of a worked answer; null = there is none. */
  answerTokens: number | null;
}

export function typicalTokens(
  prompts: PromptEncoder,
  problems: SplitProblems,
  trainProblems: number,
): TypicalTokens {
  const entries = Array.from(
    { length: Math.min(MEASURED_PROMPTS, trainProblems) },
    (_, i) => problems.trainEntry(i),
  );
  const ids = entries.map((entry) => prompts.prompt(entry).ids);
  const answers = entries.flatMap((entry) =>
    entry.answer === null && entry.answerMessages === undefined
      ? []
      : [idsOf(prompts.workedParts(entry, false)).length]
  );
  return {
    promptTokens: mean(ids.map(({ length }) => length)),
    sharedTokens: sharedPrefixLength(ids[0]!, ids.at(-1)!),
    answerTokens: answers.length === 0 ? null : mean(answers),
  };
}

/** Tokens after a prompt; 0 for supervised training without an evaluation. */
function maxGenerated(
  { training, dpo, eval: heldOut }: RunConfig,
  supervisedOnly: boolean,
): number {
  const isAsked = !supervisedOnly || (dpo === null && heldOut.num_examples > 0);
  return isAsked ? training.max_completion_length : 0;
}

/** What a run may do with prompts that are too long, as a part of an advice. */
export const CUT_PROMPTS = "cut prompts to their last tokens: " +
  "training.truncate_prompts=left with training.max_prompt_length";

/** @throws UsageError for more tokens than the model has positions */
export function checkPositions(
  config: RunConfig,
  maxPositions: number,
  { prompt, teacherPrompt = 0 }: Lengths,
  phases: "all" | "sft",
): void {
  const completion = maxGenerated(config, phases === "sft");
  if (phases === "all" && teacherPrompt > 0 && teacherPrompt + completion > maxPositions) {
    throw new UsageError(
      `teacher.teacher_prompt_template: the longest prompt of the teacher has ${teacherPrompt} ` +
        `tokens, with ${completion} of the completion that is more than the model's ` +
        `${maxPositions} (max_position_embeddings)`,
      { advice: "Shorten the template, or lower training.max_completion_length." },
    );
  }
  if (prompt + completion <= maxPositions) return;
  throw new UsageError(
    `training.max_completion_length: the longest prompt has ${prompt} tokens, with ${completion} ` +
      `of the completion that is more than the model's ${maxPositions} (max_position_embeddings)`,
    {
      advice: isUseful(maxPositions - prompt, completion)
        ? `Set training.max_completion_length=${maxPositions - prompt} or less.`
        : `The prompt ${
          prompt < maxPositions
            ? "leaves too little room for an answer"
            : "alone is too long for this model"
        }: ${
          config.data.add_instructions
            ? "take rgx's instruction about the answer's form away (data.add_instructions=false), "
            : ""
        }leave such problems out, or ${CUT_PROMPTS}.`,
    },
  );
}

/** Says why prompts that are longer than planned do not fit, or null. */
export async function promptMisfit(
  config: RunConfig,
  sizes: ModelSizes,
  maxPositions: number,
  needs: RunNeeds,
  { available, generationLimit }: MemoryPlan,
): Promise<(tokens: number) => string | null> {
  const completion = maxGenerated(config, needs.supervisedOnly);
  const left = async (prompt: number) => {
    const size = { ...stepSize(config, { ...needs, prompt }), generationLimit };
    return available - (await countStep(sizes, size)).peak;
  };
  const longest = await largestThat(maxPositions - completion, left, needs.prompt);
  return (tokens) => {
    if (tokens + completion > maxPositions) {
      return `its longest prompt has ${tokens} tokens, with ${completion} of the completion that ` +
        `is more than the model's ${maxPositions}`;
    }
    if (tokens <= Math.max(longest, needs.prompt)) return null;
    return `its longest prompt has ${tokens} tokens, and the available memory ` +
      `(${bytesText(available)}) is enough for prompts of at most ${longest}`;
  };
}

/**
 * Whether the activations are recomputed in the backward pass, if the configuration allows it: when
 * the run would take more than half of the memory otherwise. The results are the same bits; a step
 * takes about a third more time.
 */
export async function needsRecompute(
  config: RunConfig,
  device: PlanDevice,
  sizes: ModelSizes,
  needs: RunNeeds,
  available?: number,
): Promise<boolean> {
  const step = await countStep(sizes, stepSize(config, needs));
  return step.peak > roomFor(await memoryRoom(device, available), step) / 2;
}

export interface PlanOptions {
  /** Bytes that the run may take; default: what the machine has. */
  available?: number;
  /** Called with the plan, even if it does not fit. */
  onPlan?: (plan: MemoryPlan) => void;
  /** Returns the name of a model that would fit, or null; called if no setting helps. */
  smaller?: (fits: (sizes: ModelSizes) => Promise<boolean>) => Promise<string | null>;
  /** The same model with its linear layers in 4 bits; null where that cannot be trained. */
  inFourBits?: () => ModelSizes | null;
}

/** Before the model is created. @throws UsageError "needs …, … available" with what to set */
export async function planMemory(
  config: RunConfig,
  device: PlanDevice,
  sizes: ModelSizes,
  needs: RunNeeds,
  { available, onPlan = () => {}, smaller = () => Promise.resolve(null), inFourBits = () => null }:
    PlanOptions = {},
): Promise<MemoryPlan> {
  const baseSize = stepSize(config, needs);
  const held = device.allocatedBytes, machine = await memoryRoom(device, available);
  const base = await countStep(sizes, baseSize);
  const room = roomFor(machine, base), { where } = machine, { largestTensor = Infinity } = device;
  const leftBy = async (model: ModelSizes, size: StepSize) => {
    if (room === Infinity && largestTensor === Infinity) return 1;
    const { values, gradients } = parameterBytes(model);
    if (values + gradients > machine.withWeights) return -1;
    const step = await countStep(model, size);
    const share = step.peak / roomFor(machine, step);
    return 1 - Math.max(share, step.largest.bytes / largestTensor);
  };
  const fits = async (model: ModelSizes, step: StepSize) => await leftBy(model, step) >= 0;
  const left = room - base.peak;
  let size = baseSize, step = base;
  // A run that does not fit may still do so with fewer completions at a time. One completion less
  // may take more than what is missing, so larger cuts are tried, too.
  const least = [1 / 16, 1 / 8, 1 / 4].map((part) => -part * DEFAULT_GENERATION_BYTES);
  const limits = left >= 0
    ? [generationLimit(device, DEFAULT_GENERATION_BYTES + left / 2)]
    : [left, 2 * left, ...least.map((less) => Math.min(2 * left, less))]
      .map((less) => Math.floor(DEFAULT_GENERATION_BYTES + less));
  for (const limit of new Set(limits)) {
    if (limit < DEFAULT_GENERATION_BYTES / 4) continue;
    const tried = { ...baseSize, generationLimit: limit }, other = await countStep(sizes, tried);
    if (other.peak > room) continue;
    [size, step] = [tried, other];
    break;
  }
  const parts = await memoryParts(sizes, size, step), { peak } = step;
  // Larger passes recompute their activations where they may.
  const recompute = sizes.recompute || config.training.gradient_checkpointing;
  const searched = size.generationLimit < baseSize.generationLimit ? size : baseSize;
  const largest = recompute === sizes.recompute ? sizes : { ...sizes, recompute };
  const plan = {
    generationLimit: size.generationLimit,
    parts,
    peak,
    available: held + room,
    limit: room === Infinity ? null : machine.limit,
    weightRoom: weightRoom(machine, step, peak),
    largestBuffer: step.largest,
    largestBatch: () => largestBatch(searched, config.training, (size) => leftBy(largest, size)),
  };
  onPlan(plan);
  const misfit = bufferMisfit(plan.largestBuffer, device);
  if (peak > room || misfit !== null) {
    const { batches, others } = await fittingSettings(baseSize, (size) => leftBy(sizes, size));
    const four = inFourBits();
    const settings = [
      ...batches,
      ...(four !== null && await fits(four, baseSize) ? ["model.load_in_4bit=true"] : []),
      ...others,
    ];
    const other = settings.length > 0 ? null : await smaller(async (model) => {
      for (const size of [baseSize, ...smallestSizes(baseSize)]) {
        if (await fits(model, size)) return true;
      }
      return false;
    });
    if (other !== null) settings.push(`model.model_name_or_path=${other}`);
    if (settings.length === 0) {
      settings.push("smaller batches, shorter completions or a smaller model");
    }
    const model = parts.frozen + parts.trained + parts.gradients;
    const alone = model > room ? `the model alone needs ${bytesText(model)}` : null;
    const why = [where, alone].filter((text) => text !== null).join("; ");
    const advice = `set ${settings.join(" or ")}`;
    if (peak > room) {
      throw new UsageError(
        `the run needs ${bytesText(held + peak)}, ${bytesText(plan.available)} available` +
          (why === "" ? "" : `: ${why}`),
        { advice },
      );
    }
    const adapter = sizes.trainable === "full" ? "train an adapter (a lora section), or " : "";
    throw new UsageError(misfit!, { advice: adapter + advice });
  }
  return plan;
}

interface Room {
  /** Bytes that the device can still allocate. */
  bytes: number;
  /** The same, if all of it were weights that are only read. */
  withWeights: number;
  /** What limits it, if not the memory of the machine. */
  where: string | null;
  /** The same in few words, of the machine's memory too; null where the caller limits it. */
  limit: string | null;
}

async function memoryRoom(
  device: PlanDevice,
  available?: number,
): Promise<Room> {
  if (device.adapter !== undefined && available === undefined) {
    const room = await gpuAvailableBytes(device.adapter);
    // Some cards do not report their free memory. Then the allocation itself fails.
    const bytes = room ?? Infinity;
    const where = `what ${device.adapter.name} has free`;
    return { bytes, withWeights: bytes, where, limit: `free on ${device.adapter.name}` };
  }
  const held = device.allocatedBytes, machine = machineRoom();
  const free = available ?? machine.bytes;
  if (device.name === "wasm" && WASM_LIMIT - held < free) {
    const limit = "all that kernels on the CPU can address";
    const where = "what kernels on the CPU can address, and weights beyond it";
    return { bytes: WASM_LIMIT - held, withWeights: free, where, limit };
  }
  const where = available === undefined ? LIMITED_BY[machine.by] : null;
  const limit = available === undefined ? where ?? "free on this machine" : null;
  return { bytes: free, withWeights: free, where, limit };
}

/**
 * Bytes that a model may take. On the CPU frozen weights can be outside of the kernels' memory,
 * except the largest one and a copy of another.
 */
function roomFor(
  { bytes, withWeights }: Room,
  { frozen, largestFrozen: [largest, second] }: CountedStep,
): number {
  const outside = Math.max(0, frozen - largest - second);
  return Math.min(withWeights, bytes + outside);
}

/** Bytes of weights in the kernels' memory beside everything else; null: there is one memory. */
function weightRoom(
  { bytes, withWeights }: Room,
  { frozen, largestFrozen: [largest, second] }: CountedStep,
  peak: number,
): number | null {
  if (bytes === withWeights) return null;
  const others = peak - frozen;
  return Math.max(largest, Math.min(MAX_WEIGHT_ROOM, bytes - others - second));
}

/** Why the largest buffer is too large for a device; null when it is not. */
function bufferMisfit(
  { bytes, what }: LargestBuffer,
  { largestTensor = Infinity, adapter }: PlanDevice,
): string | null {
  if (bytes <= largestTensor) return null;
  return `the run needs a buffer of ${bytesText(bytes)} (${what}), and ` +
    `${adapter?.name ?? "the device"} has buffers of at most ${bytesText(largestTensor)}`;
}

/** Bytes of the parts of a plan, whose sum is its peak, and of alternatives. */
export interface MemoryParts extends Record<Part, number> {
  /** Types that the matrices of frozen parameters are stored in. */
  frozenTypes: string[];
  /** How what is trained is kept: the types of matrices, and of those of the reference. */
  kept: {
    trained: string[];
    reference: string[];
    optimizer: OptimizerKind;
    shards: number;
    /** Whether activations are computed again in the backward. */
    recompute: boolean;
  };
  /** What other ways of computing would take; no part of the sum. */
  otherwise: {
    /** Activations if all are kept, or if each layer is recomputed from its input. */
    kept: number;
    recomputed: number;
    /** The logits of all predicted tokens together. */
    allLogits: number;
  };
}

async function memoryParts(
  sizes: ModelSizes,
  size: StepSize,
  step: CountedStep,
): Promise<MemoryParts> {
  const { recompute, config, floatBytes } = sizes, isFull = sizes.trainable === "full";
  const other = await countStep({ ...sizes, recompute: !recompute }, size);
  const own = step.parts.activations, others = other.parts.activations;
  const pairs = Math.max(size.batch * size.completion, size.items * size.answer);
  return {
    ...step.parts,
    frozenTypes: typesOf(sizes),
    kept: {
      trained: isFull ? typesOf(sizes) : ["f32"],
      reference: isFull ? typesOf({ ...sizes, storage: size.referenceStorage }) : ["f32"],
      optimizer: size.optimizer,
      shards: size.shards,
      recompute,
    },
    otherwise: {
      kept: recompute ? others : own,
      recomputed: recompute ? own : others,
      allLogits: floatBytes * pairs * config.vocabSize,
    },
  };
}

function typesOf({ config, storage }: ModelSizes): string[] {
  const matrices = modelTensors(config).filter(isMatrix);
  return [...new Set(matrices.map(({ name }) => storage.get(name) ?? "f32"))];
}
