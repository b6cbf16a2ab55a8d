/**
 * The requests and answers of the processes of `deno task bench:peers`. Each is one line of JSON.
 */

interface Job {
  /** A model's folder or GGUF file. */
  model: string;
  threads: number;
}

/** A GRPO step: every prompt with so many completions of exactly `newTokens` tokens. */
export interface StepJob extends Job {
  promptIds: readonly (readonly number[])[];
  completions: number;
  newTokens: number;
  /** Of the adapters on all linear layers. */
  rank: number;
}

export interface StepTimes {
  /** Of the clock. */
  seconds: number;
  /** Of the processor, all threads together. */
  cpuSeconds: number;
  /** Of the clock, within generation. */
  generate: number;
  /** Most resident memory of the process since it began. */
  peakBytes: number;
}

/** A prompt alone; one sequence; several at once, each `newTokens` tokens after one. */
export interface DecodeJob extends Job {
  promptTokens: number;
  sequences: number;
  newTokens: number;
}

/** Tokens a second of the clock, and of the processor. */
export interface Rate {
  clock: number;
  cpu: number;
}

/** One sequence after a prompt of one token. */
export interface LongJob extends Job {
  newTokens: number;
  /** Steps at the beginning and at the end that are compared. */
  window: number;
}

/** Milliseconds of a step on average, and of it those of attention. */
export interface StepMs {
  step: number;
  attention: number;
}

export interface LongTimes {
  first: StepMs;
  last: StepMs;
  plannedBytes: number;
  /** Most bytes of tensors. */
  usedBytes: number;
}

export interface DecodeTimes {
  prefill: Rate;
  one: Rate;
  many: Rate;
  peakBytes: number;
}

/** The lines of a stream, without their ends; an unfinished last one is left out. */
export async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = parts.pop()!;
    yield* parts;
  }
}
