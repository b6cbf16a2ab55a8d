/**
 * The device side of generation: prompts are run once per group as a packed batch whose keys and values
 * become the prefix cache; every branch has a slot for its own. A step takes the tokens of the step before
 * (they stay on the device unless the batch has shrunk), runs the layers over one row per branch, and
 * samples. Slots never move: when branches end, the table that names the slots gets shorter.
 */
import { sampleCounter, seedWords } from "../core/philox.ts";
import { type AdjustLogitsArgs, seenWords } from "../kernels/adjust_logits/spec.ts";
import { BRANCH } from "../kernels/attention_decode/spec.ts";
import type { DecodeLayerArgs } from "../kernels/decode_layer/spec.ts";
import { type Tensor, VIEW_ALIGNMENT } from "../kernels/device.ts";
import { architectureOf, isPlainLlama, linearDims, modulesOf } from "./architectures/mod.ts";
import { headOperand } from "./linear.ts";
import { finalRows } from "./llama_head.ts";
import { type LayerActivations, layerActivations } from "./layer_activations.ts";
import { layerForward, type LayerPass, passScratch, type Residual } from "./llama_layer.ts";
import {
  attentionScale,
  attentionWindow,
  bufferName,
  embed,
  type LlamaCore,
  trunkForward,
} from "./llama_pass.ts";
import { normForward } from "./norm.ts";
import { packGroups } from "./packing.ts";
import type { GenerateOptions } from "./types.ts";
import { floatBytes, type Workspace } from "./workspace.ts";

/** Where one branch of a wave stands on the device. */
export interface DecodeBranch {
  promptId: number;
  /** Number of the branch within its prompt, for its random draws. */
  branch: number;
  /** Index into the wave's prompts. */
  prompt: number;
  slot: number;
}

/** Columns of the table that is written before every step, in multiples of the stride. */
const STEP = {
  tokens: 0,
  positions: 1,
  cacheRow: 2,
  counters: 3,
  branches: 6,
  slots: 10,
  columns: 11,
} as const;

/** What the layers need to know of a step's rows (kernels/decode_layer/spec.ts). */
type StepRows = Pick<
  DecodeLayerArgs,
  "cos" | "sin" | "positions" | "cacheRow" | "branches" | "count"
>;

/**
 * Layers are one operation each as long as all of them fit a cache that the threads share: every thread then
 * reads all weights for its own branches. Larger ones are read from memory, once for all branches.
 */
const MOST_FUSED_BYTES = 2 ** 24;

function layerBytes({ config, device }: LlamaCore): number {
  const weights = modulesOf(config).map((module) => linearDims(config, module));
  return floatBytes(device) * config.numLayers * weights.reduce((sum, [i, o]) => sum + i * o, 0);
}

function isPacked({ config, weights: { layers } }: LlamaCore): boolean {
  return layers.every((layer) =>
    modulesOf(config).every((module) => layer[module].packed !== null)
  );
}

/** One wave of branches that are decoded together. */
export class Decoder {
  readonly #prompts: readonly (readonly number[])[];
  /** Row range of each prompt in the prefix cache. */
  readonly #prefix: { begin: number; end: number }[] = [];
  readonly #cacheLength: number;
  /** Rows reserved per step in histories and step tables. */
  readonly stride: number;
  readonly #table: Uint32Array;
  readonly #tableTensor: Tensor;
  readonly #tokens: Tensor; // u32 [maxNewTokens, stride]
  readonly #logp: Tensor; // [maxNewTokens, stride]
  readonly #seed: [low: number, high: number];
  /** Whether a layer is one operation. */
  readonly #fused: boolean;
  #layers: LayerActivations[] | null = null;
  #scratch: Pick<LayerPass, "projected" | "activated" | "fused"> | null = null;
  /** End tokens that can be drawn at all. */
  readonly #ends: Uint32Array;
  /** Set of the tokens of each slot, with a repetition penalty. */
  #seen: Tensor | null = null;

