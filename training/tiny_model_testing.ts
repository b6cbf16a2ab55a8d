/**
 * Small models for tests of training: that of the tiny test configuration as a folder, and the one
 * that TRL's steps were recorded on. Not part of the program.
 */
import type { Device } from "../kernels/device.ts";
import type { ModelConfig } from "../models/architectures/model_config.ts";
import { CausalLM } from "../models/causal_lm.ts";
import { readSafetensors } from "../models/formats/safetensors/safetensors.ts";
import { createCharacterTokenizer } from "../models/tokenizers/character_tokenizer.ts";
import { initWeights } from "../models/network/weights/init.ts";
import { encodeModelFolder } from "../models/folder_testing.ts";
import { goldenPath } from "../tests/golden.ts";
import { tinyRunConfig } from "./testing.ts";

/** Writes the tiny model as a folder, for tests that train an adapter on it. */
export async function tinyModelFolder(path: string): Promise<void> {
  const init = tinyRunConfig("").model.init!;
  const tokenizer = createCharacterTokenizer(init.tokenizer);
  const config = {
    vocabSize: tokenizer.vocabSize,
    hiddenSize: init.hidden_size,
    intermediateSize: init.intermediate_size,
    numLayers: init.num_hidden_layers,
    numHeads: init.num_attention_heads,
    numKvHeads: init.num_key_value_heads,
    headDim: init.hidden_size / init.num_attention_heads,
    maxPositions: init.max_position_embeddings,
    ropeTheta: init.rope_theta,
    ropeScaling: null,
    rmsNormEps: init.rms_norm_eps,
    tieWordEmbeddings: true,
  };
  const weights = initWeights(config, 1, init.initializer_range);
  const tensors = [...weights].map(([name, data]) => ({
    name,
    data,
    shape: name.endsWith("norm.weight") ? [config.hiddenSize] : shapeOf(name, config),
  }));
  const files = await encodeModelFolder({
    config,
    tensors,
    tokenizer,
    generationEosIds: [tokenizer.eosId!],
    bosId: null,
    padId: tokenizer.padId,
  });
  await Deno.mkdir(path);
  for (const [name, bytes] of files) await Deno.writeFile(`${path}/${name}`, bytes);
}

function shapeOf(
  name: string,
  config: { vocabSize: number; hiddenSize: number; intermediateSize: number },
): number[] {
  const d = config.hiddenSize, f = config.intermediateSize;
  if (name.includes("embed_tokens")) return [config.vocabSize, d];
  if (name.includes("down_proj")) return [d, f];
  if (/gate_proj|up_proj/.test(name)) return [f, d];
  return /[kv]_proj/.test(name) ? [d / 2, d] : [d, d];
}

const STORIES: ModelConfig = {
  vocabSize: 2048,
  hiddenSize: 128,
  intermediateSize: 0,
  numLayers: 2,
  numHeads: 8,
  numKvHeads: 4,
  headDim: 16,
  maxPositions: 512,
  ropeTheta: 10000,
  ropeScaling: null,
  rmsNormEps: 1e-5,
  tieWordEmbeddings: true,
};

/** tinystories-656k, whole or with the adapter that TRL's steps begin with. */
export async function storiesModel(device: Device, full: boolean): Promise<CausalLM> {
  const folder = goldenPath("models/tinystories-656k");
  const file = await readSafetensors(`${folder}/model.safetensors`);
  const gate = file.info("model.layers.0.mlp.gate_proj.weight").shape[0]!;
  const json = JSON.parse(await Deno.readTextFile(`${folder}/config.json`));
  const config = {
    ...STORIES,
    intermediateSize: gate,
    rmsNormEps: json.rms_norm_eps,
    ropeTheta: json.rope_theta ?? json.rope_parameters.rope_theta,
  };
  const weights = new Map<string, Float32Array>();
  for (const name of file.tensors.keys()) weights.set(name, await file.float32(name));
  const model = await CausalLM.create(device, config, weights, {
    trainable: full ? "full" : "lora",
    ...(full ? {} : { lora: { r: 4, alpha: 8, targetModules: "all-linear" } }),
  });
  if (!full) {
    const adapter = await readSafetensors(goldenPath("trl-step/adapter/adapter_model.safetensors"));
    for (const { name } of model.trainable) model.writeParameter(name, await adapter.float32(name));
  }
  return model;
}
