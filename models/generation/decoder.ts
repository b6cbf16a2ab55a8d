/**
 * The device side of generation. Prompts are prefilled as one packed batch whose keys and values go
 * straight to their rows of the prompt cache. Every branch has a slot in the branch cache for its
 * completion. A decode step feeds the newest token of each branch (tokens stay on the device from
 * step to step), runs the layers over one row per branch, and samples. Branches come and go between
 * steps: slots never move, only the step table that refers to them changes.
 */
import { seenWords } from "../../kernels/ops/adjust_logits/spec.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import {
  convWidth,
  hasPart,
  layerWindow,
  layerWindows,
  modulesOf,
  scalarOf,
} from "../architectures/mod.ts";
import type { ActivationStore } from "../network/activation_store.ts";
import { layerForward, type Residual } from "../network/decoder_layer.ts";
import {
  bufferName,
  embed,
  gateAttention,
  rotate,
  type SaveLayer,
  scoreOptions,
  sinksOf,
  trunkForward,
  type TrunkOptions,
  type TrunkPass,
} from "../network/forward_pass.ts";
import type { Network } from "../network/weights/model_weights.ts";
import { ownsKeys } from "../network/attention_inputs.ts";
import { ownRowsOf, uploadOwnRows } from "../network/per_layer.ts";
import { dependsOnLength } from "../architectures/rope_frequencies.ts";
import { layerSizes } from "../architectures/model_config.ts";
import { convolve, gateInputs } from "../network/convolution.ts";
import { deltaForward } from "../network/delta_layer.ts";
import { canFuseLayers } from "../network/fused_layers.ts";
import {
  type LayerActivations,
  layerActivations,
  type LayerPass,
  passScratch,
} from "../network/layer_buffers.ts";
import { finalNorm, finalRows } from "../network/lm_head.ts";
import type { PackedBatch } from "../network/packing.ts";
import type { KvCacheDtype } from "../network/types.ts";
import type { AnglesOf } from "../network/rope_table.ts";
import { floatBytes, type Workspace } from "../network/workspace.ts";
import { DecodeSampler, type SampledTokens, tokenSet } from "./sampling/decode_sampler.ts";
import {
  MIN_SHARED_TOKENS,
  packPrefill,
  packPrefillGroups,
  type PrefillBatch,
  type PrefillGroups,
  type PrefillPrompt,
} from "./cache/prefill_batch.ts";
import { KvCache, type LayerCache } from "./cache/kv_cache.ts";
import {
  plainSamplingKey,
  type SamplingBatch,
  samplingBatches,
  type SamplingParams,
} from "./sampling/sampling_params.ts";
import type { PromptRows, RowRange } from "./cache/cached_prompt.ts";
import { type DecodeRow, type StepColumns, StepTable } from "./step_table.ts";
import type { Device, Recording } from "../../kernels/device.ts";

export interface DecoderShape {
  /** Maximum number of branches that decode together. */
  slots: number;
  /** Maximum number of tokens of a branch. The last one is never fed. */
  maxNewTokens: number;
  /**
   * Rows of the branch cache, of which each branch takes as many as it may have tokens. Null =
   * room for `slots` branches of the maximum length, which take equal runs. A GPU needs them.
   */
  branchRows: number | null;
  promptRows: number;
  /** Prompts that may have a state in it, in models with delta rules. */
  promptStates: number;
  /** Maximum number of steps until the host reads the tokens. */
  stepsPerRead: number;
  /**
   * Whether prompts of one prefill may be computed as branches of what they share. It is for GPUs,
   * where the last digits then depend on which prompts come together.
   */
  groupsPrompts: boolean;
  /** Type of keys and values; absent = float32. */
  kvCacheDtype?: KvCacheDtype | undefined;
}

export interface Prefill {
  trunk: TrunkPass;
  /** Row of the trunk's output that holds the last token of each prompt. */
  lastRow: Uint32Array;
}

