/**
 * A small Hub for tests. It serves the parts of the API that a download needs, with the headers of
 * the real one, and a second server on another port serves the content of large files. Tests can
 * make it misbehave.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { sha256Hex } from "../core/checksums.ts";
import { RgxError } from "../core/errors.ts";
import { pull, type PullOptions } from "./pull.ts";
import type { Repository } from "./repository.ts";
import type { HubSettings } from "./settings.ts";

export interface FakeFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
  lfs: boolean;
}

export interface FakeRepository {
  files: FakeFile[];
  commit: string;
  /** Branches and tags of this commit. */
  revisions: string[];
  gated?: boolean;
  private?: boolean;
}

/** One received request. */
export interface Seen {
  server: "hub" | "content";
  method: string;
  path: string;
  token: string | null;
  range: string | null;
}

/** Replaces the right response by another one; null = the right response is sent. */
export type Misbehaviour = (seen: Seen, count: number) => Response | null | Promise<Response>;

export const COMMIT = "0123456789abcdef0123456789abcdef01234567";
export const TOKEN = "hf_test";

export const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Pseudorandom bytes. */
export function noise(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let i = 0; i < length; i++) bytes[i] = (state = (state * 1103515245 + 12345) >>> 0) >>> 16;
  return bytes;
}

export function gitSha1(bytes: Uint8Array): string {
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

export const tagOf = ({ bytes, lfs }: FakeFile) => lfs ? sha256Hex(bytes) : gitSha1(bytes);

/** The files of a tiny model; its weights are large enough to test broken connections. */
export function modelFiles(weights = noise(300_000)): FakeFile[] {
  const text = (name: string, content: string) => ({ name, bytes: bytesOf(content), lfs: false });
  return [
    text(".gitattributes", "*.safetensors filter=lfs\n"),
    text("README.md", "# A model\n"),
    text("config.json", '{"model_type": "llama"}\n'),
    text("tokenizer.json", '{"version": "1.0"}\n'),
    text("tokenizer_config.json", "{}\n"),
    text("modeling.py", "raise SystemExit\n"),
    { name: "model.safetensors", bytes: weights, lfs: true },
    { name: "pytorch_model.bin", bytes: noise(1000, 7), lfs: true },
    { name: "onnx/model.safetensors", bytes: noise(500, 8), lfs: true },
  ];
}

export class FakeHub {
  readonly repositories = new Map<string, FakeRepository>();
  readonly seen: Seen[] = [];
  misbehave: Misbehaviour = () => null;
  /** A list of files to send in place of the repository's. */
  listing: ((repository: FakeRepository) => unknown) | null = null;
  /** Answers further requests to either server; null = they are answered as usual. */
  other: ((request: Request) => Promise<Response | null>) | null = null;
  readonly #hub: Deno.HttpServer<Deno.NetAddr>;
  readonly #content: Deno.HttpServer<Deno.NetAddr>;

  /** @param cache a folder for the cache of those who pull */
  constructor(readonly cache: string) {
    const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
    this.#hub = Deno.serve(options, (request) => this.#serve("hub", request));
    this.#content = Deno.serve(options, (request) => this.#serve("content", request));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#hub.addr.port}`;
  }

  get contentUrl(): string {
    return `http://127.0.0.1:${this.#content.addr.port}`;
  }

  /** Environment variables for a program that uses it. */
  get env(): Record<string, string> {
    return { HF_ENDPOINT: this.url, HF_HOME: this.cache, HF_TOKEN: TOKEN, HF_HUB_OFFLINE: "" };
  }

  /** @param address `models/org/name` or `datasets/org/name` */
  add(address: string, files: FakeFile[], more: Partial<FakeRepository> = {}): FakeRepository {
    const repository = { files, commit: COMMIT, revisions: ["main"], ...more };
    this.repositories.set(address, repository);
    return repository;
  }

  async close(): Promise<void> {
    await Promise.all([this.#hub.shutdown(), this.#content.shutdown()]);
  }

  async #serve(server: Seen["server"], request: Request): Promise<Response> {
    const path = new URL(request.url).pathname;
    const seen: Seen = {
      server,
      method: request.method,
      path,
      token: request.headers.get("authorization"),
      range: request.headers.get("range"),
    };
    this.seen.push(seen);
    const count =
      this.seen.filter((other) =>
        other.path === path && other.method === seen.method && other.server === server
      ).length;
    const bad = await this.misbehave(seen, count);
    if (bad !== null) return bad;
    const answered = await this.other?.(request) ?? null;
    if (answered !== null) return answered;
    return server === "hub" ? this.#answer(seen) : this.#giveContent(seen);
  }

  #answer(seen: Seen): Response {
    const list = /^\/api\/(models|datasets)\/(.+)\/(revision|tree)\/([^/]+)$/.exec(seen.path);
    const file = /^\/(datasets\/)?(.+?)\/resolve\/([^/]+)\/(.+)$/.exec(seen.path);
    const [kind, name, asked] = list !== null
      ? [list[1]!, list[2]!, decodeURIComponent(list[4]!)]
      : [file?.[1] === undefined ? "models" : "datasets", file?.[2], file?.[3]];
    const repository = this.repositories.get(`${kind}/${name}`);
    const isAuthorized = seen.token === `Bearer ${TOKEN}`;
    if (repository === undefined || repository.private === true && !isAuthorized) {
      const status = seen.token === null ? 401 : 404;
      return refused(status, "RepoNotFound", "Repository not found");
    }
    const revision = decodeURIComponent(asked ?? "");
    if (![repository.commit, ...repository.revisions].includes(revision)) {
      return refused(404, "RevisionNotFound", `Invalid rev id: ${revision}`);
    }
    if (list !== null) return Response.json(this.#list(repository, name!, list[3] === "tree"));
    if (repository.gated && !isAuthorized) {
      return refused(seen.token === null ? 401 : 403, "GatedRepo", `Access to ${name} is gated`);
    }
    const found = repository.files.find((item) => item.name === decodeURIComponent(file![4]!));
    if (found === undefined) return refused(404, "EntryNotFound", "Entry not found");
    const tag = tagOf(found), common = { "x-repo-commit": repository.commit };
    if (!found.lfs) return content(seen, found.bytes, { ...common, etag: `"${tag}"` });
    return new Response(null, {
      status: 302,
      headers: {
        ...common,
        "x-linked-etag": `"${tag}"`,
        "x-linked-size": String(found.bytes.length),
        location: `${this.contentUrl}/${tag}?Signature=secret`,
      },
    });
  }

  #list(repository: FakeRepository, id: string, tree: boolean): unknown {
    if (this.listing !== null) return this.listing(repository);
    const files = repository.files.map((file) => {
      const { name, bytes, lfs } = file, size = bytes.length;
      const large = lfs ? { sha256: sha256Hex(bytes), size, pointerSize: 134 } : undefined;
      return tree
        ? {
          type: "file",
          path: name,
          oid: gitSha1(bytes),
          size,
          lfs: large && { ...large, oid: large.sha256 },
        }
        : { rfilename: name, size, blobId: gitSha1(bytes), ...large && { lfs: large } };
    });
    return tree ? files : { id, sha: repository.commit, siblings: files };
  }

  #giveContent(seen: Seen): Response {
    const tag = seen.path.slice(1);
    for (const { files } of this.repositories.values()) {
      const found = files.find((file) => file.lfs && tagOf(file) === tag);
      if (found !== undefined) return content(seen, found.bytes, { etag: '"of-the-store"' });
    }
    return refused(404, "", "");
  }
}

