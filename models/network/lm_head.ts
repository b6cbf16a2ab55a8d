/**
 * Computes log-probabilities from the trunk's output. The hidden rows that predict a token are
 * gathered, normed, and passed to the fused head operation, so [rows, vocab] never exists. The
 * backward turns the derivatives by log-probability and entropy into the derivative by the trunk's
 * output.
 */
import type { Tensor } from "../../kernels/tensor.ts";
import { type AdapterDropout, dropoutOfRows } from "./dropout.ts";
import type { TrunkPass } from "./forward_pass.ts";
import type { Network } from "./weights/model_weights.ts";
import {
  addLowRankDx,
  addLowRankGradient,
  headOperand,
  type LoraWeights,
  lowRankInput,
} from "./linear.ts";
import { normBackward, type NormForward, normForward, type NormPass } from "./norm.ts";
import { scalarOf } from "../architectures/mod.ts";
import type { PackedBatch } from "./packing.ts";
import { weightType } from "../formats/stored_weight.ts";
import type { ForwardResult } from "./types.ts";
import type { Workspace } from "./workspace.ts";

export interface HiddenRows {
  h: Tensor; // [count, d], before the norm
  normed: Tensor; // [count, d]
  mean: Tensor | null; // [count], with LayerNorm
  rho: Tensor; // [count]
  /** Scratch of the same size; it is free after the forward. */
  spare: Tensor; // [count, d]
}

/** The norm after the layers, divided as the logits are. */
export function finalNorm(
  { device, config, weights }: Network,
  { mean, rho, ...args }: NormForward & Omit<NormPass, "norm">,
): void {
  const { hiddenSize: d } = config, { rows, out } = args;
  normForward(device, { norm: weights.finalNorm, mean, rho }, args);
  const divisor = scalarOf(config, "logits");
  if (divisor !== 1) device.run("add", { b: out, out, n: rows * d, scale: 1 / divisor });
}

/** Sums, gathers and norms `count` rows of the trunk's output, given by index. */
export function finalRows(
  network: Network,
  workspace: Workspace,
  trunk: Pick<TrunkPass, "output">,
  index: Tensor,
  count: number,
): HiddenRows {
  const { device, config, weights } = network;
  const d = config.hiddenSize;
  const rows: HiddenRows = {
    h: workspace.get("head.h", count * d),
    normed: workspace.get("head.normed", count * d),
    mean: weights.finalNorm.bias === null ? null : workspace.get("head.norm_mean", count),
    rho: workspace.get("head.rho", count),
    spare: workspace.get("head.spare", count * d),
  };
  const { x, add } = trunk.output;
  device.run("gather_rows", { table: x, index, out: rows.h, rows: count, d });
  if (add !== null) {
    device.run("gather_rows", { table: add, index, out: rows.spare, rows: count, d });
  }
  finalNorm(network, {
    x: rows.h,
    ...(add === null ? {} : { add: rows.spare, sum: rows.h }),
    out: rows.normed,
    mean: rows.mean,
    rho: rows.rho,
    rows: count,
  });
  return rows;
}

/** out[rows, vocab] = logits of normed rows. @param room maximum rows with the workspace */
export function headLogits(
  network: Network,
  workspace: Workspace,
  { room, ...args }: { normed: Tensor; out: Tensor; rows: number; room: number },
): void {
  const { device, config: { hiddenSize: inDim }, weights: { headLora } } = network;
  if (headLora === null) return headProduct(network, args, null);
  const u = workspace.get("head.u", room * headLora.r), { normed: x, rows } = args;
  lowRankInput(device, headLora, { x, u, rows, inDim, dropout: null });
  headProduct(network, args, { lora: headLora, u });
}

/** The same with the low-rank part of an adapter, u [rows, r]. */
function headProduct(
  { device, config, weights: { head, packedHead } }: Network,
  { normed: a, out, rows: m }: { normed: Tensor; out: Tensor; rows: number },
  low: Pick<LowRankHead, "lora" | "u"> | null,
): void {
  const { vocabSize: n, hiddenSize: k, softCaps } = config, cap = softCaps?.logits;
  const product = { a, ...headOperand(head, packedHead), out, m, n, k };
  device.run("matmul", { ...product, ...(low === null ? {} : adapterOperands(low)) });
  if (cap !== undefined) device.run("soft_cap", { x: out, out, n: m * n, cap });
}

/** The arguments of operations for y += s·(x·Aᵀ)·Bᵀ. */
function adapterOperands(
  { u: xa, lora: { b: loraB, r, scale: loraScale } }: Pick<LowRankHead, "lora" | "u">,
) {
  return { xa, loraB, r, loraScale };
}

/** Rows whose logits are in memory at the same time; views of them are aligned. */
export const LOGIT_ROWS = 64;

