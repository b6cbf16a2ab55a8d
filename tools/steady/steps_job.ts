/** The request and the answers of the measured processes of `deno task bench:steady`. */

export interface StepsJob {
  /** The GGUF file of SmolLM2; null is the model of the quickstart. */
  model: string | null;
  /** Null is what the device takes by itself. */
  threads: number | null;
  /** The minimum time of a measurement. */
  seconds: number;
}

/** What was done for one line of input. */
export interface StepsTimes {
  /** Left out by a program that does one step for every line. */
  steps?: number;
  seconds: number;
}

export function stepsOf({ steps = 1 }: StepsTimes): number {
  return steps;
}

/** The step of SmolLM2. */
export const LARGE_STEP = { promptTokens: 64, completions: 8, newTokens: 16, rank: 16 } as const;
