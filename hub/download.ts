/**
 * Downloads one file of the Hub into its blob. Bytes are written to `{etag}.incomplete`, which a
 * later attempt, run or program continues. If the checksum is right, this file becomes the blob;
 * if not, it is kept as `{etag}.wrong`. Every byte is written at its own offset. So two programs
 * that write the same file (on a file system that ignores locks) write the same content.
 */
import { createHash, type Hash } from "node:crypto";
import { explainFileError, writeAll } from "../core/atomic_file.ts";
import { RgxError } from "../core/errors.ts";
import { TimedOut } from "../core/remote/http.ts";
import type { Checksum, RemoteFile } from "./api.ts";
import { fileSize, type RepositoryCache } from "./cache.ts";
import { type HubHttp, interruption, LEAST_BYTES, type Reply } from "./http.ts";
import { HttpStatus } from "./refusal.ts";

/** Writes bytes at the current position of a file; tests replace it by one that fails. */
export type ByteWriter = (file: Deno.FsFile, bytes: Uint8Array) => Promise<void>;

export interface DownloadOptions {
  http: HubHttp;
  place: RepositoryCache;
  signal?: AbortSignal;
  /** Called with the number of added bytes; the number is negative when bytes are discarded. */
  onBytes?: (count: number) => void;
  onNotice?: (message: string) => void;
  write?: ByteWriter;
}

/** The content does not match the size or checksum that the Hub reported. */
class WrongContent extends Error {}

const READ_BYTES = 1 << 20;

/** Number of bytes of a file that an earlier attempt has downloaded. */
export async function bytesKept(place: RepositoryCache, file: RemoteFile): Promise<number> {
  const kept = await fileSize(incompletePath(place, file)) ?? 0;
  return file.size !== null && kept > file.size ? 0 : kept;
}

/** Whether the blob exists with the right size. One of another size is damaged. */
export async function hasBlob(place: RepositoryCache, file: RemoteFile): Promise<boolean> {
  const size = await fileSize(place.blob(file.etag));
  return size !== null && (file.size === null || size === file.size);
}

/** Downloads the blob, unless it exists: @returns whether. @throws RgxError; what came is kept */
export async function downloadBlob(file: RemoteFile, options: DownloadOptions): Promise<boolean> {
  const { place, onNotice = () => {} } = options;
  if (await hasBlob(place, file)) return false;
  const waiting = () => onNotice(`${file.name}: another program is downloading it; waiting`);
  return await withLock(place.lock(file.etag), { ...options, onWait: waiting }, async () => {
    if (await hasBlob(place, file)) return false;
    try {
      await fetchInto(file, options);
    } catch (error) {
      throw diskError(error, file, options);
    }
    return true;
  });
}

async function fetchInto(file: RemoteFile, options: DownloadOptions): Promise<void> {
  const { place, onNotice = () => {} } = options;
  const path = incompletePath(place, file);
  const keptAtFirst = await bytesKept(place, file);
  for (let again = false;; again = true) {
    try {
      await complete(path, file, options);
      break;
    } catch (error) {
      if (!(error instanceof WrongContent)) throw error;
      const aside = `${place.blob(file.etag)}.wrong`;
      options.onBytes?.(-(await fileSize(path) ?? 0));
      await Deno.rename(path, aside);
      // The wrong bytes may come from an earlier run or another program: try once from the
      // beginning.
      if (!again && keptAtFirst > 0) {
        onNotice(`${file.name}: ${error.message}; downloading it again from its beginning`);
        continue;
      }
      throw new RgxError(
        `${options.http.repository.name}: ${file.name}: ${error.message}: it is not used`,
        {
          advice: `What came is kept as ${aside}. Try again later; a proxy or a mirror ` +
            "(HF_ENDPOINT) may have changed the file.",
        },
      );
    }
  }
  try {
    await Deno.rename(path, place.blob(file.etag));
  } catch (error) {
    // Another program has already renamed the file.
    if (!(error instanceof Deno.errors.NotFound && await hasBlob(place, file))) throw error;
  }
}

