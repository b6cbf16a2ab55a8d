/**
 * The KV cache: buffers for the keys and values of each layer. A prefill writes those of the
 * prompts, and every decode step reads them for all branches of a prompt. A decode step also writes
 * one row per branch to the branches' buffers.
 */
import { packedLength } from "../../../kernels/ops/matmul/spec.ts";
import type { Tensor } from "../../../kernels/tensor.ts";
import type { Network, TrunkOptions } from "../../network/forward_pass.ts";
import type { Workspace } from "../../network/workspace.ts";
import type { PrefillBatch, PrefillPrompt } from "./prefill_batch.ts";

/** Keys and values of one layer, [rows, kvHeads·headDim] each. */
export interface LayerCache {
  k: Tensor;
  v: Tensor;
}

/** Buffers of a cache with `rows` rows, one pair for each layer. */
function layerCaches(
  { config, weights }: Network,
  workspace: Workspace,
  name: string,
  rows: number,
): LayerCache[] {
  const n = rows * config.numKvHeads * config.headDim;
  return weights.layers.map((_, layer) => ({
    k: workspace.get(`cache.${name}.${layer}.k`, n),
    v: workspace.get(`cache.${name}.${layer}.v`, n),
  }));
}

export class KvCache {
  readonly prompts: readonly LayerCache[];
  readonly branches: readonly LayerCache[];
  /** The prompts' keys once more in packed form (kernels/ops/matmul/spec.ts), by layer; or null. */
  readonly packedKeys: readonly Tensor[] | null;

  /**
   * @param rows number of rows for all prompts, and for all branches
   * @param packsKeys whether decode steps read packed keys
   */
  constructor(
    private readonly network: Network,
    private readonly workspace: Workspace,
    rows: { prompts: number; branches: number },
    packsKeys: boolean,
  ) {
    // A generation with fewer prompts and more branches, or the other way round, is within its
    // limit only if the larger buffers of the one before do not stay beside its own.
    const grows = (["prefix", "branches"] as const).some((name) => {
      const count = name === "prefix" ? rows.prompts : rows.branches;
      return !workspace.has(`cache.${name}.0.k`, count * this.#width);
    });
    if (grows) workspace.drop("cache.");
    this.prompts = layerCaches(network, workspace, "prefix", rows.prompts);
    this.packedKeys = packsKeys
      ? network.weights.layers.map((_, layer) =>
        workspace.get(`cache.prefix.${layer}.packed`, packedLength(rows.prompts, this.#width))
      )
      : null;
    this.branches = layerCaches(network, workspace, "branches", rows.branches);
  }

  /** Elements of a row. */
  get #width(): number {
    const { numKvHeads, headDim } = this.network.config;
    return numKvHeads * headDim;
  }

  /** The cache rows of prompts that follow one another without gaps, by layer. */
  views(prompts: readonly PrefillPrompt[]): (layer: number) => LayerCache {
    const { begin } = prompts[0]!.cached, { end } = prompts.at(-1)!.cached, width = this.#width;
    const view = (cache: Tensor) => cache.view(begin * width, (end - begin) * width);
    return (layer) => ({ k: view(this.prompts[layer]!.k), v: view(this.prompts[layer]!.v) });
  }

  /**
   * For a batch of groups: writes the rows of a shared prefix to the cache rows of every
   * prompt that has it.
   */
  storeGroups(
    rowOfToken: Uint32Array,
    cached: (layer: number) => LayerCache,
  ): NonNullable<TrunkOptions["store"]> {
    const { network: { device }, workspace } = this;
    const index = workspace.upload("prefix.row", rowOfToken);
    const shape = { index, rows: rowOfToken.length, d: this.#width };
    let layer = 0;
    return (k, v) => {
      const cache = cached(layer++);
      device.run("gather_rows", { table: k, out: cache.k, ...shape });
      device.run("gather_rows", { table: v, out: cache.v, ...shape });
      return { k, v };
    };
  }

  /**
   * For a batch of prefill_batch.ts: writes the computed rows to the cache, and then copies the
   * rows of shared prefixes to the prompts that share them.
   */
  storeBatch(
    { rows, cacheRow, keys: keyRanges, copies: { from, to } }: PrefillBatch,
    prompts: readonly PrefillPrompt[],
  ): NonNullable<TrunkOptions["store"]> {
    const { network: { device }, workspace } = this, d = this.#width, copied = to.length;
    const computed = workspace.upload("prefix.row", cacheRow);
    const source = workspace.upload("prefix.copy.0", from);
    const target = workspace.upload("prefix.copy.1", to);
    const copies = workspace.get("prefix.copies", copied * d);
    const keys = workspace.upload("prefix.keys", keyRanges);
    const put = (src: Tensor, table: Tensor) => {
      device.run("scatter_rows", { src, index: computed, table, rows, d });
      if (copied === 0) return table;
      device.run("gather_rows", { table, index: source, out: copies, rows: copied, d });
      device.run("scatter_rows", { src: copies, index: target, table, rows: copied, d });
      return table;
    };
    const begin = prompts[0]!.cached.begin, n = prompts.at(-1)!.cached.end - begin;
    const pack = (table: Tensor, packed: Tensor) =>
      device.run("pack_weight", {
        weight: table.view(begin * d, n * d),
        n,
        k: d,
        out: packed.view(begin * d, packedLength(n, d)),
      });
    let layer = 0;
    return (k, v) => {
      const cache = this.prompts[layer]!, packed = this.packedKeys?.[layer];
      layer++;
      const stored = { k: put(k, cache.k), v: put(v, cache.v), keys };
      if (packed !== undefined) pack(cache.k, packed);
      return stored;
    };
  }
}
