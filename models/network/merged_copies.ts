/**
 * Copies of weights with their LoRA adapters merged in, W + s·B·A, on the device. In training, a
 * merged copy makes the forward and the derivative by the input one product each; the adapter is
 * then only needed for its gradients. In generation the copy replaces the adapter. Weights in a
 * storage type are not copied, nor is the head, whose adapter goes through the fused head
 * (lm_head.ts). Merging rounds the sums once more than separate products do (about
 * 1e−7 relative in f32).
 */
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { Linear } from "./linear.ts";
import { isOfExperts } from "../architectures/mixtures.ts";
import { architectureOf, linearDims } from "../architectures/mod.ts";
import type { ModelSizes } from "./weights/model_sizes.ts";
import { layerAdapters, type Network, withLinears } from "./weights/model_weights.ts";
import { copyLength, type WeightCopies } from "./weights/model_base.ts";

/** Maximum bytes of merged copies. Beyond it adapters stay separate. */
export const MAX_COPY_BYTES = 2 ** 30;

/** Whether merging (r·in·out) is cheaper than the two products it saves (r·rows·(in + out)). */
function mergePays(inDim: number, outDim: number, rows: number): boolean {
  return rows * (inDim + outDim) > 2 * inDim * outDim;
}

/** Bytes of the copies that {@link mergeAdapters} makes for a pass over `rows` rows. */
function mergedBytes(
  { config, lora, storage, floatBytes, computeDtype }: ModelSizes,
  rows: number,
): number {
  if (computeDtype !== "float32") return 0;
  const { inOut } = architectureOf(config);
  const bytes = layerAdapters(lora).reduce((sum, { layer, module, path }) => {
    const [inDim, outDim] = linearDims(config, module, layer);
    const isSeparate = layer! < 0 || storage.has(`${path}.weight`) || isOfExperts(config, module);
    if (isSeparate || !mergePays(inDim, outDim, rows)) return sum;
    return sum + floatBytes * copyLength(inOut, inDim, outDim);
  }, 0);
  return bytes <= MAX_COPY_BYTES ? bytes : 0;
}

/** merged = W + s·B·A; with `whole` also DoRA's factor of every output. */
export function mergeInto(
  device: Device,
  { weight, inOut, lora, inDim, outDim }: Linear,
  merged: Tensor,
  whole = false,
): void {
  const n = inDim * outDim;
  device.run("copy", { src: weight, out: merged, n });
  if (lora === null) return;
  const { r, scale, initial } = lora;
  const add = ({ a, b }: { a: Tensor; b: Tensor }, alpha: number) => {
    const product = inOut
      ? { a, transA: true, b, transB: true, m: inDim, n: outDim }
      : { a: b, b: a, m: outDim, n: inDim };
    device.run("matmul", { ...product, out: merged, k: r, alpha, accumulate: true });
  };
  if (initial !== null) add(initial, -scale);
  add(lora, scale);
  if (!whole || lora.dora === null) return;
  const shape = inOut ? { rows: inDim, d: outDim } : { rows: outDim, d: inDim, byRow: true };
  device.run("scale_columns", { x: merged, gain: lora.dora.gain, out: merged, ...shape });
}

/** The network with merged copies where that is cheaper, until they are claimed or change. */
export function mergeAdapters(
  network: Network,
  copies: WeightCopies,
  sizes: ModelSizes,
  rows: number,
): Network {
  if (mergedBytes(sizes, rows) === 0) return network;
  copies.claim({});
  const { device, weights } = network;
  const layers = withLinears(network.config, weights, (linear, layer, module) => {
    const { inDim, outDim, storage } = linear;
    if (linear.lora === null || storage !== null || linear.experts !== null) return linear;
    if (!mergePays(inDim, outDim, rows)) return linear;
    const weight = copies.buffer(linear, layer, module);
    mergeInto(device, linear, weight);
    return { ...linear, weight, merged: true };
  });
  return { ...network, weights: { ...weights, layers } };
}
