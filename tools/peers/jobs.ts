/**
 * The requests and answers of the processes of `deno task bench:peers`. Each is one line of JSON.
 */
import type { ComputeDtype } from "../../kernels/ops/common/compute_dtype.ts";

interface Job {
  /** A model's folder or GGUF file. */
  model: string;
  threads: number;
}

/** A GRPO step. Every prompt has `completions` completions of exactly `newTokens` tokens. */
export interface StepJob extends Job {
  promptIds: readonly (readonly number[])[];
  completions: number;
  newTokens: number;
  /** The rank of the adapters on all linear layers. */
  rank: number;
  /** What products are computed in; `bf16` of TRL. */
  computeDtype: ComputeDtype;
  /** Whether rgx trains on the activations of sampling. */
  keeps?: boolean;
}

export interface StepTimes {
  /** Wall-clock time. */
  seconds: number;
  /** Processor time of all threads. */
  cpuSeconds: number;
  /** Wall-clock seconds of generation. */
  generate: number;
  /** The peak of the process's resident memory. */
  peakBytes: number;
}

/**
 * Prefill of one prompt, decoding of one sequence, and decoding of several together. Each sequence
 * has `newTokens` tokens after a prompt of one token.
 */
export interface DecodeJob extends Job {
  promptTokens: number;
  sequences: number;
  newTokens: number;
}

/** Tokens per second of wall-clock time, and per second of processor time. */
export interface Rate {
  clock: number;
  cpu: number;
}

export interface DecodeTimes {
  prefill: Rate;
  one: Rate;
  many: Rate;
  peakBytes: number;
}
