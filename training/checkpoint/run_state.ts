/**
 * The state of a run apart from its tensors: how far it has come, and its counters. A checkpoint
 * holds it as `rgx_state.json`; with the tensors of the checkpoint, a run continues bit for bit.
 * All random numbers are functions of counters, so the state of a random generator does not have to
 * be kept.
 */
import { sha256Hex } from "../../core/checksums.ts";
import { RgxError } from "../../core/errors.ts";
import type { LocalTime } from "../../core/local_time.ts";
import type { CoachState } from "../../tasks/curriculum/coach.ts";
import type { EntropyState } from "../loss/entropy_control.ts";
import type { LossScaleState } from "../step/loss_scale.ts";
import type { EvalResult } from "../evaluation/before_and_after.ts";
import { addUp, type AveragerState, type Metrics } from "../metrics/metrics.ts";
import type { SecondsByPhase } from "../metrics/phase_clock.ts";
import type { ChosenKernels } from "./chosen_kernels.ts";
import { checkStateFields, parseJson } from "./state_validation.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { SplitProblems } from "../../data/held_out.ts";
import type { Entry } from "../../tasks/types.ts";

/** The phase that a run is in; a checkpoint has the phase in which a resumed run continues. */
export type StatePhase = "warm_start" | "eval_before" | "grpo";

/** The evaluation while training in which the metric of `metric_for_best_model` was best. */
export interface BestEvaluation {
  step: number;
  metric: number;
}

/** Which problems a run holds out, and whether they have changed. */
export interface HeldOutRecord {
  /** Hash of the questions, in their order. */
  sha256: string;
  /** An earlier session held out other problems: it is not known whether it trained on these. */
  changed: boolean;
}

export interface RunState {
  phase: StatePhase;
  /** Supervised steps done. */
  warmStartStep: number;
  /** GRPO steps done. */
  step: number;
  /** Prompts drawn by GRPO so far: the number of the next one. */
  nextPrompt: number;
  /** Adaptive coefficient of the entropy bonus; null = it is constant. */
  entropy: EntropyState | null;
  /** Scale of the loss; null = it is not scaled (`compute_dtype` is not float16). */
  lossScale: LossScaleState | null;
  /** Levels of difficulty and the latest scores; null = there is no curriculum. */
  curriculum: CoachState | null;
  /** Weights of tasks that the calling program changed while training; null = none. */
  taskWeights: Record<string, number> | null;
  /** Step of the latest evaluation while training, or null. */
  evaluatedStep: number | null;
  best: BestEvaluation | null;
  /** Prompt and completion tokens of GRPO so far (TRL's num_tokens). */
  numTokens: number;
  warmStartTokens: number;
  tokensGenerated: number;
  tokensTrained: number;
  /** Sum of the losses of this phase's steps, for train_loss; NaN: one of them was not finite. */
  lossSum: number;
  skippedSteps: number;
  /**
   * When the run began, where the chat template writes the time into prompts; else null, also in
   * checkpoints of earlier versions.
   */
  promptTime: LocalTime | null;
  /** The measured kernels of a graphics card; null: operations follow their rules. */
  kernels: ChosenKernels | null;
  /** null in a fresh state, and in checkpoints of earlier versions. */
  heldOut: HeldOutRecord | null;
  evalBefore: EvalResult | null;
  /** Metrics since the last log. */
  averager: AveragerState;
  seconds: number;
  secondsByPhase: Partial<SecondsByPhase>;
  /** What rewards have spent so far, by metric; empty in checkpoints of earlier versions. */
  spent: Record<string, number>;
}

