/** The API requests of a download: the list of a revision's files, and the metadata of a file. */
import { RgxError } from "../core/errors.ts";
import { jsonObjectOrNull } from "../core/json_file.ts";
import { checkFileNames, isBlobName, shown } from "./file_names.ts";
import type { HubHttp } from "./http.ts";
import { addressOf, isCommit } from "./repository.ts";
import { HttpStatus } from "./refusal.ts";

export interface Listing {
  readonly commit: string;
  readonly files: readonly ListedFile[];
}

export interface ListedFile {
  readonly name: string;
  readonly size: number | null;
  /** SHA-256 of the content; null where the list does not report it. */
  readonly sha256: string | null;
}

/** The metadata of a file's content, as the Hub reports it. */
export interface RemoteFile {
  readonly name: string;
  /** The Hub's address of the file. It may redirect to a signed address that soon expires. */
  readonly url: string;
  /** The entity tag, which names the blob in the cache. */
  readonly etag: string;
  readonly size: number | null;
  readonly checksum: Checksum | null;
}

/** LFS uses the SHA-256 of the content, git the SHA-1 of a header and the content. */
export interface Checksum {
  readonly kind: "sha256" | "git-sha1";
  readonly hex: string;
}

/** The files of a revision. @throws RgxError, also for unsafe names of files */
export async function listFiles(http: HubHttp): Promise<Listing> {
  const { settings: { endpoint }, repository, revision } = http;
  const url = `${endpoint}/api/${repository.kind}s/${repository.name}/revision/${
    encodeURIComponent(revision)
  }?blobs=true`;
  const text = await http.text(url);
  const from = `${repository.name} on ${endpoint}`;
  const { sha, siblings } = jsonObjectOrNull(text) ?? {};
  if (typeof sha !== "string" || !isCommit(sha) || !Array.isArray(siblings)) {
    throw new RgxError(`${from}: the answer is no list of a repository's files`, {
      advice: "Is it a Hub? HF_ENDPOINT names the server; a proxy may have answered in its place.",
    });
  }
  const files = siblings.map((item) => listedFile(item, from));
  checkFileNames(files.map(({ name }) => name), from);
  return { commit: sha, files };
}

function listedFile(item: unknown, from: string): ListedFile {
  const { rfilename: name, size, lfs } = (item ?? {}) as Record<string, unknown>;
  if (typeof name !== "string") throw new RgxError(`${from}: its list holds a file without a name`);
  const { sha256, size: lfsSize } = (lfs ?? {}) as Record<string, unknown>;
  return {
    name,
    size: sizeOrNull(lfsSize) ?? sizeOrNull(size),
    sha256: typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256) ? sha256 : null,
  };
}

/** Requests the metadata of a file. @throws RgxError */
export async function remoteFile(
  http: HubHttp,
  commit: string,
  listed: ListedFile,
): Promise<RemoteFile> {
  const { settings, repository } = http, { name } = listed;
  const path = name.split("/").map(encodeURIComponent).join("/");
  const url = `${settings.endpoint}/${addressOf(repository)}/resolve/${commit}/${path}`;
  const headers = await http.retrying(name, async () => {
    try {
      return await headersOf(http, "HEAD", url);
    } catch (error) {
      // Simple mirrors do not support HEAD.
      if (!(error instanceof HttpStatus && [405, 501].includes(error.status))) throw error;
      return await headersOf(http, "GET", url);
    }
  });
  const redirected = headers.get("location") !== null;
  const etag = plainTag(headers.get("x-linked-etag") ?? headers.get("etag"));
  const where = `${repository.name}: ${name}`, commitHeader = headers.get("x-repo-commit");
  const etagChecksum = etag === null ? null : checksumOf(etag);
  // Without a commit this may be the page of any server, unless a checksum can prove the content.
  if (
    etag === null || commitHeader !== commit && (commitHeader !== null || etagChecksum === null)
  ) {
    const found = etag === null ? "no entity tag" : "another commit than asked for, or none";
    throw new RgxError(`${where}: the answer of ${settings.endpoint} has ${found}`, {
      advice: "Is it a Hub? HF_ENDPOINT names the server; a proxy may have answered in its place.",
    });
  }
  if (!isBlobName(etag)) {
    throw new RgxError(`${where}: the entity tag ${shown(etag)} is no name for a file`);
  }
  const checksum = listed.sha256 === null
    ? etagChecksum
    : { kind: "sha256" as const, hex: listed.sha256 };
  if (etagChecksum?.kind === "sha256" && etagChecksum.hex !== checksum?.hex) {
    throw new RgxError(`${where}: ${settings.endpoint} names two checksums for one file`, {
      advice: "The server or a mirror between is broken: try again later or without HF_ENDPOINT.",
    });
  }
  // Simple servers answer HEAD with a length of 0, because they send no body.
  const length = redirected ? null : sizeOrNull(headers.get("content-length")) || null;
  const size = sizeOrNull(headers.get("x-linked-size")) ?? length ?? listed.size;
  return { name, url, etag, size, checksum };
}

async function headersOf(http: HubHttp, method: "HEAD" | "GET", url: string): Promise<Headers> {
  const reply = await http.send(method, url, { stay: true });
  const { status, headers } = reply.response;
  await reply.close();
  if (status === 204 || status === 205) throw new HttpStatus(status, null, "no content", null);
  return headers;
}

function checksumOf(etag: string): Checksum | null {
  if (/^[0-9a-f]{64}$/.test(etag)) return { kind: "sha256", hex: etag };
  return /^[0-9a-f]{40}$/.test(etag) ? { kind: "git-sha1", hex: etag } : null;
}

/** `W/"abc"` → `abc` */
function plainTag(tag: string | null): string | null {
  return tag?.trim().replace(/^W\//, "").replace(/^"(.*)"$/, "$1") || null;
}

function sizeOrNull(value: unknown): number | null {
  if (value === null || value === "") return null;
  const size = Number(value);
  return Number.isSafeInteger(size) && size >= 0 ? size : null;
}
