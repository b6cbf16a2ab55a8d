/**
 * The plan of a run on a graphics card that this machine need not have: the memory as the run
 * itself would plan it there, and times from the card's figures.
 */
import { planNote } from "../../configs/model_shapes.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { askedWhileTraining } from "../../data/held_out.ts";
import { contextText } from "../../models/architectures/rope_scaling.ts";
import { planSlots, PREFILL_ROWS_GPU } from "../../models/generation/memory/generation_slots.ts";
import type { ModelSizes } from "../../models/network/weights/model_sizes.ts";
import {
  type EstimateInput,
  estimateParts,
  type TypicalTokens,
  typicalTokens,
  workedTokens,
} from "../duration/time_estimate.ts";
import { type PlannedRun, planRun } from "../memory/planned_run.ts";
import { openRun } from "../open_run.ts";
import type { MemoryPlan } from "../memory/run_memory.ts";
import { planFromShape, type ShapePlan } from "../memory/shape_plan.ts";
import { parameterCount } from "../memory/smaller_model.ts";
import { runSizes } from "../run/run_sizes.ts";
import { type DiskPlan, planDisk } from "../run/disk_plan.ts";
import { cardSpeed } from "./card_speed.ts";
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
  /** Why a run would be refused although it can be planned; null = it would not. */
  note: string | null;
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
 * Plans a run on a card: its memory, and its time if the card's figures are known.
 * @throws UsageError when the plan does not fit, after `onMemory`
 */
export async function planOnCard(
  config: RunConfig,
  card: PlanCard,
  { phases = "all", ranks = 1, onMemory = () => {} }: CardPlanOptions = {},
): Promise<CardPlan> {
  const device = cardDevice(card), availableBytes = usableBytes(card);
  const name = config.model.model_name_or_path, about = { card, name, note: planNote(name) };
  const ofShape = ({ parameters, tokens, sizes, memory }: ShapePlan): CardMemory => ({
    ...about,
    isHere: false,
    parameters,
    memory,
    prompt: tokens.longest.prompt,
    estimated: tokens.estimated,
    context: contextText(sizes.config),
  });
  const ofRun = ({ sizes, needs, memory }: Pick<PlannedRun, "sizes" | "needs" | "memory">) => ({
    ...about,
    isHere: true,
    parameters: parameterCount(sizes.config),
    memory,
    prompt: needs.prompt,
    estimated: false,
    context: contextText(sizes.config),
  });
  const shape = await planFromShape(config, device, {
    phases,
    ranks,
    availableBytes,
    onPlan: (plan) => onMemory(ofShape(plan)),
  });
  if (shape !== null) {
    const { sizes, memory, tokens: { typical: tokens, trainProblems, ...counts } } = shape;
    const timed = { config, card, phases, sizes, memory, tokens, trainProblems };
    const time = await cardTime({ ...timed, ...counts });
    const disk = diskOf({ config, phases, memory, trainProblems }, shape.parameters);
    return { ...ofShape(shape), time, disk };
  }
  const run = await openRun(config);
  const plan = await planRun(config, device, run, {
    phases,
    ranks,
    availableBytes,
    planned: (memory, { sizes, needs }) => onMemory(ofRun({ sizes, needs, memory })),
  });
  const { prompts, problems, trainProblems } = run, { sizes, memory } = plan;
  const tokens = typicalTokens(prompts, problems, trainProblems);
  const counts = {
    heldOut: problems.heldOut.length,
    askedBetween: askedWhileTraining(problems).length,
  };
  const timed = { config, card, phases, sizes, memory, tokens, trainProblems };
  const time = await cardTime({ ...timed, ...counts });
  const disk = diskOf({ config, phases, memory, trainProblems }, parameterCount(sizes.config));
  return { ...ofRun(plan), time, disk };
}

/** @param parameters of the whole model */
function diskOf(
  about: Pick<TimeInput, "config" | "phases" | "memory" | "trainProblems">,
  parameters: number,
): DiskPlan | null {
  const { config, phases, memory, trainProblems } = about;
  if (!hasSteps(config, trainProblems)) return null;
  const sizes = runSizes(config, trainProblems ?? MANY_PROBLEMS, phases);
  // Adapters are float32 on a card.
  const stored = config.lora === null ? parameters : memory.parts.trained / 4;
  return planDisk({ config, sizes, stored, phases });
}

/** Whether the number of steps is known. */
const hasSteps = ({ training }: RunConfig, trainProblems: number | null) =>
  trainProblems !== null || training.max_steps > 0;

/** What the time depends on. */
interface TimeInput {
  config: RunConfig;
  card: PlanCard;
  phases: "all" | "sft";
  sizes: ModelSizes;
  memory: MemoryPlan;
  tokens: TypicalTokens;
  /** Null = not known. */
  trainProblems: number | null;
  heldOut: number;
  askedBetween: number;
}

async function cardTime(about: TimeInput): Promise<CardTime | null> {
  const { config, card: { figures }, phases, sizes, memory, tokens, trainProblems } = about;
  const { training, sft } = config;
  if (figures === null || !hasSteps(config, trainProblems)) return null;
  const rows = runSizes(config, trainProblems ?? MANY_PROBLEMS, phases);
  const input: EstimateInput = {
    config,
    heldOut: about.heldOut,
    askedBetween: about.askedBetween,
    ...tokens,
    sizes: phases === "sft" ? { ...rows, totalSteps: 0 } : rows,
  };
  const maxTokens = training.max_completion_length;
  const expected = rows.warmStartSteps > 0
    ? workedTokens(input)
    : Math.ceil(maxTokens * UNMEASURED);
  const parts = async (completionTokens: number, rowsPerGeneration = rows.rowsPerGeneration) => {
    const lanes = await lanesOf(about, rowsPerGeneration);
    const group = training.num_generations, { promptTokens } = tokens;
    const work = { promptTokens, completionTokens, group, lanes, moments: memory.optimizer };
    const speed = cardSpeed(figures, sizes, work);
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
  { config, sizes, memory, tokens }: TimeInput,
  rowsPerGeneration: number,
): Promise<number> {
  const { num_generations: n, max_completion_length: maxNewTokens } = config.training;
  const length = Math.ceil(tokens.promptTokens);
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
