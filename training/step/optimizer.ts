/**
 * AdamW over what a model trains, with clipping by the global gradient norm, both as PyTorch
 * computes them (formulas: `kernels/ops/optimizer/spec.ts`). The norm is summed in float64 on the
 * host, from the device's partial sums in their order, so it does not depend on the number of
 * threads. On request the moments have 8 bits (`kernels/ops/adamw_8bit/spec.ts`). Weights in
 * bfloat16 are widened a part at a time, and rounded after the step
 * (`kernels/ops/bf16_weights/spec.ts`). Left out: other optimizers, learning rates for single
 * tensors.
 */
import { RgxError } from "../../core/errors.ts";
import type { FileContent } from "../../core/atomic_file.ts";
import { roundingCounter, seedWords } from "../../core/philox.ts";
import type { Device } from "../../kernels/device.ts";
import { dynamicTables } from "../../kernels/ops/adamw_8bit/dynamic_map.ts";
import { BLOCK } from "../../kernels/ops/adamw_8bit/spec.ts";
import { SUM_CHUNK } from "../../kernels/ops/optimizer/spec.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import { elementCount } from "../../models/formats/element_count.ts";
import type { SafetensorsFile } from "../../models/formats/safetensors/safetensors.ts";
import { safetensorsContent } from "../../models/formats/tensor_stream.ts";
import type { LanguageModel } from "../../models/language_model.ts";
import type { Parameter, TrainableArena } from "../../models/network/types.ts";
import {
  CHUNK,
  createMoments,
  has8bitMoments,
  type Moments,
  momentTensors,
  type OptimizerKind,
} from "./moments.ts";
import { restoreState, type StateTensor, streamedState } from "./state_tensors.ts";

export interface AdamwSettings {
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  /** 0 = no clipping. */
  maxGradNorm: number;
  /** Default: float moments, stochastic rounding. */
  kind?: OptimizerKind;
  /** Keys stochastic rounding: the run's seed, and the phase (DROPOUT_PASS of core/philox.ts). */
  seed?: number;
  pass?: number;
}

export interface StepResult {
  /** L2 norm of all gradients, before clipping. */
  gradNorm: number;
  /** False when the norm was not finite: the parameters and the state were left as they were. */
  applied: boolean;
}

/** Parameters, or a part of one, that are updated in one operation. */
interface Piece {
  param: Tensor;
  grad: Tensor;
  moments: Moments;
  n: number;
  decay: boolean;
}

/** A weight in bfloat16. */
interface HalfPiece extends Piece {
  /** What Kahan's rounding has left; null with stochastic rounding. */
  rest: Tensor | null;
  /** Number of its first element among all that are trained. */
  first: number;
}

const DEFAULT_KIND: OptimizerKind = { moments: "float", rounding: "stochastic" };

export class AdamW {
  readonly #device: Device;
  readonly #arenas: readonly { grad: Tensor; length: number; partial: Tensor }[];
  readonly #pieces: Piece[] = [];
  readonly #halves: HalfPiece[] = [];
  readonly #state: StateTensor[] = [];
  readonly #owned: Tensor[] = [];
  readonly #tables: Tensor | null;
  /** Float values of a part of a weight in bfloat16. */
  readonly #wide: Tensor | null;
  /** Steps applied so far. */
  #t = 0;

