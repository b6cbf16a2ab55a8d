/**
 * Checks every field of `rgx_state.json` before a run resumes from it. A file that was edited, or
 * written by another program, is refused with the name of the wrong field.
 */
import { RgxError } from "../../core/errors.ts";
import { isLocalTime } from "../../core/local_time.ts";
import { isChosenKernels } from "./chosen_kernels.ts";

type Check = (value: unknown) => boolean;

const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isNumber: Check = (value) => typeof value === "number";
const isMap: Check = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isNumbers: Check = (value) => isMapOf(isNumber)(value);
const isListOfNumbers: Check = (value) => Array.isArray(value) && value.every(isNumber);
const isMapOf = (check: Check): Check => (value) =>
  isMap(value) && Object.values(value as object).every(check);
const isCurriculum: Check = (value) =>
  isMap(value) && isMapOf(isMapOf(isCount))((value as Record<string, unknown>)["levels"]) &&
  isMapOf(isListOfNumbers)((value as Record<string, unknown>)["scores"]);
const isHeldOut: Check = (value) =>
  isMap(value) && typeof (value as Record<string, unknown>)["sha256"] === "string" &&
  typeof (value as Record<string, unknown>)["changed"] === "boolean";
const isLossScale: Check = (value) =>
  isNumbers(value) && isCount((value as Record<string, unknown>)["steps"]) &&
  (value as Record<string, number>)["scale"]! >= 1;
const orNull = (check: Check): Check => (value) => value === null || check(value);
const orUnset = (check: Check): Check => (value) => value === undefined || check(value);

/** Path of a field, the check of its value, and what is expected, in words. */
const FIELDS: readonly (readonly [path: string, check: Check, words: string])[] = [
  ["metrics_bytes", isCount, "a count"],
  ["config_sha256", (value) => typeof value === "string", "text"],
  [
    "phase",
    (value) => ["warm_start", "eval_before", "grpo"].includes(value as string),
    "warm_start, eval_before or grpo",
  ],
  ["warm_start_step", isCount, "a count"],
  ["global_step", isCount, "a count"],
  ["rng.counters.next_prompt", isCount, "a count"],
  ["entropy", orUnset(orNull(isNumbers)), "null or a map of numbers"],
  ["loss_scale", orUnset(orNull(isLossScale)), "null, or a scale from 1 on and its steps"],
  ["curriculum", orUnset(orNull(isCurriculum)), "null or levels and scores by task"],
  ["task_weights", orUnset(orNull(isNumbers)), "null or a map of numbers"],
  ["evaluated_step", orUnset(orNull(isCount)), "null or a count"],
  ["best", orUnset(orNull(isNumbers)), "null or a map of numbers"],
  ["prompt_time", orUnset(orNull(isLocalTime)), "null or a time such as 2026-11-22T09:30:00"],
  ["kernels", orUnset(orNull(isChosenKernels)), "null, or a card and its kernels by class"],
  ["held_out", orUnset(orNull(isHeldOut)), "null, or sha256 and changed"],
  ["eval_before", orNull(isMap), "null or a map"],
  ["since_log", isMap, "a map"],
  ["totals.num_tokens", isCount, "a count"],
  ["totals.warm_start_tokens", isCount, "a count"],
  ["totals.tokens_generated", isCount, "a count"],
  ["totals.tokens_trained", isCount, "a count"],
  ["totals.loss_sum", orNull(isNumber), "a number"],
  ["totals.skipped_steps", isCount, "a count"],
  ["totals.seconds", isNumber, "a number"],
  ["totals.seconds_by_phase", isNumbers, "a map of numbers"],
  ["totals.spent", orUnset(isNumbers), "a map of numbers"],
];

/** @throws RgxError when the text is not valid JSON */
export function parseJson(text: string, label: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RgxError(`${label}: not valid JSON: ${(error as Error).message}`, { cause: error });
  }
}

/** @throws RgxError for the first field whose value is not one that this version writes */
export function checkStateFields(json: unknown, label: string): void {
  for (const [path, check, words] of FIELDS) {
    const value = valueAt(json, path);
    if (check(value)) continue;
    const found = JSON.stringify(value)?.slice(0, 60) ?? "nothing";
    throw new RgxError(`${label}: ${path} is ${found}, expected ${words}`, {
      advice: "Resume from another checkpoint; this one was not written by this version of rgx.",
    });
  }
}

function valueAt(json: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>(
    (value, part) =>
      isMap(value) && Object.hasOwn(value as object, part)
        ? (value as Record<string, unknown>)[part]
        : undefined,
    json,
  );
}
