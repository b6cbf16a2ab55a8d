/** A model ready to answer: from a folder (full model or PEFT adapter on its base) onto a device. */
import { UsageError } from "../core/errors.ts";
import type { Device } from "../kernels/device.ts";
import { LlamaModel } from "./llama.ts";
import { readModelFolder } from "./model_folder.ts";
import { loraOptions, readPeftAdapter } from "./peft_adapter.ts";
import { stopStrings } from "./stop_strings.ts";
import type { Completion, Tokenizer } from "./types.ts";

export interface LoadedModel {
  model: LlamaModel;
  tokenizer: Tokenizer;
  /** Ids that end a completion. */
  eosIds: readonly number[];
}

/**
 * @param options.adapter a PEFT adapter's folder, put on the model instead of its own
 * @throws UsageError when there is no such model; RgxError when a file is damaged
 */
export async function loadModel(
  path: string,
  device: Device,
  options: { adapter?: string } = {},
): Promise<LoadedModel> {
  const folder = await readModelFolder(path);
  if (folder.tokenizer === null) {
    throw new UsageError(`${path}: no tokenizer: looked for tokenizer.json`);
  }
  const adapter = options.adapter === undefined
    ? folder.adapter
    : await readPeftAdapter(options.adapter);
  const model = await LlamaModel.create(device, folder.config, folder.weights, {
    trainable: "none",
    ...(adapter === null ? {} : { lora: loraOptions(adapter.config) }),
  });
  if (adapter !== null) {
    for (const { name } of model.parameters) {
      if (/\.lora_[AB]\.weight$/.test(name)) {
        model.writeParameter(name, await adapter.weights.float32(name));
      }
    }
  }
  return { model, tokenizer: folder.tokenizer, eosIds: folder.generationEosIds };
}

export interface TextOptions {
  /** Default 256. */
  maxNewTokens?: number;
  /** Default 1; 0 = greedy. */
  temperature?: number;
  topK?: number;
  topP?: number;
  minP?: number;
  /** 1 = off. @see GenerateOptions.repetitionPenalty */
  repetitionPenalty?: number;
  /** No end before so many tokens; default 0. */
  minNewTokens?: number;
  /** A completion ends with the token that completes one of these, which it keeps. */
  stop?: readonly string[];
  /** Default 42. */
  seed?: number;
  /** Completions of each prompt; default 1. */
  n?: number;
}

/** A completion with its text; special tokens are left out. */
export type TextCompletion = Completion & { text: string };

/** Completions of plain-text prompts: [prompts][n]. The same seed gives the same text. */
export async function generate(
  { model, tokenizer, eosIds }: LoadedModel,
  prompts: readonly string[],
  options: TextOptions = {},
): Promise<TextCompletion[][]> {
  const { maxNewTokens = 256, temperature = 1, seed = 42, n = 1, stop = [], ...sampling } = options;
  const stopWhen = stopStrings(tokenizer, stop);
  const completions = await model.generate(
    prompts.map((prompt, promptId) => ({ promptId, promptIds: tokenizer.encode(prompt), n })),
    {
      ...{ maxNewTokens, temperature, seed, eosIds, ...sampling },
      ...(stopWhen === null ? {} : { stopWhen }),
    },
  );
  return completions.map((group) =>
    group.map((completion) => ({
      ...completion,
      text: tokenizer.decode(completion.ids, { skipSpecialTokens: true }),
    }))
  );
}
