/**
 * The state of a run apart from its tensors: how far it has come, and its counters. A checkpoint
 * holds it as `rgx_state.json`; with the tensors of the checkpoint, a run continues bit for bit.
 * All random numbers are functions of counters, so the state of a random generator does not have to
 * be kept.
 */
import { sha256Hex } from "../../core/checksums.ts";
import { RgxError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import { isLocalTime, type LocalTime } from "../../core/local_time.ts";
import type { CoachState } from "../../tasks/curriculum/coach.ts";
import type { EntropyState } from "../loss/entropy_control.ts";
import type { LossScaleState } from "../step/loss_scale.ts";
import type { EvalResult } from "../evaluation/before_and_after.ts";
import { addUp, type AveragerState, type Metrics } from "../metrics/metrics.ts";
import type { SecondsByPhase } from "../metrics/phase_clock.ts";
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
  warmStartStep: number;
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
  /** When the run began, where the chat template writes the time into prompts; else null. */
  promptTime: LocalTime | null;
  /** The measured kernels of a graphics card; null: operations follow their rules. */
  kernels: ChosenKernels | null;
  /** null in a fresh state, and in checkpoints of earlier versions. */
  heldOut: HeldOutRecord | null;
  evalBefore: EvalResult | null;
  averager: AveragerState;
  seconds: number;
  secondsByPhase: Partial<SecondsByPhase>;
  /** What rewards have spent so far, by metric; empty in checkpoints of earlier versions. */
  spent: Record<string, number>;
}

type Check = (value: unknown) => boolean;
type Json = Record<string, unknown>;

const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isNumber: Check = (value) => typeof value === "number";
const isMapOf = (check: Check): Check => (value) =>
  isRecord(value) && Object.values(value).every(check);
const isNumbers = isMapOf(isNumber);
const isListOfNumbers: Check = (value) => Array.isArray(value) && value.every(isNumber);
const isPhase: Check = (value) => ["warm_start", "eval_before", "grpo"].includes(value as string);
const isCurriculum: Check = (value) =>
  isRecord(value) && isMapOf(isMapOf(isCount))(value["levels"]) &&
  isMapOf(isListOfNumbers)(value["scores"]);
const isHeldOut: Check = (value) =>
  isRecord(value) && typeof value["sha256"] === "string" && typeof value["changed"] === "boolean";
const isLossScale: Check = (value) =>
  isNumbers(value) && isCount((value as Json)["steps"]) && (value as LossScaleState).scale >= 1;
const orNull = (check: Check): Check => (value) => value === null || check(value);
/** Null also where an earlier version has not written the field. */
const orUnset = (check: Check): Check => (value) => value === undefined || orNull(check)(value);

/** A field of the file: its path, the check of its value, and what is expected, in words. */
type Field = readonly [path: string, check: Check, words: string];

/** The fields of the state, each with its value in a fresh one, which also stands for null. */
const FIELDS: { readonly [K in keyof RunState]: readonly [...Field, first: RunState[K]] } = {
  phase: ["phase", isPhase, "warm_start, eval_before or grpo", "warm_start"],
  warmStartStep: ["warm_start_step", isCount, "a count", 0],
  step: ["global_step", isCount, "a count", 0],
  nextPrompt: ["rng.counters.next_prompt", isCount, "a count", 0],
  entropy: ["entropy", orUnset(isNumbers), "null or a map of numbers", null],
  lossScale: ["loss_scale", orUnset(isLossScale), "null, or a scale from 1 on and its steps", null],
  curriculum: ["curriculum", orUnset(isCurriculum), "null or levels and scores by task", null],
  taskWeights: ["task_weights", orUnset(isNumbers), "null or a map of numbers", null],
  evaluatedStep: ["evaluated_step", orUnset(isCount), "null or a count", null],
  best: ["best", orUnset(isNumbers), "null or a map of numbers", null],
  numTokens: ["totals.num_tokens", isCount, "a count", 0],
  warmStartTokens: ["totals.warm_start_tokens", isCount, "a count", 0],
  tokensGenerated: ["totals.tokens_generated", isCount, "a count", 0],
  tokensTrained: ["totals.tokens_trained", isCount, "a count", 0],
  lossSum: ["totals.loss_sum", orNull(isNumber), "a number", 0],
  skippedSteps: ["totals.skipped_steps", isCount, "a count", 0],
  promptTime: ["prompt_time", orUnset(isLocalTime), "a time such as 2026-11-22T09:30:00", null],
  kernels: ["kernels", orUnset(isChosenKernels), "null, or a card and its kernels by class", null],
  heldOut: ["held_out", orUnset(isHeldOut), "null, or sha256 and changed", null],
  evalBefore: ["eval_before", orNull(isRecord), "null or a map", null],
  averager: ["since_log", isRecord, "a map", {}],
  seconds: ["totals.seconds", isNumber, "a number", 0],
  secondsByPhase: ["totals.seconds_by_phase", isNumbers, "a map of numbers", {}],
  spent: ["totals.spent", orUnset(isNumbers), "a map of numbers", {}],
};

