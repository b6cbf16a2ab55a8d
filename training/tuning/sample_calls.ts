/**
 * Calls to tune a card with where no configuration says which: those of one layer of a model of 0.5
 * billion parameters in training, with and without adapters, and in decoding; of a tiny one for a
 * software adapter.
 */
import type { RecordedCall } from "../../kernels/ops/common/recorded_call.ts";
import type { ModelConfig } from "../../models/architectures/model_config.ts";
import { CausalLM } from "../../models/causal_lm.ts";
import { initWeights } from "../../models/network/weights/init.ts";
import type { RehearsingDevice } from "./run_kernels.ts";

interface Sample {
  model: ModelConfig;
  /** Groups in training: a prompt, and two branches of half its length. */
  groups: number;
  prompt: number;
  /** Numbers of branches in decoding. */
  branches: readonly number[];
}

const CARD: Sample = {
  model: {
    vocabSize: 1024,
    hiddenSize: 896,
    intermediateSize: 4864,
    numLayers: 1,
    numHeads: 14,
    numKvHeads: 2,
    headDim: 64,
    maxPositions: 1024,
    ropeTheta: 10_000,
    ropeScaling: null,
    rmsNormEps: 1e-6,
    tieWordEmbeddings: true,
  },
  groups: 4,
  prompt: 512,
  branches: [1, 16, 64],
};

const SOFTWARE: Sample = {
  model: {
    ...CARD.model,
    vocabSize: 64,
    hiddenSize: 96,
    intermediateSize: 512,
    numHeads: 4,
    headDim: 24,
  },
  groups: 2,
  prompt: 32,
  branches: [1, 8],
};

const ADAPTERS = { r: 16, alpha: 32, targetModules: "all-linear" } as const;

export async function sampleCalls(device: RehearsingDevice): Promise<RecordedCall[]> {
  const { model: config, groups, prompt, branches } = device.adapter.software ? SOFTWARE : CARD;
  const found = new Map<string, RecordedCall>(), weights = initWeights(config, 1, 0.02);
  const promptIds = Array<number>(prompt).fill(1), half = promptIds.slice(prompt / 2);
  const batch = Array.from(
    { length: groups },
    (_, promptId) => ({ promptId, promptIds, branches: [half, half] }),
  );
  const trained = [{ trainable: "full" }, { trainable: "lora", lora: ADAPTERS }] as const;
  for (const options of trained) {
    const model = await CausalLM.create(device, config, weights, options);
    const calls = await device.rehearse(async () => {
      const { logp } = await model.forward(batch, { temperature: 1, train: true });
      model.backward(new Float64Array(logp.length).fill(1e-3));
      for (const n of branches) {
        await model.generate([{ promptId: 0, promptIds, n }], {
          maxNewTokens: prompt / 2,
          temperature: 1,
          seed: 1,
          eosIds: [],
          stopWhen: (ids) => ids.length > 1,
        });
      }
    });
    for (const call of calls) found.set(call.class, call);
    model.dispose();
  }
  return [...found.values()];
}
