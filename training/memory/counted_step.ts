/**
 * The memory of a run's steps. It is counted: the code of a step runs with the largest sizes of the
 * run on a device without data. What reaches the peak is what is allocated then.
 */
import { DROPOUT_PASS } from "../../core/philox.ts";
import type { Ranks } from "../../cluster/ranks/ranks.ts";
import { CountingDevice, SCRATCH } from "../../kernels/devices/counting/device.ts";
import { CausalLM } from "../../models/causal_lm.ts";
import { countGeneration } from "../../models/generation/memory/counted_generation.ts";
import { continuedTo } from "../../models/generation/memory/largest_that.ts";
import {
  planDialogues,
  planEqualRequests,
  PREFILL_ROWS,
  PREFILL_ROWS_GPU,
} from "../../models/generation/memory/generation_slots.ts";
import type { ModelConfig } from "../../models/architectures/model_config.ts";
import type { ActivationStore } from "../../models/network/activation_store.ts";
import { activationWidths } from "../../models/network/layer_buffers.ts";
import { PART_ELEMENTS } from "../../models/formats/tensor_stream.ts";
import type { Group } from "../../models/network/types.ts";
import { ofModel } from "../../models/network/counted_network.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import { GradientSum, reductionOf } from "../step/gradient_sum.ts";
import { AdamW } from "../step/optimizer.ts";
import { adapterOffReference, frozenReference } from "../step/reference_policy.ts";
import { Shards } from "../step/shards.ts";
import type { StepSize } from "./step_size.ts";

/** What is in memory at the peak; the names are those of the plan's parts. */
const PARTS = [
  "frozen", // parameters that are not trained
  "trained", // parameters that are trained: all of the model, or its adapters
  "gradients",
  "optimizer", // its states
  "reference", // copies for the reference of the KL term
  "teacher", // weights of the model that is learned from
  "packed", // copies of weights for generation
  "caches", // KV cache of the largest generation
  "inference", // everything else that generation and passes without gradient use
  "activations", // those that are kept for the backward pass
  "sampled", // activations that sampling keeps for the training pass
  "head", // hidden states of the predicted tokens; logits are computed in chunks
  "panels", // scratch of one operation on a CPU, as packed operands; a card's is in `scratch`
  "scratch", // everything else that a training pass uses
  "checkpoint", // tensors on their way into a checkpoint
] as const;
/** @internal The name of a part of the memory. */
export type Part = typeof PARTS[number];

/** The largest tensor of a run. */
export interface LargestBuffer {
  /** Its size. */
  bytes: number;
  /** What it holds, for messages. */
  what: string;
}

export interface CountedStep {
  parts: Record<Part, number>;
  /** The sum of the parts. */
  peak: number;
  /** The largest tensor of the weights and the training passes. */
  largest: LargestBuffer;
  /** Bytes of all weights that are only read, with the copy for the reference. */
  frozen: number;
  /** Bytes of the largest two of them. */
  largestFrozen: [number, number];
}

/** Parts of tensors that are in memory while a checkpoint is written, as measured. */
const WRITTEN_PARTS = 16;

const MAX_DIALOGUES = 2 ** 14;

const counted = new WeakMap<ModelSizes, Map<string, Promise<CountedStep>>>();

/** Levels of the tree that adds gradients, of a sum that is counted. */
const MAX_SUM_LEVELS = 14;

export function countStep(sizes: ModelSizes, size: StepSize): Promise<CountedStep> {
  const known = counted.get(sizes) ?? new Map<string, Promise<CountedStep>>();
  counted.set(sizes, known);
  const key = JSON.stringify(size), isLarge = rowsOf(size) > MAX_ROWS;
  const step = known.get(key) ?? (isLarge ? continued(sizes, size) : count(sizes, size));
  known.set(key, step);
  return step;
}

/** A pass with more rows is not counted: the lists of its rows would take this process's memory. */
const MAX_ROWS = 2 ** 16;

/** Rows of the largest pass of a step: the tokens of its prompts and completions. */
function rowsOf(
  { batch, group, prompt, completion, items, answer, evaluations }: StepSize,
): number {
  const [, during = { slots: 0, each: 1 }] = evaluations;
  const rows = (total: number, each: number) =>
    Math.ceil(total / each) * prompt + total * completion;
  return Math.max(rows(batch, group), rows(during.slots, during.each), items * (prompt + answer));
}

/**
 * About half of a step: half of the groups in each pass, or where that makes the largest pass no
 * smaller, half of the tokens in each.
 */
function halved(size: StepSize): StepSize {
  const { batch, group, items, generated, evaluations, prompt, completion, answer } = size;
  const half = (n: number, unit = 1) => n <= unit ? n : unit * Math.ceil(n / unit / 2);
  const [before, during] = evaluations;
  const fewer = {
    ...size,
    batch: half(batch, group),
    generated: half(generated, group),
    items: half(items, size.perItem),
    comparedItems: half(size.comparedItems, size.perItem),
    evaluations: [before, during].filter((wave) => wave !== undefined)
      .map((wave) => ({ ...wave, slots: half(wave.slots, wave.each) })),
  };
  if (rowsOf(fewer) < rowsOf(size)) return fewer;
  return { ...size, prompt: half(prompt), completion: half(completion), answer: half(answer) };
}

