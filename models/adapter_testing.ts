/**
 * Helpers for tests of adapter files: small models with a tokenizer, and adapters for them. Not
 * part of the program.
 */
import type { Device } from "../kernels/device.ts";
import { createCharacterTokenizer } from "./tokenizers/character_tokenizer.ts";
import type { Tokenizer } from "./tokenizers/types.ts";
import { initWeights } from "./network/weights/init.ts";
import { CausalLM } from "./causal_lm.ts";
import { modelTensors } from "./architectures/mod.ts";
import { type LoadedModel, loadModel } from "./load_model.ts";
import { writeFiles } from "../core/testing.ts";
import { encodeModelFolder, encodePeftAdapter } from "./folder_testing.ts";
import { loraOptions, type PeftConfig } from "./network/adapters/peft_adapter.ts";
import type { ModelConfig } from "./architectures/model_config.ts";

/** 96 tokens, as many as the tiny golden models have rows. JSON needs } in place of ^. */
export const tokenizer = createCharacterTokenizer({
  alphabet: Array.from({ length: 93 }, (_, i) => String.fromCharCode(32 + i)).join("")
    .replace("^", "}"),
  special_tokens: ["<pad>", "<unk>", "<eos>"],
});

/** A small Llama with an untied head. */
export const SIZES: ModelConfig = {
  vocabSize: 96,
  hiddenSize: 32,
  intermediateSize: 64,
  numLayers: 2,
  numHeads: 4,
  numKvHeads: 2,
  headDim: 8,
  maxPositions: 64,
  ropeTheta: 1e4,
  ropeScaling: null,
  rmsNormEps: 1e-5,
  tieWordEmbeddings: false,
};

export const PEFT: PeftConfig = {
  baseModel: "../base",
  revision: null,
  r: 4,
  alpha: 8,
  dropout: 0,
  targetModules: "all-linear",
  useRslora: true,
  rankPattern: { q_proj: 2 },
  alphaPattern: {},
  layersToTransform: null,
};

/** Writes a base model to `{folder}/base`. @param own a tokenizer in place of the usual one */
export async function writeBase(
  config: ModelConfig,
  folder: string,
  own: Tokenizer = tokenizer,
): Promise<void> {
  const weights = initWeights(config, 5, 0.2);
  const files = await encodeModelFolder({
    config,
    tokenizer: own,
    generationEosIds: own === tokenizer ? [2, 1] : [own.eosId!],
    bosId: null,
    padId: 0,
    tensors: [...weights].map(([name, data]) => ({ name, shape: shapeOf(config, name), data })),
  });
  await writeFiles(`${folder}/base`, Object.fromEntries(files));
}

function shapeOf(config: ModelConfig, name: string): readonly number[] {
  return modelTensors(config).find((tensor) => tensor.name === name)!.shape;
}

/**
 * Writes an adapter with large values for that base to `{folder}/{name}`.
 * @returns the adapter's folder
 */
export async function writeAdapter(
  config: ModelConfig,
  folder: string,
  device: Device,
  { name = "adapter", peft = PEFT }: { name?: string; peft?: PeftConfig } = {},
): Promise<string> {
  const model = await CausalLM.create(device, config, initWeights(config, 5, 0.2), {
    trainable: "lora",
    lora: loraOptions(peft),
  });
  const tensors = [];
  for (const { name: tensor, shape } of model.trainable) {
    const data = await model.readParameter(tensor);
    data.forEach((x, i) => data[i] = x + 0.2 * Math.sin(i * 1.7 + tensor.length + name.length));
    tensors.push({ name: tensor, shape, data });
  }
  model.dispose();
  const written = await encodePeftAdapter(peft, tensors);
  await writeFiles(`${folder}/${name}`, Object.fromEntries(written));
  // A training leaves such a file; it does not belong to the adapter.
  await Deno.writeTextFile(`${folder}/${name}/rgx_state.json`, "{}");
  return `${folder}/${name}`;
}

/** Writes a base and an adapter on all of its linear layers. */
export async function adapterOn(
  config: ModelConfig,
  folder: string,
  device: Device,
  peft: PeftConfig = PEFT,
): Promise<string> {
  await writeBase(config, folder);
  return await writeAdapter(config, folder, device, { peft });
}

/** Token ids that are valid for all tiny models and fit their positions. */
export const IDS = [3, 17, 5, 40, 9, 77, 21, 64, 12, 30, 8, 51];

/** Logits after each id of {@link IDS}. */
export async function logitsOfModel(
  { model }: Pick<LoadedModel, "model">,
): Promise<Float64Array[]> {
  const rows: Float64Array[] = [];
  await model.positionLogits(IDS, (_, row) => void rows.push(Float64Array.from(row)));
  return rows;
}

export async function logitsOf(path: string, device: Device): Promise<Float64Array[]> {
  const { model } = await loadModel(path, device);
  try {
    return await logitsOfModel({ model });
  } finally {
    model.dispose();
  }
}

/** √(Σ difference² / Σ value²) over all positions. */
export function distance(found: readonly Float64Array[], wanted: readonly Float64Array[]): number {
  let difference = 0, size = 0;
  wanted.forEach((row, p) =>
    row.forEach((x, i) => {
      difference += (found[p]![i]! - x) ** 2;
      size += x ** 2;
    })
  );
  return Math.sqrt(difference / size);
}
