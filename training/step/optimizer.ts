/**
 * AdamW over what a model trains, with clipping by the global gradient norm, both as PyTorch
 * computes them (formulas: `kernels/ops/optimizer/spec.ts`). The norm is summed in float64 on the
 * host, from the device's partial sums in their order, so it does not depend on the number of
 * threads. On request the moments have 8 bits (`kernels/ops/adamw_8bit/spec.ts`). Weights in
 * bfloat16 are widened a part at a time, and rounded after the step
 * (`kernels/ops/bf16_weights/spec.ts`). Ranks may each keep a part of the states (`shards.ts`).
 * Left out: other optimizers, learning rates for single tensors.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { RgxError } from "../../core/errors.ts";
import { roundingCounter, seedWords } from "../../core/philox.ts";
import type { Device } from "../../kernels/device.ts";
import { dynamicTables } from "../../kernels/ops/adamw_8bit/dynamic_map.ts";
import { BLOCK } from "../../kernels/ops/adamw_8bit/spec.ts";
import { SUM_CHUNK } from "../../kernels/ops/optimizer/spec.ts";
import type { HostArray, Tensor } from "../../kernels/tensor.ts";
import { elementCount } from "../../models/formats/element_count.ts";
import type { SafetensorsFile } from "../../models/formats/safetensors/safetensors.ts";
import { safetensorsContent } from "../../models/formats/tensor_stream.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import type { Parameter, TrainableArena } from "../../models/network/types.ts";
import { type Slice, WINDOW } from "../../cluster/ranks/vector_sum.ts";
import {
  CHUNK,
  createMoments,
  gatheredState,
  has8bitMoments,
  type Moments,
  momentTensors,
  type OptimizerKind,
  restoreState,
  type StateTensor,
  streamedState,
} from "./state_tensors.ts";
import type { Shards } from "./shards.ts";
import type { Ranks } from "../../cluster/ranks/ranks.ts";
import { consecutive, partOf as blockOf } from "../../cluster/ranks/transport.ts";

type Keys = "adam_beta1" | "adam_beta2" | "adam_epsilon" | "weight_decay" | "max_grad_norm";

export interface AdamwSettings extends Pick<RunConfig["training"], Keys> {
  /** Default: float moments, stochastic rounding. */
  kind?: OptimizerKind;
  /** Keys stochastic rounding: the run's seed, and the phase (DROPOUT_PASS of core/philox.ts). */
  seed?: number;
  pass?: number;
}

/** Parameters, or a part of one, that are updated in one operation. */
interface Piece {
  param: Tensor;
  grad: Tensor;
  moments: Moments;
  n: number;
  decay: boolean;
}

/** A weight in bfloat16, or a part of it from element `begin` on. */
interface HalfPiece extends Piece {
  begin: number;
  /** What Kahan's rounding has left; null with stochastic rounding. */
  rest: Tensor | null;
  /** Number of the piece's first element among all that are trained. */
  first: number;
}

/** An arena, and what this rank does of it: all, unless the states are divided over ranks. */
interface OwnArena {
  own: Slice;
  /** The gradients whose squares it sums, and the partial sums. */
  squares: Slice;
  grad: Tensor;
  partial: Tensor;
}

const DEFAULT_KIND: OptimizerKind = { moments: "float", rounding: "stochastic" };

export class AdamW {
  readonly #device: Device;
  readonly #kind: OptimizerKind;
  readonly #arenas: readonly OwnArena[];
  readonly #pieces: Piece[] = [];
  readonly #halves: HalfPiece[] = [];
  readonly #state: StateTensor[] = [];
  readonly #owned: Tensor[] = [];
  readonly #tables: Tensor | null;
  /** Float values of a part of a weight in bfloat16. */
  readonly #wide: Tensor | null;
  readonly #shards: Shards | null;
  /** The values that each rank updates. */
  readonly #shared: Segment[][] = [];
  #t = 0;