/** Whether a blob, or its name in a snapshot, has the reported checksum, or none is reported. */
export async function isRight(path: string, { checksum }: RemoteFile): Promise<boolean> {
  if (checksum === null) return true;
  using file = await Deno.open(path, { read: true });
  const hash = startHash(checksum, (await file.stat()).size)!;
  await readInto(hash, file);
  return hash.digest("hex") === checksum.hex;
}

export async function putAside(place: RepositoryCache, { etag }: RemoteFile): Promise<void> {
  try {
    await Deno.rename(place.blob(etag), `${place.blob(etag)}.wrong`);
  } catch (error) {
    // The snapshot may hold the file itself instead of a link to a blob.
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Adds the rest of a file, from its current position, to a checksum. @returns bytes read */
async function readInto(hash: Hash | null, file: Deno.FsFile): Promise<number> {
  const buffer = new Uint8Array(READ_BYTES);
  let length = 0;
  for (let n = await file.read(buffer); n !== null; n = await file.read(buffer)) {
    hash?.update(buffer.subarray(0, n));
    length += n;
  }
  return length;
}

/** Downloads the rest of the incomplete file and checks the whole. @throws WrongContent */
async function complete(path: string, file: RemoteFile, options: DownloadOptions): Promise<void> {
  using output = await Deno.open(path, { read: true, write: true, create: true });
  const partial = new PartialFile(output, file, options);
  await partial.start();
  // A server that ignores ranges starts again each time. So only bytes beyond the furthest position
  // of all attempts count as progress. A few bytes before a time-out do not count.
  let furthest = partial.length;
  await options.http.retrying(file.name, async (progressed) => {
    if (partial.isComplete) return;
    let least = 1;
    try {
      await partial.receive(options.http);
    } catch (error) {
      if (error instanceof TimedOut) least = LEAST_BYTES;
      throw error;
    } finally {
      if (partial.length >= furthest + least) {
        furthest = partial.length;
        progressed();
      }
    }
  });
  await partial.check();
  await output.sync();
}

/** The file that a download appends to, with the checksum of its content so far. */
class PartialFile {
  length = 0;
  #hash: Hash | null = null;
  #ended = false;

  constructor(
    readonly output: Deno.FsFile,
    readonly file: RemoteFile,
    readonly options: DownloadOptions,
  ) {}

  get isComplete(): boolean {
    return this.#ended || this.file.size !== null && this.length === this.file.size;
  }

  /** Adds the bytes of earlier attempts to the checksum. */
  async start(): Promise<void> {
    const { size } = await this.output.stat();
    if (this.file.size !== null && size > this.file.size) return await this.#startOver();
    this.#hash = startHash(this.file.checksum, this.file.size);
    this.length = await readInto(this.#hash, this.output);
  }

  /** Sends one request for the missing bytes. @throws TypeError when the body ends too early */
  async receive(http: HubHttp): Promise<void> {
    const { file } = this, { downloadTimeout } = http.settings;
    const range = this.length > 0 ? { range: `bytes=${this.length}-` } : {};
    let reply: Reply;
    try {
      reply = await http.send("GET", file.url, { timeout: downloadTimeout, ...range });
    } catch (error) {
      if (!(error instanceof HttpStatus && error.status === 416 && this.length > 0)) throw error;
      await this.#startOver();
      throw new TypeError("the server has no more than what is there");
    }
    try {
      await this.#position(reply.response);
      for await (const bytes of reply.body()) await this.#append(bytes);
    } finally {
      await reply.close();
    }
    if (file.size === null) this.#ended = true;
    else if (this.length < file.size) {
      throw new TypeError(`the connection was cut after ${this.length} of ${file.size} bytes`);
    }
  }

  /** Empties the file unless a response goes on at its end. @throws TypeError for another range */
  async #position(response: Response): Promise<void> {
    if (response.status === 206) {
      const range = /^bytes (\d+)-\d*\/(\d+|\*)$/.exec(response.headers.get("content-range") ?? "");
      const total = range?.[2] === "*" ? this.file.size : Number(range?.[2]);
      if (Number(range?.[1]) === this.length && (this.file.size ?? total) === total) return;
      await this.#startOver();
      throw new TypeError("the server sends another part than asked for");
    }
    if (this.length > 0) await this.#startOver();
  }

  async #append(bytes: Uint8Array): Promise<void> {
    const { file, options } = this;
    if (file.size !== null && this.length + bytes.length > file.size) {
      throw new WrongContent(`more than ${file.size} bytes came`);
    }
    await (options.write ?? writeAll)(this.output, bytes);
    this.#hash?.update(bytes);
    this.length += bytes.length;
    options.onBytes?.(bytes.length);
  }

  async #startOver(): Promise<void> {
    this.options.onBytes?.(-this.length);
    await this.output.truncate(0);
    await this.output.seek(0, Deno.SeekMode.Start);
    this.length = 0;
    this.#hash = startHash(this.file.checksum, this.file.size);
  }

  /** @throws WrongContent */
  async check(): Promise<void> {
    const { checksum } = this.file;
    if (checksum === null) return;
    let hash = this.#hash;
    if (hash === null) {
      // Git's checksum begins with the length, which is known only after the download.
      hash = startHash(checksum, this.length)!;
      await this.output.seek(0, Deno.SeekMode.Start);
      await readInto(hash, this.output);
    }
    const found = hash.digest("hex");
    if (found === checksum.hex) return;
    throw new WrongContent(
      `its checksum is wrong (${checksum.kind}: expected ${checksum.hex}, found ${found})`,
    );
  }
}