/** What the layers read of a step's rows (kernels/ops/decode_layer/spec.ts). */
type StepRows =
  & Pick<
    StepColumns,
    "positions" | "cacheRow" | "branches" | "keptRow" | "convRow" | "convBefore" | "segments"
  >
  & { angles: AnglesOf; count: number };

/** Where a step stands among those since the host last read tokens. */
export interface StepPlace {
  /** Its place in the buffers of tokens. */
  index: number;
  /** Number of steps since the positions that its rows have. */
  ahead: number;
  /** The place of the step whose tokens it feeds; null = the rows have them. */
  after: number | null;
  /** The number of each row in that step; null = the same. */
  moved: Uint32Array | null;
}

/** Maximum number of recordings that are kept, one for each number of rows. */
const MAX_RECORDINGS = 16;

function isFused({ config, device, weights: { layers } }: Network): boolean {
  const modules = modulesOf(config);
  return device.adapter === undefined && canFuseLayers(config, floatBytes(device)) &&
    layers.every((layer) =>
      modules.every((module) => {
        const { packed, lora, bias } = layer[module];
        return packed !== null && lora === null && bias === null;
      })
    );
}

/** Rows of the branch cache for `tokens` tokens: the last one is sampled and never fed. */
export function rowsFor(tokens: number): number {
  return Math.max(1, tokens - 1);
}

export class Decoder {
  readonly #sampler: DecodeSampler;
  /** Rows of the branch cache that the operations count as one. */
  readonly #cacheUnit: number;
  readonly #table: StepTable;
  readonly #cache: KvCache;
  readonly #fused: boolean;
  readonly #kept: KeptRows | null;
  #layers: LayerActivations[] | null = null;
  #scratch: ReturnType<typeof passScratch> | null = null;
  /** Recorded steps by their number of rows. The result of a step is its logits. */
  readonly #steps: RecordedSteps<Tensor>;
  /** Sets of the tokens that each slot has seen; made when a request has a repetition penalty. */
  #seen: Tensor | null = null;