/** A large step, from half and a quarter of it: what its passes take grows with their rows. */
async function continued(sizes: ModelSizes, size: StepSize): Promise<CountedStep> {
  const half = halved(size), quarter = halved(half);
  const large = await countStep(sizes, half), small = await countStep(sizes, quarter);
  const grown = (now: number, before: number) =>
    continuedTo(rowsOf(size), [rowsOf(half), now], [rowsOf(quarter), before]);
  const parts = Object.fromEntries(
    PARTS.map((part) => [part, grown(large.parts[part], small.parts[part])]),
  ) as Record<Part, number>;
  const { bytes, what } = large.largest;
  return {
    ...large,
    parts,
    peak: grown(large.peak, small.peak),
    largest: { bytes: grown(bytes, small.largest.bytes), what },
  };
}

async function count(sizes: ModelSizes, size: StepSize): Promise<CountedStep> {
  // While the model, its copy and the optimizer are made, all tensors belong to these.
  let making: "model" | "reference" | "teacher" | "optimizer" | null = "model";
  const activations = activationNames(sizes);
  const device = new CountingDevice(
    sizes,
    (label, use) => making === "model" ? ofModel(label, use) : making ?? partOf(label, activations),
  );
  const model = CausalLM.empty(device, sizes);
  making = "reference";
  const reference = size.copiedReference
    ? await frozenReference(device, model, null, {
      storage: size.referenceStorage,
      moves: size.movingReference,
      empty: true,
    })
    : adapterOffReference(model);
  if (size.movingReference && size.copiedReference) reference.sync(1);
  making = "teacher";
  const teacher = size.teacher === null ? null : CausalLM.empty(device, size.teacher);
  making = "optimizer";
  if (sizes.trainable !== "none") makeOptimizer(device, model, size);
  making = null;
  await runPasses(model, size, reference, teacher);
  const parts = Object.fromEntries(PARTS.map((part) => [part, 0])) as Record<Part, number>;
  const isCard = sizes.card !== null;
  for (const [part, bytes] of device.partsAtPeak) {
    // The scratch of a CPU's operations is outside of what its device calls allocated.
    parts[part === SCRATCH ? isCard ? "scratch" : "panels" : part as Part] += bytes;
  }
  parts.checkpoint = Math.min(parts.gradients, WRITTEN_PARTS * PART_ELEMENTS * sizes.floatBytes);
  const largest = [...device.largest].filter(([part]) => part !== "caches" && part !== "inference")
    .map(([, { bytes, label }]) => ({ bytes, what: label }))
    .reduce((best, tensor) => tensor.bytes > best.bytes ? tensor : best);
  const [first = 0, second = 0] = device.weights.toSorted((a, b) => b - a);
  return {
    parts,
    peak: device.peakBytes + parts.checkpoint,
    largest,
    frozen: device.weights.reduce((sum, bytes) => sum + bytes, 0),
    largestFrozen: [first, second],
  };
}

function activationNames({ config }: ModelSizes): Set<string> {
  const layers = Array.from({ length: config.numLayers }, (_, layer) => layer);
  const stored = layers.flatMap((layer) => Object.keys(activationWidths(config, layer)));
  return new Set(["layers", "u", "y", ...stored]);
}

/**
 * The part of a tensor that passes make, by its label.
 * @param activations see `activationNames`
 */
function partOf(label: string, activations: ReadonlySet<string>): Part {
  const [owner, name = "", ...rest] = label.split(".");
  if (owner === "copies") return "packed";
  if (owner === "kept") return "sampled";
  if (owner === "inference") return name === "cache" ? "caches" : "inference";
  if (owner === "rope") return "inference";
  if (owner !== "training") return "scratch";
  if (name === "head") return "head";
  return activations.has(name) || rest.length > 1 ? "activations" : "scratch";
}

function makeOptimizer(
  device: CountingDevice,
  model: CausalLM,
  { optimizer: kind, shards }: StepSize,
): void {
  const settings = { adam_beta1: 0, adam_beta2: 0, adam_epsilon: 1, weight_decay: 0, kind };
  const ranks = { rank: 0, size: shards } as Ranks;
  new AdamW(
    device,
    model,
    { ...settings, max_grad_norm: 0 },
    shards === 1 ? null : new Shards(ranks, model, kind),
  );
}

/** Groups of a pass: `total` completions of at most `each` for a prompt. */
function groupsOf(
  total: number,
  each: number,
  { prompt, completion, model }: { prompt: number; completion: number; model: ModelConfig },
): Group[] {
  const { maxPositions: most, vocabSize } = model, length = Math.min(prompt, most - 1);
  const ids = (from: number, length: number) =>
    Array.from({ length }, (_, i) => (from + i) % vocabSize);
  const promptIds = ids(0, length);
  const branch = ids(length, Math.max(1, Math.min(completion, most - length)));
  return Array.from({ length: Math.ceil(total / each) }, (_, promptId) => ({
    promptId,
    promptIds,
    branches: Array<number[]>(Math.min(each, total - promptId * each)).fill(branch),
  }));
}

