/**
 * The KV cache: buffers for the keys and values of each layer. A prefill writes those of the
 * prompts, and every decode step reads them for all branches of a prompt. A decode step also writes
 * one row per branch to the branches' buffers. A layer with a convolution has one table instead:
 * the gated inputs of the prompts, and for each branch those of the last positions, in turn. A
 * layer with a delta rule has states: at the end of each prompt, and of each branch. Each comes
 * with the inputs of its convolution at the last positions, in turn.
 *
 * Keys and values may be bfloat16. All that attends reads them rounded, a prompt its own as well,
 * so nothing depends on which of them were in the cache already.
 */
import { UsageError } from "../../../core/errors.ts";
import { packedLength } from "../../../kernels/ops/matmul/spec.ts";
import { NO_STATE, stateSize } from "../../../kernels/ops/delta_rule/spec.ts";
import { NO_ROW } from "../../../kernels/ops/short_conv/spec.ts";
import type { Tensor } from "../../../kernels/tensor.ts";
import { convWidth } from "../../architectures/mod.ts";
import { kvSource, layerSizes } from "../../architectures/model_config.ts";
import type { PromptStates } from "../../network/delta_layer.ts";
import type { TrunkOptions } from "../../network/forward_pass.ts";
import type { Network } from "../../network/weights/model_weights.ts";
import type { Workspace } from "../../network/workspace.ts";
import type { PrefillBatch, PrefillPrompt } from "./prefill_batch.ts";

/** Keys and values of one layer, [rows, kvHeads·headDim] each; halves: two in a word. */
export interface LayerCache {
  k: Tensor;
  v: Tensor;
}

/**
 * Buffers of a cache with `rows` rows, one pair for each layer; layers that share keys have the
 * same pair. Those of layers with a convolution are not there and must not be read.
 */
function layerCaches(
  { config, weights }: Network,
  workspace: Workspace,
  name: string,
  rows: number,
  halves: boolean,
): LayerCache[] {
  return weights.layers.map(({ conv }, layer) => {
    if (conv !== null) return ABSENT;
    const source = kvSource(config, layer), n = rows * layerSizes(config, source).kv;
    const get = (part: "k" | "v") => {
      const buffer = bufferOf(name, source, part, halves);
      return halves ? workspace.get(buffer, n / 2, "u32") : workspace.get(buffer, n);
    };
    return { k: get("k"), v: get("v") };
  });
}

function bufferOf(name: string, layer: number, part: "k" | "v", halves: boolean): string {
  return `cache.${name}.${layer}.${part}${halves ? ".bf16" : ""}`;
}

const ABSENT = {} as LayerCache;

/** Where a layer's results are in the cache. */
type CacheViews = Partial<LayerCache & { convBx: Tensor }>;

type CacheStores = Required<Pick<TrunkOptions, "store" | "storeConvolved">>;

/** Rows of the cache that hold the positions before each computed row; NO_ROW = none. */
function rowsBefore(cacheRow: Uint32Array, positions: Uint32Array, taps: number): Uint32Array {
  const before = new Uint32Array(cacheRow.length * (taps - 1)).fill(NO_ROW);
  cacheRow.forEach((cached, row) => {
    for (let t = 1; t < taps && t <= positions[row]!; t++) {
      before[row * (taps - 1) + t - 1] = cached - t;
    }
  });
  return before;
}

/** The states of a layer's delta rule: those of prompts, then those of slots. */
interface DeltaCache {
  state: Tensor; // [prompts + slots, stateSize]
  inputs: Tensor; // [(prompts + slots)·(taps − 1), convWidth]
}

export class KvCache {
  readonly prompts: readonly LayerCache[];
  readonly branches: readonly LayerCache[];
  /** The prompts' keys once more in packed form (kernels/ops/matmul/spec.ts), by layer; or null. */
  readonly packedKeys: readonly Tensor[] | null;
  /** Tables of convolutions [prompt rows + slots·(taps − 1), d], by layer; null = attention. */
  readonly convolved: readonly (Tensor | null)[];
  /** By layer; null = no delta rule. */
  readonly states: readonly (DeltaCache | null)[];
  /** Whether keys and values are bfloat16. */
  readonly halves: boolean;

