/**
 * Reports how a model's weights are stored, and what other storage types would change: the memory,
 * the error of the weights, and the log-probabilities of a short text. Only one model at a time is
 * on the device.
 */
import type { Device } from "../../kernels/device.ts";
import { CausalLM } from "../causal_lm.ts";
import type { LoadListener } from "../network/weights/load_weights.ts";
import { contextText } from "../architectures/rope_scaling.ts";
import { modelTensors } from "../architectures/mod.ts";
import { parameterBytes } from "../network/counted_network.ts";
import type { ModelFolder } from "../model_folder.ts";
import { modelSizes } from "../network/weights/model_sizes.ts";
import { elementCount } from "../formats/element_count.ts";
import { fileBytes, isBlockType, type WeightType } from "../formats/stored_weight.ts";
import { planStorage, type StorageOptions } from "../network/weights/weight_storage.ts";

/** Everyday language, so that every language model can predict some of it. */
const TEXT =
  "The train to the coast leaves at half past seven. It is often late in winter, because snow " +
  "covers the tracks in the hills. Anna bought two tickets for 12 euros each and paid with a " +
  "50 euro note, so she got 26 euros back. She read a book about the history of bridges until " +
  "the sea came into sight.";
/** Maximum number of tokens of the text; some models have few positions. */
const MAX_TOKENS = 128;

export interface StoredPart {
  type: WeightType | "f32";
  tensors: number;
  values: number;
  bytes: number;
}

export interface HeldReport {
  /** The configuration that selects this storage. */
  how: string;
  /** Bytes of all weights on the device. */
  bytes: number;
  /** ‖held − stored‖ / ‖stored‖ over the matrices whose type changes; null when none does. */
  weight_error: number | null;
  /**
   * Mean and largest |log p − log p as stored| of the text's tokens, in nats; null for the stored
   * types.
   */
  logprob_change: { mean: number; largest: number } | null;
  /** exp of the mean negative log-probability of the text's tokens. */
  perplexity: number;
}

export interface StorageReport {
  /** Tokens of the longest text. */
  positions: number;
  /** The longest text and the RoPE scaling; null without scaling. */
  context: string | null;
  stored: StoredPart[];
  held: HeldReport[];
  /** Why no other storage is compared; null when some are. */
  note: string | null;
}

const ALTERNATIVES: readonly [how: string, options: StorageOptions][] = [
  ["dtype: float16", { dtype: "float16" }],
  ["dtype: bfloat16", { dtype: "bfloat16" }],
  ["load_in_8bit: true", { quantize: "int8" }],
  ["load_in_4bit: true", { quantize: "nf4" }],
];

/** @param onModel called before each model is loaded; returns the listener for its progress */
export async function storageReport(
  folder: ModelFolder,
  device: Device,
  onModel: (how: string) => LoadListener = () => () => {},
): Promise<StorageReport> {
  const stored = storedParts(folder);
  const types = new Set(stored.map(({ type }) => type));
  const inBlocks = stored.some(({ type }) => type !== "f32" && isBlockType(type));
  const ids = folder.tokenizer?.encode(TEXT).slice(0, MAX_TOKENS) ?? [];
  const held: HeldReport[] = [];
  let reference: number[] | null = null;
  const alternatives = inBlocks
    ? []
    : ALTERNATIVES.filter(([, { dtype }]) =>
      !(types.has("f16") && dtype === "float16") && !(types.has("bf16") && dtype === "bfloat16")
    );
  for (const [how, weights] of [["as stored", {}] as const, ...alternatives]) {
    const onLoad = onModel(how);
    const model = await CausalLM.create(device, folder.config, folder.files, {
      trainable: "none",
      weights,
      onLoad,
    });
    try {
      const logp = await logProbabilities(model, ids);
      held.push({
        how,
        bytes: bytesOf(folder, weights),
        weight_error: reference === null ? null : await weightError(model, folder),
        logprob_change: reference === null ? null : change(logp, reference),
        perplexity: Math.exp(-logp.reduce((a, b) => a + b, 0) / Math.max(1, logp.length)),
      });
      reference ??= logp;
    } finally {
      model.dispose();
    }
  }
  const note = inBlocks ? "its weights are quantised already: they are held as they are" : null;
  const { config } = folder;
  return { positions: config.maxPositions, context: contextText(config), stored, held, note };
}

function storedParts({ config, files }: ModelFolder): StoredPart[] {
  const parts = new Map<string, StoredPart>();
  for (const { name, shape } of modelTensors(config)) {
    const type = files.typeOf(name) ?? "f32", values = elementCount(shape);
    const part = parts.get(type) ?? { type, tensors: 0, values: 0, bytes: 0 };
    part.tensors++;
    part.values += values;
    part.bytes += fileBytes(type, values);
    parts.set(type, part);
  }
  return [...parts.values()].sort((a, b) => b.bytes - a.bytes);
}

function bytesOf({ config, files }: ModelFolder, weights: StorageOptions): number {
  const storage = planStorage(config, "none", weights, (name) => files.typeOf(name));
  return parameterBytes(modelSizes(config, { trainable: "none", storage })).values;
}

async function logProbabilities(model: CausalLM, ids: readonly number[]): Promise<number[]> {
  if (ids.length < 2) return [];
  const group = { promptIds: ids.slice(0, 1), branches: [ids.slice(1)] };
  const { logp } = await model.forward([group], { temperature: 1, train: false });
  return [...logp];
}

function change(found: readonly number[], reference: readonly number[]) {
  const differences = found.map((x, i) => Math.abs(x - reference[i]!));
  return {
    mean: differences.reduce((a, b) => a + b, 0) / Math.max(1, differences.length),
    largest: differences.reduce((a, b) => Math.max(a, b), 0),
  };
}

async function weightError(model: CausalLM, { files }: ModelFolder): Promise<number | null> {
  let error = 0, norm = 0;
  for (const { name, shape, storage } of model.parameters) {
    if (storage === null || storage === files.typeOf(name)) continue;
    const held = await model.readParameter(name), stored = (await files.values(name, shape))!;
    for (let i = 0; i < held.length; i++) {
      error += (held[i]! - stored[i]!) ** 2;
      norm += stored[i]! ** 2;
    }
  }
  return norm === 0 ? null : Math.sqrt(error / norm);
}
