/** Reading of text files that people write, and of parts of files. */
import { isAbsent } from "./paths.ts";

/** Reads a UTF-8 file, without its byte order mark. @throws what Deno.readFile throws */
export async function readText(path: string): Promise<string> {
  return new TextDecoder().decode(await Deno.readFile(path));
}

/** Reads a UTF-8 file; null when it does not exist. */
export async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readText(path);
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

const LINE_END = 0x0a;
const utf8 = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** A file's text, split at newlines; decoded in pieces, as a string has 512 MiB at most. */
export function* linesOf(
  bytes: Uint8Array,
  decode: (piece: Uint8Array) => string = utf8,
  pieceLength = 2 ** 25,
): Generator<string> {
  for (let at = 0; at < bytes.length;) {
    // A piece ends after a newline, or at the end of the file.
    const end = bytes.indexOf(LINE_END, at + pieceLength - 1) + 1 || bytes.length;
    const lines = decode(bytes.subarray(at, end)).split("\n");
    if (end < bytes.length) lines.pop();
    yield* lines;
    at = end;
  }
}

/** Whether a file is UTF-16, by the byte order mark at its beginning. */
export function isUtf16(bytes: Uint8Array): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}

/** Why a file could not be read, for messages. */
export function whyUnreadable(cause: unknown): string {
  return cause instanceof Deno.errors.NotFound
    ? "there is no such file"
    : (cause as Error).message.replace(/ \(os error \d+\).*$/s, "");
}

/**
 * Why a text is not JSON, on one line: V8's message may quote several lines of the text. A position
 * in line 1 is not given as a line, because many texts are one line of a file.
 */
export function whyNotJson(cause: unknown): string {
  return (cause as Error).message.replace(/\s+/g, " ").replace(/ \(line 1 column \d+\)/, "");
}

/** The bytes [at, at + length), fewer where the file ends before. */
export async function readPart(
  file: Deno.FsFile,
  at: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  await file.seek(at, Deno.SeekMode.Start);
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const count = await file.read(bytes.subarray(filled));
    if (count === null) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}
