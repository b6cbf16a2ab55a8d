/**
 * The routes of the server, and what every request goes through: the key, the limits, the form of
 * errors, the counters. The work is in the files that the routes call.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { type Context, Hono } from "hono";
import { callerMistake } from "../core/remote/callers.ts";
import { didYouMean } from "../core/suggest.ts";
import { VERSION } from "../core/version.ts";
import { answerAll, type Desk } from "./answer.ts";
import { ApiError, asApiError, badRequest, unavailable } from "./api_error.ts";
import { chatRequest } from "./chat.ts";
import { completionRequest } from "./completions.ts";
import { eventStream, type Send } from "./event_stream.ts";
import type { ServedRequest } from "./request.ts";
import { responseRequest } from "./responses.ts";
import { isRecord } from "../core/json_file.ts";
import { Fields } from "./fields.ts";
import type { ModelHost, ServedModel } from "./model_host.ts";
import { chatPrompt, type Limits, MAX_CHARACTERS_PER_TOKEN } from "./prompt_tokens.ts";
import { toolUse } from "./tools.ts";
import { tokenNames } from "./logprobs_json.ts";
import { messageOf } from "../core/errors.ts";
import { Buffer } from "node:buffer";
import { isAbsent } from "../core/paths.ts";
import { ADAPTER_CONFIG, ADAPTER_WEIGHTS } from "../models/network/adapters/peft_adapter.ts";

export interface AppOptions {
  /** The key that clients must send; null = none. */
  apiKey: string | null;
  /** The address that the server listens on. */
  hostname: string;
  /** Origin that browsers may call from; null = none. */
  cors: string | null;
  limits: Limits;
  body: BodyLimits;
  adapters: AdapterRules;
  /** Seconds after which a request is ended. */
  requestSeconds: number;
  /** Gets errors that are defects of the program. */
  onDefect: (error: unknown) => void;
  /** Gets what is done otherwise than asked, each text once. */
  onNote?: (text: string) => void;
}

