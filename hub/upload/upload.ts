/**
 * Uploads files to a repository of the Hub: makes the repository, sends large files by LFS, and
 * then makes one commit with everything. The commit comes last, so a repository never shows half an
 * upload; an upload that was cut is simply started again and sends only what is missing.
 */
import { RgxError, UsageError } from "../../core/errors.ts";
import { jsonObjectOrNull } from "../../core/json_file.ts";
import { jsonBody } from "../../core/remote/http.ts";
import { type HttpOptions, HubHttp } from "../http.ts";
import { HttpStatus, type Target } from "../refusal.ts";
import { checkRepositoryName, isRevision } from "../repository.ts";
import type { HubSettings } from "../settings.ts";
import {
  bytesOf,
  checkPaths,
  gitSha1,
  prepare,
  type PreparedFile,
  type UploadFile,
} from "./files.ts";
import { shown } from "../file_names.ts";

export interface UploadOptions extends HttpOptions {
  settings: HubSettings;
  /** Whether a new repository is private; default: as in the account. Others stay as they are. */
  private?: boolean | null;
  /** A branch, which is made if it does not exist; default main. */
  revision?: string | null;
  /** First line of the commit's message, and its further text. */
  summary: string;
  description?: string;
  onEvent?: (event: UploadEvent) => void;
}

/** What an upload reports while it goes on. */
export type UploadEvent =
  | { type: "plan"; files: number; bytes: number }
  /** Bytes of large files: those that are on the server, and all. */
  | { type: "progress"; sent: number; bytes: number }
  /** The server has this file already. */
  | { type: "kept"; path: string }
  | { type: "notice"; message: string };

/** What an upload has done. */
export interface Uploaded {
  /** `org/name`. */
  repository: string;
  /** The branch that has the files now. */
  revision: string;
  /** Address of the repository's page. */
  url: string;
  /** null: everything was there already. */
  commit: string | null;
  /** Number of files. */
  files: number;
  /** Number of files that the repository had already, with the same content. */
  unchanged: number;
  /** Size of all files together. */
  bytes: number;
}

/** Maximum number of files in one request that asks how to send them. */
const QUESTION = 256;
/** Milliseconds for a commit, which may carry some megabytes. */
const COMMIT_TIMEOUT_MS = 120_000;

/**
 * @param name `user/name`, or `name` for a repository of the token's user
 * @throws UsageError for a name that the Hub forbids, or without a token; RgxError that says what
 *   the server refused; Interrupted
 */
export async function upload(
  name: string,
  files: readonly UploadFile[],
  options: UploadOptions,
): Promise<Uploaded> {
  const { settings } = options, revision = options.revision ?? "main";
  checkRepositoryName(name);
  if (!isRevision(revision) || revision.startsWith("refs/")) {
    throw new UsageError(`${revision}: not the name of a branch`);
  }
  checkPaths(files);
  requireToken(settings);
  const onNotice = (message: string) => options.onEvent?.({ type: "notice", message });
  const connection = { ...options, onNotice };
  const target = { name: await wholeName(name, settings, connection), revision };
  const work = (http: HubHttp) => new Upload(http, options).run(files);
  return await connected(settings, target, connection, work);
}

/** The name with its user, or the token's. @throws UsageError without a token; RgxError */
export async function wholeName(
  name: string,
  settings: HubSettings,
  options: HttpOptions = {},
): Promise<string> {
  if (name.includes("/")) return name;
  requireToken(settings);
  return await connected(settings, { name, revision: "main" }, options, async (http) => {
    const text = await http.text(`${settings.endpoint}/api/whoami-v2`);
    const user = parse(text, http)["name"];
    if (typeof user === "string") return `${user}/${name}`;
    throw malformed(http, "does not say whose token this is");
  });
}

/** Runs `work` with a connection, and explains refusals of the server. */
async function connected<T>(
  settings: HubSettings,
  { name, revision }: { name: string; revision: string },
  options: HttpOptions,
  work: (http: HubHttp) => Promise<T>,
): Promise<T> {
  const http = new HubHttp(settings, { kind: "model", name }, revision, options);
  try {
    return await work(http);
  } catch (error) {
    throw uploadRefusal(error, http);
  } finally {
    http.close();
  }
}