/** A response with the content and its length, or with the requested range. */
export function content(
  { method, range }: Seen,
  bytes: Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
): Response {
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0), total = bytes.length;
  if (from > 0 && from >= total) {
    return new Response(null, { status: 416, headers: { "content-range": `bytes */${total}` } });
  }
  const part = bytes.subarray(from);
  return new Response(method === "HEAD" ? null : part, {
    status: from > 0 ? 206 : 200,
    headers: {
      ...headers,
      "content-length": String(part.length),
      ...from > 0 && { "content-range": `bytes ${from}-${total - 1}/${total}` },
    },
  });
}

/** A response that breaks the connection after some bytes. @param after number of bytes sent */
export function cut(seen: Seen, bytes: Uint8Array<ArrayBuffer>, after: number): Response {
  const whole = content(seen, bytes, {});
  const from = Number(/^bytes=(\d+)-$/.exec(seen.range ?? "")?.[1] ?? 0);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes.subarray(from, from + after));
    },
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      controller.close(); // before the promised length: the server closes the connection
    },
  });
  return new Response(body, { status: whole.status, headers: whole.headers });
}

export function refused(status: number, code: string, message: string): Response {
  return Response.json({ error: message }, {
    status,
    headers: { "x-error-code": code, "x-error-message": message },
  });
}

