/** Sizes of what a campaign measures: on a card, and tiny ones that show that the program works. */
import type { ModelConfig } from "../../models/architectures/model_config.ts";

export interface Sizes {
  /** Shapes of x[m, k]·Wᵀ[k, n]. */
  products: [what: string, m: number, n: number, k: number][];
  /** Number of elements of the blocks that are copied and read back. */
  block: number;
  model: ModelConfig;
  branches: number[];
  newTokens: number;
  step: { prompts: number; completions: number; promptTokens: number; newTokens: number };
  /** Tables of the conformance suite; null = all. */
  conformance: readonly string[] | null;
  /** Dispatches whose cost on the host is measured. */
  dispatches: number;
  /** Milliseconds that one measurement may take. */
  budget: number;
}

const QWEN_05B: ModelConfig = {
  vocabSize: 151_936,
  hiddenSize: 896,
  intermediateSize: 4864,
  numLayers: 24,
  numHeads: 14,
  numKvHeads: 2,
  headDim: 64,
  maxPositions: 4096,
  ropeTheta: 1_000_000,
  ropeScaling: null,
  rmsNormEps: 1e-6,
  tieWordEmbeddings: true,
};

export const CARD: Sizes = {
  products: [
    ["4096 cubed", 4096, 4096, 4096],
    ["0.5B q_proj", 4096, 896, 896],
    ["0.5B gate_proj", 4096, 4864, 896],
    ["0.5B down_proj", 4096, 896, 4864],
    ["1.5B gate_proj", 4096, 8960, 1536],
    ["1.5B down_proj", 4096, 1536, 8960],
    ["decoding 64 rows", 64, 4864, 896],
    ["decoding 16 rows", 16, 4864, 896],
    ["decoding 1 row", 1, 4864, 896],
  ],
  block: 2 ** 26,
  model: QWEN_05B,
  branches: [1, 16, 64],
  newTokens: 128,
  step: { prompts: 8, completions: 8, promptTokens: 256, newTokens: 256 },
  conformance: null,
  dispatches: 5000,
  budget: 1000,
};

/** A CPU that emulates a card compiles each kernel for a second. */
export const SOFTWARE: Sizes = {
  products: [["64 cubed", 64, 64, 64]],
  block: 2 ** 14,
  model: {
    ...QWEN_05B,
    vocabSize: 128,
    hiddenSize: 32,
    intermediateSize: 64,
    numLayers: 1,
    numHeads: 2,
    numKvHeads: 1,
    headDim: 16,
  },
  branches: [2],
  newTokens: 4,
  step: { prompts: 2, completions: 2, promptTokens: 8, newTokens: 4 },
  conformance: ["bias"],
  dispatches: 50,
  budget: 5,
};