/** Parts of paths that other servers have, and what to do without them. */
const ELSEWHERE = [
  [/\/embeddings|\/rerank|\/audio\/|\/images\/|\/moderations/, "this server only generates text"],
  [/\/fine_tuning\//, "rgx train trains models"],
] as const;

interface Call {
  context: Context;
  /** Aborted when the client leaves, at the time limit, and at the end of the server. */
  signal: AbortSignal;
  /** Ends the work of the call. */
  leave: () => void;
  /** The call goes on after its response is returned, until the result of this is called. */
  goesOn: () => () => void;
}

type Handler = (call: Call) => Response | Promise<Response>;

/** What checks the body of a request for text. */
type ReadRequest = (
  fields: Fields,
  model: ServedModel,
  limits: Limits,
  signal: AbortSignal,
) => ServedRequest | Promise<ServedRequest>;

const REQUESTS: Readonly<Record<string, ReadRequest>> = {
  "/v1/completions": completionRequest,
  "/v1/chat/completions": chatRequest,
  "/v1/responses": responseRequest,
};

export class App {
  readonly hono = new Hono();
  /** Set when no new requests are taken. */
  #isStopping = false;
  /** Ends each call that is under way. */
  readonly #calls = new Set<AbortController>();
  /** Methods of each path, for 405. */
  readonly #methods = new Map<string, string[]>();
  readonly #started = performance.now();
  readonly #notes = new Set<string>();

  constructor(private readonly desk: Desk, private readonly options: AppOptions) {
    this.#addRoutes();
    this.hono.notFound((context) =>
      this.#respond(context, "unknown", () => this.#nothingThere(context))
    );
  }

  stopTaking(): void {
    this.#isStopping = true;
  }

  endAll(): void {
    for (const call of this.#calls) call.abort(unavailable("the server is shutting down"));
  }

  get open(): number {
    return this.#calls.size;
  }

  #addRoutes(): void {
    const { desk: { host, metrics }, options: { limits, adapters } } = this;
    const json = (value: unknown) => Response.json(value);
    this.#route("GET", "/health", () => json({ status: "ok" }));
    // A trainer asks who samples for it: equal versions on equal devices compute equal bits.
    const { device } = this.desk.host.base.loaded.model;
    const { name, computeDtype: compute_dtype } = device;
    const about = { version: VERSION, engine: "rgx", device: name, compute_dtype };
    this.#route("GET", "/version", () => json(about));
    this.#route("GET", "/metrics", () =>
      new Response(metrics.text(this.#gauges()), {
        headers: { "content-type": "text/plain; version=0.0.4" },
      }));
    this.#route(
      "GET",
      "/v1/models",
      () => json({ object: "list", data: host.models.map((model) => this.#card(model)) }),
    );
    this.#route("GET", "/v1/models/:id{.+}", ({ context }) => {
      const name = context.req.param("id") ?? "";
      return json(this.#card(host.models.find(({ id }) => id === name) ?? host.find(name)));
    });
    this.#route("GET", "/tokenizer_info", () => json(tokenizerInfo(host.base)));
    const post = (
      path: string,
      work: (fields: Fields, call: Call) => Response | Promise<Response>,
    ) =>
      this.#route("POST", path, async (call) => {
        const { context, signal } = call;
        return await work(await readFields(context.req.raw, this.options.body, signal), call);
      });
    const modelOf = (fields: Fields) => host.find(fields.string("model"));
    post("/tokenize", (fields) => json(tokenize(fields, modelOf(fields), limits)));
    post("/detokenize", (fields) => json(detokenize(fields, modelOf(fields))));
    post(
      "/v1/load_lora_adapter",
      async (fields) => new Response(await loadAdapter(fields, host, adapters)),
    );
    post(
      "/v1/unload_lora_adapter",
      (fields) => new Response(unloadAdapter(fields, host, adapters)),
    );
    for (const [path, read] of Object.entries(REQUESTS)) {
      post(path, async (fields, call) => {
        const model = modelOf(fields), request = await read(fields, model, limits, call.signal);
        return await this.#answer(model, request, call);
      });
    }
  }

  async #answer(
    { id }: ServedModel,
    { task, stream, notes, whole, parts }: ServedRequest,
    { signal, leave, goesOn }: Call,
  ): Promise<Response> {
    const { desk, desk: { host }, options: { onNote, onDefect } } = this;
    for (const note of notes) {
      if (!this.#notes.has(note)) onNote?.(note);
      this.#notes.add(note);
    }
    if (!stream.isOn) {
      return await host.using(
        id,
        async (model) => Response.json(whole(model, await answerAll(desk, model, task, signal))),
      );
    }
    const produce = (send: Send) =>
      host.using(id, async (model) => {
        const listener = parts(model, send);
        listener.end(await answerAll(desk, model, task, signal, listener));
      });
    return await eventStream(produce, leave, (error) => asApiError(error, onDefect), goesOn());
  }

  #card({ id, root, parent, created }: ServedModel) {
    const { maxModelLength: max_model_len } = this.desk.host;
    return { id, object: "model", created, owned_by: "rgx", root, parent, max_model_len };
  }

  #gauges(): Parameters<Desk["metrics"]["text"]>[0] {
    const { host, queue } = this.desk;
    return {
      rgx_running_completions: ["Completions that are being generated.", queue.running],
      rgx_waiting_requests: ["Requests of which a part waits.", queue.waiting],
      rgx_open_requests: ["Requests under way.", this.#calls.size],
      rgx_adapters: ["Adapters that are loaded.", host.adapterCount],
      rgx_shared_prompt_tokens_total: [
        "Tokens of prompts that were in the cache already.",
        host.timing.sharedTokens,
      ],
      rgx_resident_bytes: ["Memory of the process.", Deno.memoryUsage().rss],
      rgx_up_seconds: ["Time since the start.", (performance.now() - this.#started) / 1000],
    };
  }

  #route(method: string, path: string, handler: Handler): void {
    this.#methods.set(path, [...this.#methods.get(path) ?? [], method]);
    const label = path.replace(/:(\w+)\{.+\}$/, "{$1}");
    this.hono.on(method, path, (context) => this.#respond(context, label, handler));
  }

  /** Does what every request goes through. @param route the path without values */
  async #respond(context: Context, route: string, handler: Handler): Promise<Response> {
    const { metrics } = this.desk, { requestSeconds, onDefect } = this.options;
    const begin = performance.now(), call = new AbortController(), { raw } = context.req;
    const timer = setTimeout(() => call.abort(tooSlow(requestSeconds)), requestSeconds * 1000);
    const leave = () => {
      if (call.signal.aborted) return;
      metrics.clientsGone++;
      call.abort(new ApiError(499, "invalid_request_error", "the client left"));
    };
    raw.signal.addEventListener("abort", leave, { once: true });
    const { signal } = call;
    this.#calls.add(call);
    const ended = (status: number) => {
      clearTimeout(timer);
      raw.signal.removeEventListener("abort", leave);
      this.#calls.delete(call);
      metrics.ended(route, status, (performance.now() - begin) / 1000);
    };
    let goesOn = false, response: Response;
    const given: Call = {
      context,
      signal,
      leave,
      goesOn: () => {
        goesOn = true;
        return () => ended(200);
      },
    };
    try {
      this.#admit(context, route);
      response = await handler(given);
    } catch (thrown) {
      goesOn = false;
      const error = asApiError(thrown, onDefect), { status, details: { headers = {} } } = error;
      response = Response.json(error.body, { status, headers });
    }
    this.#addHeaders(response.headers, context);
    if (!goesOn) ended(response.status);
    return response;
  }

  #addHeaders(headers: Headers, { req }: Context): void {
    const { cors } = this.options;
    headers.set("x-request-id", requestId(req.header("x-request-id")));
    if (cors === null) return;
    headers.set("access-control-allow-origin", cors);
    headers.set("access-control-expose-headers", "x-request-id, retry-after");
    headers.set("vary", "origin");
  }

  /** @throws ApiError for a foreign page, a wrong key, or while the server ends */
  #admit({ req }: Context, route: string): void {
    const { apiKey, cors } = this.options;
    const mistake = callerMistake(req.raw.headers, this.options);
    if (mistake !== null) throw new ApiError(403, "permission_error", mistake);
    if (req.method === "OPTIONS" && cors !== null) return;
    if (route !== "/health" && apiKey !== null) {
      const [, sent] = /^Bearer\s+(.*)$/i.exec(req.header("authorization") ?? "") ?? [];
      if (!isSame(sent ?? "", apiKey)) {
        throw new ApiError(401, "authentication_error", "a wrong key, or none", {
          code: "invalid_api_key",
          headers: { "www-authenticate": "Bearer" },
        });
      }
    }
    if (this.#isStopping) throw unavailable("the server is shutting down");
  }

  #nothingThere({ req }: Context): Response {
    const { cors } = this.options;
    if (req.method === "OPTIONS" && cors !== null) {
      return new Response(null, {
        status: 204,
        headers: {
          "access-control-allow-methods": "GET, POST",
          // Clients of OpenAI send headers of their own (x-stainless-…).
          "access-control-allow-headers": req.header("access-control-request-headers") ??
            "authorization, content-type",
          "access-control-max-age": "600",
        },
      });
    }
    const methods = this.#methods.get(req.path) ?? [];
    if (methods.length > 0) {
      throw new ApiError(405, "invalid_request_error", `${req.path} takes ${methods.join(", ")}`, {
        headers: { allow: methods.join(", ") },
      });
    }
    const known = [...this.#methods.keys()].filter((path) => !path.includes(":"));
    const [, instead] = ELSEWHERE.find(([path]) => path.test(req.path)) ?? [];
    const advice = instead === undefined ? didYouMean(req.path, known) : `: ${instead}`;
    throw new ApiError(404, "not_found_error", `there is nothing at ${req.path}${advice}`);
  }
}

