/**
 * Time of a GRPO step on the CPU device, by phase, as Markdown: `deno task bench:grpo`. With the
 * argument `experts`: that of passes over a layer with experts, beside a dense one.
 *
 * The step has 4 prompts × 8 completions, 64 prompt tokens and exactly 64 new ones (no token ends a
 * completion), one micro-batch, and rewards of 1 and −1 in turns, so that every completion has a
 * gradient. Every variant is measured in every round, so that a disturbance of the
 * machine affects all. Needs tests/golden/models.
 */
import process from "node:process";
import { RandomStream } from "../core/philox.ts";
import type { Device } from "../kernels/device.ts";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import { initWeights } from "../models/network/weights/init.ts";
import { CausalLM } from "../models/causal_lm.ts";
import type { ActivationStore } from "../models/network/activation_store.ts";
import { readModelFolder } from "../models/model_folder.ts";
import type { ModelConfig } from "../models/architectures/model_config.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";
import { groupAdvantages } from "./loss/advantages.ts";
import { defaultsOf } from "../configs/types/key_spec.ts";
import { TRAINING } from "../configs/schema/schema.ts";
import type { LossSettings } from "./loss/loss.ts";
import { AdamW } from "./step/optimizer.ts";
import { frozenReference, type ReferencePolicy } from "./step/reference_policy.ts";
import { accumulateGradients } from "./step/gradient_accumulation.ts";
import { goldenPath } from "../tests/golden.ts";

const MODEL_FOLDER = goldenPath("models/tinystories-656k");
const LOSS: LossSettings = defaultsOf(TRAINING);

export const STEP_PHASES = ["generate", "score", "forward + backward", "optimizer"] as const;
/** Milliseconds of one step. */
export type StepTimes = Record<typeof STEP_PHASES[number], number>;

export interface StepShape {
  promptIds: readonly (readonly number[])[];
  completions: number;
  newTokens: number;
  eosIds: readonly number[];
  /** Whether the training pass takes the activations of sampling. */
  keeps?: boolean;
}

function optimizerOf(device: Device, model: CausalLM): AdamW {
  return new AdamW(device, model, {
    adam_beta1: 0.9,
    adam_beta2: 0.999,
    adam_epsilon: 1e-8,
    weight_decay: 0,
    max_grad_norm: 1,
  });
}

/** One step on a model, without a run around it. */
export class BenchStep {
  readonly #optimizer: AdamW;
  #step = 0;
  #kept: ActivationStore | null = null;

  constructor(
    readonly device: Device,
    readonly model: CausalLM,
    private readonly tokenizer: Pick<Tokenizer, "decode">,
    private readonly reference: { policy: ReferencePolicy; beta: number } | null = null,
  ) {
    this.#optimizer = optimizerOf(device, model);
  }

  async run(shape: StepShape): Promise<StepTimes> {
    const { promptIds, completions: size, newTokens } = shape;
    const step = this.#step++, kept = shape.keeps ? this.#keptOf(shape) : undefined;
    const marks = [performance.now()];
    const requests = promptIds.map((ids, p) => ({
      promptId: step * promptIds.length + p,
      promptIds: ids,
      n: size,
    }));
    const completions = (await this.model.generate(requests, {
      maxNewTokens: newTokens,
      temperature: 1,
      seed: 1,
      eosIds: shape.eosIds,
      keep: kept,
    })).flat();
    marks.push(performance.now());

    for (const { ids } of completions) this.tokenizer.decode(ids, { skipSpecialTokens: true });
    const { advantages } = groupAdvantages({
      rewards: completions.map((_, i) => [i % 2 === 0 ? 1 : -1]),
      weights: [1],
      groupSizes: promptIds.map(() => size),
      scale: "group",
      aggregation: "sum_then_normalize",
    });
    marks.push(performance.now());

    const rows = completions.map(({ ids }, i) => ({
      group: Math.floor(i / size),
      promptId: step * promptIds.length + Math.floor(i / size),
      branch: i % size,
      promptIds: promptIds[Math.floor(i / size)]!,
      ids,
      advantage: advantages[i]!,
      oldLogp: null,
    }));
    await accumulateGradients(this.model, rows, {
      microBatchSize: rows.length,
      temperature: 1,
      settings: { ...LOSS, beta: this.reference?.beta ?? 0 },
      maxCompletionLength: newTokens,
      reference: this.reference?.policy ?? null,
      kept,
    });
    const norm = await this.#optimizer.gradNorm();
    marks.push(performance.now());
    await this.#optimizer.apply(1e-6, norm);
    marks.push(performance.now());
    return Object.fromEntries(
      STEP_PHASES.map((phase, i) => [phase, marks[i + 1]! - marks[i]!]),
    ) as StepTimes;
  }