  /**
   * @param rows number of rows for all prompts, and for all branches
   * @param packsKeys whether decode steps read packed keys
   * @throws UsageError for halves on a card
   */
  constructor(
    private readonly network: Network,
    private readonly workspace: Workspace,
    rows: { prompts: number; branches: number; slots: number; promptStates: number },
    { packsKeys, halves }: { packsKeys: boolean; halves: boolean },
  ) {
    if (halves && network.device.adapter !== undefined) {
      throw new UsageError("kv_cache_dtype bfloat16: on a card keys and values are float32", {
        advice: "Leave it out, or compute on the CPU (device wasm).",
      });
    }
    this.halves = halves;
    const { config, weights: { layers } } = network, { hiddenSize, convTaps = 1 } = config;
    const first = layers.findIndex(({ conv }) => conv === null);
    // A generation with fewer prompts and more branches, or the other way round, is within its
    // limit only if the larger buffers of the one before do not stay beside its own.
    const grows = (["prefix", "branches"] as const).some((name) => {
      const count = name === "prefix" ? rows.prompts : rows.branches;
      const length = count * this.#width(Math.max(0, first)) / (halves ? 2 : 1);
      return first >= 0 && !workspace.has(bufferOf(name, first, "k", halves), length);
    });
    if (grows) workspace.drop("cache.");
    this.prompts = layerCaches(network, workspace, "prefix", rows.prompts, halves);
    this.packedKeys = packsKeys
      ? network.weights.layers.map((_, layer) =>
        workspace.get(
          `cache.prefix.${layer}.packed`,
          packedLength(rows.prompts, this.#width(layer)),
        )
      )
      : null;
    this.branches = layerCaches(network, workspace, "branches", rows.branches, halves);
    const length = (rows.prompts + rows.slots * (convTaps - 1)) * hiddenSize;
    this.convolved = layers.map(({ conv, delta }, layer) =>
      conv === null || delta !== null ? null : workspace.get(`cache.${layer}.conv`, length)
    );
    const count = rows.promptStates + rows.slots, width = count * convWidth(config);
    this.states = layers.map(({ delta }, layer) =>
      delta === null ? null : {
        state: workspace.get(`cache.${layer}.state`, count * stateSize(config.delta!)),
        inputs: workspace.get(`cache.${layer}.inputs`, width * (convTaps - 1)),
      }
    );
  }

  /** Copies rows of d elements of a table to rows of another or the same one. */
  #copier(name: string, { from, to }: { from: ArrayLike<number>; to: ArrayLike<number> }) {
    const { network: { device }, workspace } = this, rows = to.length;
    const index = workspace.upload(`${name}.from`, Uint32Array.from(from));
    const target = workspace.upload(`${name}.to`, Uint32Array.from(to));
    return (src: Tensor, table: Tensor, d: number): void => {
      if (rows === 0) return;
      const { dtype } = table, out = workspace.get(`prefix.copied.${dtype}`, rows * d, dtype);
      device.run("gather_rows", { table: src, index, out, rows, d });
      device.run("scatter_rows", { src: out, index: target, table, rows, d });
    };
  }