/** Compares without telling by its time how much was right. */
function isSame(sent: string, key: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(sent), digest(key));
}

/** The client's own id if it can stand in a header and a log, or a new one. */
function requestId(given: string | undefined): string {
  return given !== undefined && /^[\w.-]{1,128}$/.test(given) ? given : crypto.randomUUID();
}

function tooSlow(seconds: number): ApiError {
  return new ApiError(408, "server_error", `the request took longer than ${seconds} s`, {
    headers: { "x-should-retry": "false" },
  });
}

/* /tokenize, /detokenize and /tokenizer_info, as vLLM has them. */

/** All requests wait while a text is split, about a second for so many characters. */
const MAX_CHARACTERS = 2 ** 20;

function tokenize(fields: Fields, { loaded }: ServedModel, limits: Limits) {
  const { tokenizer } = loaded, prompt = fields.string("prompt");
  const addSpecialTokens = fields.boolean("add_special_tokens", true);
  const tokens = prompt === undefined
    ? chatPrompt(fields, tokenizer, limits, toolUse(fields, tokenizer)).ids
    : tokenizer.encode(checkLength(prompt, limits), { addSpecialTokens });
  return {
    tokens,
    count: tokens.length,
    max_model_len: limits.maxModelLength,
    ...(fields.boolean("return_token_strs", false)
      ? { token_strs: tokens.map(tokenNames(tokenizer, false)) }
      : {}),
  };
}

