/**
 * The plan of a run on a graphics card that this machine need not have: the memory as the run
 * itself would plan it there, and times from the card's figures.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { KnownCard } from "../../core/machine/known_cards.ts";
import { contextText } from "../../models/architectures/rope_scaling.ts";
import { planSlots, PREFILL_ROWS_GPU } from "../../models/generation/memory/generation_slots.ts";
import { type EstimateInput, estimateParts, workedTokens } from "../duration/time_estimate.ts";
import type { MemoryPlan } from "../memory/run_memory.ts";
import { planFromModel, planFromShape, type ShapePlan } from "../memory/shape_plan.ts";
import { type RunSizes, runSizes } from "../run/run_sizes.ts";
import { type DiskPlan, planDisk } from "../run/disk_plan.ts";
import { countedSpeed, type DeviceSpeed } from "../duration/counted_speed.ts";
import { cardDevice, type PlanCard, usableBytes } from "./plan_card.ts";

/** Estimated seconds; nothing of it is measured. */
export interface CardTime {
  /** Tokens of a completion that are assumed, and the maximum. */
  completionTokens: number;
  /** Maximum number of tokens of a completion. */
  maxTokens: number;
  /** Completions that are decoded together. */
  lanes: number;
  /** Of one step. */
  generation: number;
  /** Forward and backward passes of one step. */
  training: number;
  /** The optimizer, once. */
  update: number;
  /** The whole of one step. */
  step: number;
  /** Of one step when all completions have the maximum length. */
  longestStep: number;
  /** Number of GRPO steps. */
  steps: number;
  /** All supervised steps. */
  warmStart: number;
  /** All evaluations, before, while and after training. */
  evaluations: number;
  /** The whole run. */
  run: number;
  /** To copy the weights to the card, at the speed of its bus. */
  upload: number;
  /** Of one step, to generate for some of its prompts alone. */
  generationOf: (prompts: number) => Promise<number>;
}

/** What is known even of a run that does not fit. */
export interface CardMemory {
  /** The card. */
  card: PlanCard;
  /** The model's name; null = made from a seed. */
  name: string | null;
  /** Whether the weights are on this machine. */
  isHere: boolean;
  /** Number of parameters of the model. */
  parameters: number;
  /** The longest prompt in tokens, and whether it is an estimate. */
  prompt: number;
  /** Whether the length of the prompt is an estimate. */
  estimated: boolean;
  /** The longest text of the model and its RoPE scaling; null without scaling. */
  context: string | null;
  /** The memory of the run, part by part. */
  memory: MemoryPlan;
}

/** A plan that fits. */
export interface CardPlan extends CardMemory {
  /** Null when the card's figures or the number of problems are not known. */
  time: CardTime | null;
  /** Null when the number of problems is not known. */
  disk: DiskPlan | null;
}

/** Options of `planOnCard`. */
export interface CardPlanOptions {
  /** All phases (default), or the supervised warm start alone. */
  phases?: "all" | "sft";
  /** Number of ranks, each with such a card; default: one. */
  ranks?: number;
  /** Called when the memory is planned, even if it does not fit. */
  onMemory?: (plan: CardMemory) => void;
}

/**
 * Memory, and time if the card's figures are known.
 * @throws UsageError for a plan that does not fit, after `onMemory`
 */
export async function planOnCard(
  config: RunConfig,
  card: PlanCard,
  { phases = "all", ranks = 1, onMemory = () => {} }: CardPlanOptions = {},
): Promise<CardPlan> {
  const device = cardDevice(card);
  const seen = ({ name, isHere, parameters, tokens, sizes, memory }: ShapePlan): CardMemory => ({
    card,
    name,
    isHere,
    parameters,
    memory,
    prompt: tokens.longest.prompt,
    estimated: tokens.estimated,
    context: contextText(sizes.config),
  });
  const onPlan = (plan: ShapePlan) => onMemory(seen(plan));
  const options = { phases, ranks, availableBytes: usableBytes(card), onPlan };
  const plan = await planFromShape(config, device, options) ??
    await planFromModel(config, device, options);
  const { trainProblems } = plan.tokens;
  // Without the number of problems or of steps, neither times nor the disk are known.
  if (trainProblems === null && config.training.max_steps <= 0) {
    return { ...seen(plan), time: null, disk: null };
  }
  const sizes = runSizes(config, trainProblems ?? MANY_PROBLEMS, phases);
  // Adapters are float32 on a card.
  const stored = config.lora === null ? plan.parameters : plan.memory.parts.trained / 4;
  return {
    ...seen(plan),
    time: card.figures && await cardTime(config, card.figures, plan, sizes, phases),
    disk: planDisk({ config, sizes, stored, phases }),
  };
}

