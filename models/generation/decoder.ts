/**
 * The device side of generation. Prompts are run as a packed batch whose keys and values go straight to their
 * rows of the prompts' cache; every branch has a slot for its own. A step takes the newest tokens (they stay on
 * the device from step to step), runs the layers over one row per branch, and samples. Branches come and go
 * between steps: slots never move, only the table that names them changes.
 */
import { seenWords } from "../../kernels/ops/adjust_logits/spec.ts";
import type { DecodeLayerArgs } from "../../kernels/ops/decode_layer/spec.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import { packedLength } from "../../kernels/ops/matmul/spec.ts";
import { architectureOf, modulesOf } from "../architectures/mod.ts";
import type { RowRange } from "./row_allocator.ts";
import { canFuseLayers } from "../network/fused_layers.ts";
import { DecodeSampler, type Sampled, tokenSet } from "./decode_sampler.ts";
import { finalRows } from "../network/lm_head.ts";
import { type LayerActivations, layerActivations } from "../network/layer_buffers.ts";
import { layerForward, type Residual } from "../network/decoder_layer.ts";
import { type LayerPass, passScratch } from "../network/layer_pass.ts";
import {
  attentionScale,
  attentionWindow,
  bufferName,
  embed,
  type Network,
  trunkForward,
  type TrunkOptions,
  type TrunkPass,
} from "../network/forward_pass.ts";
import { normForward } from "../network/norm.ts";
import { RecordedSteps } from "./recorded_step.ts";
import type { PackedBatch } from "../network/packing.ts";
import { packPrefill, type PrefillBatch, type PrefillPrompt } from "./prefill_batch.ts";
import { MIN_SHARED_TOKENS, packPrefillGroups } from "./prefill_groups.ts";
import { drawKey, type SamplingBatch, samplingBatches } from "./sampling_params.ts";
import { type DecodeRow, StepTable } from "./step_table.ts";
import { floatBytes, type Workspace } from "../network/workspace.ts";

/** How much a decoder holds at once. */
export interface DecoderShape {
  /** Branches. */
  slots: number;
  /** Tokens of a branch, the last of which is never fed. */
  maxNewTokens: number;
  /** Rows of the prompts' cache. */
  promptRows: number;
  /** Most steps between two looks at the tokens. */
  stepsPerRead: number;
}

/** Prompts that have just been run. */
export interface Prefill {
  trunk: TrunkPass;
  /** Row of the output that holds the last token of each prompt. */
  lastRow: Uint32Array;
}

/** What the layers need to know of a step's rows (kernels/ops/decode_layer/spec.ts). */
type StepRows = Pick<
  DecodeLayerArgs,
  "cos" | "sin" | "positions" | "cacheRow" | "branches" | "count"
>;

interface Cache {
  k: Tensor;
  v: Tensor;
}

/** Steps of hundreds of operations that are kept recorded, by how many rows they have. */
const MAX_RECORDINGS = 16;

/** Whether a decoding layer is one operation. */
function isFused({ config, device, weights: { layers } }: Network): boolean {
  const modules = modulesOf(config);
  return canFuseLayers(config, floatBytes(device)) &&
    layers.every((layer) => modules.every((module) => layer[module].packed !== null));
}

export class Decoder {
  readonly #sampler: DecodeSampler;
  readonly #cacheLength: number;
  readonly #table: StepTable;
  readonly #prompts: Cache[];
  /** The prompts' keys once more for layers that are one operation, where prompts are stored one by one. */
  readonly #packedKeys: Tensor[] | null;
  readonly #branches: Cache[];
  /** Whether a layer is one operation. */
  readonly #fused: boolean;
  #layers: LayerActivations[] | null = null;
  #scratch: Pick<LayerPass, "projected" | "activated" | "fused"> | null = null;
  /** Steps by how many rows they have; their logits. */
  readonly #steps: RecordedSteps<Tensor>;
  /** Set of the tokens of each slot, once there is a repetition penalty. */
  #seen: Tensor | null = null;