async function runPasses(
  model: CausalLM,
  size: StepSize,
  reference: Pick<ReturnType<typeof adapterOffReference>, "logp">,
  teacher: CausalLM | null,
): Promise<void> {
  const { batch, group, prompt, completion, items, kept } = size, { sizes } = model;
  const lengths = { prompt, completion, model: model.config };
  const supervised = groupsOf(items, size.perItem, { ...lengths, completion: size.answer });
  const groups = groupsOf(batch, group, lengths);
  const [, during] = size.evaluations;
  const asked = during === undefined ? [] : groupsOf(during.slots, during.each, lengths);
  const dropout = sizes.dropout === null ? {} : { dropout: { seed: 0, pass: DROPOUT_PASS.grpo } };
  const train = async (passes: readonly Group[], store?: ActivationStore) => {
    // A teacher without weights of its own is the policy, with another prompt.
    const { teacherPrompt = 0 } = size, asked = teacherPrompt > 0 ? teacher ?? model : teacher;
    const hinted = groupsOf(batch, group, { ...lengths, prompt: Math.max(prompt, teacherPrompt) });
    await asked?.forward(hinted, { temperature: 1, train: false });
    const how = store === undefined ? dropout : { kept: store };
    const { logp } = await model.forward(passes, { temperature: 1, train: true, ...how });
    model.backward(new Float64Array(logp.length), new Float64Array(logp.length));
  };
  const step = async (
    accumulation: number,
    passes: readonly Group[],
    store?: ActivationStore,
  ): Promise<void> => {
    const arenas = model.trainableArenas;
    const bytes = arenas.reduce((sum, { length }) => sum + 4 * length, 0);
    const reduction = reductionOf(size.reduction, accumulation, bytes);
    const sum = new GradientSum(model, model.device, { reduction, halves: size.halves });
    // The first pass makes the buffers. Of a power of two, the last pass has the max number of
    // partial sums beside it. A sum over more passes has hardly more of them.
    const count = 2 ** Math.min(MAX_SUM_LEVELS, Math.floor(Math.log2(accumulation)));
    await sum.over(count, async (number) => {
      if (number === 0 || number === count - 1) await train(passes, store);
    });
  };
  if (items > 0) await step(size.itemAccumulation, supervised);
  if (kept === "each step") {
    // The estimate of the time makes a pass of its own, before anything is sampled.
    await train(groups);
    model.releasePasses();
  }
  const store = kept === "none" ? undefined : model.activationStore();
  const policy = { prompts: Math.ceil(size.generated / group), each: group, slots: size.generated };
  store?.clear(policy.prompts * prompt + size.generated * completion);
  const generations = [];
  for (const wave of [policy, ...size.evaluations].filter(({ prompts }) => prompts > 0)) {
    const limits = {
      bytes: size.generationLimit,
      largestBuffer: sizes.card?.largestTensor ?? Infinity,
      maxSlots: wave.slots,
      prefillRows: sizes.card === null ? PREFILL_ROWS : PREFILL_ROWS_GPU,
    };
    const { adjusted, turn } = size, equal = { ...wave, length: prompt };
    // Evaluations are not rounded.
    const sampled = { adjusted, ...(wave === policy ? { kvCacheDtype: size.kvCacheDtype } : {}) };
    const dialogues = Math.min(wave.prompts * wave.each, MAX_DIALOGUES);
    const generation = turn === null
      ? await planEqualRequests(sizes, equal, { maxNewTokens: completion, ...sampled }, limits)
      : await planDialogues(
        sizes,
        {
          prompts: Array(dialogues).fill(prompt),
          tokens: completion,
          turnTokens: Math.min(turn, completion),
        },
        sampled,
        limits,
      );
    const { bytes } = await countGeneration(sizes, generation);
    generations.push({ generation, bytes, keep: wave === policy ? store : undefined });
  }
  // The buffers of the last one stay.
  for (const { generation, keep } of generations.toSorted((a, b) => a.bytes - b.bytes)) {
    await model.rehearseGeneration(generation, keep);
  }
  const compared = size.perItem === 1 ? 0 : Math.max(items, size.comparedItems);
  const pairs = groupsOf(compared, size.perItem, { ...lengths, completion: size.answer });
  for (const passes of [groups, asked, pairs]) {
    if (passes.length === 0) continue;
    await model.forward(passes, { temperature: 1, train: false });
    await reference.logp(passes, 1);
  }
  if (batch === 0) return;
  if (store !== undefined) keepRows(store, groups);
  if (kept !== "each step") await step(size.accumulation, groups);
  if (kept !== "none") await step(size.accumulation, groups, store);
}

function keepRows(store: ActivationStore, groups: readonly Group[]): void {
  store.clear(0);
  for (const { promptId = 0, promptIds, branches } of groups) {
    const first = store.reserve(promptIds.length);
    store.addPrompt(promptId, Uint32Array.from(promptIds, (_, row) => first + row));
    branches.forEach(({ length }, branch) => store.addBranch(promptId, branch, length));
  }
}