/**
 * Shares of the peaks of a data sheet that are assumed. Kernels of WebGPU have no tensor cores;
 * others report that good ones reach 40 to 70 % of the f32 peak without them.
 */
export const PRODUCT_SHARE = 0.4, BANDWIDTH_SHARE = 0.6;

/** Seconds for the host to start an operation on a card: 3 to 5 µs were measured. */
const OPERATION_SECONDS = 4e-6;

const cardSpeed = ({ flops, bandwidth }: KnownCard): DeviceSpeed => ({
  products: PRODUCT_SHARE * flops,
  bandwidth: BANDWIDTH_SHARE * bandwidth,
  start: OPERATION_SECONDS,
});

async function cardTime(
  config: RunConfig,
  figures: KnownCard,
  plan: ShapePlan,
  rows: RunSizes,
  phases: "all" | "sft",
): Promise<CardTime> {
  const { training, sft } = config, { sizes, memory, tokens } = plan;
  const input: EstimateInput = {
    config,
    heldOut: tokens.heldOut,
    askedBetween: tokens.askedBetween,
    ...tokens.typical,
    sizes: phases === "sft" ? { ...rows, totalSteps: 0 } : rows,
  };
  const maxTokens = training.max_completion_length;
  const expected = rows.warmStartSteps > 0
    ? workedTokens(input)
    : Math.ceil(maxTokens * UNMEASURED);
  const parts = async (completionTokens: number, rowsPerGeneration = rows.rowsPerGeneration) => {
    const lanes = await lanesOf(config, plan, rowsPerGeneration);
    const group = training.num_generations, { promptTokens } = tokens.typical;
    const work = { promptTokens, completionTokens, group, lanes, moments: memory.parts.optimizer };
    const speed = countedSpeed(cardSpeed(figures), sizes, work);
    const { generation, training: passes, ...others } = estimateParts(
      { ...input, sizes: { ...input.sizes, rowsPerGeneration } },
      speed,
      completionTokens,
    );
    const step = generation + passes + speed.update;
    return { lanes, generation, training: passes, update: speed.update, step, ...others };
  };
  const usual = await parts(expected), upload = memory.parts.frozen / figures.bus;
  const steps = input.sizes.totalSteps, supervised = sft?.max_steps ?? 0;
  return {
    ...usual,
    completionTokens: expected,
    maxTokens,
    steps,
    longestStep: (await parts(maxTokens)).step,
    run: upload + usual.warmStart + supervised * usual.update + steps * usual.step +
      usual.evaluations,
    upload,
    generationOf: async (prompts) =>
      (await parts(expected, prompts * training.num_generations)).generation,
  };
}

/**
 * Assumed length of a completion as a share of the maximum. After a warm start completions are as
 * long as worked answers; otherwise only a run shows it.
 */
const UNMEASURED = 1 / 2;

/** As many problems as no run has steps for, where their number is not known. */
const MANY_PROBLEMS = 2 ** 30;

/** Completions of a generation batch that fit into its memory together. */
async function lanesOf(
  config: RunConfig,
  { sizes, memory, tokens }: ShapePlan,
  rowsPerGeneration: number,
): Promise<number> {
  const { num_generations: n, max_completion_length: maxNewTokens } = config.training;
  const length = Math.ceil(tokens.typical.promptTokens);
  const requests = Array.from(
    { length: Math.max(1, Math.floor(rowsPerGeneration / n)) },
    () => ({ n, promptIds: { length } }),
  );
  const limits = {
    bytes: memory.generationLimit,
    largestBuffer: Infinity,
    maxSlots: Infinity,
    prefillRows: PREFILL_ROWS_GPU,
  };
  return (await planSlots(sizes, requests, { maxNewTokens, adjusted: false }, limits)).branches;
}