/** The low-rank part of a head with an adapter in one pass. */
interface LowRankHead {
  lora: LoraWeights;
  u: Tensor; // [headRows, r]
  dropout: AdapterDropout | null;
}

/** The head of one forward pass; `backward` may be called once. */
export class HeadPass {
  readonly #hidden: HiddenRows;
  readonly #index: Tensor;
  readonly #args;
  /**
   * [headRows, d], see kernels/ops/head/spec.ts; null when the head is trained or has an adapter,
   * logits have a soft cap, products are in bfloat16, or there is no backward.
   */
  readonly #mean: Tensor | null;
  readonly #low: LowRankHead | null;
  /** What `addByLogits` has added: [headRows, d], and [headRows, r] of an adapter. */
  #byLogits: { dnormed: Tensor; du: Tensor | null } | null = null;

  /** Runs the forward. `trunk.packed` has at least one pair. `train`: there may be a backward. */
  constructor(
    private readonly network: Network,
    private readonly workspace: Workspace,
    trunk: TrunkPass,
    temperature: number,
    train: boolean,
  ) {
    const { packed } = trunk, { headRows, pairs } = packed, { weights, config } = network;
    this.#index = workspace.upload("head.index", packed.headIndex);
    this.#hidden = finalRows(network, workspace, trunk, this.#index, headRows);
    const low = this.#low = lowRankHead(network, workspace, trunk, this.#hidden);
    this.#args = {
      ...(low === null ? {} : adapterOperands(low)),
      hidden: this.#hidden.normed,
      weight: weights.head.value,
      ...weightType(weights.head.storage),
      pairStart: workspace.upload("head.pair_start", packed.pairStart),
      targets: workspace.upload("head.targets", packed.targets),
      lse: workspace.get("head.lse", headRows),
      entropy: workspace.get("head.entropy", headRows),
      rows: headRows,
      pairs,
      vocab: config.vocabSize,
      d: config.hiddenSize,
      temperature,
      ...(config.softCaps?.logits === undefined ? {} : { softCap: config.softCaps.logits }),
    };
    const exact = network.device.computeDtype === "float32";
    const plain = low === null && config.softCaps?.logits === undefined;
    this.#mean = train && exact && weights.head.grad === null && plain
      ? workspace.get("head.mean", headRows * config.hiddenSize)
      : null;
    network.device.run("head", {
      ...this.#args,
      logp: workspace.get("head.logp", pairs),
      ...(this.#mean === null ? {} : { mean: this.#mean }),
    });
  }

