/**
 * SHA-256 checksums of the files of a folder. They have the format of `sha256sum`, so users can
 * also check them with `sha256sum -c SHA256SUMS`.
 */
import { createHash } from "node:crypto";

export const SUMS_FILE = "SHA256SUMS";

export function sha256Hex(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Checksum of a file of any size, which is read in pieces. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  using file = await Deno.open(path, { read: true });
  const buffer = new Uint8Array(1 << 20);
  for (let n = await file.read(buffer); n !== null; n = await file.read(buffer)) {
    hash.update(buffer.subarray(0, n));
  }
  return hash.digest("hex");
}

/** The text of a checksum file, sorted by name. @param sums file name → checksum */
export function formatSums(sums: ReadonlyMap<string, string>): string {
  return [...sums.keys()].sort().map((name) => {
    const escaped = name.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
    return `${escaped === name ? "" : "\\"}${sums.get(name)}  ${escaped}\n`;
  }).join("");
}

/** Parses a checksum file. @returns file name → checksum, or null when a line is invalid */
export function parseSums(text: string): Map<string, string> | null {
  const sums = new Map<string, string>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const match = /^(\\?)([0-9a-f]{64}) [ *](.+)$/.exec(line);
    if (match === null) return null;
    const name = match[1] === ""
      ? match[3]!
      : match[3]!.replace(/\\(.)/g, (_, c) => c === "n" ? "\n" : c);
    sums.set(name, match[2]!);
  }
  return sums;
}

/** Checks the files that a folder's checksum file names. @returns what is wrong, or null */
export async function verifySums(folder: string): Promise<string | null> {
  let text: string;
  try {
    text = await Deno.readTextFile(`${folder}/${SUMS_FILE}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return `${SUMS_FILE} is missing`;
    throw error;
  }
  const sums = parseSums(text);
  if (sums === null || sums.size === 0) return `${SUMS_FILE} is damaged`;
  for (const [name, expected] of sums) {
    // A checksum file only ever names files directly in its folder.
    if (/[/\0]|^\.\.?$/.test(name) || name.length > 255) return `${SUMS_FILE} is damaged`;
    try {
      const found = await sha256OfFile(`${folder}/${name}`);
      if (found !== expected) return `${name} does not have the checksum that it was written with`;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return `${name} is missing`;
      if (error instanceof Deno.errors.IsADirectory) return `${name} is a folder`;
      throw error;
    }
  }
  return null;
}
