/**
 * Everything about a run's progress that is not a tensor: where it stands, what it has counted. Written to
 * `rgx_state.json` of a checkpoint; with the tensors beside it a run continues bit for bit. All random
 * draws are functions of counters, so no generator state has to be kept.
 */
import { RgxError } from "../../core/errors.ts";
import type { CoachState } from "../../tasks/curriculum/coach.ts";
import type { EntropyState } from "../loss/entropy_control.ts";
import type { EvalResult } from "../../evaluation/evaluate.ts";
import type { HeldOutRecord } from "./held_out_record.ts";
import type { AveragerState } from "../metrics/metrics.ts";
import type { SecondsByPhase } from "../metrics/phase_clock.ts";
import { checkStateFields, parseJson } from "./state_check.ts";

/** What comes next: a checkpoint is written in the phase that it continues in. */
export type StatePhase = "warm_start" | "eval_before" | "grpo";

/** The evaluation, of those while training, that the metric of the best checkpoint was best in. */
export interface BestEvaluation {
  step: number;
  metric: number;
}

export interface RunState {
  phase: StatePhase;
  /** Supervised steps done. */
  warmStartStep: number;
  /** GRPO steps done. */
  step: number;
  /** Prompts drawn by GRPO so far: the number of the next one. */
  nextPrompt: number;
  /** Adaptive entropy coefficient; null = it does not change. */
  entropy: EntropyState | null;
  /** Levels of difficulty and the scores that are looked at; null = there is no curriculum. */
  curriculum: CoachState | null;
  /** Weights of tasks that a program has changed while training; null = none. */
  taskWeights: Record<string, number> | null;
  /** Step of the newest evaluation while training, or null. */
  evaluatedStep: number | null;
  best: BestEvaluation | null;
  /** Prompt and completion tokens of GRPO so far (TRL's num_tokens). */
  numTokens: number;
  warmStartTokens: number;
  tokensGenerated: number;
  tokensTrained: number;
  /** Σ of the losses of this phase's steps, for train_loss. */
  lossSum: number;
  skippedSteps: number;
  /** null: of a fresh state, and of checkpoints that do not say it. */
  heldOut: HeldOutRecord | null;
  evalBefore: EvalResult | null;
  /** Metrics since the last log. */
  averager: AveragerState;
  seconds: number;
  secondsByPhase: Partial<SecondsByPhase>;
}

export function freshState(phase: StatePhase): RunState {
  return {
    phase,
    warmStartStep: 0,
    step: 0,
    nextPrompt: 0,
    entropy: null,
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
    heldOut: null,
    evalBefore: null,
    averager: {},
    seconds: 0,
    secondsByPhase: {},
  };
}

/** What the file says besides the state itself. */
export interface StateContext {
  version: string;
  configSha256: string;
  /** Length of metrics.jsonl: on resume it is cut back to it. */
  metricsBytes: number;
  epoch: number;
  seed: number;
  /** Of the order of prompts. */
  dataSeed: number;
  promptsPerEpoch: number;
  /** Micro-batches trained on so far. */
  microSteps: number;
  /** The generation batch in `rollout.safetensors`, or null. */
  rollout: RolloutPosition | null;
}

/** Where a run stands in the generation batch that is in use. */
export interface RolloutPosition {
  generation: number;
  /** Micro-batches of it that were trained on. */
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
      config_sha256: context.configSha256,
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
      },
      since_log: state.averager,
    },
    null,
    2,
  ) + "\n";
}

export interface DecodedState {
  state: RunState;
  metricsBytes: number;
  configSha256: string;
}

/** @throws RgxError for a file of another format. */
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
    state: {
      phase: json.phase,
      warmStartStep: json.warm_start_step,
      step: json.global_step,
      nextPrompt: json.rng.counters.next_prompt,
      entropy: json.entropy ?? null,
      curriculum: json.curriculum ?? null,
      taskWeights: json.task_weights ?? null,
      evaluatedStep: json.evaluated_step ?? null,
      best: json.best ?? null,
      numTokens: totals.num_tokens,
      warmStartTokens: totals.warm_start_tokens,
      tokensGenerated: totals.tokens_generated,
      tokensTrained: totals.tokens_trained,
      lossSum: totals.loss_sum,
      skippedSteps: totals.skipped_steps,
      heldOut: json.held_out ?? null,
      evalBefore: json.eval_before,
      averager: json.since_log,
      seconds: totals.seconds,
      secondsByPhase: totals.seconds_by_phase,
    },
  };
}
