/**
 * One server of a run's rollouts: whether it answers, which adapters it holds, and requests to it.
 * `server_pool.ts` decides what it is asked, and what happens when it fails.
 */
import { RgxError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import { ServerAddress } from "../../core/remote/address.ts";
import { type HttpClient, IdleTimeout, networkReason, TimedOut } from "../../core/remote/http.ts";
import { BadReply, HttpError, isHopeless } from "../../core/remote/refusal.ts";
import { VERSION } from "../../core/version.ts";
import type { ComputeDtype } from "../../kernels/ops/common/compute_dtype.ts";
import type { Completion, GenerateRequest } from "../../models/generation/types.ts";
import type { ServedAdapter } from "./served_adapter.ts";
import { completionBody, readCompletions, type WireOptions } from "./wire.ts";

export interface ServerOptions {
  wire: WireOptions;
  vocabSize: number;
  /**
   * Name of the trainer's device and the type of its products. A server with the same two and the
   * same version of rgx computes the same bits.
   */
  device: string;
  computeDtype: ComputeDtype;
  /** Folder for adapters that a server reads from a path. */
  adapterFolder: string;
  /** Adapters that a server keeps: that of the present policy and those of older ones. */
  adaptersKept: number;
  client: HttpClient;
}

/** A server's answer must begin within this time where it has nothing to compute. */
const PROBE_MS = 10_000;
/**
 * While it computes, a server is asked every so often whether it is there. A machine under heavy
 * load takes a while to answer.
 */
const WATCH_MS = 10_000, WATCH_PROBE_MS = 30_000;

/** The server does not answer, or not with what it should: others may take its share. */
export class ServerDown extends Error {}

export class RolloutServer {
  readonly url: string;
  readonly #address: ServerAddress;
  down: string | null = null;
  /** Whether it is rgx of the same version on the same kind of device; null before it answered. */
  sameEngine: boolean | null = null;
  isRgx = false;
  /** How often it has come up: each time it may have other weights. */
  starts = 0;
  /** The starts after which its log-probabilities were compared with the trainer's. */
  readonly verified = new Set<number>();
  readonly #loaded = new Map<string, ServedAdapter>();
  #loading: Promise<void> = Promise.resolve();
  #control = new AbortController();
  running = 0;
  #watch: ReturnType<typeof setInterval> | undefined;

  /** @throws UsageError for an address that is none */
  constructor(address: string, keyName: string | null, private readonly options: ServerOptions) {
    this.#address = new ServerAddress(address, keyName ?? undefined);
    this.url = this.#address.url;
  }

  /** A server that comes up again has lost its adapters. @throws ServerDown; RgxError */
  async connect(): Promise<void> {
    await this.#probe();
    const { version, engine, device, compute_dtype = "float32" } = await this.#version();
    const { options } = this;
    this.isRgx = engine === "rgx";
    this.sameEngine = this.isRgx && version === VERSION && device === options.device &&
      compute_dtype === options.computeDtype;
    this.#loaded.clear();
    this.starts++;
    this.#control = new AbortController();
    this.down = null;
  }

  fail(reason: string): void {
    this.down = reason;
    this.#control.abort(new ServerDown(reason));
  }

  /**
   * Asks for the completions of one prompt.
   * @throws ServerDown when the server cannot answer now; HttpError 429 when it has too much to do;
   *   RgxError when it refuses the request
   */
  async complete(
    request: GenerateRequest,
    adapter: ServedAdapter,
    signal: AbortSignal,
  ): Promise<Completion[]> {
    const { wire, vocabSize } = this.options;
    this.#beginWatch();
    try {
      await this.#load(adapter);
      const body = completionBody(request, wire, adapter.name, this.isRgx);
      const either = AbortSignal.any([signal, this.#control.signal]);
      const json = await this.#send("/completions", body, Infinity, either);
      return readCompletions(json, request.n, vocabSize);
    } catch (error) {
      // A restarted server does not know the adapter any more, which several requests may notice.
      if (error instanceof HttpError && error.status === 404) {
        this.#loaded.delete(adapter.name);
        throw new ServerDown("it has lost the adapter: was it restarted?");
      }
      throw this.#explained(error);
    } finally {
      this.#endWatch();
    }
  }

  /** Removes the adapters of this run from the server, as far as that is possible. */
  async close(): Promise<void> {
    clearInterval(this.#watch);
    for (const adapter of this.#loaded.values()) await this.#unload(adapter);
    this.#control.abort();
  }

  #load(adapter: ServedAdapter): Promise<void> {
    // One after the other: several requests ask for the same adapter.
    const loading = this.#loading.then(() => this.#loadNow(adapter));
    this.#loading = loading.catch(() => {});
    return loading;
  }

  async #loadNow(adapter: ServedAdapter): Promise<void> {
    if (this.#loaded.has(adapter.name)) return;
    const content = this.isRgx
      ? { lora_files: adapter.base64() }
      : { lora_path: await adapter.folder(this.options.adapterFolder) };
    try {
      const body = { lora_name: adapter.name, ...content };
      await this.#send("/load_lora_adapter", body, Infinity, this.#control.signal);
    } catch (error) {
      const isRefused = error instanceof HttpError && error.status >= 400 && error.status < 500;
      if (!isRefused) throw this.#explained(error);
      if (!/already/.test(error.message)) {
        const said =
          `${this.url}: it does not take the adapter (${error.status}: ${error.message})`;
        throw new RgxError(said, {
          advice: "rgx serve --allow-adapter-upload, with --max-body-mb for a large one; of vLLM " +
            "--enable-lora and the variable VLLM_ALLOW_RUNTIME_LORA_UPDATING=True.",
        });
      }
    }
    this.#loaded.set(adapter.name, adapter);
    const old = [...this.#loaded.values()].sort((a, b) => a.step - b.step)
      .slice(0, -this.options.adaptersKept);
    for (const other of old) await this.#unload(other);
  }

  /** A failure changes no result: the server holds an adapter more. */
  async #unload(adapter: ServedAdapter): Promise<void> {
    this.#loaded.delete(adapter.name);
    const body = { lora_name: adapter.name };
    await this.#send("/unload_lora_adapter", body, PROBE_MS).catch(() => {});
  }

  /** @throws ServerDown when nobody answers, RgxError when the key is refused */
  async #probe(limit = PROBE_MS): Promise<void> {
    try {
      await this.#send("/models", null, limit);
    } catch (error) {
      throw this.#explained(error);
    }
  }

  async #version(): Promise<Record<string, unknown>> {
    try {
      const json = await this.#send("/../version", null, PROBE_MS);
      return isRecord(json) ? json : {};
    } catch (error) {
      if (error instanceof HttpError) return {}; // some servers have no such path
      throw this.#explained(error);
    }
  }

  #beginWatch(): void {
    if (this.running++ > 0) return;
    this.#watch = setInterval(() => {
      // The requests that run fail with it, and the pool marks the server as down.
      this.#probe(WATCH_PROBE_MS).catch((error) => this.#control.abort(error));
    }, WATCH_MS);
  }

  #endWatch(): void {
    if (--this.running === 0) clearInterval(this.#watch);
  }

  /** @param limit milliseconds @throws HttpError; BadReply; ServerDown; TypeError; DOMException */
  async #send(
    path: string,
    body: Record<string, unknown> | null,
    limit: number,
    signal: AbortSignal | null = null,
  ): Promise<unknown> {
    using timeout = new IdleTimeout(limit, signal);
    try {
      // vLLM answers with a sentence when an adapter is loaded.
      return await this.#address.ask(path, this.options.client, timeout, body);
    } catch (error) {
      throw error instanceof TimedOut ? new ServerDown("no answer in time") : error;
    }
  }

  /** An error as ServerDown where another attempt may help, as RgxError where it cannot. */
  #explained(error: unknown): unknown {
    if (error instanceof ServerDown || error instanceof RgxError) return error;
    if (error instanceof BadReply) return new RgxError(`${this.url}: ${error.message}`);
    if (error instanceof HttpError) {
      const message = this.#address.hide(error.message);
      if (error.status === 429 && !isHopeless(error)) return error;
      const key = error.status === 401 ? ` (${this.#address.keyHint})` : "";
      return error.status >= 500
        ? new ServerDown(`${error.status}: ${message}`)
        : new RgxError(`${this.url}: ${error.status}: ${message}${key}`);
    }
    if (this.down !== null) return new ServerDown(this.down);
    if (error instanceof TypeError) return new ServerDown(networkReason(error));
    return error;
  }
}