export function freshState(phase: StatePhase): RunState {
  return {
    phase,
    warmStartStep: 0,
    step: 0,
    nextPrompt: 0,
    entropy: null,
    lossScale: null,
    curriculum: null,
    taskWeights: null,
    evaluatedStep: null,
    best: null,
    numTokens: 0,
    warmStartTokens: 0,
    tokensGenerated: 0,
    tokensTrained: 0,
    lossSum: 0,
    skippedSteps: 0,
    promptTime: null,
    kernels: null,
    heldOut: null,
    evalBefore: null,
    averager: {},
    seconds: 0,
    secondsByPhase: {},
    spent: {},
  };
}

/** Adds a step's loss to those of train_loss: by default a single NaN would make it NaN. */
export function addLoss(
  state: RunState,
  loss: number,
  { logging_nan_inf_filter: filter }: RunConfig["training"],
): void {
  if (Number.isFinite(loss) || !filter) state.lossSum += loss;
}

/**
 * Adds what rewards have spent to the run's totals.
 * @returns it as metrics, with the totals of time and price
 */
export function addSpent(state: RunState, spent: Readonly<Record<string, number>>): Metrics {
  const total = state.spent = addUp([state.spent, spent]);
  const totals = Object.keys(spent).flatMap((name) => {
    const [, place, what] = /^(.*\/)(seconds|cost)$/.exec(name) ?? [];
    return what === undefined ? [] : [[`${place}total_${what}`, total[name]!] as const];
  });
  return { ...spent, ...Object.fromEntries(totals) };
}

/** What the file holds besides the state. */
export interface StateContext {
  version: string;
  /** The complete configuration as YAML. */
  config: string;
  /** Length of metrics.jsonl: on resume the file is cut back to it. */
  metricsBytes: number;
  epoch: number;
  seed: number;
  /** Seed of the order of prompts. */
  dataSeed: number;
  promptsPerEpoch: number;
  /** Micro-batches trained on so far. */
  microSteps: number;
  /** The generation batch in `rollout.safetensors`, or null. */
  rollout: RolloutPosition | null;
}

/** How much of the current generation batch was trained on. */
export interface RolloutPosition {
  generation: number;
  /** Its micro-batches that were trained on. */
  done: number;
  /** The next slice. */
  slice: number;
  doneRows: number;
}

/** The text of rgx_state.json. */
export function encodeState(state: RunState, context: StateContext): string {
  const { promptsPerEpoch, seed, rollout } = context;
  return JSON.stringify(
    {
      format: 1,
      version: context.version,
      config_sha256: sha256Hex(context.config),
      phase: state.phase,
      warm_start_step: state.warmStartStep,
      global_step: state.step,
      micro_step: context.microSteps,
      epoch: context.epoch,
      sampler: {
        seed: context.dataSeed,
        epoch: Math.floor(state.nextPrompt / promptsPerEpoch),
        position: state.nextPrompt % promptsPerEpoch,
      },
      rng: { seed, counters: { next_prompt: state.nextPrompt } },
      scheduler: { step: state.phase === "warm_start" ? state.warmStartStep : state.step },
      entropy: state.entropy,
      ...(state.lossScale === null ? {} : { loss_scale: state.lossScale }),
      curriculum: state.curriculum,
      task_weights: state.taskWeights,
      metrics_bytes: context.metricsBytes,
      rollout: rollout === null ? null : {
        step: rollout.generation,
        micro_steps: rollout.done,
        slice: rollout.slice,
        done_rows: rollout.doneRows,
      },
      evaluated_step: state.evaluatedStep,
      best: state.best,
      prompt_time: state.promptTime,
      ...(state.kernels === null ? {} : { kernels: state.kernels }),
      held_out: state.heldOut,
      eval_before: state.evalBefore,
      totals: {
        num_tokens: state.numTokens,
        warm_start_tokens: state.warmStartTokens,
        tokens_generated: state.tokensGenerated,
        tokens_trained: state.tokensTrained,
        loss_sum: state.lossSum,
        skipped_steps: state.skippedSteps,
        seconds: state.seconds,
        seconds_by_phase: state.secondsByPhase,
        spent: state.spent,
      },
      since_log: state.averager,
      config: context.config,
    },
    null,
    2,
  ) + "\n";
}