/** @throws UsageError when there is no token, or no connection is allowed */
export function requireToken({ token, tokenPath, offline, endpoint }: HubSettings): void {
  if (offline !== null) {
    throw new UsageError(`${offline} forbids connections: nothing can be uploaded`, {
      advice: `Unset ${offline}, or upload from a machine that has a network: rgx upload.`,
    });
  }
  if (token !== null) return;
  throw new UsageError("no token for the Hub: nothing can be uploaded", {
    advice: `Make a token that may write on ${endpoint}/settings/tokens and set HF_TOKEN to it ` +
      `(or write it to ${tokenPath}).`,
  });
}

class Upload {
  /** Address of the repository's page. */
  readonly #page: string;
  readonly #api: string;
  readonly #revision: string;

  constructor(private readonly http: HubHttp, private readonly options: UploadOptions) {
    const { settings: { endpoint }, repository: { name }, revision } = http;
    this.#page = `${endpoint}/${name}`;
    this.#api = `${endpoint}/api/models/${name}`;
    this.#revision = encodeURIComponent(revision);
  }

  async run(files: readonly UploadFile[]): Promise<Uploaded> {
    const { repository, revision } = this.http, { onEvent } = this.options;
    const prepared: PreparedFile[] = [];
    for (const file of files) prepared.push(await prepare(file));
    await this.#create();
    if (revision !== "main") await this.#branch();
    const modes = await this.#modes(prepared);
    const changed = prepared.filter((file) => !modes.unchanged.has(file.path));
    const large = changed.filter(({ path }) => modes.large.has(path));
    const bytes = large.reduce((sum, { size }) => sum + size, 0);
    onEvent?.({ type: "plan", files: changed.length, bytes });
    let sent = 0;
    await this.#sendLarge(large, (count) => {
      sent += count;
      onEvent?.({ type: "progress", sent, bytes });
    });
    const commit = changed.length === 0 ? null : await this.#commit(changed, modes.large);
    return {
      repository: repository.name,
      revision,
      url: revision === "main" ? this.#page : `${this.#page}/tree/${revision}`,
      commit,
      files: files.length,
      unchanged: files.length - changed.length,
      bytes: prepared.reduce((sum, { size }) => sum + size, 0),
    };
  }

  async #create(): Promise<void> {
    const { settings: { endpoint }, repository } = this.http;
    const [organization, name] = repository.name.split("/"), isPrivate = this.options.private;
    try {
      await this.#post(`${endpoint}/api/repos/create`, {
        name,
        organization,
        type: "model",
        ...(isPrivate === null || isPrivate === undefined ? {} : { private: isPrivate }),
      });
    } catch (error) {
      // 409: it exists. A token that may not make repositories may still write to one.
      const status = statusOf(error);
      if (status !== 409 && status !== 403) throw error;
      try {
        await this.http.text(this.#api);
      } catch (missing) {
        if (statusOf(missing) !== 404 || status === 403) throw status === 403 ? error : missing;
        throw new RgxError(`${repository.name}: a repository of another kind has this name`, {
          advice: "Choose another name; models are uploaded to repositories of models.",
        });
      }
    }
  }

  async #branch(): Promise<void> {
    try {
      await this.#post(`${this.#api}/branch/${this.#revision}`, {});
    } catch (error) {
      if (statusOf(error) !== 409) throw error;
    }
  }

  /** Asks which files to send by LFS, and which are there with the same content. */
  async #modes(
    files: readonly PreparedFile[],
  ): Promise<{ large: Set<string>; unchanged: Set<string> }> {
    const large = new Set<string>(), unchanged = new Set<string>();
    for (let at = 0; at < files.length; at += QUESTION) {
      const some = files.slice(at, at + QUESTION);
      const answer = await this.#post(`${this.#api}/preupload/${this.#revision}`, {
        files: some.map(({ path, size, sample }) => ({ path, size, sample: sample.toBase64() })),
      });
      const told = Array.isArray(answer["files"]) ? answer["files"] : [];
      for (const file of some) {
        const { uploadMode, oid } = told.find((one) => one?.path === file.path) ?? {};
        if (uploadMode !== "lfs" && uploadMode !== "regular") {
          throw malformed(this.http, `does not say how ${file.path} is to be sent`);
        }
        if (uploadMode === "lfs") large.add(file.path);
        const local = uploadMode === "lfs"
          ? file.sha256
          : gitSha1(await bytesOf(file, 0, file.size));
        if (oid === local) unchanged.add(file.path);
      }
    }
    return { large, unchanged };
  }

  async #commit(
    files: readonly PreparedFile[],
    large: ReadonlySet<string>,
  ): Promise<string> {
    const { summary, description = "" } = this.options;
    const lines: unknown[] = [{ key: "header", value: { summary, description } }];
    for (const file of files) {
      const { path, sha256: oid, size } = file;
      if (large.has(path)) {
        lines.push({ key: "lfsFile", value: { path, algo: "sha256", oid, size } });
        continue;
      }
      const content = (await bytesOf(file, 0, size)).toBase64();
      lines.push({ key: "file", value: { content, path, encoding: "base64" } });
    }
    const text = await this.http.text(`${this.#api}/commit/${this.#revision}`, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: lines.map((line) => JSON.stringify(line)).join("\n") + "\n",
      timeout: COMMIT_TIMEOUT_MS,
    });
    const { commitOid } = parse(text, this.http);
    if (typeof commitOid !== "string") throw malformed(this.http, "names no commit");
    return commitOid;
  }

  async #post(url: string, body: unknown): Promise<Record<string, unknown>> {
    const text = await this.http.text(url, { ...jsonBody(body), timeout: COMMIT_TIMEOUT_MS });
    return text.trim() === "" || text.trim() === "OK" ? {} : parse(text, this.http);
  }

  /**
   * Sends large files by Git LFS, which every Hub takes; repositories that store chunks (Xet) take
   * it too. Files that the server already has are not sent again, so an interrupted upload goes on.
   * @param onBytes called with the number of bytes that were sent, or were there
   */
  async #sendLarge(
    files: readonly PreparedFile[],
    onBytes: (count: number) => void,
  ): Promise<void> {
    const distinct = [...new Map(files.map((file) => [file.sha256, file])).values()];
    for (let at = 0; at < distinct.length; at += BATCH) {
      const batch = distinct.slice(at, at + BATCH);
      const text = await this.#postLfs(`${this.#page}.git/info/lfs/objects/batch`, null, {
        operation: "upload",
        transfers: ["basic", "multipart"],
        objects: batch.map(({ sha256: oid, size }) => ({ oid, size })),
        hash_algo: "sha256",
        ref: { name: this.http.revision },
      });
      const answer = parse(text, this.http);
      const objects = Array.isArray(answer["objects"]) ? answer["objects"] : [];
      for (const file of batch) {
        const object = objects.find((one) => one?.oid === file.sha256);
        if (object === undefined) throw malformed(this.http, "does not mention every file");
        await this.#sendObject(file, object, onBytes);
      }
    }
  }

  #postLfs(
    url: string,
    file: string | null,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    return this.http.text(url, { ...jsonBody(body), headers: { ...LFS, ...headers }, file });
  }

  async #sendObject(
    file: PreparedFile,
    { error, actions = {} }: LfsObject,
    onBytes: (count: number) => void,
  ): Promise<void> {
    if (error !== undefined) {
      const { code = 0, message = "" } = error;
      throw new RgxError(`${file.path}: the server refuses it (${code}): ${shown(message)}`, {
        advice: "The message is the server's. The Hub's page of your account shows its quotas.",
      });
    }
    const { upload, verify } = actions, oid = file.sha256;
    if (upload === undefined) {
      this.options.onEvent?.({ type: "kept", path: file.path });
      return onBytes(file.size);
    }
    const { path } = file, { header = {}, href } = upload;
    /** Sends bytes of the file, again if the connection breaks. Returns the entity tag. */
    const put = async (address: string, from: number, length: number, headers = {}) => {
      const body = await bytesOf(file, from, length);
      const timeout = MIN_TIMEOUT_MS + length / SLOWEST_BYTES_MS;
      const etag = await this.http.retrying(path, async () => {
        const reply = await this.http.send("PUT", address, { timeout, headers, body });
        await reply.close();
        return reply.response.headers.get("etag");
      });
      onBytes(length);
      return etag;
    };
    const chunk = Number(header["chunk_size"]);
    if (chunk > 0) {
      // Each part has an address of its own; the list of all parts is sent last.
      const addresses = Object.entries(header).filter(([name]) => /^\d+$/.test(name))
        .sort(([a], [b]) => Number(a) - Number(b)).map(([, address]) => address);
      if (addresses.length !== Math.ceil(file.size / chunk)) {
        throw malformed(this.http, "names another number of parts than the file has");
      }
      const parts: { partNumber: number; etag: string }[] = [];
      for (const [i, address] of addresses.entries()) {
        const from = i * chunk;
        const etag = await put(address, from, Math.min(chunk, file.size - from));
        if (etag === null) throw malformed(this.http, "confirms a part without an entity tag");
        parts.push({ partNumber: i + 1, etag });
      }
      await this.#postLfs(href, path, { oid, parts });
    } else await put(href, 0, file.size, header);
    if (verify !== undefined) {
      await this.#postLfs(verify.href, path, { oid, size: file.size }, verify.header);
    }
  }
}