  constructor(
    private readonly network: Network,
    private readonly workspace: Workspace,
    private readonly shape: DecoderShape,
    keep?: ActivationStore,
  ) {
    const { slots, maxNewTokens, branchRows, promptRows, promptStates, stepsPerRead } = shape;
    this.#sampler = new DecodeSampler(network, workspace, slots, stepsPerRead);
    const length = rowsFor(maxNewTokens);
    this.#cacheUnit = network.device.adapter === undefined ? 1 : length;
    this.#table = new StepTable(
      network,
      workspace,
      this.#sampler.stride,
      this.#cacheUnit,
      promptRows,
      promptStates,
    );
    const halves = shape.kvCacheDtype === "bfloat16", branches = branchRows ?? slots * length;
    this.#fused = !halves && isFused(network);
    const packsKeys = this.#fused && this.sharesPrefixes;
    const rows = { prompts: promptRows, branches, slots, promptStates };
    this.#cache = new KvCache(network, workspace, rows, { packsKeys, halves });
    this.#kept = keep === undefined ? null : new KeptRows(keep, workspace, promptRows);
    // With fused layers a recording is small: one for each number of rows can be kept.
    this.#steps = new RecordedSteps(network.device, this.#fused ? slots : MAX_RECORDINGS);
  }

  /**
   * Runs prompts and stores their keys and values. With `sharesPrefixes` every prompt begins at an
   * aligned row of the cache; without, the first one does and the others follow without gaps.
   */
  async prefill(prompts: readonly PrefillPrompt[]): Promise<Prefill> {
    const { network, workspace } = this, { config } = network;
    // A batch that is larger than all before replaces workspace buffers that steps use, too.
    this.#layers = this.#scratch = null;
    const run = (batch: PackedBatch, options: Partial<TrunkOptions>) =>
      trunkForward(network, workspace, batch, { keep: "none", ...options });
    if (this.sharesPrefixes) {
      const batch = packPrefill(prompts, config);
      const trunk = run(batch, {
        save: this.#kept?.saver(batch.rows),
        ...this.#cache.storeBatch(batch, prompts),
        ...(this.hasStates ? { states: this.#cache.promptStates(prompts) } : {}),
      });
      this.#kept?.addBatch(batch, prompts);
      return this.#keepOutput({ trunk, lastRow: batch.lastPromptRow });
    }
    // On a CPU nothing is shared here: attention would split its sums over keys elsewhere, and a
    // prompt's bits would depend on the other prompts of the batch.
    // With delta rules nothing is shared either: only the states at the ends of prompts are kept.
    const isGrouped = network.device.adapter !== undefined && this.shape.groupsPrompts &&
      !this.hasStates;
    const minShared = isGrouped ? MIN_SHARED_TOKENS : Infinity;
    const batch = packPrefillGroups(
      prompts.map(({ ids }) => ids),
      minShared,
      config,
      config.ropeScaling,
    );
    const ownRows = await ownRowsOf(network, () => batch.tokens);
    const { lastPromptRow: lastRow } = batch, save = this.#kept?.saver(batch.rows);
    const trunk = run(batch, {
      save,
      ownRows,
      ...(this.hasStates ? { states: this.#cache.promptStates(prompts) } : {}),
      ...this.#cache.storeOrder(prompts, batch.rowOfToken),
    });
    this.#kept?.addGroups(batch, prompts);
    return this.#keepOutput({ trunk, lastRow });
  }

  /** Keeps the output of each prompt's last row, which predicts the first token. */
  #keepOutput(prefill: Prefill): Prefill {
    if (this.#kept === null) return prefill;
    const { network, workspace } = this, { trunk, lastRow } = prefill, count = lastRow.length;
    const index = workspace.upload("head.index", lastRow);
    const { h } = finalRows(network, workspace, trunk, index, count);
    this.#kept.saveOutput(h, lastRow);
    return prefill;
  }

  /** Rows of the activation store for a branch with at most `limit` tokens; null without one. */
  keepBranch({ promptId, branch }: DecodeRow, limit: number): RowRange | null {
    return this.#kept?.addBranch(promptId, branch, limit) ?? null;
  }

  /** Whether prompts can share a prefix: attention must read keys that are not in the batch. */
  get sharesPrefixes(): boolean {
    const { device, config } = this.network;
    return device.adapter === undefined &&
      !hasPart(config, "layerScalar") &&
      layerWindows(config).every((window) => window === null);
  }

  /** Whether only whole prompts are shared: those with delta rules have a state at their end. */
  get hasStates(): boolean {
    return this.network.config.delta !== undefined;
  }

  /**
   * Whether later turns of a dialogue go on with the keys that decoding has made. Where prompts
   * share nothing, they are computed as a whole; convolutions would need inputs that are gone.
   */
  get keepsAnswers(): boolean {
    const { convTaps, delta, ropeScaling } = this.network.config;
    return this.sharesPrefixes && !dependsOnLength(ropeScaling) &&
      (convTaps === undefined || delta !== undefined);
  }

  /** Whether steps are faster when they know which prompts share a prefix. */
  get usesSharedPrefixes(): boolean {
    return this.#cache.packedKeys !== null;
  }

  /**
   * Samples the first token of branches whose prompts have just been prefilled. It is the only step
   * until the host reads tokens.
   * @param prompts for each row, the prompt's number in the prefill and its token ids
   */
  async sampleFirstTokens(
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
    // The branches have no slots yet: their sets of seen tokens are in the order of the rows.
    const placed = rows.map((row, slot) => ({ ...row, slot })), batches = samplingBatches(placed);
    let seen: Tensor | null = null;
    if (rows.some(({ params }) => params.penalty !== 1)) {
      const sets = new Uint32Array(count * seenWords(vocabSize));
      prompts.forEach(({ ids }, row) => {
        sets.set(tokenSet(ids, vocabSize), row * seenWords(vocabSize));
      });
      seen = workspace.upload("decode.seen_first", sets);
    }
    this.#table.write(0, placed);
    await this.#sampler.sample(
      0,
      placed,
      batches,
      this.#sampler.score(normed, count),
      { ...this.#table.columns, fed: null },
      seen,
    );
  }

  /**
   * Feeds tokens of an answer again, with the bits of the steps that fed them first. Their keys go
   * to the rows of the prompt cache behind its prompt, whose state moves on. An answer may be long:
   * it yields after each step.
   */
  async *decodeAgain(
    ids: readonly number[],
    prompt: PromptRows,
    params: SamplingParams,
  ): AsyncGenerator<void> {
    const { begin: _, end: begin, state } = prompt, { slots, promptStates } = this.shape;
    // Threads take shares of the rows through fused layers, and states move on row by row.
    const together = this.#fused || this.hasStates ? 1 : slots;
    const own = {
      promptId: 0,
      branch: 0,
      firstPosition: 0,
      slot: state === undefined ? 0 : state - promptStates,
      completion: { ids: [] },
      form: null,
      params,
      cached: { begin, end: begin + ids.length },
      prompt,
      kept: null,
    };
    for (let from = 0; from < ids.length; from += together) {
      const rows = ids.slice(from, from + together).map((newest, i) => ({
        ...own,
        position: from + i + 1,
        newest,
      }));
      const { angles } = this.#writeTable(rows, 0), { columns } = this.#table;
      await this.#prepareLayers(rows.length, columns.tokens);
      const stepRows = { angles, ...columns, count: rows.length };
      this.#feed(columns.tokens, stepRows, this.#cache.prompts);
      yield;
    }
  }

  /** Copies the state of a branch, which has been fed so many tokens, to one of the prompts'. */
  keepState({ slot, prompt }: DecodeRow, fed: number, to: number): void {
    const { begin, end, state = 0 } = prompt, from = this.shape.promptStates + slot;
    this.#cache.copyState({ from, to, prompt: state }, { prompt: end - begin, branch: fed });
  }

  /** Writes the set of seen tokens of a branch with a repetition penalty that gets a slot. */
  setSeenTokens(slot: number, promptIds: readonly number[]): void {
    const { network: { device, config }, workspace, shape } = this;
    const width = seenWords(config.vocabSize);
    this.#seen ??= workspace.get("decode.seen", shape.slots * width, "u32");
    device.write(this.#seen, tokenSet(promptIds, config.vocabSize), slot * width);
  }

  /**
   * A decode step: feeds the newest token of each row and samples the next one.
   * @param rows with the positions and tokens that they had when the host last read them
   */
  async step(
    { index: step, ahead, after, moved }: StepPlace,
    rows: readonly DecodeRow[],
    batches: readonly SamplingBatch[],
  ): Promise<void> {
    const count = rows.length;
    const { columns } = this.#table, { angles, tables } = this.#writeTable(rows, ahead);
    const fed = after === null
      ? columns.tokens
      : moved === null
      ? this.#sampler.tokensOf(after)
      : this.#sampler.movedTokens(after, moved);
    await this.#prepareLayers(count, fed);
    const sampler = this.#sampler, plain = sampler.plainParams(batches);
    const key = [fed, ...tables, step, ...(plain === null ? [] : plainSamplingKey(plain))];
    const logits = this.#steps.run(count, key, () => {
      const stepRows = { angles, ...columns, count };
      const normed = this.#feed(fed, stepRows, this.#cache.branches);
      const logits = sampler.score(normed, count);
      if (plain !== null) sampler.samplePlain(step, plain, logits, columns, count);
      return logits;
    });
    if (plain !== null) sampler.noteSampled(step, count);
    else await sampler.sample(step, rows, batches, logits, { ...columns, fed }, this.#seen);
  }

  #writeTable(rows: readonly DecodeRow[], ahead: number) {
    const { rope } = this.network, maxPosition = this.#table.write(ahead, rows);
    const angles = rope.upTo(maxPosition, this.#table.columns.positions);
    return { angles, tables: rope.tensors(maxPosition) };
  }

  /** Makes what the layers need beside the table of a step. */
  async #prepareLayers(count: number, fed: Tensor): Promise<void> {
    const { network, workspace, shape: { slots } } = this, { device } = network;
    if (!this.#fused) {
      this.#layers ??= network.weights.layers.map((_, l) =>
        layerActivations(workspace, network, l, slots, {
          name: (activation) => bufferName(network.config, "none", l, activation),
        })
      );
      this.#scratch ??= passScratch(workspace, network.config, slots);
    }
    const ids = async () => await device.read(fed, 0, count) as Uint32Array;
    uploadOwnRows(network, workspace, await ownRowsOf(network, ids), slots);
  }

  /**
   * Runs the layers over one row per branch. Returns the normed rows that the head reads.
   * @param caches where the keys of branches are
   */
  #feed(fed: Tensor, rows: StepRows, caches: readonly LayerCache[]): Tensor {
    return this.#fused
      ? this.#runFusedLayers(fed, rows, caches)
      : this.#runLayers(fed, rows, caches);
  }

  /** Forgets buffers and recordings: what they refer to may change before the next step. */
  forget(): void {
    this.#layers = this.#scratch = null;
    this.#steps.forget();
  }

  /** Reads the logits of the last step, or of first tokens: [count, vocabSize], unchanged. */
  readLogits(count: number): Promise<Float32Array | Float64Array> {
    const { network: { device, config: { vocabSize } }, workspace, shape } = this;
    const logits = workspace.get("logits", shape.slots * vocabSize);
    return device.read(logits, 0, count * vocabSize) as Promise<Float32Array | Float64Array>;
  }

  /** Reads what was sampled since the last read; see {@link DecodeSampler.beginRead}. */
  beginRead(): Promise<() => Promise<SampledTokens>> {
    return this.#sampler.beginRead();
  }

  /** Runs one operation per layer. */
  #runFusedLayers(
    fed: Tensor,
    { keptRow, angles, positions, cacheRow, branches: [table], count: rows }: StepRows,
    caches: readonly LayerCache[],
  ): Tensor {
    const { network: { device, config, weights }, workspace } = this;
    const { cos, sin } = angles(0)!.q;
    const step = { cos, sin, positions, cacheRow, branches: table!, count: rows };
    const { hiddenSize: d, rmsNormEps: eps } = config;
    const x = workspace.get("h", rows * d);
    device.run("gather_rows", { table: weights.embedding.value, index: fed, out: x, rows, d });
    const { packedKeys } = this.#cache, store = this.#kept?.store;
    weights.layers.forEach(({ norms: { inputNorm, postNorm }, ...linears }, layer) => {
      const prefix = this.#cache.prompts[layer]!, branches = caches[layer]!;
      device.run("decode_layer", {
        x,
        ...step,
        inputNorm: inputNorm!.weight.value,
        wq: linears.q.packed!,
        wk: linears.k.packed!,
        wv: linears.v.packed!,
        wo: linears.o.packed!,
        postNorm: postNorm!.weight.value,
        wGate: linears.gate.packed!,
        wUp: linears.up.packed!,
        wDown: linears.down.packed!,
        ...(store === undefined ? {} : { keptRow, ...store.tablesOf(layer) }),
        prefixK: prefix.k,
        ...(packedKeys === null ? {} : { packedPrefixK: packedKeys[layer]! }),
        prefixV: prefix.v,
        branchK: branches.k,
        branchV: branches.v,
        maxNew: this.#cacheUnit,
        d,
        f: config.intermediateSize,
        heads: config.numHeads,
        kvHeads: config.numKvHeads,
        headDim: config.headDim,
        scale: scalarOf(config, "attention"),
        eps,
      });
    });
    store?.saveOutput(x, keptRow, rows);
    const normed = workspace.get("n1", rows * d), rho = workspace.get("rho.inputNorm", rows);
    finalNorm(this.network, { x, out: normed, rho, mean: null, rows });
    return normed;
  }

  #runLayers(
    fed: Tensor,
    { angles, positions, cacheRow, branches, keptRow, convRow, convBefore, ...states }: StepRows,
    caches: readonly LayerCache[],
  ): Tensor {
    const { network: { device, config } } = this, d = config.hiddenSize;
    const { segments, count } = states;
    const layers = this.#layers!, windows = layerWindows(config), bf16 = this.#cache.halves;

    const attend = (activations: LayerActivations) => {
      const { layer, q, k, v, attn, convBx, deltaQkv } = activations;
      if (deltaQkv !== undefined) {
        const { state, inputs: table } = this.#cache.states[layer]!;
        const step = { segments, segmentCount: count, roots: count, state };
        deltaForward(this.network, activations, count, { table, before: convBefore, ...step });
        const row = { index: convRow, rows: count, d: convWidth(config) };
        device.run("scatter_rows", { src: deltaQkv, table, ...row });
        return;
      }
      if (convBx !== undefined) {
        const table = this.#cache.convolved[layer]!;
        gateInputs(this.network, activations, count);
        convolve(this.network, activations, count, { table, before: convBefore });
        // It takes the place of the position that no later row reads.
        device.run("scatter_rows", { src: convBx, table, index: convRow, rows: count, d });
        return;
      }
      const { headDim, kv } = layerSizes(config, layer), owns = ownsKeys(activations);
      rotate(this.network, angles(layer), { layer, q, k: owns ? k : null }, count);
      const prefix = this.#cache.prompts[layer]!, cache = caches[layer]!;
      if (owns) {
        const row = { index: cacheRow, rows: count, d: kv, bf16 };
        device.run("scatter_rows", { src: k, table: cache.k, ...row });
        device.run("scatter_rows", { src: v, table: cache.v, ...row });
      }
      device.run("attention_decode", {
        q,
        prefixK: prefix.k,
        prefixV: prefix.v,
        branchK: cache.k,
        branchV: cache.v,
        out: attn,
        branches: branches[windows.indexOf(layerWindow(config, layer))]!,
        count,
        maxNew: this.#cacheUnit,
        heads: config.numHeads,
        kvHeads: config.numKvHeads,
        headDim,
        scale: scalarOf(config, "attention"),
        bf16,
        ...scoreOptions(config, layer),
        ...sinksOf(activations),
      });
      gateAttention(this.network, activations, count);
    };
    const pass: LayerPass = {
      device,
      config,
      rows: count,
      attend,
      dropout: null,
      ...this.#scratch!,
      save: this.#kept?.store.saver(keptRow, count),
    };
    const { h, norms: { inputNorm } } = layers[0]!, mean = inputNorm?.mean ?? null;
    const { workspace, shape: { slots } } = this;
    const normed = workspace.get("n1", slots * d), rho = workspace.get("rho.inputNorm", slots);
    embed(this.network, workspace, pass, {
      tokens: fed,
      positions,
      h,
      room: slots,
    });
    let output: Residual | null = null;
    for (const layer of layers) output = layerForward(pass, layer, output);
    const { x, add } = output!;
    const sum = add === null ? {} : { add, sum: x };
    finalNorm(this.network, { x, ...sum, out: normed, mean, rho, rows: count });
    this.#kept?.store.saveOutput(output!.x, keptRow, count);
    return normed;
  }
}