/**
 * A text may have many more tokens than the context: evaluations score long ones in windows.
 * @throws ApiError for one that would take too long
 */
function checkLength(text: string, { maxModelLength }: Limits): string {
  const most = Math.max(MAX_CHARACTERS, maxModelLength * MAX_CHARACTERS_PER_TOKEN);
  if (text.length <= most) return text;
  const message = `the prompt has ${text.length} characters, at most ${most} are split at once`;
  throw badRequest(message, "prompt");
}

function detokenize(fields: Fields, { loaded: { tokenizer, model } }: ServedModel) {
  if (!fields.has("tokens")) throw fields.wrong("tokens", "a list of token ids");
  const tokens = fields.ids("tokens", model.vocabSize);
  return { prompt: tokenizer.decode(tokens, { skipSpecialTokens: false }) };
}

/** Names of tokens that a tokenizer may have. */
const TOKENS = ["bos_token", "eos_token", "pad_token", "unk_token"];

/** What tokenizer_config.json says; tokens as texts, null where there is none. */
function tokenizerInfo({ loaded: { tokenizer, eosIds } }: ServedModel) {
  const files = tokenizer.files();
  const config: unknown = JSON.parse(files.get("tokenizer_config.json") ?? "{}");
  const values = isRecord(config) ? config : {};
  const special = Object.fromEntries(TOKENS.map((name) => [name, textOf(values[name])]));
  const [eos] = eosIds;
  return {
    tokenizer_class: values["tokenizer_class"] ?? null,
    chat_template: files.get("chat_template.jinja") ?? values["chat_template"] ?? null,
    add_bos_token: values["add_bos_token"] ?? null,
    add_eos_token: values["add_eos_token"] ?? null,
    ...special,
    eos_token: special["eos_token"] ??
      (eos === undefined ? null : tokenizer.decode([eos], { skipSpecialTokens: false })),
  };
}

/** A token is a text, or an object with its text. */
function textOf(token: unknown): string | null {
  const text = isRecord(token) ? token["content"] : token;
  return typeof text === "string" ? text : null;
}

/* Reads the body of a request within limits of size and time, and its JSON. */

interface BodyLimits {
  maxBytes: number;
  /** Seconds in which the whole body must have come. */
  seconds: number;
}

/** The fields of a JSON body. @throws ApiError 400, 408 or 413 */
async function readFields(
  request: Request,
  { maxBytes, seconds }: BodyLimits,
  signal: AbortSignal,
): Promise<Fields> {
  const stated = Number(request.headers.get("content-length") ?? 0);
  if (stated > maxBytes) throw tooLarge(maxBytes);
  const packing = request.headers.get("content-encoding") ?? "identity";
  if (packing !== "identity") {
    throw badRequest(`the body is packed (content-encoding: ${packing}): send it as it is`);
  }
  const slow = new AbortController();
  const timer = setTimeout(() =>
    slow.abort(
      new ApiError(408, "invalid_request_error", `the body did not come within ${seconds} s`, {
        headers: { connection: "close" },
      }),
    ), seconds * 1000);
  try {
    const bytes = await readBytes(request, maxBytes, AbortSignal.any([signal, slow.signal]));
    return Fields.of(parse(bytes));
  } finally {
    clearTimeout(timer);
  }
}

async function readBytes(
  request: Request,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  let size = 0;
  const limited = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, control) {
      size += piece.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      control.enqueue(piece);
    },
  });
  try {
    return await new Response(request.body.pipeThrough(limited, { signal })).bytes();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApiError) throw error;
    throw badRequest(`the body was cut off: ${messageOf(error)}`);
  }
}

function parse(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw badRequest("the body is not UTF-8");
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badRequest(`the body is not JSON: ${messageOf(error)}`);
  }
}

