/**
 * A model's weights on the host, one tensor at a time, with its adapter merged in: W + s·B·A, summed in
 * float64 and rounded to float32 once. On a device, for training and generation, merge_lora.ts does it.
 */
import { RgxError } from "../core/errors.ts";
import { architectureOf, linearDims, modulesOf } from "./architectures/mod.ts";
import { LM_HEAD, type LoraPlacement, placeLora } from "./llama_weights.ts";
import { checkLoraOptions, loraNames } from "./lora.ts";
import type { ModelFolder } from "./model_folder.ts";
import { loraOptions, type PeftAdapter } from "./peft_adapter.ts";
import type { LlamaConfig } from "./types.ts";

/** Values of a base tensor by its Hugging Face name. @throws RgxError when the model lacks it */
export type MergedWeights = (
  name: string,
  shape: readonly number[],
) => Promise<Float32Array | Float64Array>;

/** @throws RgxError when the adapter belongs to another base, UsageError when it cannot be honoured */
export function mergedWeights(
  { path, config, weights, adapter }: Pick<ModelFolder, "path" | "config" | "weights" | "adapter">,
): MergedWeights {
  const { names, inOut } = architectureOf(config);
  const placed = adapter === null ? new Map() : placeAdapter(adapter, config, path);
  return async (name, shape) => {
    let base = await weights(name, shape);
    if (base === null && name === names.embedding && config.tieWordEmbeddings) {
      base = await weights(LM_HEAD, shape);
    }
    if (base === null) {
      throw new RgxError(
        `${path}: the weights hold no tensor "${name}" (expected shape [${shape.join(", ")}])`,
        { advice: "Check that config.json belongs to these weights." },
      );
    }
    const lora = placed.get(name);
    if (lora === undefined || adapter === null) return base;
    const { a, b } = loraNames(lora.path);
    const [inDim, outDim] = linearDims(config, lora.module);
    return addProduct(base, await adapter.weights.float32(a), await adapter.weights.float32(b), {
      ...{ inDim, outDim, inOut, scale: lora.scale },
    });
  };
}

/** Weight name → its adapter; all tensors of the adapter must have a place, of their size. */
function placeAdapter(
  adapter: PeftAdapter,
  config: LlamaConfig,
  base: string,
): Map<string, LoraPlacement> {
  const options = loraOptions(adapter.config), { tensors, label } = adapter.weights;
  checkLoraOptions(options, modulesOf(config));
  const placed = new Map<string, LoraPlacement>(), known = new Set<string>();
  const wrong: string[] = [];
  for (const lora of placeLora(config, options)) {
    placed.set(`${lora.path}.weight`, lora);
    const [inDim, outDim] = linearDims(config, lora.module), { a, b } = loraNames(lora.path);
    for (const [name, wanted] of [[a, [lora.r, inDim]], [b, [outDim, lora.r]]] as const) {
      known.add(name);
      const found = tensors.get(name)?.shape;
      if (String(found) === String(wanted)) continue;
      const is = found === undefined ? "is missing" : `has shape [${found.join(", ")}]`;
      wrong.push(`${name} ${is}, the base needs [${wanted.join(", ")}]`);
    }
  }
  for (const name of tensors.keys()) {
    if (!known.has(name)) wrong.push(`${name} has no place in the base`);
  }
  if (wrong.length === 0) return placed;
  const more = wrong.length > 4 ? `; and ${wrong.length - 4} more` : "";
  throw new RgxError(
    `${label}: the adapter does not fit the base model ${base}: ${
      wrong.slice(0, 4).join("; ")
    }${more}`,
    { advice: "Correct base_model_name_or_path in its adapter_config.json." },
  );
}

/** W + scale·B·A, in place where W is float32 (or of the float64 that the file holds). */
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
