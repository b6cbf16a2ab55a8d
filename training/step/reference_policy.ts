/**
 * The reference model of the KL term. For a fresh LoRA adapter it is the model without the adapter.
 * Otherwise (full fine-tuning, or an adapter that was trained before) it is a frozen copy of what
 * is trained, from the beginning of GRPO. Weights from a file of halves stay halves in the copy.
 */
import type { FileContent } from "../../core/atomic_file.ts";
import { RgxError } from "../../core/errors.ts";
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import { elementCount } from "../../models/formats/element_count.ts";
import type { SafetensorsFile } from "../../models/formats/safetensors/safetensors.ts";
import { ALL_FLOAT, type WeightStorage } from "../../models/formats/stored_weight.ts";
import { safetensorsContent } from "../../models/formats/tensor_stream.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { Group, Parameter } from "../../models/network/types.ts";
import { floatType, restoreState, type StateTensor, streamedState } from "./state_tensors.ts";

export interface ReferencePolicy {
  /** Log-probabilities of all completion tokens, without gradient. */
  logp(groups: readonly Group[], temperature: number): Promise<ArrayLike<number>>;
  /** ref ← α·policy + (1 − α)·ref (`sync_ref_model`). @throws RgxError where there is no copy */
  sync(alpha: number): void;
  /** What a checkpoint needs for an exact resume; null = nothing. */
  save(): FileContent | null;
  dispose(): void;
}

export function adapterOffReference(model: CausalLM): ReferencePolicy {
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
    save: () => null,
    dispose: () => {},
  };
}

export interface FrozenOptions {
  /** Types of the copy; a weight that they do not hold exactly is float. Default: all float. */
  storage?: WeightStorage;
  /** Whether `sync` will be called; then all of the copy is float. Default true. */
  moves?: boolean;
  /** Leaves the values of the copy out, where only its memory counts. Default false. */
  empty?: boolean;
}

/** @param saved null = a copy of the current values @throws RgxError for another model's file */
export async function frozenReference(
  device: Device,
  model: CausalLM,
  saved: SafetensorsFile | null,
  { storage = ALL_FLOAT, moves = true, empty = false }: FrozenOptions = {},
): Promise<ReferencePolicy> {
  const copy = saved === null
    ? await model.frozenCopy({ storage, writable: moves, empty })
    : await model.frozenCopy({ storage: typesIn(saved), writable: moves, empty: true });
  const trained = model.trainable.map((policy) => ({
    policy,
    frozen: copy.parameters.find(({ name }) => name === policy.name)!,
  }));
  const state = trained.map(({ frozen }): StateTensor => ({
    name: frozen.name,
    dtype: TYPES[frozen.storage as Half | null ?? "float"] ?? floatType(device),
    shape: frozen.shape,
    tensor: frozen.value,
  }));
  try {
    if (saved?.tensors.has(ALL_VALUES)) await restoreValues(device, saved, model, state);
    else if (saved !== null) {
      for (const tensor of state) await restoreState(device, saved, tensor);
    }
  } catch (error) {
    copy.dispose();
    throw error;
  }
  let scratch: Tensor[] = [];
  return {
    async logp(groups, temperature) {
      return (await copy.forward(groups, { temperature, train: false })).logp;
    },
    sync(alpha) {
      if (scratch.length === 0) {
        scratch = ["difference", "policy"].map((what) =>
          device.create("float", SYNC_CHUNK, `reference.${what}`)
        );
      }
      for (const { policy, frozen } of trained) move(device, policy, frozen.value, alpha, scratch);
    },
    save: () => safetensorsContent(state.map((tensor) => streamedState(device, tensor))),
    dispose() {
      for (const tensor of scratch.splice(0)) device.free(tensor);
      copy.dispose();
    },
  };
}

/** The one tensor of earlier versions: all trained values, as they lie in the model's arenas. */
const ALL_VALUES = "values";

/** @throws RgxError when the model has another number of values */
async function restoreValues(
  device: Device,
  file: SafetensorsFile,
  model: CausalLM,
  state: readonly StateTensor[],
): Promise<void> {
  const { shape } = file.info(ALL_VALUES), offsets = new Map<string, number>();
  let total = 0;
  for (const arena of model.trainableArenas) {
    for (const [name, offset] of arena.offsets) offsets.set(name, total + offset);
    total += arena.length;
  }
  if (shape.join() !== String(total)) {
    throw new RgxError(
      `${file.label}: "${ALL_VALUES}" has shape [${shape}], this run trains ${total} values`,
      { advice: "The checkpoint belongs to a run with another model or LoRA rank." },
    );
  }
  for (const tensor of state) {
    await restoreState(device, file, tensor, { name: ALL_VALUES, from: offsets.get(tensor.name)! });
  }
}

type Half = "f16" | "bf16";
const TYPES = { f16: "F16", bf16: "BF16", float: null } as const;

const SYNC_CHUNK = 2 ** 20;

function typesIn(file: SafetensorsFile): WeightStorage {
  const types = new Map<string, Half>();
  for (const [name, { dtype }] of file.tensors) {
    if (dtype === "F16" || dtype === "BF16") types.set(name, dtype === "F16" ? "f16" : "bf16");
  }
  return types;
}

/** frozen ← frozen + α·(policy − frozen). */
function move(
  device: Device,
  { value, storage, shape }: Parameter,
  frozen: Tensor,
  alpha: number,
  [difference, wide]: readonly Tensor[],
): void {
  const total = elementCount(shape);
  for (let begin = 0; begin < total; begin += SYNC_CHUNK) {
    const n = Math.min(SYNC_CHUNK, total - begin), reference = frozen.view(begin, n);
    let policy = wide!;
    if (storage === null) policy = value.view(begin, n);
    else device.run("widen_bf16", { weight: value.view(begin / 2, n / 2), out: wide!, n });
    device.run("add", { a: policy, b: reference, out: difference!, n, scale: -1 });
    device.run("add", { a: reference, b: difference!, out: reference, n, scale: alpha });
  }
}