  #width(layer: number): number {
    return layerSizes(this.network.config, layer).kv;
  }

  /** The cache rows of prompts that follow one another without gaps, by layer. */
  #views(prompts: readonly PrefillPrompt[]): (layer: number) => CacheViews {
    const { begin } = prompts[0]!.cached, { end } = prompts.at(-1)!.cached;
    const view = (cache: Tensor, width: number) => cache.view(begin * width, (end - begin) * width);
    return (layer) => {
      const table = this.convolved[layer]!;
      if (this.states[layer] !== null) return {};
      if (table !== null) return { convBx: view(table, this.network.config.hiddenSize) };
      if (this.halves) return {};
      const { k, v } = this.prompts[layer]!, width = this.#width(layer);
      return { k: view(k, width), v: view(v, width) };
    };
  }

  /**
   * Where the states of prompts go that are computed one after the other. A prompt that goes on
   * with an earlier one begins with its state, and with its last inputs of the convolution, which
   * stand behind the rows of the batch.
   */
  promptStates(prompts: readonly PrefillPrompt[]): PromptStates {
    const { workspace, network: { device, config } } = this, d = convWidth(config);
    const rows = prompts.reduce((sum, { ids, shared }) => sum + ids.length - shared, 0);
    const earlier = (config.convTaps ?? 1) - 1,
      stored = (state: number, position: number) => state * earlier + position % earlier;
    const from: number[] = [], to: number[] = [], begun: number[] = [], behind: number[] = [];
    const before = new Map<number, number>();
    let begin = 0;
    for (const { ids: { length }, state = 0, shared, source } of prompts) {
      // The row of a position, that of an earlier one behind the others.
      const rowOf = new Map<number, number>();
      for (let p = Math.max(0, shared - earlier); p < shared; p++) {
        const row = rows + begun.length;
        rowOf.set(p, row);
        before.set(row, rowOf.get(p - 1) ?? NO_ROW);
        behind.push(row);
        begun.push(stored(source?.state ?? 0, p));
      }
      if (shared > 0) before.set(begin, rowOf.get(shared - 1) ?? NO_ROW);
      for (let p = Math.max(0, length - earlier); p < length; p++) {
        from.push(p < shared ? rowOf.get(p)! : begin + p - shared);
        to.push(stored(state, p));
      }
      begin += length - shared;
    }
    const copyLast = this.#copier("prefix.inputs.last", { from, to });
    const copyFirst = this.#copier("prefix.inputs.first", { from: begun, to: behind });
    return {
      from: Uint32Array.from(prompts, ({ source }) => source?.state ?? NO_STATE),
      to: Uint32Array.from(prompts, ({ state = 0 }) => state),
      before,
      tableOf: (layer) => this.states[layer]!.state,
      inputsOf: (layer, x) => {
        const { inputs } = this.states[layer]!;
        let table = x;
        if (begun.length > 0) {
          table = workspace.get("prefix.inputs", (rows + begun.length) * d);
          device.run("copy", { src: x, out: table, n: rows * d });
          copyFirst(inputs, table, d);
        }
        copyLast(table, inputs, d);
        return table;
      },
    };
  }

  /**
   * Copies the state `from` of a branch to `to`, in all layers with a delta rule, with the inputs
   * of the convolution at the last positions. Those of its prompt are beside the prompt's state.
   * @param rows positions of the prompt, and of the branch
   */
  copyState(
    { from, to, prompt }: { from: number; to: number; prompt: number },
    rows: { prompt: number; branch: number },
  ): void {
    const { config } = this.network, end = rows.prompt + rows.branch;
    const earlier = (config.convTaps ?? 1) - 1;
    const places = Array.from({ length: Math.min(earlier, end) }, (_, i) => end - 1 - i);
    const copyInputs = this.#copier("state.inputs", {
      from: places.map((at) => (at < rows.prompt ? prompt : from) * earlier + at % earlier),
      to: places.map((at) => to * earlier + at % earlier),
    });
    const copyState = this.#copier("state.copy", { from: [from], to: [to] });
    for (const states of this.states) {
      if (states === null) continue;
      copyState(states.state, states.state, stateSize(config.delta!));
      copyInputs(states.inputs, states.inputs, convWidth(config));
    }
  }

  /**
   * For prompts whose rows of the cache follow one another without gaps.
   * @param rowOfToken row of the batch for each token; null = all rows in order
   */
  storeOrder(
    prompts: readonly PrefillPrompt[],
    rowOfToken: Uint32Array | null,
  ): Partial<Pick<TrunkOptions, "cached"> & CacheStores> {
    const cached = this.#views(prompts);
    if (rowOfToken !== null) return this.#storeGroups(rowOfToken, cached);
    return { cached, ...(this.halves ? this.#storeRounded(prompts) : {}) };
  }

  /**
   * For a batch of groups: writes the rows of a shared prefix to the cache rows of every
   * prompt that has it.
   */
  #storeGroups(
    rowOfToken: Uint32Array,
    cached: (layer: number) => CacheViews,
  ): CacheStores {
    const { network: { device, config }, workspace } = this;
    const index = workspace.upload("prefix.row", rowOfToken), rows = rowOfToken.length;
    const put = (table: Tensor, out: Tensor, d: number) =>
      device.run("gather_rows", { table, out, index, rows, d });
    return {
      store: (layer, k, v) => {
        const cache = cached(layer), width = this.#width(layer);
        put(k, cache.k!, width);
        put(v, cache.v!, width);
        return { k, v };
      },
      storeConvolved: (layer, bx, before) => {
        put(bx, cached(layer).convBx!, config.hiddenSize);
        return { table: bx, before };
      },
    };
  }

  /**
   * Halves of layer caches as floats again.
   * @param begin first row
   */
  #widen(table: Tensor, out: Tensor, begin: number, rows: number, width: number): Tensor {
    const n = rows * width, weight = table.view(begin * width / 2, n / 2);
    this.network.device.run("widen_bf16", { weight, out, n });
    return out;
  }

  /** For prompts that are computed in order and share nothing: their rows become rounded ones. */
  #storeRounded(prompts: readonly PrefillPrompt[]): Pick<CacheStores, "store"> {
    const { device } = this.network, { begin } = prompts[0]!.cached;
    const rows = prompts.at(-1)!.cached.end - begin;
    const index = this.workspace.upload(
      "prefix.row",
      Uint32Array.from({ length: rows }, (_, row) => begin + row),
    );
    return {
      store: (layer, k, v) => {
        const cache = this.prompts[layer]!, d = this.#width(layer);
        const round = (src: Tensor, table: Tensor) => {
          device.run("scatter_rows", { src, index, table, rows, d, bf16: true });
          return this.#widen(table, src, begin, rows, d);
        };
        return { k: round(k, cache.k), v: round(v, cache.v) };
      },
    };
  }

  /**
   * For a batch of prefill_batch.ts: writes the computed rows to the cache, and then copies the
   * rows of shared prefixes to the prompts that share them.
   */
  storeBatch(
    { rows, cacheRow, positions, keys: keyRanges, answers, copies }: PrefillBatch,
    prompts: readonly PrefillPrompt[],
  ): CacheStores {
    const { network: { device, config }, workspace, halves } = this;
    const begin = prompts[0]!.cached.begin, n = prompts.at(-1)!.cached.end - begin;
    const computed = workspace.upload("prefix.row", cacheRow);
    const first = halves ? begin : 0;
    const keys = workspace.upload("prefix.keys", keyRanges.map((row) => row - first));
    const copyAnswers = this.#copier("prefix.answers", answers);
    const copyPrompts = this.#copier("prefix.copies", copies);
    const put = (src: Tensor, table: Tensor, d: number, branches?: Tensor) => {
      const bf16 = halves && branches !== undefined, stored = bf16 ? d / 2 : d;
      device.run("scatter_rows", { src, index: computed, table, rows, d, bf16 });
      if (branches !== undefined) copyAnswers(branches, table, stored);
      copyPrompts(table, table, stored);
      return table;
    };
    const read = (name: string, table: Tensor, d: number) =>
      halves ? this.#widen(table, workspace.get(`prefix.${name}`, n * d), begin, n, d) : table;
    const pack = (table: Tensor, packed: Tensor, width: number) =>
      device.run("pack_weight", {
        weight: table.view(begin * width, n * width),
        n,
        k: width,
        out: packed.view(begin * width, packedLength(n, width)),
      });
    const { convTaps, delta } = config;
    const before = convTaps === undefined || delta !== undefined
      ? null
      : workspace.upload("prefix.before", rowsBefore(cacheRow, positions, convTaps));
    return {
      store: (layer, k, v) => {
        const cache = this.prompts[layer]!, packed = this.packedKeys?.[layer];
        const d = this.#width(layer), branches = this.branches[layer]!;
        const stored = {
          k: read("k", put(k, cache.k, d, branches.k), d),
          v: read("v", put(v, cache.v, d, branches.v), d),
          keys,
        };
        if (packed !== undefined) pack(cache.k, packed, d);
        return stored;
      },
      storeConvolved: (layer, bx) => ({
        table: put(bx, this.convolved[layer]!, config.hiddenSize),
        before: before!,
      }),
    };
  }
}