  constructor(
    private readonly network: Network,
    private readonly workspace: Workspace,
    private readonly shape: DecoderShape,
    private readonly adapter: boolean,
  ) {
    const { config } = network, { slots, maxNewTokens, promptRows, stepsPerRead } = shape;
    this.#sampler = new DecodeSampler(network, workspace, slots, stepsPerRead);
    // The newest token is sampled, not yet fed: the last one never needs a place in the cache.
    this.#cacheLength = Math.max(1, maxNewTokens - 1);
    this.#table = new StepTable(network, workspace, this.#sampler.stride, this.#cacheLength);
    const caches = (kind: string, rows: number) =>
      network.weights.layers.map((_, layer): Cache => {
        const n = rows * config.numKvHeads * config.headDim;
        const get = (what: string) => workspace.get(`cache.${kind}.${layer}.${what}`, n);
        return { k: get("k"), v: get("v") };
      });
    this.#prompts = caches("prefix", promptRows);
    this.#branches = caches("branches", slots * this.#cacheLength);
    this.#fused = isFused(network);
    // A layer that is one operation takes little to record.
    this.#steps = new RecordedSteps(network.device, this.#fused ? slots : MAX_RECORDINGS);
    this.#packedKeys = this.#fused && this.sharesPrefixes
      ? network.weights.layers.map((_, layer) =>
        workspace.get(
          `cache.prefix.${layer}.packed`,
          packedLength(promptRows, config.numKvHeads * config.headDim),
        )
      )
      : null;
  }