/** Runs `work` with a Hub and an empty cache. */
export async function withHub(work: (hub: FakeHub) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "rgx-hub-" });
  const hub = new FakeHub(`${folder}/hub`);
  try {
    await work(hub);
  } finally {
    await hub.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Tests with a Hub and an empty cache: `test.inHub("…", async (hub) => {…})`. */
export const test = {
  inHub(name: string, work: (hub: FakeHub) => Promise<void>): void {
    Deno.test(name, () => withHub(work));
  },
  /** The Hub has a tiny model: {@link get} pulls it. */
  withTiny(name: string, work: (hub: FakeHub) => Promise<void>): void {
    test.inHub(name, (hub) => {
      hub.add("models/org/tiny", modelFiles(WEIGHTS));
      return work(hub);
    });
  },
};

export function settingsFor(hub: FakeHub, more: Partial<HubSettings> = {}): HubSettings {
  return {
    endpoint: hub.url,
    cache: hub.cache,
    token: null,
    tokenPath: "/home/somebody/.cache/huggingface/token",
    offline: null,
    metadataTimeout: 5000,
    downloadTimeout: 5000,
    symlinks: true,
    progress: true,
    certificates: null,
    ...more,
  };
}

export const MODEL: Repository = { kind: "model", name: "org/tiny" };
export const WEIGHTS = noise(300_000);
export const TAG = tagOf({ name: "model.safetensors", bytes: WEIGHTS, lfs: true });

export function get(hub: FakeHub, more: PullOptions = {}, repository = MODEL) {
  return pull(repository, { settings: settingsFor(hub), firstDelay: 1, ...more });
}

/** The exit code, message and advice of a pull that must fail. */
export async function failure(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof RgxError, String((error as Error).stack));
    return `${error.exitCode} ${error.message}\n${error.advice ?? ""}`;
  }
  assert.fail("it did not fail");
}

export const places = (hub: FakeHub) => {
  const folder = `${hub.cache}/models--org--tiny`;
  return {
    blob: `${folder}/blobs/${TAG}`,
    incomplete: `${folder}/blobs/${TAG}.incomplete`,
    wrong: `${folder}/blobs/${TAG}.wrong`,
    weights: `${folder}/snapshots/${COMMIT}/model.safetensors`,
    ref: `${folder}/refs/main`,
  };
};

/** Whether a request is one for the content of the weights. */
export const isContent = ({ server, method }: Seen) => server === "content" && method === "GET";

/** A Python with huggingface_hub, if there is one for tests. */
export const PYTHON = Deno.env.get("RGX_TEST_PYTHON");

/** Runs Python code that uses huggingface_hub. @returns the JSON of the last printed line */
export async function runPython(code: string, env: Record<string, string>): Promise<unknown> {
  const { success, stdout, stderr } = await new Deno.Command(PYTHON!, {
    args: ["-c", `import json\nfrom huggingface_hub import *\n${code}`],
    env: { HF_HUB_DISABLE_TELEMETRY: "1", HF_HUB_DISABLE_XET: "1", ...env },
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}
