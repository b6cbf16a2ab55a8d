/**
 * A causal language model: a decoder of the Llama family or GPT-2 (architectures/) with an explicit
 * forward and backward over packed groups, trained fully or through LoRA adapters, and with
 * generation. Several models can share one base, each with its own adapter. This file is the
 * model's interface; the passes are in network/forward_pass.ts, network/decoder_layer.ts and
 * network/lm_head.ts.
 */
import { RgxError, UsageError } from "../core/errors.ts";
import type { Device } from "../kernels/device.ts";
import type { CountingDevice } from "../kernels/devices/counting/device.ts";
import { packWeights } from "./generation/packed_weights.ts";
import { bestSlots } from "./generation/row_threads.ts";
import { adapterDropout } from "./network/dropout.ts";
import {
  defaultLimits,
  generate,
  generateDialogues,
  type GeneratorLimits,
  joinGeneration,
  type JoinOptions,
  openGeneration,
} from "./generation/generate.ts";
import type { Generation } from "./generation/generation.ts";
import { checkModelConfig, type ModelConfig } from "./architectures/model_config.ts";
import { largest, type LogitSummary, logSumExp, type TopToken } from "./logits.ts";
import { divergence, type DivergenceOptions } from "./network/divergence.ts";
import { finalRows, headLogits, HeadPass, LOGIT_ROWS } from "./network/lm_head.ts";
import { ActivationStore } from "./network/activation_store.ts";
import { type PassOptions, trunkRestored } from "./network/restored_pass.ts";
import { balanceOf } from "./network/experts.ts";
import { backwardScratch } from "./network/layer_buffers.ts";
import { ownRowsOf } from "./network/per_layer.ts";
import { trunkBackward, trunkForward, type TrunkPass } from "./network/forward_pass.ts";
import {
  adapterSpecs,
  arrangeWeights,
  baseSpecs,
  initializeAdapter,
  maxLayerRank,
  type Network,
} from "./network/weights/model_weights.ts";
import {
  checkWeights,
  type LoadListener,
  loadWeights,
  tableRows,
  weightFile,
} from "./network/weights/load_weights.ts";
import type { LoraOptions } from "./network/adapters/lora.ts";
import { updateAdapter } from "./network/dora.ts";
import { mergeAdapters } from "./network/merged_copies.ts";
import {
  DEFAULT_GENERATION_BYTES,
  type GenerationSizes,
  packedBytes,
  rehearseGeneration,
} from "./generation/memory/counted_generation.ts";
import { planStorage, type StorageOptions } from "./network/weights/weight_storage.ts";
import { type CopyOptions, copyValues, exactHalves } from "./network/weights/frozen_copy.ts";
import { emptyParameters } from "./network/counted_network.ts";
import { ModelBase } from "./network/weights/model_base.ts";
import { deviceSizes, type ModelSizes, modelSizes } from "./network/weights/model_sizes.ts";
import { type PackedBatch, packGroups } from "./network/packing.ts";
import { Parameters } from "./network/weights/parameters.ts";
import type {
  Ask,
  Completion,
  DialogueRoom,
  GenerateOptions,
  GenerateRequest,
  JoinedModel,
} from "./generation/types.ts";
import type {
  ForwardOptions,
  ForwardResult,
  Group,
  Parameter,
  TrainableArena,
} from "./network/types.ts";
import { ALL_FLOAT } from "./formats/stored_weight.ts";
import type { WeightSource } from "./formats/weight_reader.ts";
import { Workspace } from "./network/workspace.ts";

/** A forward pass whose head can be asked. */
interface Pending {
  packed: PackedBatch;
  network: Network;
  /** Null when the batch had nothing to predict. */
  passes: { trunk: TrunkPass; head: HeadPass } | null;
  /** Derivatives by the probabilities of experts. */
  balance?: Float64Array;
}

/** A decoder on a device: passes, generation, training, adapters. `loadModel` makes one. */
export class CausalLM {
  readonly #base: ModelBase;
  /** Parameters of the base and, on top of them, of the adapter. */
  readonly #parameters: Parameters;
  readonly #network: Network;
  /** The network without the adapter: with the base's weights in place of its full copies. */
  readonly #plain: Network;
  /**
   * The sizes that decide how much memory the model needs.
   * @internal
   */
  readonly sizes: ModelSizes;
  /** Bytes that generation may take besides copies of weights (generation_limit.ts). */
  generationLimit: number = DEFAULT_GENERATION_BYTES;
  readonly #training: Workspace;
  #pending: Pending | null = null;
  /** The last pass without gradient. */
  #asked: Pending | null = null;