  /**
   * Runs prompts, each into the cache from a multiple of the alignment on; where they do not share beginnings, from
   * such a multiple on one right behind the other.
   * @param before rows of the cache with the prompt that the first one shares a beginning with
   */
  prefill(prompts: readonly PrefillPrompt[], before: RowRange | null): Prefill {
    const { network, workspace, adapter } = this, { config } = network;
    // A larger batch than any before replaces buffers of the same names.
    this.#layers = this.#scratch = null;
    const run = (batch: PackedBatch, options: Partial<TrunkOptions>) =>
      trunkForward(network, workspace, batch, { adapter, keep: "none", ...options });
    if (this.sharesPrefixes) {
      const batch = packPrefill(prompts, before, config), { lastPromptRow: lastRows } = batch;
      const trunk = run(batch, { store: this.#storeInCache(batch, prompts), lastRows });
      return { trunk, lastRow: lastRows.map((_, prompt) => prompt) };
    }
    // Sums over keys would be cut elsewhere: a CPU gives a prompt the same bits in any company.
    const minShared = network.device.name === "webgpu" ? MIN_SHARED_TOKENS : Infinity;
    const batch = packPrefillGroups(prompts.map(({ ids }) => ids), minShared, config);
    const cached = this.#cacheParts(prompts), { lastPromptRow: lastRow, rowOfToken } = batch;
    const trunk = run(
      batch,
      rowOfToken === null ? { keysAndValues: cached } : { store: this.#spread(rowOfToken, cached) },
    );
    return { trunk, lastRow };
  }

  /** Whether prompts may share beginnings: where attention reads keys that are not in the batch. */
  get sharesPrefixes(): boolean {
    const { device, config } = this.network;
    return device.name !== "webgpu" && attentionWindow(config).window === undefined;
  }

  /** Whether steps gain from knowing which prompts begin alike. */
  get usesSharedPrefixes(): boolean {
    return this.#packedKeys !== null;
  }

  /** Rows of the cache of prompts that lie one right behind the other. */
  #cacheParts(prompts: readonly PrefillPrompt[]): (layer: number) => Cache {
    const { numKvHeads, headDim } = this.network.config, width = numKvHeads * headDim;
    const { begin } = prompts[0]!.cached, { end } = prompts.at(-1)!.cached;
    const part = (cache: Tensor) => cache.view(begin * width, (end - begin) * width);
    return (layer) => ({ k: part(this.#prompts[layer]!.k), v: part(this.#prompts[layer]!.v) });
  }

  /** Gives every prompt of the batch the rows of what it has in common with others. */
  #spread(rowOfToken: Uint32Array, cached: (layer: number) => Cache) {
    const { device, config: { numKvHeads, headDim } } = this.network;
    const index = this.workspace.upload("prefix.row", rowOfToken);
    const shape = { index, rows: rowOfToken.length, d: numKvHeads * headDim };
    let layer = 0;
    return (k: Tensor, v: Tensor) => {
      const cache = cached(layer++);
      device.run("gather_rows", { table: k, out: cache.k, ...shape });
      device.run("gather_rows", { table: v, out: cache.v, ...shape });
      return { k, v };
    };
  }

  /** For any other: rows that have been computed go to theirs, then to those of prompts that begin alike. */
  #storeInCache(
    { rows, cacheRow, keys, copies: { from, to } }: PrefillBatch,
    prompts: readonly PrefillPrompt[],
  ) {
    const { network: { device, config: { numKvHeads, headDim } }, workspace } = this;
    const d = numKvHeads * headDim, copied = to.length;
    const branchCache = workspace.upload("prefix.row", cacheRow);
    const [source, target] = [from, to].map((rows, i) =>
      workspace.upload(`prefix.copy.${i}`, rows)
    );
    const copies = workspace.get("prefix.copies", copied * d);
    const owned = workspace.upload("prefix.keys", keys);
    const put = (src: Tensor, table: Tensor) => {
      device.run("scatter_rows", { src, index: branchCache, table, rows, d });
      if (copied === 0) return table;
      device.run("gather_rows", { table, index: source!, out: copies, rows: copied, d });
      device.run("scatter_rows", { src: copies, index: target!, table, rows: copied, d });
      return table;
    };
    const begin = prompts[0]!.cached.begin, n = prompts.at(-1)!.cached.end - begin;
    const pack = (table: Tensor, packed: Tensor) =>
      device.run("pack_weight", {
        ...{ weight: table.view(begin * d, n * d), n, k: d },
        out: packed.view(begin * d, packedLength(n, d)),
      });
    let layer = 0;
    return (k: Tensor, v: Tensor) => {
      const cache = this.#prompts[layer]!, packed = this.#packedKeys?.[layer];
      layer++;
      const stored = { k: put(k, cache.k), v: put(v, cache.v), keys: owned };
      if (packed !== undefined) pack(cache.k, packed);
      return stored;
    };
  }

  /**
   * Samples the first token of branches of prompts that have just been run, as the only step since the last look.
   * @param prompts number in the prefill and token ids of each row's prompt
   */
  async first(
    { trunk, lastRow }: Prefill,
    rows: readonly DecodeRow[],
    prompts: readonly { index: number; ids: readonly number[] }[],
  ): Promise<void> {
    const { network, workspace } = this, { vocabSize } = network.config, count = rows.length;
    const index = workspace.upload(
      "head.index",
      Uint32Array.from(prompts, ({ index }) => lastRow[index]!),
    );
    const { normed } = finalRows(network, workspace, trunk, index, count);
    // The branches have no slots yet: the sets that they begin with are numbered as the rows are.
    const ranked = rows.map((row, slot) => ({ ...row, slot })), batches = samplingBatches(ranked);
    let seen: Tensor | null = null;
    if (rows.some(({ params }) => params.penalty !== 1)) {
      const sets = new Uint32Array(count * seenWords(vocabSize));
      prompts.forEach(({ ids }, row) => {
        sets.set(tokenSet(ids, vocabSize), row * seenWords(vocabSize));
      });
      seen = workspace.upload("decode.seen_first", sets);
    }
    this.#table.write(0, ranked);
    await this.#sampler.sample(
      0,
      ranked,
      batches,
      this.#sampler.score(normed, count),
      { ...this.#table.columns, fed: null },
      seen,
    );
  }

  /** The set of seen tokens of a branch that takes a slot, for rules with a penalty. */
  begin(slot: number, promptIds: readonly number[]): void {
    const { network: { device, config }, workspace, shape } = this,
      width = seenWords(config.vocabSize);
    this.#seen ??= workspace.get("decode.seen", shape.slots * width, "u32");
    device.write(this.#seen, tokenSet(promptIds, config.vocabSize), slot * width);
  }

  /**
   * Feeds the newest token of each row and samples the next, `step` steps after the last look: rows have the
   * positions and tokens that they had then.
   */
  async next(
    step: number,
    rows: readonly DecodeRow[],
    batches: readonly SamplingBatch[],
  ): Promise<void> {
    const count = rows.length;
    const { cos, sin } = this.network.rope.upTo(this.#table.write(step, rows));
    const columns = this.#table.columns;
    // After a look rows may have moved: the tokens then come from the host, with all else that it writes.
    const fed = step === 0 ? columns.tokens : this.#sampler.tokensOf(step - 1);
    if (!this.#fused) {
      this.#layers ??= this.#decodeActivations();
      this.#scratch ??= passScratch(this.workspace, this.network.config, this.shape.slots);
    }
    const sampler = this.#sampler, plain = sampler.plainParams(batches);
    const key = [fed, cos, sin, step, ...(plain === null ? [] : drawKey(plain))];
    const logits = this.#steps.run(count, key, () => {
      const provided = { cos, sin, ...columns, count };
      const normed = this.#fused
        ? this.#byLayers(fed, provided)
        : this.#byOperations(fed, provided);
      const logits = sampler.score(normed, count);
      if (plain !== null) sampler.drawPlain(step, plain, logits, columns, count);
      return logits;
    });
    if (plain !== null) sampler.drawn(step, count);
    else await sampler.sample(step, rows, batches, logits, { ...columns, fed }, this.#seen);
  }

  /** Drops what it holds for the next step: the buffers or the weights that it reads may change. */
  rest(): void {
    this.#layers = this.#scratch = null;
    this.#steps.forget();
  }

  /** Waits for the tokens since the last look. */
  read(): Promise<Sampled> {
    return this.#sampler.read();
  }

  /** One operation a layer; returns the normed rows that the head reads. */
  #byLayers(fed: Tensor, step: StepRows): Tensor {
    const { network: { device, config, weights }, workspace } = this, { count: rows } = step;
    const { hiddenSize: d, rmsNormEps: eps } = config;
    const x = workspace.get("h", rows * d);
    device.run("gather_rows", { table: weights.embedding.value, index: fed, out: x, rows, d });
    weights.layers.forEach(({ inputNorm, postNorm, ...linears }, layer) => {
      const prefix = this.#prompts[layer]!, branchCache = this.#branches[layer]!;
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
        ...(this.#packedKeys === null ? {} : { packedPrefixK: this.#packedKeys[layer]! }),
        prefixV: prefix.v,
        branchK: branchCache.k,
        branchV: branchCache.v,
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
    const { network: { device, config, weights } } = this, d = config.hiddenSize;
    const { numHeads: heads, numKvHeads: kvHeads, headDim } = config;
    const layers = this.#layers!, rotary = architectureOf(config).positions === "rotary";

    let layer = 0;
    const attend = ({ q, k, v, attn }: LayerActivations) => {
      if (rotary) {
        device.run("rope", { x: q, cos, sin, positions, rows: count, heads, headDim });
        device.run("rope", { x: k, cos, sin, positions, rows: count, heads: kvHeads, headDim });
      }
      const prefix = this.#prompts[layer]!, cache = this.#branches[layer]!;
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
      ...this.#scratch!,
      dropout: null,
    };
    const { h, n1: normed, mean1: mean, rho1: rho } = layers[0]!;
    embed(this.network, { tokens: fed, positions, out: h, spare: pass.projected, rows: count });
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

  #decodeActivations(): LayerActivations[] {
    const { network: { config, weights, maxRank }, workspace, adapter } = this;
    return weights.layers.map((layer, l) =>
      layerActivations(workspace, config, layer, this.shape.slots, {
        adapter,
        name: (activation) => bufferName("none", l, activation),
        maxRank,
        provided: {},
      })
    );
  }
}