function tooLarge(maxBytes: number): ApiError {
  const message = `the body is larger than ${maxBytes} bytes`;
  return new ApiError(413, "invalid_request_error", message, { headers: { connection: "close" } });
}

// POST /v1/load_lora_adapter and /v1/unload_lora_adapter, as vLLM has them.

interface AdapterRules {
  /** Folders below which adapters may be loaded; none = loading from paths is off. */
  folders: readonly string[];
  /** Whether the files of an adapter may come in the request. */
  uploads: boolean;
  /** Maximum number of adapters at the same time. */
  max: number;
}

const MAX_NAME = 256;
const FILES = [ADAPTER_CONFIG, ADAPTER_WEIGHTS] as const;

/**
 * Loads an adapter from a path, or from files in the request. `load_inplace` replaces one of the
 * same name.
 * @throws ApiError
 */
async function loadAdapter(
  fields: Fields,
  host: ModelHost,
  rules: AdapterRules,
): Promise<string> {
  checkOn(rules);
  const name = nameOf(fields), replaces = fields.boolean("load_inplace", false);
  if (host.has(name) && (!replaces || host.isBase(name))) {
    throw badRequest(
      `there is a model named ${JSON.stringify(name)} already` +
        (host.isBase(name) ? "" : "; load_inplace: true replaces it"),
      "lora_name",
    );
  }
  if (!host.has(name) && host.adapterCount >= rules.max) {
    throw badRequest(`${rules.max} adapters are loaded, which is the limit; unload one first`);
  }
  const path = fields.string("lora_path"), files = fields.object("lora_files");
  if ((path === undefined) === (files === undefined)) {
    throw badRequest("give lora_path, or lora_files", "lora_path");
  }
  if (path !== undefined) await host.load(name, await allowedPath(path, rules.folders), replaces);
  else await loadFiles(files!, host, name, replaces, rules);
  return `Success: LoRA adapter '${name}' added successfully.`;
}

function unloadAdapter(fields: Fields, host: ModelHost, rules: AdapterRules): string {
  checkOn(rules);
  const name = nameOf(fields);
  if (host.isBase(name)) throw badRequest("the base model cannot be unloaded", "lora_name");
  host.unload(name);
  return `Success: LoRA adapter '${name}' removed successfully.`;
}

function checkOn({ folders, uploads }: AdapterRules): void {
  if (folders.length > 0 || uploads) return;
  throw new ApiError(
    404,
    "not_found_error",
    "adapters cannot be changed: start the server with --allow-adapter-loading FOLDER",
  );
}

function nameOf(fields: Fields): string {
  const name = fields.string("lora_name");
  if (name === undefined || name === "" || name.length > MAX_NAME) {
    throw fields.wrong("lora_name", `a name of 1 to ${MAX_NAME} characters`);
  }
  return name;
}

/** The real path of an adapter. @throws ApiError unless it is below one of the folders */
async function allowedPath(path: string, folders: readonly string[]): Promise<string> {
  const refused = badRequest(
    "lora_path: no adapter there, or not below a folder of --allow-adapter-loading",
    "lora_path",
  );
  let real: string;
  try {
    real = await Deno.realPath(path);
  } catch (error) {
    if (isAbsent(error) || error instanceof TypeError) throw refused;
    throw error;
  }
  for (const folder of folders) {
    if (real.startsWith(`${(await Deno.realPath(folder)).replace(/\/$/, "")}/`)) return real;
  }
  throw refused;
}

/** Loads an adapter whose two files are in the request, in base64. */
async function loadFiles(
  files: Fields,
  host: ModelHost,
  name: string,
  replaces: boolean,
  { uploads }: AdapterRules,
): Promise<void> {
  if (!uploads) {
    throw badRequest("lora_files: start the server with --allow-adapter-upload", "lora_files");
  }
  const folder = await Deno.makeTempDir({ prefix: "rgx-adapter-" });
  try {
    for (const file of FILES) {
      const text = files.string(file), bytes = text === undefined ? null : fromBase64(text);
      if (bytes === null) throw files.wrong(file, "the file in base64");
      await Deno.writeFile(`${folder}/${file}`, bytes);
    }
    await host.load(name, folder, replaces);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The bytes; null when the text is not base64. */
function fromBase64(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64").replace(/=+$/, "") === text.replace(/=+$/, "") ? bytes : null;
}
