/** The sampling keys of a chat, which flags and `/set` change. */
import { UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";

export interface ChatSampling {
  /** 0 is greedy. */
  temperature: number;
  top_p: number;
  /** 0 = off. */
  top_k: number;
  min_p: number;
  repetition_penalty: number;
  max_new_tokens: number;
  seed: number;
}

/** Range of each key: [lowest, highest, whole numbers only, the lowest itself is not allowed]. */
const RANGES: Record<keyof ChatSampling, readonly [number, number, boolean, boolean]> = {
  temperature: [0, 100, false, false],
  top_p: [0, 1, false, true],
  top_k: [0, Number.MAX_SAFE_INTEGER, true, false],
  min_p: [0, 1, false, false],
  repetition_penalty: [0, 100, false, true],
  max_new_tokens: [1, 2 ** 20 - 1, true, false],
  seed: [0, Number.MAX_SAFE_INTEGER, true, false],
};

/** Sets a key from its text. @throws UsageError that names the keys, or the range */
export function setSampling(sampling: ChatSampling, name: string, text: string): void {
  const names = Object.keys(RANGES), key = name.replaceAll("-", "_");
  if (!names.includes(key)) {
    throw new UsageError(`/set ${name}: no such key${didYouMean(key, names)}`, {
      advice: `The keys are ${names.join(", ")}.`,
    });
  }
  const [min, max, isWhole, isAbove] = RANGES[key as keyof ChatSampling], value = Number(text);
  const isRight = text.trim() !== "" && value >= min && value <= max &&
    (!isWhole || Number.isInteger(value)) && !(isAbove && value === min);
  if (!isRight) {
    const kind = isWhole ? "an integer" : "a number";
    const low = isAbove ? `above ${min}` : `from ${min}`;
    const high = max === Number.MAX_SAFE_INTEGER ? "on" : `to ${max}`;
    throw new UsageError(`/set ${key} ${text}: expected ${kind} ${low} ${high}`);
  }
  sampling[key as keyof ChatSampling] = value;
}

/** All keys and their values on one line. */
export function samplingText(sampling: ChatSampling): string {
  return Object.entries(sampling).map(([name, value]) => `${name} ${value}`).join("  ");
}
