/** Text of files that people write. */
import { isAbsent } from "./paths.ts";

/** All of a file, UTF-8, without the mark that some editors put at its beginning. @throws what Deno.readFile throws */
export async function readText(path: string): Promise<string> {
  return new TextDecoder().decode(await Deno.readFile(path));
}

/** The same, or null when there is no such file. */
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

/**
 * The lines of a file without their ends, as a split of its text. No text may be longer than 512 MiB, so pieces of it
 * are decoded.
 */
export function* linesOf(
  bytes: Uint8Array,
  decode: (piece: Uint8Array) => string = utf8,
  pieceLength = 2 ** 25,
): Generator<string> {
  for (let at = 0; at < bytes.length;) {
    // A line has an end, where it is not the last one.
    const end = bytes.indexOf(LINE_END, at + pieceLength - 1) + 1 || bytes.length;
    const lines = decode(bytes.subarray(at, end)).split("\n");
    if (end < bytes.length) lines.pop();
    yield* lines;
    at = end;
  }
}

/** Whether a text that is no UTF-8 is UTF-16, by the mark at its beginning. */
export function isUtf16(bytes: Uint8Array): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}

/** Why a file could not be read, in words. */
export function whyUnreadable(cause: unknown): string {
  return cause instanceof Deno.errors.NotFound
    ? "there is no such file"
    : (cause as Error).message.replace(/ \(os error \d+\).*$/s, "");
}

/** Why a text is not JSON, on one line: the message of V8 quotes from the text. */
export function whyNotJson(cause: unknown): string {
  return (cause as Error).message.replace(/\s+/g, " ");
}
