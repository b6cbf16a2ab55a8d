/**
 * Activations that sampling leaves for the training pass. Prefills and decode steps write the
 * results of a layer's products to rows of the store; the training pass of the same policy then
 * reads them in place of a forward pass (restored_pass.ts). What is cheap to compute again is not
 * kept: norms, rotated queries and keys, attention, and the low-rank inputs of adapters.
 */
import { RgxError } from "../../core/errors.ts";
import type { Device } from "../../kernels/device.ts";
import type { DecodeLayerArgs } from "../../kernels/ops/decode_layer/spec.ts";
import type { Tensor } from "../../kernels/tensor.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import { activationWidths, type LayerActivations, type LayerPart } from "./layer_buffers.ts";
import type { Residual } from "./decoder_layer.ts";

/** The results of a layer's products, and the residual stream before attention and MLP. */
const KEPT = {
  attention: [
    "h",
    "q",
    "k",
    "v",
    "attnGate",
    "convB",
    "convC",
    "convX",
    "deltaQkv",
    "deltaZ",
    "deltaB",
    "deltaA",
  ],
  mlp: ["mid", "gate", "up"],
} as const satisfies Record<LayerPart, readonly string[]>;

type KeptName = typeof KEPT[LayerPart][number];

type KeptTables = Pick<
  DecodeLayerArgs,
  "keptH" | "keptQ" | "keptK" | "keptV" | "keptMid" | "keptGate" | "keptUp"
>;

const NAMES: readonly KeptName[] = [...KEPT.attention, ...KEPT.mlp];

/** What a layer's first products write: heads before their norm, if they have one. */
function keptTensor(activations: LayerActivations, name: KeptName): Tensor | undefined {
  if (name === "q") return activations.rawQ ?? activations.q;
  if (name === "k") return activations.rawK ?? activations.k;
  if (name === "v") return activations.rawV ?? activations.v;
  return activations[name];
}

export class ActivationStore {
  #layers: readonly Partial<Record<KeptName, Tensor>>[] = [];
  /** The sum that leaves the last layer. */
  #output: Tensor | null = null; // [rows, d]
  #rows = 0;
  /** Store row of each token of a prompt, by the prompt's number. */
  readonly #prompts = new Map<number, Uint32Array>();
  readonly #branches = new Map<string, number>();
  #used = 0;

  readonly #widths: readonly ReturnType<typeof activationWidths>[];

  constructor(private readonly device: Device, private readonly config: ModelConfig) {
    const { numLayers } = config;
    this.#widths = Array.from({ length: numLayers }, (_, l) => {
      const widths = activationWidths(config, l);
      if (config.experts === undefined) return widths;
      // Gate and up of experts are not in the order of rows. They are computed again.
      const { gate: _1, up: _2, ...others } = widths;
      return others;
    });
  }

  /** Forgets all. @param rows of prompts, and of completions at most, until the next call */
  clear(rows: number): void {
    this.#prompts.clear();
    this.#branches.clear();
    this.#used = 0;
    if (rows <= this.#rows) return;
    this.dispose();
    this.#layers = this.#widths.map((widths, layer) =>
      Object.fromEntries(
        NAMES.filter((name) => widths[name] !== undefined).map((name) => [
          name,
          this.device.create("float", rows * widths[name]!, `kept.${layer}.${name}`),
        ]),
      )
    );
    this.#output = this.device.create("float", rows * this.config.hiddenSize, "kept.output");
    this.#rows = rows;
  }

  reserve(count: number): number {
    const first = this.#used;
    this.#used += count;
    if (this.#used > this.#rows) {
      throw new RgxError(
        `generate: ${this.#used} rows of activations, planned were ${this.#rows}; ` +
          "this is a bug in rgx",
      );
    }
    return first;
  }

  /** @param rows store row of each of its tokens */
  addPrompt(promptId: number, rows: Uint32Array): void {
    this.#prompts.set(promptId, rows);
  }

  /** Takes `count` rows for a branch and returns the first. */
  addBranch(promptId: number, branch: number, count: number): number {
    const first = this.reserve(count);
    this.#branches.set(`${promptId}/${branch}`, first);
    return first;
  }

  /** Store rows of a prompt's tokens, or of the first `count` tokens of a branch of it. */
  rowsOf(promptId: number, branch: number | null = null, count = 0): Uint32Array {
    if (branch === null) return this.#prompts.get(promptId) ?? missing(promptId);
    const first = this.#branches.get(`${promptId}/${branch}`) ?? missing(promptId);
    return Uint32Array.from({ length: count }, (_, i) => first + i);
  }

  /** What is called after each part of a layer, to store a pass. @param index store rows [rows] */
  saver(index: Tensor, rows: number): (part: LayerPart, activations: LayerActivations) => void {
    let layer = 0;
    return (part, activations) => {
      for (const name of KEPT[part]) {
        const src = keptTensor(activations, name), table = this.#layers[layer]![name];
        if (src === undefined || table === undefined) continue;
        this.device.run("scatter_rows", {
          src,
          index,
          table,
          rows,
          d: this.#widths[layer]![name]!,
        });
      }
      if (part === "mlp") layer++;
    };
  }

  /** Where a decoding layer in one operation stores its rows. */
  tablesOf(layer: number): KeptTables {
    const { h, q, k, v, mid, gate, up } = this.#layers[layer]!;
    return {
      keptH: h!,
      keptQ: q!,
      keptK: k!,
      keptV: v!,
      keptMid: mid!,
      keptGate: gate!,
      keptUp: up!,
    };
  }

  saveOutput(src: Tensor, index: Tensor, rows: number): void {
    const d = this.config.hiddenSize;
    this.device.run("scatter_rows", { src, index, table: this.#output!, rows, d });
  }

  load(
    layer: number,
    activations: LayerActivations,
    index: Tensor, // u32 [rows]
    rows: number,
  ): void {
    for (const name of NAMES) {
      const out = keptTensor(activations, name), table = this.#layers[layer]![name];
      if (out === undefined || table === undefined) continue;
      const d = this.#widths[layer]![name]!;
      this.device.run("gather_rows", { table, index, out, rows, d });
    }
  }

  loadOutput(out: Tensor, index: Tensor, rows: number): Residual {
    const d = this.config.hiddenSize;
    this.device.run("gather_rows", { table: this.#output!, index, out, rows, d });
    return { x: out, add: null };
  }

  dispose(): void {
    for (const layer of this.#layers) {
      for (const tensor of Object.values(layer)) this.device.free(tensor);
    }
    if (this.#output !== null) this.device.free(this.#output);
    this.#layers = [];
    this.#output = null;
    this.#rows = 0;
  }
}

function missing(promptId: number): never {
  throw new RgxError(
    `forward: prompt ${promptId} or one of its completions has no activations from sampling; ` +
      "this is a bug in rgx",
  );
}