  constructor(
    private readonly core: LlamaCore,
    private readonly workspace: Workspace,
    prompts: readonly (readonly number[])[],
    private readonly branchCount: number,
    maxNewTokens: number,
    private readonly options: GenerateOptions,
  ) {
    this.#prompts = prompts;
    // The newest token is sampled, not yet fed: the last one never needs a place in the cache.
    this.#cacheLength = Math.max(1, maxNewTokens - 1);
    this.stride = Math.ceil(branchCount / VIEW_ALIGNMENT) * VIEW_ALIGNMENT;
    this.#table = new Uint32Array(STEP.columns * this.stride);
    this.#tableTensor = workspace.get("decode.table", this.#table.length, "u32");
    this.#tokens = workspace.get("decode.tokens", maxNewTokens * this.stride, "u32");
    this.#logp = workspace.get("decode.logp", maxNewTokens * this.stride);
    this.#seed = seedWords(options.seed);
    this.#ends = Uint32Array.from(options.eosIds.filter((id) => id < core.config.vocabSize));
    if ((options.minNewTokens ?? 0) > 0) workspace.upload("decode.forbidden", this.#ends);
    this.#fused = isPacked(core) && isPlainLlama(core.config) &&
      layerBytes(core) <= MOST_FUSED_BYTES;
  }

  /** Runs the prompts and samples token 0 of every branch (all of them active). */
  first(branches: readonly DecodeBranch[]): void {
    const { core, workspace, options } = this, { config } = core;
    const groups = this.#prompts.map((promptIds) => ({ promptIds, branches: [] }));
    const packed = packGroups(groups, config);
    const trunk = trunkForward(core, workspace, packed, {
      adapter: options.adapter ?? true,
      keep: "none",
      keysAndValues: (layer) => this.#cache("prefix", layer, packed.rows),
    });
    this.#prompts.forEach((ids, p) => {
      const end = packed.lastPromptRow[p]! + 1;
      this.#prefix.push({ begin: end - ids.length, end });
    });
    const last = Uint32Array.from(branches, (b) => packed.lastPromptRow[b.prompt]!);
    const index = workspace.upload("head.index", last);
    const { normed } = finalRows(core, workspace, trunk, index, branches.length);
    this.#writeTable(0, branches, null);
    if ((options.repetitionPenalty ?? 1) !== 1) this.#seen = this.#promptTokens(branches);
    this.#sample(0, branches.length, normed, null);
  }

  /**
   * Feeds token `position − 1` of the active branches and samples token `position`. `tokens` are given
   * when the active branches are not those of the step before.
   */
  next(
    position: number,
    branches: readonly DecodeBranch[],
    tokens: Uint32Array | null,
  ): void {
    const { core: { rope }, stride } = this, count = branches.length;
    this.#writeTable(position, branches, tokens);
    const column = (from: number, columns: number) =>
      this.#tableTensor.view(from * stride, columns * stride);
    const positions = column(STEP.positions, 1), cacheRow = column(STEP.cacheRow, 1);
    const table = column(STEP.branches, BRANCH.columns);
    // Over-generated rows (see generate.ts) may stand past the last position; any angle will do for them.
    const { cos, sin } = rope.upTo(this.#lastPosition(position, branches));
    const fed = tokens === null
      ? this.#tokens.view((position - 1) * stride, stride)
      : column(STEP.tokens, 1);
    const rows = { cos, sin, positions, cacheRow, branches: table, count };
    const normed = this.#fused ? this.#byLayers(fed, rows) : this.#byOperations(fed, rows);
    this.#sample(position, count, normed, fed);
  }

  /** One operation a layer; returns the normed rows that the head reads. */
  #byLayers(fed: Tensor, step: StepRows): Tensor {
    const { core: { device, config, weights }, workspace } = this, { count: rows } = step;
    const { hiddenSize: d, rmsNormEps: eps } = config;
    const x = workspace.get("h", rows * d);
    device.run("gather_rows", { table: weights.embedding.value, index: fed, out: x, rows, d });
    weights.layers.forEach(({ inputNorm, postNorm, ...linears }, layer) => {
      const prefix = this.#cache("prefix", layer, this.#prefix.at(-1)!.end);
      const own = this.#cache("branches", layer, this.branchCount * this.#cacheLength);
      device.run("decode_layer", {
        x,
        ...step,
        inputNorm: inputNorm.weight.value,
        wq: linears.q_proj.packed!,
        wk: linears.k_proj.packed!,
        wv: linears.v_proj.packed!,
        wo: linears.o_proj.packed!,
        postNorm: postNorm.weight.value,
        wGate: linears.gate_proj.packed!,
        wUp: linears.up_proj.packed!,
        wDown: linears.down_proj.packed!,
        prefixK: prefix.k,
        prefixV: prefix.v,
        branchK: own.k,
        branchV: own.v,
        maxNew: this.#cacheLength,
        d,
        f: config.intermediateSize,
        heads: config.numHeads,
        kvHeads: config.numKvHeads,
        headDim: config.headDim,
        scale: attentionScale(config),
        eps,
      });
    });
    const normed = workspace.get("n1", rows * d), rho = workspace.get("rho1", rows);
    normForward(device, weights.finalNorm, { x, out: normed, rho, mean: null, rows, d, eps });
    return normed;
  }

  /** The same operation by operation. */
  #byOperations(fed: Tensor, { cos, sin, positions, cacheRow, branches, count }: StepRows): Tensor {
    const { core: { device, config, weights }, workspace } = this, d = config.hiddenSize;
    const { numHeads: heads, numKvHeads: kvHeads, headDim } = config;
    this.#layers ??= this.#decodeActivations(count);
    this.#scratch ??= passScratch(workspace, config, count);
    const layers = this.#layers, rotary = architectureOf(config).positions === "rotary";

    let layer = 0;
    const attend = ({ q, k, v, attn }: LayerActivations) => {
      if (rotary) {
        device.run("rope", { x: q, cos, sin, positions, rows: count, heads, headDim });
        device.run("rope", { x: k, cos, sin, positions, rows: count, heads: kvHeads, headDim });
      }
      const cache = this.#cache("branches", layer, this.branchCount * this.#cacheLength);
      const prefix = this.#cache("prefix", layer, this.#prefix.at(-1)!.end);
      const row = { index: cacheRow, rows: count, d: kvHeads * headDim };
      device.run("scatter_rows", { src: k, table: cache.k, ...row });
      device.run("scatter_rows", { src: v, table: cache.v, ...row });
      device.run("attention_decode", {
        q,
        prefixK: prefix.k,
        prefixV: prefix.v,
        branchK: cache.k,
        branchV: cache.v,
        out: attn,
        branches,
        count,
        maxNew: this.#cacheLength,
        heads,
        kvHeads,
        headDim,
        scale: attentionScale(config),
        ...attentionWindow(config),
      });
    };
    const pass: LayerPass = {
      device,
      config,
      rows: count,
      attend,
      ...this.#scratch,
      dropout: null,
    };
    const { h, n1: normed, mean1: mean, rho1: rho } = layers[0]!;
    embed(this.core, { tokens: fed, positions, out: h, spare: pass.projected, rows: count });
    let output: Residual | null = null;
    for (; layer < layers.length; layer++) {
      output = layerForward(pass, weights.layers[layer]!, layers[layer]!, output);
    }
    normForward(device, weights.finalNorm, {
      ...output!,
      sum: output!.x,
      out: normed,
      mean,
      rho,
      rows: count,
      d,
      eps: config.rmsNormEps,
    });
    return normed;
  }

  /** Tokens sampled at positions [from, to): row r of position p is element (p − from)·stride + r. */
  async readTokens(from: number, to: number, count: number): Promise<Uint32Array> {
    const length = (to - from - 1) * this.stride + count;
    return await this.core.device.read(this.#tokens, from * this.stride, length) as Uint32Array;
  }

  /** Log-probabilities of positions [0, to), laid out as the tokens. */
  async readLogp(to: number): Promise<Float32Array | Float64Array> {
    const { device } = this.core;
    return await device.read(this.#logp, 0, to * this.stride) as Float32Array | Float64Array;
  }

  #cache(kind: "prefix" | "branches", layer: number, rows: number): { k: Tensor; v: Tensor } {
    const { config } = this.core;
    const n = rows * config.numKvHeads * config.headDim;
    const get = (what: string) => this.workspace.get(`cache.${kind}.${layer}.${what}`, n);
    return { k: get("k"), v: get("v") };
  }

  #decodeActivations(count: number): LayerActivations[] {
    const { core: { config, weights, maxRank }, workspace, options } = this;
    return weights.layers.map((layer, l) =>
      layerActivations(workspace, config, layer, count, {
        adapter: options.adapter ?? true,
        name: (activation) => bufferName("none", l, activation),
        maxRank,
        given: {},
      })
    );
  }

  #lastPosition(position: number, branches: readonly DecodeBranch[]): number {
    let last = 0;
    for (const { prompt } of branches) last = Math.max(last, this.#prompts[prompt]!.length);
    return Math.min(last + position - 1, this.core.config.maxPositions - 1);
  }

  /** Fills and writes the table of one step: everything that the step needs from the host, in one write. */
  #writeTable(
    position: number,
    branches: readonly DecodeBranch[],
    tokens: Uint32Array | null,
  ): void {
    const table = this.#table, { stride } = this;
    const lastPosition = this.core.config.maxPositions - 1;
    const { window } = attentionWindow(this.core.config);
    if (tokens !== null) table.set(tokens, STEP.tokens * stride);
    branches.forEach(({ promptId, branch, prompt, slot }, row) => {
      const fed = Math.max(0, position - 1); // place in its branch of the token that is fed
      const place = this.#prompts[prompt]!.length + fed;
      table[STEP.positions * stride + row] = Math.min(place, lastPosition);
      table[STEP.slots * stride + row] = slot;
      table[STEP.cacheRow * stride + row] = slot * this.#cacheLength + fed;
      table.set(
        sampleCounter(promptId, branch, position),
        STEP.counters * stride + 3 * row,
      );
      const at = STEP.branches * stride + BRANCH.columns * row;
      const { begin, end } = this.#prefix[prompt]!;
      // The branch's own positions come first in what a window reaches.
      const reach = Math.max(0, (window ?? Infinity) - position);
      table[at + BRANCH.prefixBegin] = Math.max(begin, end - reach);
      table[at + BRANCH.prefixEnd] = end;
      table[at + BRANCH.slot] = slot;
      table[at + BRANCH.length] = position;
    });
    this.core.device.write(this.#tableTensor, table);
  }

  /** `fed`: the tokens of the step before, or null when there are none. */
  #sample(position: number, count: number, normed: Tensor, fed: Tensor | null): void {
    const { core: { device, config, weights }, workspace, options, stride } = this;
    const vocab = config.vocabSize;
    const logits = workspace.get("logits", count * vocab);
    device.run("matmul", {
      a: normed,
      ...headOperand(weights.head, weights.packedHead),
      out: logits,
      m: count,
      n: vocab,
      k: config.hiddenSize,
    });
    const adjusted = this.#adjust(position, count, logits, fed);
    device.run("sample", {
      ...(adjusted === null ? { logits } : { logits: adjusted, scored: logits }),
      counters: this.#tableTensor.view(STEP.counters * stride, 3 * stride),
      tokens: this.#tokens.view(position * stride, stride),
      logp: this.#logp.view(position * stride, stride),
      rows: count,
      vocab,
      seedLow: this.#seed[0],
      seedHigh: this.#seed[1],
      temperature: options.temperature,
      topK: options.topK ?? 0,
      topP: options.topP ?? 1,
      minP: options.minP ?? 0,
    });
  }

  /** The logits to draw from where rules change them, else null. */
  #adjust(position: number, rows: number, logits: Tensor, fed: Tensor | null): Tensor | null {
    const { core: { device, config }, workspace, options } = this, vocab = config.vocabSize;
    const { repetitionPenalty: penalty = 1, minNewTokens = 0 } = options;
    const rules: Partial<AdjustLogitsArgs> = {};
    if (this.#seen !== null) {
      rules.seen = this.#seen;
      rules.slots = this.#tableTensor.view(STEP.slots * this.stride, this.stride);
      if (fed !== null) rules.newest = fed;
    }
    const forbiddenCount = position < minNewTokens ? this.#ends.length : 0;
    if (forbiddenCount > 0) {
      rules.forbidden = workspace.get("decode.forbidden", forbiddenCount, "u32");
    }
    if (Object.keys(rules).length === 0) return null;
    const out = workspace.get("logits.adjusted", rows * vocab);
    device.run("adjust_logits", { logits, out, rows, vocab, penalty, forbiddenCount, ...rules });
    return out;
  }

  /** The set of its prompt's tokens for each slot. */
  #promptTokens(branches: readonly DecodeBranch[]): Tensor {
    const width = seenWords(this.core.config.vocabSize);
    const sets = this.#prompts.map((ids) => {
      const set = new Uint32Array(width);
      for (const id of ids) set[id >>> 5]! |= 1 << (id & 31);
      return set;
    });
    const seen = new Uint32Array(branches.length * width);
    for (const { prompt, slot } of branches) seen.set(sets[prompt]!, slot * width);
    return this.workspace.upload("decode.seen", seen);
  }
}