  private constructor(
    base: ModelBase,
    /** @internal */
    readonly options: CausalLMOptions,
    parameters: Parameters,
    sizes: ModelSizes,
  ) {
    const { device, config, rope } = base;
    base.retain();
    this.#base = base;
    this.#parameters = parameters;
    this.sizes = sizes;
    this.#network = {
      device,
      config,
      weights: arrangeWeights(parameters, config, sizes),
      rope,
      maxRank: maxLayerRank(sizes.lora),
      tokenRows: base.tokenRows,
    };
    const weights = arrangeWeights(parameters, config, { lora: [], saved: [] });
    this.#plain = { ...this.#network, weights, maxRank: 0 };
    this.#training = new Workspace(device, "training");
  }

  /** Builds a model; adapters begin by a seed. @throws UsageError, RgxError for wrong weights */
  static async create(
    device: Device,
    config: ModelConfig,
    weights: WeightSource,
    options: CausalLMOptions,
  ): Promise<CausalLM> {
    checkModelConfig(config, "model");
    const { lora, trainable } = options;
    if (trainable === "lora" && lora === undefined) {
      throw new UsageError("training adapters needs LoRA options", {
        advice: "give `lora`, or train fully",
      });
    }
    if (trainable === "full" && lora !== undefined) {
      throw new UsageError("full fine-tuning and LoRA exclude each other", {
        advice: "remove the lora section to train all weights",
      });
    }
    checkWeights(config, weights);
    const typeOf = (name: string) => weightFile(weights)?.typeOf(name) ?? null;
    const storage = planStorage(config, trainable, options.weights ?? {}, typeOf);
    const onDevice = deviceSizes(device, device.computeDtype);
    const sizes = modelSizes(config, { ...options, storage }, onDevice);
    const parameters = new Parameters(device, baseSpecs(config, trainable === "full", storage));
    try {
      await loadWeights(parameters, config, weights, options.onLoad);
      const rows = await tableRows(parameters, config, weights);
      const base = new ModelBase(device, config, parameters, null, rows);
      return await CausalLM.#on(base, options, sizes);
    } catch (error) {
      parameters.dispose();
      throw error;
    }
  }

  /**
   * A model without values, which counts what its passes and generations would allocate.
   * @internal
   */
  static empty(device: CountingDevice, sizes: ModelSizes): CausalLM {
    const { config, trainable, recompute } = sizes, { base, all } = emptyParameters(device, sizes);
    const options = { trainable, recompute };
    return new CausalLM(new ModelBase(device, config, base), options, all, sizes);
  }

  static async #on(
    base: ModelBase,
    options: CausalLMOptions,
    sizes: ModelSizes,
  ): Promise<CausalLM> {
    const { device, config } = base, trained = options.trainable === "lora";
    const specs = adapterSpecs(config, sizes, trained);
    const parameters = new Parameters(device, specs, base.parameters);
    try {
      await initializeAdapter(parameters, config, sizes, options.lora ?? {});
      return new CausalLM(base, options, parameters, sizes);
    } catch (error) {
      parameters.dispose();
      throw error;
    }
  }

  /**
   * Makes another model for inference with the same base weights and another adapter (null = none).
   * All models of a base share the buffers of their passes, so one call must end before the next
   * one begins. They can be disposed in any order; the last one frees the base.
   * @throws UsageError for options that are not supported, or when the base's weights are trained
   * @internal
   */
  async withAdapter(lora: LoraOptions | null): Promise<CausalLM> {
    if (this.options.trainable === "full") {
      throw new UsageError("an adapter cannot be put on a model whose weights are trained", {
        advice: "load the base once more",
      });
    }
    const options = { trainable: "none", ...(lora === null ? {} : { lora }) } as const;
    const { storage } = this.sizes;
    const sizes = modelSizes(this.config, { ...options, storage }, this.sizes);
    return await CausalLM.#on(this.#base, options, sizes);
  }

  /**
   * A frozen model with the present values of what is trained, for passes without gradient. It
   * shares everything else with this one, which must not run at the same time.
   * @internal
   */
  async frozenCopy({ storage, writable = false, empty = false }: CopyOptions): Promise<CausalLM> {
    const { device, config } = this, { trainable: what } = this.options;
    const frozen = { ...this.options, trainable: "none", recompute: false } as const;
    const types = what === "full" && empty
      ? storage
      : what === "full" && !writable
      ? await exactHalves(device, this.trainable, storage)
      : what === "full"
      ? ALL_FLOAT
      : this.sizes.storage;
    const sizes = { ...this.sizes, trainable: "none", storage: types, recompute: false } as const;
    const copied = what === "full"
      ? baseSpecs(config, false, types, true)
      : adapterSpecs(config, sizes, false);
    const specs = copied.map((spec) => ({ ...spec, writable }));
    const own = new Parameters(device, specs, what === "full" ? null : this.#base.parameters);
    const base = what === "full" ? new ModelBase(device, config, own, this.#base) : this.#base;
    // The parameters of a full copy are its base; it has none on top.
    const parameters = what === "full" ? new Parameters(device, [], own) : own;
    const copy = new CausalLM(base, frozen, parameters, sizes);
    try {
      // What is computed of the base is not in any file, so an empty copy has it, too.
      const isTrained = new Set(this.trainable.map(({ name }) => name));
      for (const { name } of specs) {
        if (empty && isTrained.has(name)) continue;
        await copyValues(device, this.#parameters.get(name), own.get(name));
      }
    } catch (error) {
      copy.dispose();
      throw error;
    }
    return copy;
  }

  /** Where it computes. */
  get device(): Device {
    return this.#base.device;
  }

  /** Its sizes. */
  get config(): ModelConfig {
    return this.#base.config;
  }

  /** Number of tokens. */
  get vocabSize(): number {
    return this.config.vocabSize;
  }

  /** All tensors, frozen and trainable, sorted by name. */
  get parameters(): readonly Parameter[] {
    return this.#parameters.all;
  }

  /** The trainable tensors, sorted by name: the adapter's, or all of them in full fine-tuning. */
  get trainable(): readonly Parameter[] {
    return this.#parameters.trainable;
  }

  /**
   * Empty when nothing is trainable.
   * @internal
   */
  get trainableArenas(): readonly TrainableArena[] {
    return this.#parameters.arenas;
  }

  /** A parameter's values, from element `from` on, or all. @throws RgxError for an unknown name */
  readParameter(name: string, from?: number, count?: number): Promise<Float32Array> {
    return this.#parameters.read(name, from, count);
  }

  /** Replaces a parameter's values. @throws RgxError for an unknown name or a wrong size */
  writeParameter(name: string, data: Float32Array | Float64Array): void {
    this.#parameters.write(name, data);
    this.#base.copies.claim({});
  }

  /** @internal */
  async forward(groups: readonly Group[], options: PassOptions): Promise<ForwardResult> {
    const { temperature, train, kept } = options, adapter = options.adapter ?? true;
    // The weights change after such a pass, so a generation makes its copies again.
    if (train) this.#base.copies.claim({});
    this.#checkPass(options);
    const packed = packGroups(groups, this.config, options.alternatives);
    if (train) this.#pending = null;
    if (packed.pairs === 0) {
      if (train) this.#pending = { packed, network: this.#network, passes: null };
      const empty = () => this.device.float === "f64" ? new Float64Array() : new Float32Array();
      return { logp: empty(), entropy: empty() };
    }
    const ownRows = await ownRowsOf(this.#network, () => packed.tokens);
    const workspace = train ? this.#training : this.#base.inference;
    const keep = !train ? "none" : this.options.recompute ? "inputs" : "all";
    if (adapter) updateAdapter(this.#network, workspace);
    const { dropout: key } = options, shape = this.sizes.dropout;
    const dropout = adapter && shape !== null && key !== undefined
      ? adapterDropout(workspace, shape, groups, packed.rows, key)
      : null;
    const network = adapter && dropout === null
      ? mergeAdapters(this.#network, this.#base.copies, this.sizes, packed.rows)
      : this.#coreFor(adapter);
    const { balance: coefficient = 0 } = this.config.experts ?? {},
      balances = train && coefficient > 0;
    // A balance needs the routers of all layers before the backward of any.
    const trunk = kept === undefined || balances
      ? trunkForward(network, workspace, packed, { keep, dropout, ownRows })
      : trunkRestored(network, workspace, packed, { store: kept, groups, keep, ownRows });
    const head = new HeadPass(network, workspace, trunk, temperature, train);
    const pass = { packed, network, passes: { trunk, head } };
    if (train) this.#pending = pass;
    else this.#asked = pass;
    const result = await head.read(packed);
    if (!balances) return result;
    const { count, chosen } = this.config.experts!;
    const logits = trunk.layers.map(({ routing }) =>
      this.device.read(routing!.logits, 0, packed.rows * count)
    );
    const { loss, slopes } = balanceOf(
      await Promise.all(logits) as (Float32Array | Float64Array)[],
      count,
      chosen,
    );
    this.#pending = { ...pass, balance: slopes.map((x) => coefficient * x) };
    return { ...result, balance: coefficient * loss };
  }

  /** @throws RgxError for a pass without a temperature, or one that would train nothing */
  #checkPass({ temperature, train, adapter = true, dropout }: ForwardOptions): void {
    if (!(temperature > 0 && Number.isFinite(temperature))) {
      throw new RgxError(`forward: temperature is ${temperature}, expected a positive number`);
    }
    if (!train) return;
    if (this.#parameters.arenas.length === 0) {
      throw new RgxError("forward: nothing of this model is trainable", {
        advice: 'create the model with trainable "lora" or "full"',
      });
    }
    if (!adapter && this.options.trainable === "lora") {
      throw new RgxError("forward: training with the adapter switched off would train nothing");
    }
    if (this.sizes.dropout !== null && dropout === undefined) {
      const advice = "give `dropout`, and a `promptId` with every group";
      throw new RgxError(
        "forward: training an adapter with lora_dropout needs the key of its masks",
        { advice },
      );
    }
  }

  /**
   * Adds Σ weights·divergence, of each token's distribution from the teacher's, to what the next
   * `backward` takes the gradient of. Both have just done a forward pass over the same branches:
   * the teacher without gradient, then this one with it.
   * @returns the divergences, unweighted [tokens]
   * @internal
   */
  async addDivergence(
    teacher: CausalLM,
    { beta, temperature, weights }: DivergenceOptions,
  ): Promise<Float64Array> {
    const own = this.#pending, theirs = teacher.#asked;
    const values = new Float64Array(weights.length);
    if (own === null || own.passes === null || theirs === null) return values;
    const { packed } = own, { headRows, pairStart, pairOutput } = packed;
    if (theirs.packed.headRows !== headRows || teacher.vocabSize !== this.vocabSize) {
      throw new RgxError("addDivergence: the teacher's pass has other tokens");
    }
    const vocab = this.vocabSize, slope = new Float64Array(vocab);
    for (let begin = 0; begin < headRows; begin += LOGIT_ROWS) {
      const count = Math.min(LOGIT_ROWS, headRows - begin);
      const ours = await own.passes.head.logits(begin, count);
      const wanted = await theirs.passes!.head.logits(begin, count);
      const slopes = new Float64Array(count * vocab);
      for (let i = 0; i < count; i++) {
        const at = [i * vocab, (i + 1) * vocab] as const;
        const row = ours.subarray(...at), target = wanted.subarray(...at);
        const value = divergence(row, target, { beta, temperature }, slope);
        // All first tokens of a prompt's branches have the same row.
        let weight = 0;
        for (let pair = pairStart[begin + i]!; pair < pairStart[begin + i + 1]!; pair++) {
          values[pairOutput[pair]!] = value;
          weight += weights[pairOutput[pair]!]!;
        }
        for (let v = 0; v < vocab; v++) slopes[at[0] + v] = weight * slope[v]!;
      }
      own.passes.head.addByLogits(begin, count, headRows, slopes, ours);
    }
    return values;
  }

  /**
   * The likeliest tokens in the place of each branch token of the last pass without gradient, in
   * descending order. [tokens][count]
   * @internal
   */
  topTokens(count: number, temperature: number): Promise<TopToken[][]> {
    return this.#ofLogits((row) => {
      const norm = logSumExp(row, temperature);
      return largest(row, count).map((id) => ({ id, logprob: row[id]! / temperature - norm }));
    });
  }

  /**
   * Of the logits in the same places.
   * @internal
   */
  logitSummaries(): Promise<LogitSummary[]> {
    return this.#ofLogits((row) => {
      let sum = 0;
      for (const value of row) sum += value;
      return { mean: sum / row.length, top: largest(row, 1)[0]! };
    });
  }

  /** What a function makes of the logits in the place of each token of the last pass. */
  async #ofLogits<T>(make: (row: Float32Array | Float64Array) => T): Promise<T[]> {
    const asked = this.#asked;
    if (asked === null || asked.passes === null) return [];
    const { headRows, pairStart, pairOutput, pairs } = asked.packed, vocab = this.vocabSize;
    const places = Array.from<T>({ length: pairs });
    for (let begin = 0; begin < headRows; begin += LOGIT_ROWS) {
      const rows = Math.min(LOGIT_ROWS, headRows - begin);
      const logits = await asked.passes.head.logits(begin, rows);
      for (let i = 0; i < rows; i++) {
        const made = make(logits.subarray(i * vocab, (i + 1) * vocab));
        for (let pair = pairStart[begin + i]!; pair < pairStart[begin + i + 1]!; pair++) {
          places[pairOutput[pair]!] = made;
        }
      }
    }
    return places;
  }

  #coreFor(adapter: boolean): Network {
    return adapter ? this.#network : this.#plain;
  }

  /**
   * Adds the gradient of Σ dlogp·logp + Σ dentropy·entropy to the `grad` of every trainable
   * parameter, and `share` times that of the loss that balances experts, where the model has one.
   * It belongs to the last `forward` with `train: true` and uses up its activations.
   */
  backward(dlogp: Float64Array, dentropy?: Float64Array, share = 1): void {
    if (this.#pending === null) {
      throw new RgxError("backward: there is no forward with train: true to go back through");
    }
    const { packed, network, passes, balance } = this.#pending;
    for (const [name, given] of [["dlogp", dlogp], ["dentropy", dentropy]] as const) {
      if (given !== undefined && given.length !== packed.pairs) {
        throw new RgxError(
          `backward: ${name} has ${given.length} elements, the batch ${packed.pairs} branch tokens`,
        );
      }
    }
    this.#pending = null;
    if (passes === null) return;
    const scratch = backwardScratch(network, this.#training, packed.rows);
    passes.head.backward(packed, scratch.dh, dlogp, dentropy);
    const slopes = balance === undefined ? null : this.#training.uploadFloats(
      "experts.balance",
      Float32Array.from(balance, (x) => share * x),
    );
    trunkBackward(network, this.#training, passes.trunk, scratch, slopes);
    this.device.submit();
  }

  /** Sets the gradients of all trainable parameters to 0. */
  zeroGrad(): void {
    this.#parameters.zeroGrad();
  }

  /** Samples completions of prompts; the result has those of each request, in order. */
  generate(
    requests: readonly GenerateRequest[],
    options: GenerateOptions,
    limits: Partial<GeneratorLimits> = {},
  ): Promise<Completion[][]> {
    const network = this.#coreFor(options.adapter ?? true);
    const all = { ...this.generationLimits, ...limits };
    return this.#base.inTurn(() =>
      generate(network, this.#base, this.sizes, requests, options, all)
    );
  }

  /**
   * Samples the answers of dialogues while `play` asks for them.
   * @internal
   */
  generateDialogues<T>(
    room: DialogueRoom,
    options: GenerateOptions,
    play: (ask: Ask) => Promise<T>,
    limits: Partial<GeneratorLimits> = {},
  ): Promise<T> {
    const network = this.#coreFor(options.adapter ?? true);
    const all = { ...this.generationLimits, ...limits };
    return this.#base.inTurn(() =>
      generateDialogues(network, this.#base, this.sizes, room, options, all, play)
    );
  }

  /** The limits of a generation that is opened without others. */
  get generationLimits(): GeneratorLimits {
    return defaultLimits(this.device, this.generationLimit);
  }

  /** The number of slots that decodes fastest; Infinity where more is always better. */
  get bestSlots(): number {
    return bestSlots(this.#network);
  }

  /**
   * Opens a generation that takes requests while it runs (generation/generate.ts).
   * @param room the maximum of what it holds at the same time
   * @internal
   */
  openGeneration(
    room: GenerationSizes,
    options: GenerateOptions,
    limits: Partial<GeneratorLimits> = {},
  ): Generation {
    const network = this.#coreFor(options.adapter ?? true);
    const all = { ...this.generationLimits, ...limits };
    return openGeneration(network, this.#base, this.sizes, room, options, all);
  }

  /**
   * Lets a generation of another model with the same base use this one, until it leaves.
   * @internal
   */
  joinGeneration(to: Generation, options: JoinOptions): JoinedModel {
    return joinGeneration(to, this.#network, this.sizes, options, this.generationLimits);
  }

  /**
   * Makes the buffers of a generation with these sizes, without requests.
   * @internal
   */
  async rehearseGeneration(sizes: GenerationSizes, keep?: ActivationStore): Promise<void> {
    const { inference, copies } = this.#base, { copyBytes } = this.generationLimits;
    const packs = packedBytes(this.sizes) <= copyBytes;
    const network = packs ? packWeights(this.#network, copies) : this.#network;
    await rehearseGeneration(network, inference, sizes, keep);
  }

  /**
   * A store for the activations of sampling, which the caller disposes.
   * @internal
   */
  activationStore(): ActivationStore {
    return new ActivationStore(this.device, this.config);
  }

  /** Frees the buffers of training passes; the next one allocates what it needs. */
  releasePasses(): void {
    this.#training.dispose();
  }

  /** Logits (temperature 1) of the token that follows `ids`: [vocabSize]. */
  async lastLogits(
    ids: readonly number[],
    options: { adapter?: boolean } = {},
  ): Promise<Float32Array | Float64Array> {
    let last: Float32Array | Float64Array = new Float32Array();
    const from = ids.length - 1;
    await this.positionLogits(ids, (_, logits) => last = logits, { ...options, from });
    return last.slice();
  }

  /**
   * Calls `visit` with the logits after each position of a sequence, in order, starting at `from`.
   * @internal
   */
  positionLogits(
    ids: readonly number[],
    visit: LogitsVisitor,
    { adapter = true, from = 0 }: { adapter?: boolean; from?: number } = {},
  ): Promise<void> {
    if (adapter) updateAdapter(this.#network, this.#base.inference);
    const network = this.#coreFor(adapter), { inference } = this.#base;
    return positionLogits(network, inference, ids, from, visit);
  }

  /** Frees its tensors. The device stays open. */
  dispose(): void {
    this.#pending = null;
    this.#training.dispose();
    this.#parameters.dispose();
    this.#base.release();
  }
}

// Logits of every position of one sequence, chunk by chunk. They serve to inspect a model
// (log-probabilities, most likely tokens); training never has them in memory.

/** Number of positions whose logits are in memory at the same time. */
const CHUNK = 64;

/** Gets logits [vocabSize] (temperature 1) after ids[0…position], valid during the call only. */
type LogitsVisitor = (position: number, logits: Float32Array | Float64Array) => void;

async function positionLogits(
  network: Network,
  workspace: Workspace,
  ids: readonly number[],
  from: number,
  visit: LogitsVisitor,
): Promise<void> {
  const { device, config } = network, vocab = config.vocabSize;
  // The last token of a branch has no row, so a token is added after `ids`.
  const group = { promptIds: ids.slice(0, 1), branches: [[...ids.slice(1), 0]] };
  const limits = { ...config, maxPositions: config.maxPositions + 1 };
  const packed = packGroups([group], limits);
  packed.lengths.fill(ids.length); // one text, in one pass
  const trunk = trunkForward(network, workspace, packed, {
    keep: "none",
    ownRows: await ownRowsOf(network, () => packed.tokens),
  });
  for (let begin = from; begin < ids.length; begin += CHUNK) {
    const count = Math.min(CHUNK, ids.length - begin);
    const rows = Uint32Array.from({ length: count }, (_, i) => begin + i);
    const index = workspace.upload("head.index", rows);
    const { normed } = finalRows(network, workspace, trunk, index, count);
    const out = workspace.get("logits", count * vocab);
    headLogits(network, workspace, { normed, out, rows: count, room: CHUNK });
    const logits = await device.read(out, 0, count * vocab) as Float32Array | Float64Array;
    for (let i = 0; i < count; i++) visit(begin + i, logits.subarray(i * vocab, (i + 1) * vocab));
  }
}

/** How a model is held, and what of it is trained. */
export interface CausalLMOptions {
  /** LoRA adapters. Required for `trainable: "lora"`, refused for "full", frozen for "none". */
  lora?: LoraOptions;
  trainable: "lora" | "full" | "none";
  /** Keep only the inputs of the layers for the backward and recompute the rest. Default false. */
  recompute?: boolean;
  /** How frozen weights are stored. Default: in the type of their file, or float without a file. */
  weights?: StorageOptions;
  /** Called while the base's weights are loaded. */
  onLoad?: LoadListener;
}
