/**
 * Uploads large files by Git LFS, which every Hub takes; repositories that store chunks (Xet) take
 * it too. What the server has already is not sent again, so an upload that was cut goes on.
 */
import { RgxError } from "../../core/errors.ts";
import { shown } from "../file_names.ts";
import type { HubHttp } from "../http.ts";
import type { Request } from "../refusal.ts";
import { bytesOf, type PreparedFile } from "./files.ts";

const LFS = {
  accept: "application/vnd.git-lfs+json",
  "content-type": "application/vnd.git-lfs+json",
};
/** Files in one question to the server. */
const BATCH = 100;
/** Time-out of a part: a minute, and more for a connection with this many bytes a millisecond. */
const MIN_TIMEOUT_MS = 60_000, SLOWEST_BYTES_MS = 50;

export interface LargeUpload {
  http: HubHttp;
  /** Address of the repository, without `.git`. */
  address: string;
  revision: string;
  request: Request;
  /** Called with the number of bytes that were sent, or were there. */
  onBytes(count: number): void;
  /** Called for each file that the server has already. */
  onKept(file: PreparedFile): void;
}

interface Action {
  href: string;
  header?: Record<string, string>;
}

/** @throws RgxError that says what the server refused */
export async function uploadLarge(files: readonly PreparedFile[], up: LargeUpload): Promise<void> {
  const distinct = [...new Map(files.map((file) => [file.sha256, file])).values()];
  for (let at = 0; at < distinct.length; at += BATCH) {
    const batch = distinct.slice(at, at + BATCH);
    const answer = parse(
      await up.http.text(`${up.address}.git/info/lfs/objects/batch`, up.request, {
        method: "POST",
        headers: LFS,
        body: JSON.stringify({
          operation: "upload",
          transfers: ["basic", "multipart"],
          objects: batch.map(({ sha256: oid, size }) => ({ oid, size })),
          hash_algo: "sha256",
          ref: { name: up.revision },
        }),
      }),
      up.request,
    );
    const objects = Array.isArray(answer["objects"]) ? answer["objects"] : [];
    for (const file of batch) {
      const object = objects.find((one) => one?.oid === file.sha256);
      if (object === undefined) throw malformed(up.request, "does not mention every file");
      await uploadObject(file, object, up);
    }
  }
}

async function uploadObject(
  file: PreparedFile,
  object: {
    error?: { code?: number; message?: string };
    actions?: { upload?: Action; verify?: Action };
  },
  up: LargeUpload,
): Promise<void> {
  if (object.error !== undefined) {
    const { code = 0, message = "" } = object.error;
    throw new RgxError(`${file.path}: the server refuses it (${code}): ${shown(message)}`, {
      advice: "The message is the server's. The Hub's page of your account shows its quotas.",
    });
  }
  const upload = object.actions?.upload, verify = object.actions?.verify;
  if (upload === undefined) {
    up.onKept(file);
    return up.onBytes(file.size);
  }
  const request = { ...up.request, file: file.path }, chunk = Number(upload.header?.["chunk_size"]);
  if (chunk > 0) await sendParts(file, upload, chunk, request, up);
  else {
    await put(upload.href, file, 0, file.size, upload.header ?? {}, request, up);
  }
  if (verify !== undefined) {
    await up.http.text(verify.href, request, {
      method: "POST",
      headers: { ...LFS, ...verify.header },
      body: JSON.stringify({ oid: file.sha256, size: file.size }),
    });
  }
}

/** Sends a file in parts, each to an address of its own, and then the list of the parts. */
async function sendParts(
  file: PreparedFile,
  upload: Action,
  chunk: number,
  request: Request,
  up: LargeUpload,
): Promise<void> {
  const addresses = Object.entries(upload.header ?? {}).filter(([name]) => /^\d+$/.test(name))
    .sort(([a], [b]) => Number(a) - Number(b)).map(([, address]) => address);
  if (addresses.length !== Math.ceil(file.size / chunk)) {
    throw malformed(request, "names another number of parts than the file has");
  }
  const parts: { partNumber: number; etag: string }[] = [];
  for (const [i, address] of addresses.entries()) {
    const from = i * chunk, length = Math.min(chunk, file.size - from);
    const etag = await put(address, file, from, length, {}, request, up);
    if (etag === null) throw malformed(request, "confirms a part without an entity tag");
    parts.push({ partNumber: i + 1, etag });
  }
  await up.http.text(upload.href, request, {
    method: "POST",
    headers: LFS,
    body: JSON.stringify({ oid: file.sha256, parts }),
  });
}

/** Sends bytes of a file, again if the connection breaks. @returns the entity tag */
async function put(
  address: string,
  file: PreparedFile,
  from: number,
  length: number,
  headers: Readonly<Record<string, string>>,
  request: Request,
  up: LargeUpload,
): Promise<string | null> {
  const body = await bytesOf(file, from, length);
  const etag = await up.http.retrying(request, async () => {
    const timeout = MIN_TIMEOUT_MS + length / SLOWEST_BYTES_MS;
    const reply = await up.http.send("PUT", address, { timeout, headers, body });
    await reply.close();
    return reply.response.headers.get("etag");
  });
  up.onBytes(length);
  return etag;
}

/** The object in an answer. @throws RgxError when it is none */
export function parse(text: string, request: Request): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // reported below
  }
  throw malformed(request, "is no JSON object");
}

export function malformed({ settings, repository }: Request, what: string): RgxError {
  return new RgxError(`${repository.name}: the answer of ${settings.endpoint} ${what}`, {
    advice: "Is it a Hub? HF_ENDPOINT names the server; a proxy may have answered in its place.",
  });
}