  /**
   * Allocates the moments of each trainable element.
   * @throws RgxError when the model has nothing to train
   */
  constructor(device: Device, model: LanguageModel, readonly settings: AdamwSettings) {
    const arenas = model.trainableArenas, kind = settings.kind ?? DEFAULT_KIND;
    if (arenas.length === 0) throw new RgxError("the model has no trainable parameters");
    this.#device = device;
    this.#arenas = arenas.map(({ grad, length }) => ({
      ...{ grad, length },
      partial: this.#own(
        device.create("float", Math.ceil(length / SUM_CHUNK), "optimizer.partial sums"),
      ),
    }));
    const withBytes = kind.moments === "8bit" &&
      model.trainable.some((parameter) => has8bitMoments(parameter, kind));
    let first = 0;
    for (const arena of arenas) {
      const parameters = model.trainable.filter(({ name }) => arena.offsets.has(name));
      if (withBytes) this.#addSingly(parameters, kind, arena, first);
      else this.#addTogether(parameters, kind, arena, first);
      first += arena.length;
    }
    this.#tables = withBytes
      ? this.#own(device.create("u32", dynamicTables().length, "optimizer.maps"))
      : null;
    if (this.#tables !== null) device.write(this.#tables, dynamicTables());
    const widest = Math.max(0, ...this.#halves.map(({ n }) => n));
    this.#wide = widest === 0
      ? null
      : this.#own(device.create("float", Math.min(widest, CHUNK), "optimizer.wide values"));
  }

  #own(tensor: Tensor): Tensor {
    this.#owned.push(tensor);
    return tensor;
  }

  /** Float moments of an arena's parameters in one tensor each. */
  #addTogether(
    parameters: readonly Parameter[],
    kind: OptimizerKind,
    arena: TrainableArena,
    first: number,
  ): void {
    const { value, grad, length, decayedLength } = arena;
    const m = this.#own(this.#device.create("float", length, "optimizer.m"));
    const v = this.#own(this.#device.create("float", length, "optimizer.v"));
    const part = (offset: number, n: number): Moments => ({
      ...{ m: m.view(offset, n), v: v.view(offset, n), mMax: null, vMax: null },
    });
    for (const parameter of parameters) {
      const offset = arena.offsets.get(parameter.name)!, n = elementCount(parameter.shape);
      const moments = part(offset, n);
      this.#state.push(...momentTensors(this.#device, parameter, moments));
      if (value === null) this.#add(parameter, moments, kind, first + offset);
    }
    if (value === null) return;
    for (const [begin, end] of [[0, decayedLength], [decayedLength, length]] as const) {
      const n = end - begin;
      if (n === 0) continue;
      const views = { param: value.view(begin, n), grad: grad.view(begin, n) };
      this.#pieces.push({ ...views, moments: part(begin, n), n, decay: begin === 0 });
    }
  }

  /** Moments of each parameter in tensors of its own. */
  #addSingly(
    parameters: readonly Parameter[],
    kind: OptimizerKind,
    arena: TrainableArena,
    first: number,
  ): void {
    for (const parameter of parameters) {
      const moments = createMoments(this.#device, parameter, kind);
      for (const tensor of Object.values(moments)) if (tensor !== null) this.#own(tensor);
      this.#state.push(...momentTensors(this.#device, parameter, moments));
      this.#add(parameter, moments, kind, first + arena.offsets.get(parameter.name)!);
    }
  }

  #add(parameter: Parameter, moments: Moments, { rounding }: OptimizerKind, first: number): void {
    const { name, shape, value: param, grad, decay, storage } = parameter;
    const piece = { param, grad: grad!, moments, n: elementCount(shape), decay };
    if (storage === null) {
      this.#pieces.push(piece);
      return;
    }
    const rest = rounding === "kahan"
      ? this.#own(this.#device.create("u32", param.length, `optimizer.rest of ${name}`))
      : null;
    if (rest !== null) {
      this.#state.push({ name: `rest.${name}`, dtype: "BF16", shape, tensor: rest });
    }
    this.#halves.push({ ...piece, rest, first });
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
    const { maxGradNorm } = this.settings;
    const gradScale = maxGradNorm > 0 ? Math.min(1, maxGradNorm / (gradNorm + 1e-6)) : 1;
    for (const piece of this.#pieces) this.#update(piece, learningRate, gradScale);
    for (const piece of this.#halves) this.#updateHalf(piece, learningRate, gradScale);
    this.#device.submit();
    return true;
  }

  #update({ param, grad, moments, n, decay }: Piece, lr: number, gradScale: number): void {
    const { beta1, beta2, epsilon, weightDecay } = this.settings;
    const shared = {
      ...{ param, grad, n, lr, beta1, beta2, eps: epsilon, gradScale },
      weightDecay: decay ? weightDecay : 0,
      correction1: 1 - beta1 ** this.#t,
      correction2: 1 - beta2 ** this.#t,
    };
    const { m, v, mMax, vMax } = moments;
    if (mMax === null) this.#device.run("adamw", { ...shared, m, v });
    else this.#device.run("adamw_8bit", { ...shared, m, v, mMax, vMax, tables: this.#tables! });
  }

  #updateHalf(piece: HalfPiece, lr: number, gradScale: number): void {
    const { param, grad, moments, rest, first, decay } = piece, wide = this.#wide!;
    const { seed = 0, pass = 0 } = this.settings;
    const [c1, c2, c3] = roundingCounter(pass, this.#t), [seedLow, seedHigh] = seedWords(seed);
    for (let begin = 0; begin < piece.n; begin += CHUNK) {
      const n = Math.min(CHUNK, piece.n - begin);
      const weight = param.view(begin / 2, n / 2);
      const left = rest === null ? {} : { rest: rest.view(begin / 2, n / 2) };
      this.#device.run("widen_bf16", { weight, ...left, out: wide, n });
      const part = { param: wide, grad: grad.view(begin, n), moments: partOf(moments, begin, n) };
      this.#update({ ...part, n, decay }, lr, gradScale);
      const key = { first: first + begin, c1, c2, c3, seedLow, seedHigh };
      this.#device.run("round_bf16", { x: wide, weight, ...left, n, ...key });
    }
  }

  /** L2 norm of all gradients, in float64. */
  async gradNorm(): Promise<number> {
    for (const { grad, length, partial } of this.#arenas) {
      this.#device.run("sum_squares", { x: grad, partial, n: length });
    }
    let total = 0;
    for (const { partial } of this.#arenas) {
      for (const part of await this.#device.read(partial)) total += part;
    }
    return Math.sqrt(total);
  }

  /**
   * The exact state as a safetensors file, metadata {step}: tensors `m.{name}` and `v.{name}`, with
   * 8-bit moments their codes and the maxima `m.absmax.{name}` and `v.absmax.{name}`, with Kahan's
   * rounding `rest.{name}`. The values are read from the device while the file is written.
   */
  save(): FileContent {
    const tensors = this.#state.map((state) => streamedState(this.#device, state));
    return safetensorsContent(tensors, { format: "pt", step: String(this.#t) });
  }

  /** Restores what `save` wrote. @throws RgxError when it belongs to another model */
  async load(file: SafetensorsFile): Promise<void> {
    const { label } = file;
    const step = Number(file.metadata.step ?? "");
    if (!Number.isSafeInteger(step) || step < 0) {
      throw new RgxError(`${label}: metadata step is "${file.metadata.step}", expected a count`);
    }
    for (const state of this.#state) await restoreState(this.#device, file, state);
    this.#t = step;
  }

  dispose(): void {
    for (const tensor of this.#owned.splice(0)) this.#device.free(tensor);
  }
}

/** The moments of elements [begin, begin + n), `begin` a multiple of CHUNK. */
function partOf({ m, v, mMax, vMax }: Moments, begin: number, n: number): Moments {
  if (mMax === null) return { m: m.view(begin, n), v: v.view(begin, n), mMax, vMax };
  const words = [begin / 4, Math.ceil(n / 4)] as const;
  const blocks = [begin / BLOCK, Math.ceil(n / BLOCK)] as const;
  return {
    ...{ m: m.view(...words), v: v.view(...words) },
    ...{ mMax: mMax.view(...blocks), vMax: vMax.view(...blocks) },
  };
}
