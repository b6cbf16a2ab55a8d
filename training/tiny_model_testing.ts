/**
 * The model of the tiny test configuration as a folder. Not part of the program.
 */
import { createCharacterTokenizer } from "../models/tokenizers/character_tokenizer.ts";
import { initWeights } from "../models/network/weights/init.ts";
import { encodeModelFolder } from "../models/folder_testing.ts";
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
