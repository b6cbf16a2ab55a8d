/** For tests: a server with a tiny model in this process, and requests to it. */
import assert from "node:assert/strict";
import { withFolder } from "../core/testing.ts";
import { createWasmDevice } from "../kernels/devices/wasm/device.ts";
import type { ComputeDtype } from "../kernels/ops/common/compute_dtype.ts";
import { SIZES, writeAdapter, writeBase } from "../models/adapter_testing.ts";
import { type LoadedModel, loadModel } from "../models/load_model.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";
import { type HostOptions, ModelHost } from "./model_host.ts";
import { PLAIN_SAMPLING } from "./sampling_fields.ts";
import { type ServeOptions, startServer } from "./server.ts";

/** Renders `<role>content` for each message, and the beginning of the answer. */
const TEMPLATE =
  "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% if tag %}{{ tag }}{% endif %}" +
  "{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";

export const LIMITS: ServeOptions["limits"] = {
  maxN: 16,
  maxChoices: 64,
  maxLogprobs: 20,
  logprobsMode: "raw_logprobs",
  defaults: PLAIN_SAMPLING,
};

export interface TestServer {
  url: string;
  host: ModelHost;
  /** Folder with the model `base` and the adapters `one` and `three`. */
  folder: string;
  /** Sends a body as JSON, or as it is when it is a text. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  /** The same, and the answer's JSON. */
  ask(path: string, body: unknown): Promise<Reply>;
  /** Another copy of a model, to compare with. @param adapter its folder below `folder` */
  load(adapter?: string): Promise<LoadedModel>;
  defects: unknown[];
  stop(graceSeconds: number): Promise<void>;
}

/** A JSON answer, whose fields the tests know. */
// deno-lint-ignore no-explicit-any
export type Reply = any;

/** What is not usual about a server. */
interface Setup extends Partial<ServeOptions> {
  host?: HostOptions;
  computeDtype?: ComputeDtype;
  tokenizer?: Tokenizer;
  /** Names of the only folders from which adapters are loaded; then none can be sent. */
  adapterFolders?: readonly string[];
}

/** Runs a server named "base" while `test` runs. */
export function withServer(
  test: (server: TestServer) => Promise<void>,
  { host: hostOptions, computeDtype = "float32", tokenizer, adapterFolders, ...options }: Setup =
    {},
): Promise<void> {
  return withFolder(async (folder) => {
    const device = await createWasmDevice({ threads: 1 });
    device.computeDtype = computeDtype;
    const own = tokenizer !== undefined && { vocabSize: tokenizer.vocabSize, maxPositions: 4096 };
    const config = { ...SIZES, maxPositions: 256, ...own };
    await writeBase(config, folder, tokenizer);
    if (!own) await Deno.writeTextFile(`${folder}/base/chat_template.jinja`, TEMPLATE);
    for (const name of ["one", "three"]) await writeAdapter(config, folder, device, { name });
    const host = await ModelHost.open(`${folder}/base`, device, {
      servedNames: ["base"],
      ...hostOptions,
    });
    const defects: unknown[] = [], copies: LoadedModel[] = [];
    const server = startServer(host, {
      hostname: "127.0.0.1",
      port: 0,
      apiKey: null,
      cors: null,
      limits: LIMITS,
      body: { maxBytes: 2 ** 20, seconds: 10 },
      adapters: {
        folders: (adapterFolders ?? ["."]).map((name) => `${folder}/${name}`),
        uploads: adapterFolders === undefined,
        max: 4,
      },
      requestSeconds: 60,
      maxWaiting: 64,
      onDefect: (error) => defects.push(error),
      ...options,
    });
    let isStopped = false;
    const stop = async (graceSeconds: number) => {
      if (!isStopped) await server.stop(graceSeconds);
      isStopped = true;
    };
    const post = (path: string, body: unknown, init: RequestInit = {}) =>
      fetch(server.url + path, {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
        ...init,
      });
    const load = async (adapter?: string) => {
      const loaded = await loadModel(
        `${folder}/base`,
        device,
        adapter === undefined ? {} : { adapter: `${folder}/${adapter}` },
      );
      copies.push(loaded);
      return loaded;
    };
    const ask = async (path: string, body: unknown) => await (await post(path, body)).json();
    try {
      await test({ url: server.url, host, folder, post, ask, load, defects, stop });
    } finally {
      await stop(0);
      for (const { model } of copies) model.dispose();
      device.close();
    }
  });
}

/** Tests with a server: `test.withServer("…", async ({ ask }) => {…})`. */
export const test = {
  withServer(name: string, work: (server: TestServer) => Promise<void>, setup?: Setup): void {
    Deno.test(name, () => withServer(work, setup));
  },
};

/** Lets the model say a text, with the names of its special tokens, in place of its own. */
export function say(host: ModelHost, text: string, finishReason: "stop" | "length" = "stop"): void {
  const { tokenizer } = host.base.loaded, ids = tokenizer.encode(text, { addSpecialTokens: false });
  host.generate = async (_, { n, onToken }) => {
    const logprobs = ids.map(() => -1);
    for (const id of ids) {
      for (let branch = 0; branch < n; branch++) onToken?.(branch, id, -1);
      await Promise.resolve();
    }
    return Array.from({ length: n }, () => ({ ids, logprobs, finishReason }));
  };
}

/** A mistake in a request: its fields, the name of the wrong one, and what the message says. */
export type Mistake = [fields: object, param: string | null, message?: RegExp];

/** Asserts that requests with mistakes are refused by the name of the field. */
export async function refuses(
  { ask }: Pick<TestServer, "ask">,
  path: string,
  common: object,
  mistakes: readonly Mistake[],
): Promise<void> {
  for (const [fields, param, message = /./] of mistakes) {
    const { error } = await ask(path, { ...common, ...fields });
    assert.equal(error?.type, "invalid_request_error", JSON.stringify(fields));
    assert.equal(error.param, param, error.message);
    assert.match(error.message, message);
  }
}

/** The events of a stream; the last one must be [DONE]. */
export async function eventsOf(response: Response): Promise<Reply[]> {
  const lines = (await response.text()).split("\n\n").filter((line) => line.startsWith("data: "));
  if (lines.pop() !== "data: [DONE]") throw new Error("the stream did not end with [DONE]");
  return lines.map((line) => JSON.parse(line.slice("data: ".length)));
}
