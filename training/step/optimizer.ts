/**
 * AdamW over a model's trainable arena, with clipping by the global gradient norm, both as PyTorch
 * computes them (formulas: `kernels/ops/optimizer/spec.ts`). The norm is summed in float64 on the
 * host, from the device's partial sums in their order, so it does not depend on the number of
 * threads. Left out: other optimizers, learning rates for single tensors.
 */
import type { Device } from "../../kernels/device.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import { SUM_CHUNK } from "../../kernels/ops/optimizer/spec.ts";
import { RgxError } from "../../core/errors.ts";
import type { LanguageModel } from "../../models/language_model.ts";
import type { TrainableArena } from "../../models/network/types.ts";
import { encodeSafetensors } from "../../models/formats/safetensors/safetensors_writer.ts";
import { parseSafetensors } from "../../models/formats/safetensors/safetensors.ts";

export interface AdamwSettings {
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  /** 0 = no clipping. */
  maxGradNorm: number;
}

export interface StepResult {
  /** L2 norm of all gradients, before clipping. */
  gradNorm: number;
  /** False when the norm was not finite: the parameters and the state were left as they were. */
  applied: boolean;
}

export class AdamW {
  readonly #device: Device;
  readonly #arena: TrainableArena;
  readonly #parameters: readonly { name: string; shape: readonly number[]; offset: number }[];
  readonly #m: Tensor;
  readonly #v: Tensor;
  readonly #partial: Tensor;
  /** Steps applied so far. */
  #t = 0;

  /**
   * Allocates two values for each trainable element.
   * @throws RgxError when the model has nothing to train
   */
  constructor(device: Device, model: LanguageModel, readonly settings: AdamwSettings) {
    const arena = model.trainableArena;
    if (arena === null) throw new RgxError("the model has no trainable parameters");
    this.#device = device;
    this.#arena = arena;
    this.#parameters = model.trainable.map(({ name, shape }) => ({
      name,
      shape,
      offset: arena.offsets.get(name)!,
    }));
    this.#m = device.create("float", arena.length, "optimizer.m");
    this.#v = device.create("float", arena.length, "optimizer.v");
    const chunks = Math.ceil(arena.length / SUM_CHUNK);
    this.#partial = device.create("float", chunks, "optimizer.partial sums");
  }

  /** Clips the gradients and applies them at the given rate; their values stay in the arena. */
  async step(learningRate: number): Promise<StepResult> {
    const gradNorm = await this.gradNorm();
    return { gradNorm, applied: this.apply(learningRate, gradNorm) };
  }

  /**
   * As `step`, with a norm that is known already. Returns false, and does nothing, if it is not
   * finite.
   */
  apply(learningRate: number, gradNorm: number): boolean {
    if (!Number.isFinite(gradNorm)) return false;
    this.#t++;
    const { beta1, beta2, epsilon, weightDecay, maxGradNorm } = this.settings;
    const gradScale = maxGradNorm > 0 ? Math.min(1, maxGradNorm / (gradNorm + 1e-6)) : 1;
    const range = (begin: number, end: number, decay: number) => {
      if (begin === end) return;
      const n = end - begin;
      this.#device.run("adamw", {
        param: this.#arena.value.view(begin, n),
        grad: this.#arena.grad.view(begin, n),
        m: this.#m.view(begin, n),
        v: this.#v.view(begin, n),
        n,
        lr: learningRate,
        beta1,
        beta2,
        eps: epsilon,
        weightDecay: decay,
        correction1: 1 - beta1 ** this.#t,
        correction2: 1 - beta2 ** this.#t,
        gradScale,
      });
    };
    range(0, this.#arena.decayedLength, weightDecay);
    range(this.#arena.decayedLength, this.#arena.length, 0);
    this.#device.submit();
    return true;
  }

  /** L2 norm of all gradients, in float64. */
  async gradNorm(): Promise<number> {
    this.#device.run("sum_squares", {
      x: this.#arena.grad,
      partial: this.#partial,
      n: this.#arena.length,
    });
    let total = 0;
    for (const part of await this.#device.read(this.#partial)) total += part;
    return Math.sqrt(total);
  }

  /** The exact state as a safetensors file: tensors `m.{name}` and `v.{name}`, metadata {step}. */
  async save(): Promise<Uint8Array<ArrayBuffer>> {
    const tensors = [];
    for (const [key, tensor] of [["m", this.#m], ["v", this.#v]] as const) {
      const all = await this.#device.read(tensor) as Float32Array | Float64Array;
      for (const { name, shape, offset } of this.#parameters) {
        const data = all.subarray(offset, offset + elements(shape));
        tensors.push({ name: `${key}.${name}`, dtype: dtypeOf(data), shape, data });
      }
    }
    return encodeSafetensors(tensors, { format: "pt", step: String(this.#t) });
  }

  /** Restores what `save` wrote. @throws RgxError when it belongs to another model */
  async load(bytes: Uint8Array, label: string): Promise<void> {
    const file = await parseSafetensors(bytes, label);
    const step = Number(file.metadata.step ?? "");
    if (!Number.isSafeInteger(step) || step < 0) {
      throw new RgxError(`${label}: metadata step is "${file.metadata.step}", expected a count`);
    }
    for (const [key, tensor] of [["m", this.#m], ["v", this.#v]] as const) {
      for (const { name, shape, offset } of this.#parameters) {
        const found = file.info(`${key}.${name}`).shape;
        if (found.join() !== shape.join()) {
          throw new RgxError(
            `${label}: "${key}.${name}" has shape [${found}], the model's tensor [${shape}]`,
            { advice: "The checkpoint belongs to a run with another model or LoRA rank." },
          );
        }
        const data = this.#device.float === "f64"
          ? await file.float64(`${key}.${name}`)
          : await file.float32(`${key}.${name}`);
        this.#device.write(tensor, data, offset);
      }
    }
    this.#t = step;
  }

  dispose(): void {
    for (const tensor of [this.#m, this.#v, this.#partial]) this.#device.free(tensor);
  }
}

/** The storage type that holds an array exactly. */
export function dtypeOf(data: Float32Array | Float64Array): "F32" | "F64" {
  return data instanceof Float64Array ? "F64" : "F32";
}

function elements(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}
