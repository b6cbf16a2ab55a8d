/** Kinds of the optimizer, and a model for tests of them. Not part of the program. */
import type { Device } from "../../kernels/device.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { StorageOptions } from "../../models/network/weights/weight_storage.ts";
import { randomModel, tinyConfig, withReference } from "../../models/testing.ts";
import type { OptimizerKind } from "./state_tensors.ts";
import type { AdamW, AdamwSettings } from "./optimizer.ts";

export const SETTINGS: AdamwSettings = {
  adam_beta1: 0.9,
  adam_beta2: 0.99,
  adam_epsilon: 1e-8,
  weight_decay: 0.1,
  max_grad_norm: 0.5,
};

/** A step at this rate. */
export async function stepWith(optimizer: AdamW, rate: number) {
  const gradNorm = await optimizer.gradNorm();
  return { gradNorm, applied: await optimizer.apply(rate, gradNorm) };
}

/** Writes gradients that differ by step and element. */
export function fillGradients(device: Device, model: CausalLM, step: number): void {
  for (const [i, { grad }] of model.trainable.entries()) {
    const values = Float32Array.from({ length: grad!.length }, (_, j) => Math.sin(step + i + j));
    device.write(grad!, values);
  }
}

export async function values(model: CausalLM): Promise<Map<string, Float32Array>> {
  const all = new Map<string, Float32Array>();
  for (const { name } of model.trainable) all.set(name, await model.readParameter(name));
  return all;
}

/** Tests with a small model of random weights that is trained in full, on the reference device. */
export const test = {
  withModel(
    name: string,
    work: (parts: { model: CausalLM; device: Device }) => Promise<void>,
  ): void {
    Deno.test(name, () =>
      withReference(async (device) => {
        const model = await randomModel(device, tinyConfig(true), { trainable: "full" });
        await work({ model, device });
        model.dispose();
      }));
  },
};

/** A model whose matrices have at least 4,096 values, so that their moments may have 8 bits. */
export const wideConfig = {
  ...tinyConfig(false),
  hiddenSize: 64,
  intermediateSize: 96,
  vocabSize: 70,
  headDim: 16,
  numLayers: 1,
};

export const KINDS: readonly [string, OptimizerKind, StorageOptions][] = [
  ["float moments", { moments: "float", rounding: "stochastic" }, {}],
  ["8-bit moments", { moments: "8bit", rounding: "stochastic" }, {}],
  ["stochastic rounding", { moments: "float", rounding: "stochastic" }, { dtype: "bfloat16" }],
  ["Kahan's rounding", { moments: "float", rounding: "kahan" }, { dtype: "bfloat16" }],
  [
    "8-bit moments and stochastic rounding",
    { moments: "8bit", rounding: "stochastic" },
    { dtype: "bfloat16" },
  ],
  [
    "8-bit moments and Kahan's rounding",
    { moments: "8bit", rounding: "kahan" },
    { dtype: "bfloat16" },
  ],
];
