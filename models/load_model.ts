/** A model ready to answer: from a folder (full model or PEFT adapter on its base) onto a device. */
import type { Device } from "../kernels/device.ts";
import { adapterNames, fitAdapter } from "./network/weights/adapter_fit.ts";
import { generationRoomNow } from "./generation/generation_room.ts";
import { requireInt8Weights } from "./generation/int8_activations.ts";
import { CausalLM } from "./causal_lm.ts";
import type { LoadListener } from "./network/weights/load_weights.ts";
import { type ModelFolder, readModelFolder } from "./model_folder.ts";
import { loraOptions, readPeftAdapter } from "./network/adapters/peft_adapter.ts";
import { stopStrings } from "./generation/stop_strings.ts";
import { loadTokenizer, noTokenizer } from "./tokenizers/tokenizer.ts";
import type { Completion } from "./generation/types.ts";
import type { ActivationType } from "./network/types.ts";
import type { Tokenizer } from "./tokenizers/types.ts";
import type { StorageOptions } from "./network/weights/weight_storage.ts";

/** A model on a device, with what is needed to talk to it. `model.dispose()` frees its memory. */
export interface LoadedModel {
  model: CausalLM;
  tokenizer: Tokenizer;
  /** Ids that end a completion. */
  eosIds: readonly number[];
  /** Where the weights of the model, or of the adapter's base, were read from: a whole path. */
  base: string;
}

/** The same without a tokenizer, where the model has none: it takes and gives ids. */
export type LoadedIdModel = Omit<LoadedModel, "tokenizer"> & { tokenizer: Tokenizer | null };

/** What `loadModel` may be told. */
export interface LoadOptions {
  /** A PEFT adapter's folder, put on the model instead of its own. */
  adapter?: string;
  /**
   * A model on the same device. If it is on the base that is asked for, that is not read again: both share its
   * weights (see CausalLM.withAdapter), and each is disposed on its own. Otherwise it makes no difference.
   */
  sharing?: LoadedIdModel;
  /** How the base's weights are held; default: as they are stored. Of one that is shared it has been said. */
  weights?: StorageOptions;
  /** What generation will be asked for: refused before anything is loaded where no weight suits it. */
  activations?: ActivationType;
  /** A folder whose tokenizer takes the place of the model's own. */
  tokenizer?: string;
  /** Told while the base's weights are loaded: how many values, of how many. */
  onLoad?: LoadListener;
}

/**
 * Loads a Hugging Face folder, a GGUF file, a run, a checkpoint, an adapter, or a name that is in the Hub's cache.
 * @throws UsageError when there is no such model; RgxError when a file is damaged, or the adapter another base's
 */
export async function loadModel(
  path: string,
  device: Device,
  options: LoadOptions = {},
): Promise<LoadedModel> {
  const folder = await readModelFolder(path), { tokenizer: other } = options;
  const tokenizer = other === undefined ? folder.tokenizer : await loadTokenizer(other);
  if (tokenizer === null) {
    throw noTokenizer(path, "Put the model's tokenizer.json into its folder.");
  }
  const eosIds = new Set(folder.generationEosIds);
  if (other !== undefined && tokenizer.eosId !== null) eosIds.add(tokenizer.eosId);
  return { ...await load(folder, device, options), tokenizer, eosIds: [...eosIds] };
}

/** The same for a model that need not have a tokenizer. @throws as loadModel does */
export async function loadIdModel(
  path: string,
  device: Device,
  options: LoadOptions = {},
): Promise<LoadedIdModel> {
  return await load(await readModelFolder(path), device, options);
}

async function load(
  folder: ModelFolder,
  device: Device,
  options: LoadOptions,
): Promise<LoadedIdModel> {
  const { weights = {}, activations } = options;
  if (activations === "int8") requireInt8Weights(folder, weights);
  const adapter = options.adapter === undefined
    ? folder.adapter
    : await readPeftAdapter(options.adapter);
  const fit = adapter === null ? null : fitAdapter(adapter, folder.config, folder.path);
  const base = await Deno.realPath(folder.path), { sharing } = options;
  const shared = sharing?.base === base && sharing.model.device === device ? sharing.model : null;
  const lora = adapter === null ? null : loraOptions(adapter.config);
  const model = shared !== null
    ? await shared.withAdapter(lora)
    : await CausalLM.create(device, folder.config, folder.files, {
      trainable: "none",
      ...(lora === null ? {} : { lora }),
      weights: { ...weights, ...(activations === undefined ? {} : { activations }) },
      ...(options.onLoad === undefined ? {} : { onLoad: options.onLoad }),
    });
  try {
    for (const name of fit === null ? [] : adapterNames(fit)) {
      model.writeParameter(name, await adapter!.weights.float32(name));
    }
  } catch (error) {
    model.dispose();
    throw error;
  }
  model.generationRoom = await generationRoomNow(device);
  return { model, tokenizer: folder.tokenizer, eosIds: folder.generationEosIds, base };
}

/** How completions of texts are made. */
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
  /** What products with 4-bit weights take; default float32. @see GenerateOptions.activations */
  activations?: ActivationType;
}

/** A completion with its text; special tokens are left out. */
export type TextCompletion = Completion & { text: string };

/** Completions of plain-text prompts: [prompts][n]. The same seed gives the same text; calls at the same time wait for one another. */
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
