/**
 * The model of a server with its adapters, and the one generation that serves all requests. An
 * adapter that is unloaded stays in memory until the last request that began with it has ended.
 */
import { basename } from "node:path";
import { UsageError } from "../core/errors.ts";
import { largestThat } from "../models/generation/memory/largest_that.ts";
import { memoryRoom } from "../core/machine/memory.ts";
import type { Device } from "../kernels/device.ts";
import { promptAlignment } from "../models/generation/cache/cached_prompt.ts";
import type { Generation } from "../models/generation/generation.ts";
import {
  countGeneration,
  type GenerationSizes,
} from "../models/generation/memory/counted_generation.ts";
import type {
  Completion,
  GenerateRequest,
  GenerationTiming,
  JoinedModel,
} from "../models/generation/types.ts";
import { vocabularyOf } from "../models/grammar/vocabulary.ts";
import { logprobs, type SequenceLogprobs } from "../models/inspect/logprobs.ts";
import { type LoadedModel, loadModel, type LoadOptions } from "../models/load_model.ts";
import type { KvCacheDtype } from "../models/network/types.ts";
import { modelNotFound, now } from "./api_error.ts";

/** A model that requests can name: the base, or an adapter on it. */
export interface ServedModel {
  id: string;
  /** Where it was read from. */
  root: string;
  /** The id of the base; null = it is the base. */
  parent: string | null;
  /** Unix time in seconds at which it was loaded. */
  created: number;
  loaded: LoadedModel;
}

interface Adapter extends ServedModel {
  joined: JoinedModel;
  users: number;
  /** Whether it leaves with its last request. */
  isUnloaded: boolean;
}

export interface HostOptions extends Pick<LoadOptions, "weights" | "activations" | "onLoad"> {
  /** Names of the base, the first of which it is listed by; default: the model's path as given. */
  servedNames?: readonly string[];
  /** Maximum number of tokens of a prompt and its completion; default: the model's positions. */
  maxModelLength?: number;
  /** A length that the model does not have becomes that of the model, instead of an error. */
  clipsLength?: boolean;
  /** Type of keys and values; default: float32. */
  kvCacheDtype?: KvCacheDtype;
  /** Maximum number of completions that are decoded together. */
  maxSequences?: number;
  /** Leaves adapters beside float weights, in place of copies with them merged in. */
  separateAdapters?: boolean;
  /** Maximum bytes of the generation's buffers, KV cache included. */
  bytes?: number;
  /** Milliseconds of work after which bytes are taken and given; default 2. */
  turnMs?: number;
}

/** With more sequences each is slower, and on a CPU all together are hardly faster. */
const DEFAULT_SEQUENCES = 64;
/** Bytes of a generation on a CPU, at most and at least. */
const CPU_BYTES = 2 ** 31, MIN_BYTES = 2 ** 26;
/** What one WASM memory can address, less some room for passes. */
const WASM_BYTES = 3.5 * 2 ** 30;
/** While it computes, the server serves its connections this often, or after each token. */
const TURN_MS = 2;
/** Prompts that stay in the cache after their completions. */
const KEPT_PROMPTS = 512;
/** Maximum rows of the cache, as a multiple of what all sequences need at their full length. */
const MAX_CACHE = 2;

export class ModelHost {
  readonly #adapters = new Map<string, Adapter>();
  /** Unloaded, with requests under way. */
  readonly #leaving = new Set<Adapter>();
  /** Adapters that are being read, by name. */
  readonly #loading = new Set<string>();
  readonly #generation: Generation;