  /** An empty store that has room for a step. */
  #keptOf({ promptIds, completions, newTokens }: StepShape): ActivationStore {
    const rows = promptIds.reduce((n, ids) => n + ids.length + completions * newTokens, 0);
    this.#kept ??= this.model.activationStore();
    this.#kept.clear(rows);
    return this.#kept;
  }

  dispose(): void {
    this.#kept?.dispose();
    this.#optimizer.dispose();
    this.reference?.policy.dispose();
    this.model.dispose();
  }
}

/** The linear layers that have an adapter. */
const ADAPTERS: Record<string, "all-linear" | string[]> = {
  "all linear layers": "all-linear",
  "q, v (TRL's default)": ["q_proj", "v_proj"],
};

/** tinystories-656k with adapters of rank 16, and four prompts of 64 tokens that it generated. */
async function tinystoriesStep(
  device: Device,
  targetModules: "all-linear" | string[],
): Promise<{ step: BenchStep; shape: StepShape }> {
  const folder = await readModelFolder(MODEL_FOLDER);
  const model = await CausalLM.create(device, folder.config, folder.files, {
    trainable: "lora",
    lora: { r: 16, alpha: 32, targetModules },
  });
  const bos = folder.bosId ?? 1;
  const stories = await model.generate([{ promptId: 0, promptIds: [bos], n: 4 }], {
    maxNewTokens: 63,
    temperature: 1,
    seed: 7,
    eosIds: [],
  });
  const promptIds = stories.flat().map(({ ids }) => [bos, ...ids]);
  return {
    step: new BenchStep(device, model, folder.tokenizer!),
    shape: { promptIds, completions: 8, newTokens: 64, eosIds: [] },
  };
}

/**
 * The model, batch and loss of the quickstart: 32 prompts × 16 completions, prompts of about 25
 * tokens and at most 16 new ones.
 */
export async function quickstartStep(
  device: Device,
): Promise<{ step: BenchStep; shape: StepShape }> {
  const config: ModelConfig = {
    vocabSize: 85,
    hiddenSize: 96,
    intermediateSize: 256,
    numLayers: 2,
    numHeads: 4,
    numKvHeads: 2,
    headDim: 24,
    maxPositions: 128,
    ropeTheta: 10000,
    ropeScaling: null,
    rmsNormEps: 1e-5,
    tieWordEmbeddings: true,
  };
  const model = await CausalLM.create(device, config, initWeights(config, 1, 0.06), {
    trainable: "full",
  });
  const stream = RandomStream.forPurpose(1, "task", "bench prompts");
  const promptIds = Array.from(
    { length: 32 },
    () => Array.from({ length: 21 + stream.below(9) }, () => 5 + stream.below(80)),
  );
  const decode = (ids: readonly number[]) => String.fromCharCode(...ids);
  return {
    step: new BenchStep(device, model, { decode }, {
      policy: await frozenReference(device, model, null),
      beta: 0.2,
    }),
    // Six of 85 tokens end a completion of the untrained model: about ten tokens, with varying
    // lengths.
    shape: {
      promptIds,
      completions: 16,
      newTokens: 16,
      eosIds: [0, 1, 2, 3, 4, 5],
    },
  };
}

/** Experts of a row, and all; null = a dense layer. Each has 3,072 active elements in its MLP. */
const MIXTURES = [null, [2, 8], [4, 32]] as const;
const WIDTH = 1024, ACTIVE = 3072, ROWS = 512;

function layerConfig(mixture: typeof MIXTURES[number]): ModelConfig {
  const [chosen, count] = mixture ?? [1, 1];
  return {
    architecture: mixture === null ? "qwen3" : "qwen3_moe",
    ...(mixture === null ? {} : { experts: { count, chosen, normalize: true } }),
    vocabSize: 64,
    hiddenSize: WIDTH,
    intermediateSize: ACTIVE / chosen,
    numLayers: 1,
    numHeads: 16,
    numKvHeads: 8,
    headDim: 64,
    maxPositions: 2 * ROWS,
    ropeTheta: 10000,
    ropeScaling: null,
    rmsNormEps: 1e-6,
    tieWordEmbeddings: true,
  };
}

