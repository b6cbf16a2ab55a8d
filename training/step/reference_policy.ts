/**
 * The reference model of the KL term. For a fresh LoRA adapter it is the model without the adapter.
 * Otherwise (full fine-tuning, or an adapter that was trained before) it is a frozen copy of the
 * trainable values from the beginning of GRPO. The copy replaces the model's values during the
 * reference's forward pass, so no second model is needed, only two more tensors of the trainable
 * size.
 */
import { RgxError } from "../../core/errors.ts";
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { Group } from "../../models/network/types.ts";
import type { LanguageModel } from "../../models/language_model.ts";
import { encodeSafetensors } from "../../models/formats/safetensors/safetensors_writer.ts";
import { parseSafetensors } from "../../models/formats/safetensors/safetensors.ts";
import { dtypeOf } from "./optimizer.ts";

export interface ReferencePolicy {
  /** Log-probabilities of all completion tokens, without gradient. */
  logp(groups: readonly Group[], temperature: number): Promise<ArrayLike<number>>;
  /** ref ← α·policy + (1 − α)·ref (`sync_ref_model`). @throws RgxError where there is no copy */
  sync(alpha: number): void;
  /** What a checkpoint needs for an exact resume; null = nothing. */
  save(): Promise<Uint8Array | null>;
  dispose(): void;
}

/** The base model under a LoRA adapter. */
export function adapterOffReference(model: LanguageModel): ReferencePolicy {
  return {
    async logp(groups, temperature) {
      return (await model.forward(groups, { temperature, train: false, adapter: false })).logp;
    },
    sync() {
      throw new RgxError(
        "sync_ref_model: the reference is the base model, which nothing can move",
        {
          advice: "It is for full fine-tuning: remove the lora section or sync_ref_model.",
        },
      );
    },
    save: () => Promise.resolve(null),
    dispose: () => {},
  };
}

/** @param saved what `save` returned; null = the reference is a copy of the current values */
export async function frozenReference(
  device: Device,
  model: LanguageModel,
  saved: Uint8Array | null,
): Promise<ReferencePolicy> {
  const arena = model.trainableArena!;
  const n = arena.length;
  const frozen = device.create("float", n, "reference.values");
  const policy = device.create("float", n, "reference.policy values meanwhile");
  const copy = (src: Tensor, out: Tensor) => device.run("copy", { src, out, n });
  if (saved === null) copy(arena.value, frozen);
  else {
    const file = await parseSafetensors(saved, "reference.safetensors");
    device.write(
      frozen,
      device.float === "f64" ? await file.float64("values") : await file.float32("values"),
    );
  }
  return {
    async logp(groups, temperature) {
      copy(arena.value, policy);
      copy(frozen, arena.value);
      try {
        return (await model.forward(groups, { temperature, train: false })).logp;
      } finally {
        copy(policy, arena.value);
      }
    },
    sync(alpha) {
      device.run("add", { a: arena.value, b: frozen, out: policy, n, scale: -1 });
      device.run("add", { a: frozen, b: policy, out: frozen, n, scale: alpha });
    },
    async save() {
      const data = await device.read(frozen) as Float32Array | Float64Array;
      return encodeSafetensors([{ name: "values", dtype: dtypeOf(data), shape: [n], data }]);
    },
    dispose() {
      device.free(frozen);
      device.free(policy);
    },
  };
}