const LFS = {
  accept: "application/vnd.git-lfs+json",
  "content-type": "application/vnd.git-lfs+json",
};
const BATCH = 100;
/** Time-out of a part: a minute, and more for a connection with this many bytes a millisecond. */
const MIN_TIMEOUT_MS = 60_000, SLOWEST_BYTES_MS = 50;

interface LfsObject {
  error?: { code?: number; message?: string };
  actions?: { upload?: Action; verify?: Action };
}

interface Action {
  href: string;
  header?: Record<string, string>;
}

/** The status with which the server has refused; null for any other failure. */
function statusOf(error: unknown): number | null {
  if (error instanceof HttpStatus) return error.status;
  const cause = (error as { cause?: unknown }).cause;
  return cause instanceof HttpStatus ? cause.status : null;
}

// Explains why the server refused an upload, and what to do.

function uploadRefusal(error: unknown, { settings, repository }: Target): unknown {
  const cause = (error as { cause?: unknown }).cause;
  const refused = error instanceof HttpStatus ? error : cause instanceof HttpStatus ? cause : null;
  const { endpoint, tokenPath } = settings, { name } = repository;
  if (refused === null) {
    if (!(error instanceof RgxError) || !/cannot be reached/.test(error.message)) return error;
    // The advice of a download (to copy the cache) does not help here.
    return new RgxError(error.message, {
      advice: "Is there a network? HTTPS_PROXY names a proxy. What was sent is kept by the " +
        "server; the same command goes on from there.",
      cause: error,
    });
  }
  const { status } = refused;
  const said = refused.message === "" ? "" : `: ${shown(refused.message)}`;
  const page = `${endpoint}/settings/tokens`;
  const [what, advice] = isQuota(refused)
    ? [
      `over the quota of the account (${status})${said}`,
      `Free some space on ${endpoint}/settings/storage, upload less (--optimizer-save-mode none), ` +
      "or make the repository public, where that gives more space.",
    ]
    : status === 401
    ? [
      `the token is refused (401)${said}`,
      `The token of HF_TOKEN or ${tokenPath} was sent; ${page} shows whether it is valid.`,
    ]
    : status === 403
    ? [
      `the token may not write there (403)${said}`,
      `${page} shows what it may do: it needs the right to write to ${name}.`,
    ]
    : status === 404
    ? [
      `there is no such repository or branch of models (404)${said}`,
      `Check the name on ${endpoint}/${name}; a data set or a space can not take a model.`,
    ]
    : status === 409 || status === 412
    ? [
      `somebody else changed the repository meanwhile (${status})${said}`,
      "The same command tries again; what was sent is kept by the server.",
    ]
    : status === 400 || status === 422
    ? [`${endpoint} refuses the upload (${status})${said}`, "The message is the server's."]
    : [
      `${endpoint} answers ${status}${said}`,
      "Try again later; what was sent is kept by the server.",
    ];
  return new RgxError(`${name}: ${what}`, { advice, cause: error });
}

function isQuota({ status, message }: HttpStatus): boolean {
  return status === 402 || status === 413 || status === 507 ||
    status === 403 && /quota|storage|limit|payment|exceed/i.test(message);
}

/** The object in an answer. @throws RgxError when it is none */
function parse(text: string, target: Target): Record<string, unknown> {
  const value = jsonObjectOrNull(text);
  if (value === null) throw malformed(target, "is no JSON object");
  return value;
}

function malformed({ settings, repository }: Target, what: string): RgxError {
  return new RgxError(`${repository.name}: the answer of ${settings.endpoint} ${what}`, {
    advice: "Is it a Hub? HF_ENDPOINT names the server; a proxy may have answered in its place.",
  });
}