  /** Log-probabilities and entropies in the order (group, branch, position). */
  async read(packed: PackedBatch): Promise<ForwardResult> {
    const { device } = this.network, { pairs, headRows } = packed;
    const byPair = await device.read(this.workspace.get("head.logp", pairs), 0, pairs);
    const byRow = await device.read(this.#args.entropy, 0, headRows);
    const make = () => device.float === "f64" ? new Float64Array(pairs) : new Float32Array(pairs);
    const logp = make(), entropy = make();
    for (let i = 0; i < pairs; i++) {
      const place = packed.pairOutput[i]!;
      logp[place] = byPair[i]!;
      entropy[place] = byRow[packed.pairRow[i]!]!;
    }
    return { logp, entropy };
  }

  /** Logits of up to LOGIT_ROWS rows of the workspace's last pass, from a multiple of it on. */
  logits(begin: number, count: number): Promise<Float32Array | Float64Array> {
    const { network, network: { device, config }, workspace } = this, low = this.#low;
    const { vocabSize, hiddenSize: d } = config;
    const rowsOf = (table: Tensor, width: number) => table.view(begin * width, count * width);
    const out = workspace.get("head.logits", LOGIT_ROWS * vocabSize);
    const args = { normed: rowsOf(this.#hidden.normed, d), out, rows: count };
    headProduct(network, args, low && { ...low, u: rowsOf(low.u, low.lora.r) });
    return device.read(out, 0, count * vocabSize) as Promise<Float32Array | Float64Array>;
  }

  /**
   * Adds derivatives by the logits of some rows (see `logits`) to what `backward` goes on with.
   * @param slopes [count, vocab]; they become those by the logits before their soft cap
   * @param logits [count, vocab], from `logits`
   */
  addByLogits(
    begin: number,
    count: number,
    headRows: number,
    slopes: Float64Array,
    logits: ArrayLike<number>,
  ): void {
    const { network: { device, config, weights: { head } }, workspace } = this, low = this.#low;
    const { vocabSize: vocab, hiddenSize: d } = config;
    const first = this.#byLogits === null;
    const sums = this.#byLogits ??= {
      dnormed: workspace.get("head.dnormed_by_logits", headRows * d),
      du: low === null ? null : workspace.get("head.du_by_logits", headRows * low.lora.r),
    };
    if (first) device.run("fill", { out: sums.dnormed, n: headRows * d, value: 0 });
    if (first && sums.du !== null) {
      device.run("fill", { out: sums.du, n: headRows * low!.lora.r, value: 0 });
    }
    const cap = config.softCaps?.logits;
    if (cap !== undefined) slopes.forEach((x, i) => slopes[i] = x * (1 - (logits[i]! / cap) ** 2));
    const dz = workspace.uploadFloats("head.dlogits", slopes);
    const normed = this.#hidden.normed.view(begin * d, count * d);
    const over = { k: count, transA: true, accumulate: true };
    device.run("matmul", {
      a: dz,
      b: head.value,
      ...weightType(head.storage),
      out: sums.dnormed.view(begin * d, count * d),
      m: count,
      n: d,
      k: vocab,
    });
    if (head.grad !== null) {
      device.run("matmul", { a: dz, b: normed, out: head.grad, m: vocab, n: d, ...over });
    }
    if (low === null) return;
    const { b, db, r, scale: alpha } = low.lora, u = low.u.view(begin * r, count * r);
    const out = sums.du!.view(begin * r, count * r);
    device.run("matmul", { a: dz, b, out, m: count, n: r, k: vocab, alpha });
    if (db !== null) device.run("matmul", { a: dz, b: u, out: db, m: vocab, n: r, alpha, ...over });
  }

  /** Writes the derivative by the trunk's output to `dh`, adds the head's and norm's gradients. */
  backward(
    packed: PackedBatch,
    dh: Tensor,
    dlogp: Float64Array,
    dentropy: Float64Array | undefined,
  ): void {
    const { network: { device, config, weights }, workspace } = this;
    const { pairs, headRows, rows } = packed, d = config.hiddenSize;
    const dlogpByPair = new Float64Array(pairs), dentropyByRow = new Float64Array(headRows);
    for (let i = 0; i < pairs; i++) {
      const place = packed.pairOutput[i]!;
      dlogpByPair[i] = dlogp[place]!;
      if (dentropy !== undefined) dentropyByRow[packed.pairRow[i]!]! += dentropy[place]!;
    }
    const { h, mean, rho, normed, spare: dnormed } = this.#hidden, low = this.#low;
    const du = low === null ? null : workspace.get("head.du", headRows * low.lora.r);
    device.run("head_backward", {
      ...this.#args,
      dlogp: workspace.uploadFloats("head.dlogp", dlogpByPair),
      ...(dentropy !== undefined
        ? { dentropy: workspace.uploadFloats("head.dentropy", dentropyByRow) }
        : this.#mean !== null
        ? { mean: this.#mean }
        : {}),
      dhidden: dnormed,
      ...(weights.head.grad === null ? {} : { dweight: weights.head.grad }),
      ...(du === null ? {} : { dxa: du }),
      ...(low === null || low.lora.db === null ? {} : { dloraB: low.lora.db }),
    });
    const added = this.#byLogits;
    if (added !== null) {
      const parts = [[dnormed, added.dnormed, d], [du, added.du, low?.lora.r ?? 0]] as const;
      for (const [a, b, width] of parts) {
        if (a === null || b === null) continue;
        device.run("add", { a, b, out: a, n: headRows * width, scale: 1 });
      }
    }
    if (low !== null && du !== null) {
      const { lora, lora: { da }, dropout } = low, rows = { rows: headRows, inDim: d, dropout };
      addLowRankDx(device, lora, { du, dx: dnormed, ...rows });
      if (da !== null) addLowRankGradient(device, lora, { du, x: normed, da, ...rows });
    }
    const divisor = scalarOf(config, "logits"), n = headRows * d;
    if (divisor !== 1) device.run("add", { b: dnormed, out: dnormed, n, scale: 1 / divisor });
    const dsum = normed; // consumed by head_backward
    const norm = { norm: weights.finalNorm, mean, rho };
    normBackward(device, norm, { dout: dnormed, x: h, dx: dsum, rows: headRows });
    device.run("fill", { out: dh, n: rows * d, value: 0 });
    device.run("scatter_rows", { src: dsum, index: this.#index, table: dh, rows: headRows, d });
  }
}

/** Computes the adapter's input of the rows that predict a token; null without an adapter. */
function lowRankHead(
  { device, config, weights: { headLora: lora } }: Network,
  workspace: Workspace,
  { packed, pass }: TrunkPass,
  { normed: x }: HiddenRows,
): LowRankHead | null {
  if (lora === null) return null;
  const rows = packed.headRows, u = workspace.get("head.u", rows * lora.r);
  // Trained tokens, whose B is fixed, are rows of the head itself: nothing is dropped.
  const dropout = pass.dropout === null || lora.db === null
    ? null
    : dropoutOfRows(workspace, pass.dropout, packed.headIndex);
  lowRankInput(device, lora, { x, u, rows, inDim: config.hiddenSize, dropout });
  return { lora, u, dropout };
}
