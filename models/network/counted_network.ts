/** A model without values on a device that counts: what it allocates is what the model would. */
import { CountingDevice, type PartOf } from "../../kernels/devices/counting/device.ts";
import { RopeTables } from "./rope_table.ts";
import type { ModelSizes } from "./weights/model_sizes.ts";
import {
  adapterSpecs,
  arrangeWeights,
  baseSpecs,
  maxLayerRank,
  type Network,
} from "./weights/model_weights.ts";
import { Parameters } from "./weights/parameters.ts";

/** The tensors of a model without values: of its base, and with those of the adapter on top. */
export function emptyParameters(
  device: CountingDevice,
  sizes: ModelSizes,
): { base: Parameters; all: Parameters } {
  const { config, trainable, storage } = sizes;
  const base = new Parameters(device, baseSpecs(config, trainable === "full", storage));
  const specs = adapterSpecs(config, sizes, trainable === "lora");
  return { base, all: new Parameters(device, specs, base) };
}

/** Parts of a model's tensors. The labels of workspaces begin with their owners. */
export const ofModel: PartOf = (label, use) =>
  use === "weight" ? "frozen" : label === "gradients" ? "gradients" : "trained";

export const byOwner: PartOf = (label) => label.slice(0, label.indexOf("."));

export function countedNetwork(
  sizes: ModelSizes,
  partOf: PartOf,
): Network & { device: CountingDevice } {
  const { config } = sizes, device = new CountingDevice(sizes, partOf);
  const { all } = emptyParameters(device, sizes);
  return {
    device,
    config,
    weights: arrangeWeights(all, config, sizes),
    rope: new RopeTables(device, config),
    maxRank: maxLayerRank(sizes.lora),
    tokenRows: null,
  };
}

export interface ParameterBytes {
  /** All values, and those of trained parameters among them. */
  values: number;
  trained: number;
  gradients: number;
}

export function parameterBytes(sizes: ModelSizes): ParameterBytes {
  const { partsAtPeak: parts } = countedNetwork(sizes, ofModel).device;
  const { frozen = 0, trained = 0, gradients = 0 } = Object.fromEntries(parts);
  return { values: frozen + trained, trained, gradients };
}
