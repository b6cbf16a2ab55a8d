/**
 * A model's weights on the host, one tensor at a time, with its adapter merged in. A weight becomes
 * W + s·B·A, summed in float64 and rounded to float32 once, or the adapter's full copy. (On a
 * device, network/merged_copies.ts merges weights for training and generation.)
 */
import { RgxError } from "../../core/errors.ts";
import { fitAdapter } from "../network/weights/adapter_fit.ts";
import { architectureOf, embeddingName, linearDims, LM_HEAD } from "../architectures/mod.ts";
import { loraNames } from "../network/adapters/lora.ts";
import { headAdapter, type LoraPlacement } from "../network/weights/model_weights.ts";
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
  const { lora, saved } = fitAdapter(adapter, config, path);
  const embedding = embeddingName(config),
    apart = headAdapter(lora) !== null ||
      saved.some(({ replaces }) => replaces === LM_HEAD || replaces === embedding);
  return apart ? { ...config, tieWordEmbeddings: false } : config;
}

/**
 * @throws RgxError when the adapter belongs to another base, UsageError when it is not supported
 */
export function mergedWeights(
  { path, config, weights, adapter }: Pick<ModelFolder, "path" | "config" | "weights" | "adapter">,
): MergedWeights {
  const { inOut } = architectureOf(config), embedding = embeddingName(config);
  const fit = adapter === null ? { lora: [], saved: [] } : fitAdapter(adapter, config, path);
  const placed = new Map<string, LoraPlacement>(
    fit.lora.map((lora) => [`${lora.path}.weight`, lora]),
  );
  const copies = new Map(fit.saved.map(({ replaces, name }) => [replaces, name]));
  // The file may have the matrix of a tied model under either name.
  const other: Readonly<Record<string, string>> = config.tieWordEmbeddings
    ? { [embedding]: LM_HEAD, [LM_HEAD]: embedding }
    : {};
  return async (name, shape) => {
    const copy = copies.get(name);
    if (copy !== undefined && adapter !== null) return await adapter.weights.float32(copy);
    let base = await weights(name, shape);
    if (base === null && other[name] !== undefined) base = await weights(other[name], shape);
    if (base === null) {
      throw new RgxError(
        `${path}: the weights hold no tensor "${name}" (expected shape [${shape.join(", ")}])`,
        { advice: "Check that config.json belongs to these weights." },
      );
    }
    const lora = placed.get(name);
    if (lora === undefined || adapter === null) return base;
    const { a, b } = loraNames(lora.peftPath);
    const [inDim, outDim] = linearDims(config, lora.module);
    return addProduct(base, await adapter.weights.float32(a), await adapter.weights.float32(b), {
      inDim,
      outDim,
      inOut: inOut && lora.layer !== null,
      scale: lora.scale,
    });
  };
}

/** W + scale·B·A, in place; W is float32, or float64 when the file has that. */
function addProduct(
  w: Float32Array | Float64Array,
  a: Float32Array,
  b: Float32Array,
  { inDim, outDim, inOut, scale }: {
    inDim: number;
    outDim: number;
    inOut: boolean;
    scale: number;
  },
): Float32Array | Float64Array {
  const r = a.length / inDim, row = new Float64Array(inDim);
  for (let o = 0; o < outDim; o++) {
    row.fill(0);
    for (let k = 0; k < r; k++) {
      const factor = scale * b[o * r + k]!, from = k * inDim;
      for (let i = 0; i < inDim; i++) row[i]! += factor * a[from + i]!;
    }
    for (let i = 0; i < inDim; i++) w[inOut ? i * outDim + o : o * inDim + i]! += row[i]!;
  }
  return w;
}
