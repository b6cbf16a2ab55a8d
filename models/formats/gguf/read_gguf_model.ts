/** Reads a GGUF file as a model: configuration, weights and tokenizer. */
import { ggufConfig } from "./gguf_config.ts";
import { ggufWeights } from "./gguf_weights.ts";
import { ggufRopeScaling } from "./rope_scaling.ts";
import { ggufTokenizer } from "./gguf_tokenizer.ts";
import { readGguf } from "./gguf.ts";
import { type HfConfig, readHfConfig } from "../../architectures/hf_config.ts";
import { tokenizerFromFiles } from "../../tokenizers/tokenizer.ts";
import type { Tokenizer } from "../../tokenizers/types.ts";
import type { WeightReader } from "../weight_reader.ts";

export interface GgufModel {
  hf: HfConfig;
  weights: WeightReader;
  tokenizer: Tokenizer | null;
}

/** @throws UsageError for what is not supported, RgxError when the file is damaged */
export async function readGgufModel(path: string): Promise<GgufModel> {
  const file = await readGguf(path);
  const tokens = ggufTokenizer(file);
  const json = ggufConfig(
    file,
    tokens ?? { bosId: null, eosIds: [], padId: null },
    await ggufRopeScaling(file),
  );
  const hf = readHfConfig(json, path);
  return {
    hf,
    weights: ggufWeights(file, hf.modelConfig),
    tokenizer: tokens === null ? null : tokenizerFromFiles(tokens.files, path),
  };
}