  private constructor(
    readonly base: ServedModel,
    /** Names that the base answers to as long as no adapter has them. */
    private readonly aliases: Set<string>,
    readonly maxModelLength: number,
    room: GenerationSizes,
    private readonly options: HostOptions,
    private readonly turns: IoTurns,
  ) {
    const { loaded: { model, eosIds } } = base, { activations, turnMs = TURN_MS } = options;
    this.#generation = model.openGeneration(room, {
      maxNewTokens: room.maxNewTokens,
      temperature: 1,
      seed: 0,
      eosIds,
      ...(activations === undefined ? {} : { activations }),
    }, { turnMs, turn: () => turns.turn(), keptPrompts: KEPT_PROMPTS });
  }

  get slots(): number {
    return this.#generation.shape.slots;
  }

  get timing(): Readonly<GenerationTiming> {
    return this.#generation.timing;
  }

  /** Loads the model and plans its memory. @throws UsageError for a length that it does not have */
  static async open(path: string, device: Device, options: HostOptions = {}): Promise<ModelHost> {
    const loaded = await loadModel(path, device, options);
    try {
      const { maxPositions } = loaded.model.config, asked = options.maxModelLength ?? maxPositions;
      const length = options.clipsLength ? Math.min(asked, maxPositions) : asked;
      if (length > maxPositions) {
        throw new UsageError(
          `--max-model-len ${length}: the model has only ${maxPositions} positions`,
        );
      }
      // The first answer that is held to a form would keep the others waiting for this.
      vocabularyOf(loaded.tokenizer, loaded.model.vocabSize);
      const room = await planRoom(loaded, length, options), id = options.servedNames?.[0] ?? path;
      const base = { id, root: loaded.base, parent: null, created: now(), loaded };
      const aliases = new Set([path, basename(path)]), turns = await IoTurns.open();
      return new ModelHost(base, aliases, length, room, options, turns);
    } catch (error) {
      loaded.model.dispose();
      throw error;
    }
  }

  /** The base, under each of its served names, and all adapters. */
  get models(): ServedModel[] {
    const others = this.options.servedNames?.slice(1).map((id) => ({ ...this.base, id })) ?? [];
    return [this.base, ...others, ...this.#adapters.values()];
  }

  get adapterCount(): number {
    return this.#adapters.size;
  }

  /**
   * The base answers to its served names, and to its path and the folder's name as well, unless an
   * adapter has these.
   * @param name absent = the base
   * @throws ApiError when there is no such model
   */
  find(name: string | undefined): ServedModel {
    if (name === undefined || this.isBase(name)) return this.base;
    const adapter = this.#adapters.get(name);
    if (adapter !== undefined) return adapter;
    if (this.aliases.has(name)) return this.base;
    throw modelNotFound(name);
  }

  /** Whether it is a served name of the base, which no adapter can have. */
  isBase(name: string): boolean {
    return name === this.base.id || (this.options.servedNames?.includes(name) ?? false);
  }

  has(name: string): boolean {
    return this.isBase(name) || this.#adapters.has(name) || this.#loading.has(name);
  }

  /** Calls `work` with a model that stays in memory meanwhile. */
  async using<T>(name: string | undefined, work: (model: ServedModel) => Promise<T>): Promise<T> {
    const model = this.find(name), adapter = this.#adapterOf(model);
    if (adapter !== null) adapter.users++;
    try {
      return await work(model);
    } finally {
      if (adapter !== null && --adapter.users === 0 && adapter.isUnloaded) this.#drop(adapter);
    }
  }

  /** Generates with a model in use. The promise settles as Generation.add says. */
  generate(model: ServedModel, request: GenerateRequest): Promise<Completion[]> {
    const adapter = this.#adapterOf(model);
    return this.#generation.add(
      adapter === null ? request : { ...request, model: adapter.joined },
    );
  }

  /** Log-probabilities of the tokens of a text, as `rgx logprobs` computes them. */
  score(model: ServedModel, ids: readonly number[], top: number): Promise<SequenceLogprobs> {
    return this.#generation.pass(() => logprobs(model.loaded.model, ids, top));
  }

  /**
   * Loads an adapter under a new name. With `replace` it may be the name of another adapter, which
   * requests under way keep.
   * @throws as loadModel does
   */
  async load(name: string, path: string, replace = false): Promise<void> {
    if (this.has(name) && !(replace && this.#adapters.has(name))) {
      throw new UsageError(`there is a model named ${JSON.stringify(name)} already`);
    }
    const { base, options: { activations, separateAdapters: separate = false } } = this;
    const int8 = activations === undefined ? {} : { activations };
    this.#loading.add(name);
    try {
      const loaded = await loadModel(base.loaded.base, base.loaded.model.device, {
        adapter: path,
        sharing: base.loaded,
        ...int8,
      });
      let joined: JoinedModel;
      try {
        joined = loaded.model.joinGeneration(this.#generation, { ...int8, separate });
      } catch (error) {
        loaded.model.dispose();
        throw error;
      }
      if (this.#adapters.has(name)) this.unload(name);
      const about = { id: name, root: path, parent: base.id, created: now() };
      this.aliases.delete(name);
      this.#adapters.set(name, { ...about, loaded, joined, users: 0, isUnloaded: false });
    } finally {
      this.#loading.delete(name);
    }
  }

  /** @throws ApiError when there is no such adapter */
  unload(name: string): void {
    const adapter = this.#adapters.get(name);
    if (adapter === undefined) throw modelNotFound(name);
    this.#adapters.delete(name);
    adapter.isUnloaded = true;
    if (adapter.users === 0) this.#drop(adapter);
    else this.#leaving.add(adapter);
  }

  /** Frees everything. No request may be under way. */
  close(): void {
    for (const adapter of [...this.#adapters.values(), ...this.#leaving]) this.#drop(adapter);
    this.#adapters.clear();
    this.turns.close();
    this.base.loaded.model.dispose();
  }

  /** Waits until the generation does nothing. */
  idle(): Promise<void> {
    return this.#generation.idle();
  }

  #adapterOf(model: ServedModel): Adapter | null {
    return model === this.base ? null : model as Adapter;
  }

  #drop(adapter: Adapter): void {
    this.#leaving.delete(adapter);
    adapter.joined.leave();
    adapter.loaded.model.dispose();
  }
}

/**
 * The sizes of the generation. The KV cache has as many rows as the memory allows, half of them for
 * prompts. Each completion reserves a row for each token up to its limit.
 */
async function planRoom(
  { model }: LoadedModel,
  length: number,
  { kvCacheDtype, maxSequences = DEFAULT_SEQUENCES, bytes = defaultBytes(model) }: HostOptions,
): Promise<GenerationSizes> {
  const align = promptAlignment(model.config, kvCacheDtype);
  const longest = Math.ceil(length / align) * align;
  const onGpu = model.device.adapter !== undefined, { prefillRows } = model.generationLimits;
  const room = (branches: number, rows: number): GenerationSizes => ({
    promptRows: rows,
    passRows: Math.max(length, prefillRows),
    branches,
    maxNewTokens: length - 1,
    adjusted: true,
    kvCacheDtype,
    // Each sequence has a state at the end of its prompt, and leaves one there for its next turn.
    ...(onGpu
      ? {}
      : { branchRows: rows, promptStates: branches + Math.max(branches, rows / longest) }),
  });
  const left = async (branches: number, rows: number) =>
    bytes - (await countGeneration(model.sizes, room(branches, rows))).bytes;
  const most = Math.min(maxSequences, model.bestSlots);
  const branches = Math.max(1, await largestThat(most, (n) => left(n, longest)));
  // One sequence always runs. More rows than all sequences can use serve as a cache of prompts.
  const times = await largestThat(MAX_CACHE * branches, (n) => left(branches, n * longest));
  return room(branches, Math.max(1, times) * longest);
}

/** A CPU's memory holds the model, too: at most half of what is free, and what WASM can address. */
function defaultBytes({ device, generationLimit }: LoadedModel["model"]): number {
  if (device.adapter !== undefined) return generationLimit;
  const free = memoryRoom().bytes / 2, addressable = WASM_BYTES - device.allocatedBytes;
  return Math.max(MIN_BYTES, Math.min(CPU_BYTES, free, addressable));
}

// Turns of the event loop that look at the network. A computation that never lets Deno wait would
// hide it: while something is always ready to run, Deno asks the operating system for new bytes
// only at each 61st task, so new connections would wait for dozens of tokens, however short they
// are. A turn therefore sends a byte from this process to itself and waits until it has come. On an
// idle core that takes about 20 µs; a timer takes one or two milliseconds.

interface Loop {
  near: Deno.TcpConn;
  far: Deno.TcpConn;
}

export class IoTurns {
  readonly #byte = new Uint8Array(1);

  /** @param loop null: turns are timers */
  private constructor(private loop: Loop | null) {}

  /** Where no connection can be made, turns are timers: slower, and right. */
  static async open(): Promise<IoTurns> {
    try {
      return new IoTurns(await openLoop());
    } catch {
      return new IoTurns(null);
    }
  }

  /** Waits until all that has arrived before is on its way to those who wait for it. */
  turn(): Promise<void> {
    return this.loop === null ? aTimer() : this.#send(this.loop);
  }

  async #send({ near, far }: Loop): Promise<void> {
    try {
      const read = far.read(this.#byte);
      await near.write(this.#byte);
      if (await read === 1) return;
    } catch {
      // The connection has broken.
    }
    this.close();
    await aTimer();
  }

  close(): void {
    this.loop?.near.close();
    this.loop?.far.close();
    this.loop = null;
  }
}

function aTimer(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

async function openLoop(): Promise<Loop> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  try {
    const { hostname, port } = listener.addr;
    const near = await Deno.connect({ hostname, port });
    // Each turn is one byte, which must not wait for the next one.
    near.setNoDelay(true);
    for (;;) {
      const far = await listener.accept();
      if (far.remoteAddr.port === near.localAddr.port) return { near, far };
      far.close(); // Somebody else has connected to this port.
    }
  } finally {
    listener.close();
  }
}