// Which rows of an activation store a generation writes. A prefix that prompts share has one copy.

class KeptRows {
  /** Store row of each row of the prompt cache. */
  readonly #ofCache: Uint32Array;
  /** Store row of the first row of the last prefill. */
  #first = 0;

  constructor(
    readonly store: ActivationStore,
    private readonly workspace: Workspace,
    promptRows: number,
  ) {
    this.#ofCache = new Uint32Array(promptRows);
  }

  /** Takes store rows for a prefill of `rows` rows. */
  saver(rows: number): SaveLayer {
    const first = this.#first = this.store.reserve(rows);
    const index = Uint32Array.from({ length: rows }, (_, row) => first + row);
    return this.store.saver(this.workspace.upload("kept.rows", index), rows);
  }

  /** Notes where the prompts of the last prefill are, some of which share a prefix. */
  addBatch({ cacheRow, copies }: PrefillBatch, prompts: readonly PrefillPrompt[]): void {
    const { store } = this, of = this.#ofCache;
    cacheRow.forEach((cached, row) => of[cached] = this.#first + row);
    copies.to.forEach((to, i) => of[to] = of[copies.from[i]!]!);
    for (const { promptId, cached: { begin, end } } of prompts) {
      store.addPrompt(promptId, this.#ofCache.slice(begin, end));
    }
  }

  /** The same for prompts that were packed as branches of the prefix that they share. */
  addGroups({ rowOfToken }: PrefillGroups, prompts: readonly PrefillPrompt[]): void {
    let token = 0;
    for (const { promptId, ids } of prompts) {
      const rows = ids.map(() => {
        const row = rowOfToken?.[token] ?? token;
        token++;
        return this.#first + row;
      });
      this.store.addPrompt(promptId, Uint32Array.from(rows));
    }
  }

  /** Keeps the last layer's output of the rows `row` of the last prefill. */
  saveOutput(output: Tensor, row: Uint32Array): void {
    const index = this.workspace.upload("kept.rows", row.map((row) => this.#first + row));
    this.store.saveOutput(output, index, row.length);
  }

  /** Rows for a branch. The last one takes tokens that are fed after its end. */
  addBranch(promptId: number, branch: number, limit: number): RowRange {
    const begin = this.store.addBranch(promptId, branch, limit);
    return { begin, end: begin + limit };
  }
}

// Decode steps run the same operations again and again; only the contents of their tensors change.
// After some runs the operations are recorded, and then replayed. This saves making and checking
// them each time and, with several threads, most of the waiting between them. Devices that cannot
// record just run them.

/**
 * Number of runs before a step is recorded. For a generation that ends sooner the recording would
 * only be garbage to collect.
 */
export const RUNS_BEFORE_RECORDING = 8;

interface RecordedStep<Result> {
  key: readonly unknown[];
  /** Number of runs with this key. */
  runs: number;
  /** Null: this step cannot be recorded, or there was no memory for it. */
  recording: Recording | null | undefined;
  result: Result | undefined;
}

/** Recorded steps of different kinds, by number. */
export class RecordedSteps<Result> {
  /** In the order of their last use. */
  readonly #steps = new Map<number, RecordedStep<Result>>();

  /**
   * @param maxSteps number of steps that are kept, the most recent ones; hundreds of operations
   *   take some hundred kilobytes
   */
  constructor(private readonly device: Device, private readonly maxSteps: number) {}

  /**
   * Runs the operations of `work`, or replays their recording. `work` must depend on the parts of
   * the key (compared with `===`) and on nothing else, and must return the same result while they
   * are the same.
   */
  run(number: number, key: readonly unknown[], work: () => Result): Result {
    if (this.device.record === undefined) return work();
    const known = this.#steps.get(number);
    const isSame = known?.key.length === key.length &&
      key.every((part, i) => part === known.key[i]);
    if (!isSame) known?.recording?.free();
    const step = isSame ? known : { key, runs: 0, recording: undefined, result: undefined };
    this.#steps.delete(number);
    this.#steps.set(number, step);
    if (this.#steps.size > this.maxSteps) {
      const [oldest, dropped] = this.#steps.entries().next().value!;
      dropped.recording?.free();
      this.#steps.delete(oldest);
    }
    if (step.runs++ < RUNS_BEFORE_RECORDING) return work();
    if (step.recording !== null && !step.recording?.isValid) {
      step.recording = this.device.record(() => {
        step.result = work();
      });
    }
    if (step.recording === null) return work();
    step.recording.run();
    return step.result!;
  }

  /** Drops all recordings, because something outside the keys has changed. */
  forget(): void {
    for (const { recording } of this.#steps.values()) recording?.free();
    this.#steps.clear();
  }
}
