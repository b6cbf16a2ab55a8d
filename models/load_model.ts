/**
 * Loads a model for inference: from a folder (a full model, or a PEFT adapter and its base) onto a
 * device.
 */
import { inPlace, RgxError } from "../core/errors.ts";
import { withPermissions } from "../core/machine/permissions.ts";
import type { Device } from "../kernels/device.ts";
import { WEIGHT_LIMIT } from "../kernels/weights/finite.ts";
import { adapterNames, fitAdapter } from "./network/weights/adapter_fit.ts";
import { currentGenerationLimit } from "./generation/memory/generation_limit.ts";
import { requireInt8Weights } from "./generation/int8_activations.ts";
import { CausalLM } from "./causal_lm.ts";
import { findModel } from "../hub/find_model.ts";
import type { AdapterTensors } from "./network/weights/model_weights.ts";
import type { LoadListener } from "./network/weights/load_weights.ts";
import { type ModelFolder, readAdapter, readModelFolder } from "./model_folder.ts";
import { loraNames } from "./network/adapters/lora.ts";
import { loraOptions, type PeftAdapter } from "./network/adapters/peft_adapter.ts";
import { loadTokenizer, noTokenizer } from "./tokenizers/tokenizer.ts";
import type { ActivationType } from "./network/types.ts";
import type { Tokenizer } from "./tokenizers/types.ts";
import type { StorageOptions } from "./network/weights/weight_storage.ts";

/** A model on a device with its tokenizer; `model.dispose()` or `using` frees its memory. */
export interface LoadedModel extends Disposable {
  /** The weights on their device. */
  model: CausalLM;
  /** Texts to token ids and back. */
  tokenizer: Tokenizer;
  /** Ids that end a completion. */
  eosIds: readonly number[];
  /** Absolute path that the weights of the model, or of the adapter's base, were read from. */
  base: string;
}

/** A loaded model that may have no tokenizer: its input and output are token ids. */
export type LoadedIdModel = Omit<LoadedModel, "tokenizer"> & { tokenizer: Tokenizer | null };

/** Options of `loadModel`. */
export interface LoadOptions {
  /** Folder of a PEFT adapter, or a GGUF file, that is used in place of the model's own. */
  adapter?: string;
  /** A loaded model on the same device, with which weights are shared if it has the same base. */
  sharing?: Pick<LoadedIdModel, "model" | "base">;
  /** How the base's weights are stored, unless they are shared. Default: as in their file. */
  weights?: StorageOptions;
  /** The `activations` of generation, refused before loading if no weight supports them. */
  activations?: ActivationType;
  /** A folder whose tokenizer is used in place of the model's own. */
  tokenizer?: string;
  /** Called while the base's weights are loaded. */
  onLoad?: LoadListener;
}

/**
 * Loads a Hugging Face folder, a GGUF file, a run, a checkpoint, an adapter, or a model in the
 * Hub's cache.
 * @throws UsageError when there is no such model; RgxError when a file is damaged, or the adapter
 *   belongs to another base
 */
export async function loadModel(
  path: string,
  device: Device,
  options: LoadOptions = {},
): Promise<LoadedModel> {
  return await withPermissions(
    "loadModel",
    [{ name: "env" }],
    () => loadWithTokenizer(path, device, options),
  );
}

async function loadWithTokenizer(
  path: string,
  device: Device,
  options: LoadOptions,
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

/** Loads a model that need not have a tokenizer. @throws as loadModel does */
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
    : await readAdapter((await findModel(options.adapter)).path ?? options.adapter, folder);
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
    if (fit !== null) await writeAdapter(model, adapter!.weights, fit);
  } catch (error) {
    model.dispose();
    throw error;
  }
  model.generationLimit = await currentGenerationLimit(device);
  return {
    model,
    tokenizer: folder.tokenizer,
    eosIds: folder.generationEosIds,
    base,
    [Symbol.dispose]: () => model.dispose(),
  };
}

/** Writes an adapter to a model. @throws RgxError for values that are or make infinities */
async function writeAdapter(
  model: CausalLM,
  weights: PeftAdapter["weights"],
  fit: AdapterTensors,
): Promise<void> {
  const largest = new Map<string, number>();
  for (const name of adapterNames(model.config, fit)) {
    const values = await weights.float32(name);
    try {
      model.writeParameter(name, values);
    } catch (error) {
      throw inPlace(weights.label, error);
    }
    largest.set(name, values.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
  }
  for (const { peftPath, r, scale } of fit.lora) {
    const { a, b } = loraNames(peftPath), product = r * scale * largest.get(a)! * largest.get(b)!;
    if (product < WEIGHT_LIMIT) continue;
    throw new RgxError(
      `${weights.label}: "${a}" has values up to ${
        largest.get(a)!.toPrecision(3)
      } and "${b}" up to ${largest.get(b)!.toPrecision(3)}: their product overflows float32`,
      { advice: "The file is damaged, or the training that made it diverged." },
    );
  }
}
