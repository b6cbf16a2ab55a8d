/**
 * A model's weights on the host, one tensor at a time, with its adapter merged in. A weight becomes
 * W + s·B·A (with DoRA its rows get their magnitudes), summed in float64 and rounded to float32, or
 * the adapter's full copy. (On a device, network/merged_copies.ts merges weights for training and
 * generation.)
 */
import { RgxError, UsageError } from "../../core/errors.ts";
import { fitAdapter } from "../network/weights/adapter_fit.ts";
import {
  architectureOf,
  embeddingName,
  hasBias,
  linearDims,
  LM_HEAD,
} from "../architectures/mod.ts";
import { isOfExperts } from "../architectures/mixtures.ts";
import { loraNames } from "../network/adapters/lora.ts";
import { addProduct, scaleRows, weightFactors } from "../network/adapters/weight_factors.ts";
import { mergeEmbedding } from "../network/weights/embedding_placement.ts";
import {
  type AdapterTensors,
  headAdapter,
  type LoraPlacement,
} from "../network/weights/model_weights.ts";
import type { ModelFolder } from "../model_folder.ts";
import type { ModelConfig } from "../architectures/model_config.ts";

/**
 * Values of a base tensor by its Hugging Face name.
 * @throws RgxError when the model has no such tensor
 */
export type MergedWeights = (
  name: string,
  shape: readonly number[],
) => Promise<Float32Array | Float64Array>;

/**
 * The configuration of a model with its adapter merged in. A tied head that the adapter changes, or
 * has a copy of, is no longer tied.
 */
export function mergedConfig(
  { path, config, adapter }: Pick<ModelFolder, "path" | "config" | "adapter">,
): ModelConfig {
  if (adapter === null || !config.tieWordEmbeddings) return config;
  const { lora, saved, embedding: adapted = null } = fitAdapter(adapter, config, path);
  const embedding = embeddingName(config),
    apart = headAdapter(lora) !== null || adapted?.kind === "lora" ||
      saved.some(({ replaces }) => replaces === LM_HEAD || replaces === embedding);
  return apart ? { ...config, tieWordEmbeddings: false } : config;
}

/** W_e + s·B_e·A_e of each expert; B [out, r·experts] has the experts fastest. */
function addExperts(
  base: Float32Array | Float64Array,
  a: Float32Array,
  b: Float32Array,
  { r, scale }: LoraPlacement,
  experts: number,
  dims: readonly [inDim: number, outDim: number],
): Float32Array | Float64Array {
  const [inDim, outDim] = dims, size = inDim * outDim;
  for (let e = 0; e < experts; e++) {
    const ofExpert = Float32Array.from({ length: outDim * r }, (_, i) => b[i * experts + e]!);
    const weight = base.subarray(e * size, (e + 1) * size);
    const pair = a.subarray(e * r * inDim, (e + 1) * r * inDim);
    addProduct(weight, pair, ofExpert, { dims, inOut: false, scale });
  }
  return base;
}

/**
 * @throws RgxError when the adapter belongs to another base, UsageError when it is not supported
 */
export function mergedWeights(
  { path, config, files, adapter }: Pick<ModelFolder, "path" | "config" | "files" | "adapter">,
): MergedWeights {
  const { inOut } = architectureOf(config), embedding = embeddingName(config);
  const fit: AdapterTensors = adapter === null
    ? { lora: [], saved: [] }
    : fitAdapter(adapter, config, path);
  const placed = new Map<string, LoraPlacement>();
  for (const lora of fit.lora) {
    placed.set(`${lora.path}.weight`, lora);
    if (!lora.bias) continue;
    if (lora.layer === null || !hasBias(config, lora.module)) {
      throw new UsageError(
        `${path}: ${lora.path} has no bias that lora_bias could be merged into`,
        {
          advice: "Use the adapter as it is. PEFT cannot merge it either.",
        },
      );
    }
    placed.set(`${lora.path}.bias`, lora);
  }
  const copies = new Map(fit.saved.map(({ replaces, name }) => [replaces, name]));
  // The file may have the matrix of a tied model under either name.
  const other: Readonly<Record<string, string>> = config.tieWordEmbeddings
    ? { [embedding]: LM_HEAD, [LM_HEAD]: embedding }
    : {};
  return async (name, shape) => {
    const copy = copies.get(name);
    if (copy !== undefined && adapter !== null) return await adapter.weights.float32(copy);
    let base = await files.values(name, shape);
    if (base === null && other[name] !== undefined) base = await files.values(other[name], shape);
    if (base === null) {
      throw new RgxError(
        `${path}: the weights hold no tensor "${name}" (expected shape [${shape.join(", ")}])`,
        { advice: "Check that config.json belongs to these weights." },
      );
    }
    if (name === embedding && fit.embedding && adapter !== null) {
      await mergeEmbedding(base, config, fit.embedding, (name) => adapter.weights.float32(name));
    }
    const lora = placed.get(name);
    if (lora === undefined || adapter === null) return base;
    const names = loraNames(lora.peftPath), { scale } = lora, { weights: file } = adapter;
    if (name.endsWith(".bias")) {
      const bias = await file.float32(names.bias);
      return base.map((x, o) => x + scale * bias[o]!);
    }
    const dims = linearDims(config, lora.module, lora.layer),
      ofLayer = { dims, inOut: inOut && lora.layer !== null };
    const a = await file.float32(names.a), b = await file.float32(names.b);
    if (isOfExperts(config, lora.module)) {
      return addExperts(base, a, b, lora, config.experts!.count, dims);
    }
    if (lora.from !== null) {
      const { taken } = adapter.config;
      const first = taken === undefined
        ? weightFactors(lora.from, base, { ...ofLayer, r: lora.r, scale })
        : { a: await taken(names.initialA), b: await taken(names.initialB) };
      addProduct(base, first.a, first.b, { ...ofLayer, scale: -scale });
    }
    addProduct(base, a, b, { ...ofLayer, scale });
    if (lora.magnitude) {
      scaleRows(base, await file.float32(names.magnitude), dims, ofLayer.inOut);
    }
    return base;
  };
}