  /**
   * Allocates the moments of each trainable element.
   * @param shards divides them over the ranks; null = this process has all
   * @throws RgxError when the model has nothing to train
   */
  constructor(
    device: Device,
    model: CausalLM,
    readonly settings: AdamwSettings,
    shards: Shards | null = null,
  ) {
    const arenas = model.trainableArenas, kind = this.#kind = settings.kind ?? DEFAULT_KIND;
    if (arenas.length === 0) throw new RgxError("the model has no trainable parameters");
    this.#device = device;
    this.#shards = shards;
    const rank = shards?.ranks.rank ?? 0;
    this.#arenas = arenas.map((arena) => {
      const all: Slice = [0, arena.length], { grad } = arena;
      const squares = shards?.squares(arena)[rank]! ?? all;
      const chunks = Math.ceil((squares[1] - squares[0]) / SUM_CHUNK);
      const partial = this.#own(device.create("float", chunks, "optimizer.partial sums"));
      return { own: shards?.parts(arena)[rank]! ?? all, squares, grad, partial };
    });
    const withBytes = kind.moments === "8bit" &&
      model.trainable.some((parameter) => has8bitMoments(parameter, kind));
    let first = 0;
    for (const [i, arena] of arenas.entries()) {
      const parameters = model.trainable.filter(({ name }) => arena.offsets.has(name));
      const { own } = this.#arenas[i]!;
      if (withBytes) this.#addSingly(parameters, arena, own, first);
      else this.#addTogether(parameters, arena, own, first);
      this.#share(parameters, arena);
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

  /** Float moments of an arena's parameters, as far as they are `own`, in one tensor each. */
  #addTogether(
    parameters: readonly Parameter[],
    arena: TrainableArena,
    own: Slice,
    first: number,
  ): void {
    const { value, grad, decayedLength } = arena, [start, stop] = own;
    const m = this.#own(this.#device.create("float", stop - start, "optimizer.m"));
    const v = this.#own(this.#device.create("float", stop - start, "optimizer.v"));
    const part = (begin: number, n: number): Moments => ({
      m: m.view(begin - start, n),
      v: v.view(begin - start, n),
      mMax: null,
      vMax: null,
    });
    for (const parameter of parameters) {
      const offset = arena.offsets.get(parameter.name)!;
      const [begin, end] = within(own, offset, offset + elementCount(parameter.shape));
      const moments = begin < end ? part(begin, end - begin) : null;
      this.#addState(parameter, moments, arena);
      if (value !== null) continue;
      this.#add(parameter, moments, [begin - offset, end - offset], arena, first);
    }
    if (value === null) return;
    for (const [from, to] of [[0, decayedLength], [decayedLength, arena.length]] as const) {
      const [begin, end] = within(own, from, to), n = end - begin;
      if (n <= 0) continue;
      const views = { param: value.view(begin, n), grad: grad.view(begin, n) };
      this.#pieces.push({ ...views, moments: part(begin, n), n, decay: from === 0 });
    }
  }

  /** Moments of each parameter, as far as it is `own`, in tensors of its own. */
  #addSingly(
    parameters: readonly Parameter[],
    arena: TrainableArena,
    own: Slice,
    first: number,
  ): void {
    for (const parameter of parameters) {
      const offset = arena.offsets.get(parameter.name)!;
      const [begin, end] = within(own, offset, offset + elementCount(parameter.shape));
      const moments = begin < end
        ? createMoments(this.#device, parameter, this.#kind, end - begin)
        : null;
      for (const tensor of Object.values(moments ?? {})) if (tensor !== null) this.#own(tensor);
      this.#addState(parameter, moments, arena);
      this.#add(parameter, moments, [begin - offset, end - offset], arena, first);
    }
  }

  #addState(about: Parameter, moments: Moments | null, arena: TrainableArena): void {
    const parts = this.#partsOf(about, arena);
    this.#state.push(...momentTensors(this.#device, about, this.#kind, moments, parts));
  }

  /** The elements of a parameter that each rank has; undefined where one has all. */
  #partsOf({ name, shape }: Parameter, arena: TrainableArena): Slice[] | undefined {
    return this.#shards?.partsOf(arena, arena.offsets.get(name)!, elementCount(shape));
  }

  /** Updates elements [begin, end) of a parameter, of which there may be none. */
  #add(
    parameter: Parameter,
    moments: Moments | null,
    [begin, end]: Slice,
    arena: TrainableArena,
    first: number,
  ): void {
    const { name, shape, value: param, grad, decay, storage } = parameter, n = end - begin;
    const { rounding } = this.#kind;
    const rest = storage === null || rounding !== "kahan" || moments === null ? null : this.#own(
      this.#device.create(
        "u32",
        n === elementCount(shape) ? param.length : Math.ceil(n / 2),
        `optimizer.rest of ${name}`,
      ),
    );
    if (storage !== null && rounding === "kahan") {
      const parts = this.#partsOf(parameter, arena);
      this.#state.push({ name: `rest.${name}`, dtype: "BF16", shape, tensor: rest, parts });
    }
    if (moments === null) return;
    const piece = { grad: grad!.view(begin, n), moments, n, decay };
    if (storage === null) this.#pieces.push({ ...piece, param: param.view(begin, n) });
    else {
      const number = first + arena.offsets.get(name)! + begin;
      this.#halves.push({ ...piece, param, begin, rest, first: number });
    }
  }

  /** Notes which values each rank sends to the others after a step. */
  #share(parameters: readonly Parameter[], arena: TrainableArena): void {
    const shards = this.#shards, { value } = arena;
    if (shards === null) return;
    if (value !== null) {
      shards.parts(arena).forEach(([from, to], rank) =>
        (this.#shared[rank] ??= []).push({ tensor: value, from, count: to - from })
      );
      return;
    }
    for (const parameter of parameters) {
      const { value: tensor, storage } = parameter, each = storage === null ? 1 : 2;
      for (const [rank, [begin, end]] of this.#partsOf(parameter, arena)!.entries()) {
        const from = begin / each, count = Math.ceil(end / each) - from;
        (this.#shared[rank] ??= []).push({ tensor, from, count });
      }
    }
  }

  /**
   * Clips the gradients, whose norm is `gradNorm`, and applies them; their values stay in the
   * arenas. Returns false, and does nothing, if the norm is not finite. The gradients in the arenas
   * are `lossScale` times those of this norm.
   */
  async apply(learningRate: number, gradNorm: number, lossScale = 1): Promise<boolean> {
    if (!Number.isFinite(gradNorm)) return false;
    this.#t++;
    const { max_grad_norm: most } = this.settings;
    const clip = most > 0 ? Math.min(1, most / (gradNorm + 1e-6)) : 1;
    const gradScale = clip / lossScale;
    for (const piece of this.#pieces) this.#update(piece, learningRate, gradScale);
    for (const piece of this.#halves) this.#updateHalf(piece, learningRate, gradScale);
    this.#device.submit();
    const shards = this.#shards;
    if (shards !== null) await shareSegments(this.#device, shards.ranks, this.#shared);
    return true;
  }

  #update({ param, grad, moments, n, decay }: Piece, lr: number, gradScale: number): void {
    const { adam_beta1: beta1, adam_beta2: beta2, adam_epsilon: eps, weight_decay } = this.settings;
    const shared = {
      param,
      grad,
      n,
      lr,
      beta1,
      beta2,
      eps,
      gradScale,
      weightDecay: decay ? weight_decay : 0,
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
      const weight = param.view((piece.begin + begin) / 2, n / 2);
      const left = rest === null ? {} : { rest: rest.view(begin / 2, n / 2) };
      this.#device.run("widen_bf16", { weight, ...left, out: wide, n });
      const part = { param: wide, grad: grad.view(begin, n), moments: partOf(moments, begin, n) };
      this.#update({ ...part, n, decay }, lr, gradScale);
      const key = { first: first + begin, c1, c2, c3, seedLow, seedHigh };
      this.#device.run("round_bf16", { x: wide, weight, ...left, n, ...key });
    }
  }

  /** L2 norm of all gradients, in float64. With shards, all ranks call it. */
  async gradNorm(): Promise<number> {
    for (const { grad, squares: [begin, end], partial } of this.#arenas) {
      const n = end - begin;
      if (n > 0) this.#device.run("sum_squares", { x: grad.view(begin, n), partial, n });
    }
    const own: HostArray[] = [];
    for (const { partial } of this.#arenas) own.push(await this.#device.read(partial));
    const all = await this.#shards?.ranks.each(() => own) ?? [own];
    let total = 0;
    for (const arena of this.#arenas.keys()) {
      for (const ofRank of all) for (const part of ofRank[arena]!) total += part;
    }
    return Math.sqrt(total);
  }

  /**
   * The exact state as a safetensors file, metadata {step}: tensors `m.{name}` and `v.{name}`, with
   * 8-bit moments their codes and the maxima `m.absmax.{name}` and `v.absmax.{name}`, with Kahan's
   * rounding `rest.{name}`. The values are read from the device while the file is written. With
   * shards, the file is that of one rank with all states; the others `follow` its writing.
   */
  save(): () => AsyncGenerator<Uint8Array> {
    const tensors = this.#state.map((state) => {
      const { parts } = state, shards = this.#shards;
      return shards === null || parts === undefined
        ? streamedState(this.#device, state)
        : gatheredState(this.#device, shards.ranks, { ...state, parts });
    });
    return safetensorsContent(tensors, { format: "pt", step: String(this.#t) });
  }

  /** Sends the states of this rank to the first one, which writes what `save` returns. */
  async follow(): Promise<void> {
    if (this.#shards === null) return;
    for await (const _ of this.save()()) { /* sent while it is made */ }
  }

  /** Restores what `save` wrote. @throws RgxError when it belongs to another model */
  async load(file: SafetensorsFile): Promise<void> {
    const { label } = file;
    const step = Number(file.metadata.step ?? "");
    if (!Number.isSafeInteger(step) || step < 0) {
      throw new RgxError(`${label}: metadata step is "${file.metadata.step}", expected a count`);
    }
    const rank = this.#shards?.ranks.rank ?? 0;
    for (const state of this.#state) {
      await restoreState(this.#device, file, state, null, state.parts?.[rank]);
    }
    this.#t = step;
  }

  dispose(): void {
    for (const tensor of this.#owned.splice(0)) this.#device.free(tensor);
  }
}

/** The elements of `part` that are in [from, to); none if its end is not after its begin. */
function within([begin, end]: Slice, from: number, to: number): Slice {
  const first = Math.min(to, Math.max(begin, from));
  return [first, Math.max(first, Math.min(end, to))];
}

/** The moments of elements [begin, begin + n), `begin` a multiple of CHUNK. */
function partOf({ m, v, mMax, vMax }: Moments, begin: number, n: number): Moments {
  if (mMax === null) return { m: m.view(begin, n), v: v.view(begin, n), mMax, vMax };
  const words = [begin / 4, Math.ceil(n / 4)] as const;
  const blocks = [begin / BLOCK, Math.ceil(n / BLOCK)] as const;
  return {
    m: m.view(...words),
    v: v.view(...words),
    mMax: mMax.view(...blocks),
    vMax: vMax.view(...blocks),
  };
}

export interface Segment {
  tensor: Tensor;
  from: number;
  count: number;
}

/**
 * Values that each rank has updated a part of: each sends its segments to all others, which write
 * them to the same places.
 * @param segments each rank's segments, in an order that all ranks know
 */
export async function shareSegments(
  device: Device,
  ranks: Ranks,
  segments: readonly (readonly Segment[])[],
): Promise<void> {
  const each = device.float === "f64" ? 8 : 4, step = Math.ceil(WINDOW / ranks.size);
  const count = (list: readonly Segment[]) => list.reduce((sum, { count }) => sum + count, 0);
  const most = Math.max(...segments.map(count));
  for (let at = 0; at < most; at += step) {
    const now = segments.map((list) => window(list, at, step));
    const parts = consecutive(now.map((list) => each * count(list)));
    // The places of a rank's segments in its part, one after the other.
    const arrays = (rank: number) => {
      const { buffer, byteOffset } = blockOf(parts, rank);
      let next = byteOffset;
      return now[rank]!.map(({ tensor, from, count }) => {
        const data = arrayFor(device, tensor, buffer as ArrayBuffer, next, count);
        next += each * count;
        return { tensor, from, count, data };
      });
    };
    for (const { tensor, from, count, data } of arrays(ranks.rank)) {
      data.set(await device.read(tensor, from, count));
    }
    await ranks.gather(parts);
    for (let rank = 0; rank < ranks.size; rank++) {
      if (rank === ranks.rank) continue;
      for (const { tensor, from, data } of arrays(rank)) device.write(tensor, data, from);
    }
  }
}

function window(segments: readonly Segment[], begin: number, length: number): Segment[] {
  const found: Segment[] = [];
  let at = 0;
  for (const { tensor, from, count } of segments) {
    const first = Math.max(0, begin - at), last = Math.min(count, begin + length - at);
    if (first < last) found.push({ tensor, from: from + first, count: last - first });
    at += count;
  }
  return found;
}

function arrayFor(
  { float }: Device,
  { dtype }: Tensor,
  buffer: ArrayBuffer,
  offset: number,
  length: number,
): HostArray {
  if (dtype === "u32") return new Uint32Array(buffer, offset, length);
  return float === "f64"
    ? new Float64Array(buffer, offset, length)
    : new Float32Array(buffer, offset, length);
}