export interface DecodedState {
  state: RunState;
  metricsBytes: number;
  configSha256: string;
  /** The configuration as YAML; null in checkpoints of earlier versions. */
  config: string | null;
}

/** @throws RgxError for a file of another format */
export function decodeState(text: string, label: string): DecodedState {
  // deno-lint-ignore no-explicit-any -- every field is checked below
  const json = parseJson(text, label) as any;
  if (json?.format !== 1) {
    throw new RgxError(`${label}: format ${JSON.stringify(json?.format)}, this rgx reads 1`, {
      advice: "Continue the run with the version of rgx that wrote it (see run.json).",
    });
  }
  checkStateFields(json, label);
  const { totals } = json;
  return {
    metricsBytes: json.metrics_bytes,
    configSha256: json.config_sha256,
    config: typeof json.config === "string" ? json.config : null,
    state: {
      phase: json.phase,
      warmStartStep: json.warm_start_step,
      step: json.global_step,
      nextPrompt: json.rng.counters.next_prompt,
      entropy: json.entropy ?? null,
      lossScale: json.loss_scale ?? null,
      curriculum: json.curriculum ?? null,
      taskWeights: json.task_weights ?? null,
      evaluatedStep: json.evaluated_step ?? null,
      best: json.best ?? null,
      numTokens: totals.num_tokens,
      warmStartTokens: totals.warm_start_tokens,
      tokensGenerated: totals.tokens_generated,
      tokensTrained: totals.tokens_trained,
      lossSum: totals.loss_sum ?? NaN,
      skippedSteps: totals.skipped_steps,
      promptTime: json.prompt_time ?? null,
      kernels: json.kernels ?? null,
      heldOut: json.held_out ?? null,
      evalBefore: json.eval_before,
      averager: json.since_log,
      seconds: totals.seconds,
      secondsByPhase: totals.seconds_by_phase,
      spent: totals.spent ?? {},
    },
  };
}

/**
 * All problems that a run is not trained on. Each session leaves them out when it draws training
 * problems. If a resumed run holds out other ones, an earlier session may have trained on them, and
 * the evaluation before training was on other problems: then the run does not claim that there is
 * no overlap, and does not compare the two evaluations.
 */
export function heldApart(
  { heldOut, validation }: Pick<SplitProblems, "heldOut" | "validation">,
): readonly Entry[] {
  return [...heldOut, ...validation];
}

export function heldOutRecord(heldOut: readonly Entry[], changed = false): HeldOutRecord {
  return { sha256: sha256Hex(JSON.stringify(heldOut.map(({ question }) => question))), changed };
}

/**
 * Updates a restored state for this session's held-out problems and evaluation settings. An
 * evaluation before training that cannot be compared with the one after is removed.
 * @returns warnings about it
 */
export function reviseHeldOut(
  state: RunState,
  heldOut: readonly Entry[],
  { training, eval: { temperature } }: RunConfig,
): string[] {
  const now = heldOutRecord(heldOut), then = state.heldOut ?? now;
  const isOther = then.sha256 !== now.sha256;
  state.heldOut = { ...now, changed: then.changed || isOther };
  const notes: string[] = [];
  if (heldOut.length === 0) return notes;
  if (isOther) {
    notes.push(
      "the held-out problems are others than before: some of them may have been trained on already",
    );
  }
  const { evalBefore } = state, sampledAt = temperature ?? training.temperature;
  if (evalBefore !== null && (isOther || evalBefore.temperature !== sampledAt)) {
    const how = isOther
      ? `of ${evalBefore.total} other problems`
      : `at temperature ${evalBefore.temperature}, and is ${sampledAt} now`;
    notes.push(`the evaluation before training was ${how}: it is not compared with the one after`);
    state.evalBefore = null;
  }
  return notes;
}