/**
 * The fastest of many passes over ROWS rows: forward, and a step without its optimizer (gradients
 * are cleared, computed and their norm is taken) with adapters on attention or all weights trained.
 * On one thread it is the processor's time, which other programs disturb less.
 */
async function benchExperts(rounds: number): Promise<void> {
  const configs = MIXTURES.map(layerConfig);
  const weights = configs.map((config) => initWeights(config, 1, 0.03));
  const ids = Array.from({ length: ROWS + 1 }, (_, i) => (i * i + 5 * i) % 61);
  const groups = [{ promptIds: ids.slice(0, 1), branches: [ids.slice(1)] }];
  const slopes = new Float64Array(ROWS).fill(1 / ROWS);
  const targetModules = ["q_proj", "k_proj", "v_proj", "o_proj"];
  const adapters = { trainable: "lora", lora: { r: 16, alpha: 32, targetModules } } as const;
  console.log("| threads | trained | experts | forward, ms | step, ms | of the dense layer's |");
  console.log(`|${" --- |".repeat(6)}`);
  for (const threads of [1, 2]) {
    const device = await createWasmDevice({ threads });
    await device.ready();
    const now = () => {
      const { user, system } = process.cpuUsage();
      return threads > 1 ? performance.now() : (user + system) / 1000;
    };
    for (const options of [adapters, { trainable: "full" } as const]) {
      const variants: { model: CausalLM; optimizer: AdamW; best: number[] }[] = [];
      for (const [i, config] of configs.entries()) {
        const model = await CausalLM.create(device, config, weights[i]!, options);
        variants.push({ model, optimizer: optimizerOf(device, model), best: [Infinity, Infinity] });
      }
      for (let round = 0; round < rounds; round++) {
        for (const { model, optimizer, best } of variants) {
          const start = now();
          await model.forward(groups, { temperature: 1, train: false });
          const middle = now();
          model.zeroGrad();
          await model.forward(groups, { temperature: 1, train: true });
          model.backward(slopes);
          await optimizer.gradNorm();
          [middle - start, now() - middle].forEach((ms, i) => best[i] = Math.min(best[i]!, ms));
        }
      }
      for (const [i, { model, optimizer, best }] of variants.entries()) {
        const name = MIXTURES[i]?.join(" of ") ?? "dense";
        const ms = best.map((time) => time.toFixed(1));
        const ratios = best.map((time, part) => (time / variants[0]!.best[part]!).toFixed(2));
        const cells = [threads, options.trainable, name, ...ms, ratios.join(", ")];
        console.log(`| ${cells.join(" | ")} |`);
        optimizer.dispose();
        model.dispose();
      }
    }
    device.close();
  }
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;
const total = (times: StepTimes) => STEP_PHASES.reduce((sum, phase) => sum + times[phase], 0);

async function benchSteps(rounds: number): Promise<void> {
  const devices = [await createWasmDevice({ threads: 1 }), await createWasmDevice({ threads: 2 })];
  const variants: { name: string; step: BenchStep; shape: StepShape; times: StepTimes[] }[] = [];
  for (const device of devices) {
    await device.ready();
    for (const [name, modules] of Object.entries(ADAPTERS)) {
      variants.push({ name, ...await tinystoriesStep(device, modules), times: [] });
    }
    variants.push({ name: "quickstart", ...await quickstartStep(device), times: [] });
  }
  const warmUp = 3;
  for (let round = 0; round < warmUp + rounds; round++) {
    for (const { step, shape, times } of variants) {
      const measured = await step.run(shape);
      if (round >= warmUp) times.push(measured);
    }
  }
  console.log(`Median milliseconds of ${rounds} rounds.\n`);
  console.log(`| adapters on | threads | ${STEP_PHASES.join(" | ")} | step | fastest step |`);
  console.log(`| --- | ${Array(STEP_PHASES.length + 3).fill("---:").join(" | ")} |`);
  for (const { name, step, times } of variants) {
    const ms = median(times.map(total)), best = Math.min(...times.map(total));
    const phases = STEP_PHASES.map((phase) => median(times.map((t) => t[phase])).toFixed(1));
    const cells = [name, step.device.threads, ...phases, ms.toFixed(1), best.toFixed(1)];
    console.log(`| ${cells.join(" | ")} |`);
    step.dispose();
  }
  for (const device of devices) device.close();
}

if (import.meta.main) {
  const [first, second] = Deno.args;
  if (first === "experts") await benchExperts(Number(second ?? 12));
  else await benchSteps(Number(first ?? 15));
}
