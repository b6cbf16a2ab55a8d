/**
 * The model that a run without a base began with, to compare the trained model with. It is made
 * again from the seed in the run's configuration, with the same bits as in training. Nothing is
 * written.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { ModelInit } from "../../configs/schema/run_config.ts";
import { sha256Hex } from "../../core/checksums.ts";
import { createCharacterTokenizer } from "../../models/tokenizers/character_tokenizer.ts";
import { findModel } from "../../hub/find_model.ts";
import { freshConfig, initWeights } from "../../models/network/weights/init.ts";
import { CausalLM } from "../../models/causal_lm.ts";
import type { LoadedModel } from "../../models/load_model.ts";
import { withChatTemplate } from "../../models/tokenizers/chosen_template.ts";
import { loadTokenizer } from "../../models/tokenizers/tokenizer.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";

/** The data from which such a model is made; it is sent to worker processes as JSON. */
export interface Untrained {
  init: ModelInit;
  /** Folder of its tokenizer; null = the tokenizer of single characters that `init` describes. */
  tokenizer: string | null;
  seed: number;
  /** The run's chat template, as `model.chat_template` names it. */
  chatTemplate?: string;
}

/** null for a run that began with a model on disk, or whose tokenizer is not here any more. */
export async function untrainedOf({ model, training }: RunConfig): Promise<Untrained | null> {
  const { init, tokenizer_name_or_path: name, chat_template: chatTemplate } = model;
  if (init === null) return null;
  const tokenizer = name === null ? null : (await findModel(name)).path;
  if (name !== null && tokenizer === null) return null;
  const { seed } = training;
  return { init, tokenizer, seed, ...(chatTemplate !== null && { chatTemplate }) };
}

/** The fingerprint of such a model; equal models have equal ones. */
export function untrainedFingerprint(untrained: Untrained): string {
  return sha256Hex(JSON.stringify(["untrained", untrained]));
}

/** @throws RgxError when its tokenizer cannot be read */
export async function untrainedTokenizer(
  { init, tokenizer, chatTemplate }: Untrained,
): Promise<Tokenizer> {
  const own = tokenizer === null
    ? createCharacterTokenizer(init.tokenizer)
    : await loadTokenizer(tokenizer);
  return await withChatTemplate(own, chatTemplate ?? null);
}

export async function createUntrained(
  untrained: Untrained,
  device: Parameters<typeof CausalLM.create>[0],
): Promise<Pick<LoadedModel, "model" | "tokenizer" | "eosIds">> {
  const { init, seed } = untrained, tokenizer = await untrainedTokenizer(untrained);
  const config = freshConfig(init, tokenizer.vocabSize);
  const weights = initWeights(config, seed, init.initializer_range);
  const model = await CausalLM.create(device, config, weights, { trainable: "none" });
  return { model, tokenizer, eosIds: tokenizer.eosId === null ? [] : [tokenizer.eosId] };
}
