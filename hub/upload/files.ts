/** The files of an upload: their paths in the repository, sizes and checksums. */
import { createHash } from "node:crypto";
import { RgxError, UsageError } from "../../core/errors.ts";
import { sha256OfFile } from "../../core/checksums.ts";
import { readPart } from "../../core/text_file.ts";
import { shown, whyUnsafe } from "../file_names.ts";

/** A file to upload: on the disk, or made for the upload. */
export interface UploadFile {
  path: string;
  source: string | Uint8Array<ArrayBuffer>;
}

export interface PreparedFile extends UploadFile {
  size: number;
  sha256: string;
  /** The first bytes, from which the Hub decides whether the file is text. */
  sample: Uint8Array;
}

const SAMPLE_BYTES = 512;
/** Git's own folder, and names that Windows does not allow: the Hub refuses them in a commit. */
const FORBIDDEN = /(^|\/)\.git(\/|$)|(^|\/)\.?\.(\/|$)|[:*?"<>|]/;

/** @throws UsageError for a path that the Hub would refuse */
export function checkPaths(files: readonly UploadFile[]): void {
  const seen = new Set<string>();
  for (const { path } of files) {
    const why = whyUnsafe(path) ?? (FORBIDDEN.test(path) ? "the Hub forbids this name" : null) ??
      (seen.has(path) ? "it is named twice" : null);
    if (why !== null) {
      throw new UsageError(`${shown(path)}: cannot be uploaded: ${why}; nothing was uploaded`, {
        advice: "Rename the file.",
      });
    }
    seen.add(path);
  }
}

/** @throws RgxError when a file cannot be read */
export async function prepare(file: UploadFile): Promise<PreparedFile> {
  const { source } = file;
  if (typeof source !== "string") {
    const sha256 = createHash("sha256").update(source).digest("hex");
    return { ...file, size: source.length, sha256, sample: source.subarray(0, SAMPLE_BYTES) };
  }
  try {
    const { size } = await Deno.stat(source);
    using opened = await Deno.open(source);
    const sample = await readPart(opened, 0, Math.min(SAMPLE_BYTES, size));
    return { ...file, size, sha256: await sha256OfFile(source), sample };
  } catch (error) {
    throw new RgxError(`${source}: cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Bytes of a file. @throws RgxError when it has become shorter since it was looked at */
export async function bytesOf(
  { source, path }: UploadFile,
  from: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof source !== "string") return source.slice(from, from + length);
  using file = await Deno.open(source);
  const bytes = await readPart(file, from, length);
  if (bytes.length === length) return bytes;
  throw new RgxError(`${path}: the file was changed during the upload`, {
    advice: "Upload again when nothing writes to the folder.",
  });
}

/** The name that git gives to a content. */
export function gitSha1(bytes: Uint8Array): string {
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}