function startHash(checksum: Checksum | null, size: number | null): Hash | null {
  if (checksum?.kind === "sha256") return createHash("sha256");
  if (checksum === null || size === null) return null;
  return createHash("sha1").update(`blob ${size}\0`);
}

function incompletePath(place: RepositoryCache, { etag }: RemoteFile): string {
  return `${place.blob(etag)}.incomplete`;
}

function diskError(error: unknown, file: RemoteFile, { place, http }: DownloadOptions): unknown {
  const { code } = (error ?? {}) as { code?: string };
  if (code !== "ENOSPC" && code !== "EDQUOT") {
    return explainFileError(error, `write ${file.name}`, place.blobs);
  }
  const found = code === "ENOSPC" ? "the disk is full" : "the disk quota is used up";
  return new RgxError(`${http.repository.name}: ${file.name}: ${found}: ${place.cache}`, {
    advice: "Free some space and pull again: what came so far is kept and continued. " +
      "HF_HUB_CACHE or HF_HOME names a cache on another disk.",
    cause: error,
  });
}

// The lock of a download, shared with huggingface_hub (flock on a file in `.locks`). The lock only
// avoids that two programs download the same file. Without the lock (on a file system without
// locks), files are still right.

const NOTICE_DELAY_MS = 500;

interface LockOptions {
  signal?: AbortSignal;
  onWait?: () => void;
}

async function withLock<T>(
  path: string,
  { signal, onWait = () => {} }: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  const file = await openLock(path);
  if (file === null) return await work();
  const taken = file.lock(true).then(() => true, () => false);
  const timer = setTimeout(onWait, NOTICE_DELAY_MS);
  let stop = () => {};
  const stopped = new Promise<"stopped">((resolve) => {
    stop = () => resolve("stopped");
    signal?.addEventListener("abort", stop);
  });
  let outcome: boolean | "stopped";
  try {
    outcome = await Promise.race([taken, stopped]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
  if (outcome === "stopped") {
    // The wait cannot be cancelled. If it gets the lock later, closing the file releases it.
    taken.then(() => file.close());
    throw interruption(signal!);
  }
  try {
    return await work();
  } finally {
    if (outcome) await file.unlock().catch(() => {});
    file.close();
  }
}

async function openLock(path: string): Promise<Deno.FsFile | null> {
  try {
    return await Deno.open(path, { read: true, write: true, create: true, mode: 0o664 });
  } catch {
    return null; // not writable: the download reports it if it needs to write
  }
}