const CONTEXT: readonly Field[] = [
  ["metrics_bytes", isCount, "a count"],
  ["config_sha256", (value) => typeof value === "string", "text"],
];

/** With the value that `of` gives for each field, or else that of a fresh state. */
function stateOf(of: (path: string) => unknown): RunState {
  return Object.fromEntries(
    Object.entries(FIELDS).map(([key, [path, , , first]]) => [
      key,
      of(path) ?? structuredClone(first),
    ]),
  ) as unknown as RunState;
}

export function freshState(phase: StatePhase): RunState {
  return { ...stateOf(() => null), phase };
}

/** Adds a step's loss to those of train_loss: by default a single NaN would make it NaN. */
export function addLoss(
  state: RunState,
  loss: number,
  { logging_nan_inf_filter: filter }: RunConfig["training"],
): void {
  if (Number.isFinite(loss) || !filter) state.lossSum += loss;
}

/** @returns what rewards have spent as metrics, with the totals of time and price */
export function addSpent(state: RunState, spent: Readonly<Record<string, number>>): Metrics {
  const total = state.spent = addUp([state.spent, spent]);
  const totals = Object.keys(spent).flatMap((name) => {
    const [, place, what] = /^(.*\/)(seconds|cost)$/.exec(name) ?? [];
    return what === undefined ? [] : [[`${place}total_${what}`, total[name]!] as const];
  });
  return { ...spent, ...Object.fromEntries(totals) };
}

/**
 * What a resume and other tools read besides the state, as the file has it. `metrics_bytes`: length
 * of metrics.jsonl, to which a resume cuts it back. `config`: the complete configuration as YAML.
 */
export interface StateContext extends Json {
  version: string;
  config: string;
  metrics_bytes: number;
  rng: { seed: number; counters: Record<string, number> };
}

export function encodeState(state: RunState, context: StateContext): string {
  const json: Json = {
    format: 1,
    ...context,
    config_sha256: sha256Hex(context.config),
    scheduler: { step: state.phase === "warm_start" ? state.warmStartStep : state.step },
  };
  for (const [key, [path]] of Object.entries(FIELDS)) {
    const parts = path.split("."), last = parts.pop()!;
    const inner = parts.reduce((map, part) => (map[part] ??= {}) as Json, json);
    inner[last] = state[key as keyof RunState];
  }
  return JSON.stringify(json, null, 2) + "\n";
}

export interface DecodedState {
  state: RunState;
  metricsBytes: number;
  configSha256: string;
  /** The configuration as YAML; null in checkpoints of earlier versions. */
  config: string | null;
}

/** @throws RgxError for a file of another format, or a field that this version does not write */
export function decodeState(text: string, label: string): DecodedState {
  const json = parseJson(text, label), file = isRecord(json) ? json : {};
  if (file["format"] !== 1) {
    throw new RgxError(`${label}: format ${JSON.stringify(file["format"])}, this rgx reads 1`, {
      advice: "Continue the run with the version of rgx that wrote it (see run.json).",
    });
  }
  for (const [path, check, words] of [...CONTEXT, ...Object.values(FIELDS)]) {
    const value = valueAt(file, path);
    if (check(value)) continue;
    const found = JSON.stringify(value)?.slice(0, 60) ?? "nothing";
    throw new RgxError(`${label}: ${path} is ${found}, expected ${words}`, {
      advice: "Resume from another checkpoint; this one was not written by this version of rgx.",
    });
  }
  const state = stateOf((path) => valueAt(file, path)), { config } = file;
  // JSON holds NaN as null.
  state.lossSum = valueAt(file, "totals.loss_sum") as number | null ?? NaN;
  return {
    state,
    metricsBytes: file["metrics_bytes"] as number,
    configSha256: file["config_sha256"] as string,
    config: typeof config === "string" ? config : null,
  };
}

function valueAt(json: Json, path: string): unknown {
  return path.split(".").reduce<unknown>(
    (value, part) => isRecord(value) && Object.hasOwn(value, part) ? value[part] : undefined,
    json,
  );
}

/** @throws RgxError when the text is not valid JSON */
export function parseJson(text: string, label: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RgxError(`${label}: not valid JSON: ${(error as Error).message}`, { cause: error });
  }
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

export function heldOutRecord(heldOut: readonly Entry[]): HeldOutRecord {
  const questions = heldOut.map(({ question }) => question);
  return { sha256: sha256Hex(JSON.stringify(questions)), changed: false };
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

export interface ChosenKernels {
  /** The card, driver and version of rgx that they were measured with. */
  about: object;
  choices: Record<string, string>;
}

export function sameCard(a: object, b: object): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export function isChosenKernels(value: unknown): value is ChosenKernels {
  const { about, choices } = (value ?? {}) as Partial<ChosenKernels>;
  return typeof about === "object" && about !== null && typeof choices === "object" &&
    choices !== null && Object.values(choices).every((name) => typeof name === "string");
}
