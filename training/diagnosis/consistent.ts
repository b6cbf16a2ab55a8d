/**
 * Keeps advice consistent: within some steps no key is advised with two values. What an earlier
 * advice said counts, since somebody may be acting on it.
 */
import type { Advice } from "./finding.ts";

/** Steps in which two values of a key contradict each other. */
const STEPS = 10;

export class ConsistentAdvice {
  /** By key: the value that was advised, and the step. */
  readonly #advised = new Map<string, { value: string; step: number }>();

  /** The advice without what contradicts earlier advice; none where nothing to try remains. */
  filter(step: number, advice: readonly Advice[]): Advice[] {
    return advice.flatMap((one) => {
      const tries = one.tries.filter((text) => !this.#contradicts(step, text));
      if (tries.length === 0 && one.tries.length > 0) return [];
      for (const [key, value] of tries.flatMap(settingsOf)) {
        this.#advised.set(key, { value, step });
      }
      return [{ ...one, tries }];
    });
  }

  #contradicts(step: number, text: string): boolean {
    return settingsOf(text).some(([key, value]) => {
      const before = this.#advised.get(key);
      return before !== undefined && before.value !== value && step - before.step < STEPS;
    });
  }
}

/** The keys of a text such as "sft.max_steps=20 sft.learning_rate=1e-4", and their values. */
function settingsOf(text: string): [key: string, value: string][] {
  return [...text.matchAll(/([a-z_]+(?:\.[a-z_0-9]+)+)(?:=| )(.*?)(?= [a-z_]+\.[a-z_]|$)/g)]
    .map(([, key, value]) => [key!, value!.trim()]);
}
