/**
 * Checks of names that come from a server, which is not trusted. A file may only be written below
 * its snapshot, and text that is shown on a terminal may not contain control characters. The rules
 * of Windows apply on every system.
 */
import { RgxError } from "../core/errors.ts";

const MAX_PART_BYTES = 255, MAX_NAME_LENGTH = 1024;

/** Why a name must not be used as a path; null when it is safe. */
export function whyUnsafe(name: string): string | null {
  if (name === "" || name.length > MAX_NAME_LENGTH) return "it is empty or too long";
  if (/\p{Cc}/u.test(name)) return "it holds control characters";
  if (name.includes("\\")) return "it holds a backslash";
  if (name.startsWith("/")) return "it is an absolute path";
  for (const part of name.split("/")) {
    if (part === "..") return "it leads out of the folder";
    if (part === "" || part === ".") return "it has an empty part";
    if (/^[A-Za-z]:/.test(part)) return "it names a drive";
    if (new TextEncoder().encode(part).length > MAX_PART_BYTES) return "it is empty or too long";
  }
  return null;
}

/** Refuses unsafe names, and a file that is also a folder. @param from where. @throws RgxError */
export function checkFileNames(names: readonly string[], from: string): void {
  const known = new Set(names);
  for (const name of names) {
    const why = whyUnsafe(name) ??
      (parents(name).some((folder) => known.has(folder)) ? "a part of it is a file itself" : null);
    if (why === null) continue;
    throw new RgxError(
      `${from}: its list of files holds the name ${shown(name)}: ${why}; nothing was downloaded`,
      { advice: "The repository or the server is broken or malicious: do not use it." },
    );
  }
}

/** Text from a server, quoted for the terminal: without control characters, at most 120 long. */
export function shown(text: string): string {
  const quoted = JSON.stringify(text).replace(/[\u007f-\u009f]/g, "?");
  return quoted.length > 120 ? `${quoted.slice(0, 119)}…"` : quoted;
}

function parents(name: string): string[] {
  const parts = name.split("/");
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("/"));
}

/** Whether an entity tag can name a blob: git's and LFS's are hexadecimal, mirrors' anything. */
export function isBlobName(etag: string): boolean {
  return /^[A-Za-z0-9_][\w.+=-]{0,199}$/.test(etag) && !etag.includes("..") &&
    !/\.(incomplete|lock)$/.test(etag);
}
