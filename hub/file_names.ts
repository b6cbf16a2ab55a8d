/**
 * Names that a server says are names from a stranger: a file may only be written below its snapshot, and what
 * is shown on a terminal may hold no control characters. Names are judged by the rules of Windows too.
 */
import { RgxError } from "../core/errors.ts";

const LONGEST_PART = 255, LONGEST_NAME = 1024;

/** Why a name must not become a path; null when it may. */
export function whyUnsafe(name: string): string | null {
  if (name === "" || name.length > LONGEST_NAME) return "it is empty or too long";
  if (/\p{Cc}/u.test(name)) return "it holds control characters";
  if (name.includes("\\")) return "it holds a backslash";
  if (name.startsWith("/")) return "it is an absolute path";
  for (const part of name.split("/")) {
    if (part === "..") return "it leads out of the folder";
    if (part === "" || part === ".") return "it has an empty part";
    if (/^[A-Za-z]:/.test(part)) return "it names a drive";
    if (new TextEncoder().encode(part).length > LONGEST_PART) return "it is empty or too long";
  }
  return null;
}

/**
 * Refuses a list of files with a name that leads elsewhere, or in which a file is also a folder.
 * @param from who says so
 * @throws RgxError
 */
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

/** A name or a message from elsewhere for the terminal: nothing that moves the cursor, not too long. */
export function shown(text: string): string {
  const quoted = JSON.stringify(text).replace(/[\u007f-\u009f]/g, "?");
  return quoted.length > 120 ? `${quoted.slice(0, 119)}…"` : quoted;
}

function parents(name: string): string[] {
  const parts = name.split("/");
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("/"));
}

/**
 * Whether a name can be the name of a blob: the entity tag of a server becomes a file name.
 * Git's and LFS's are hexadecimal; those of mirrors may be others.
 */
export function isBlobName(etag: string): boolean {
  return /^[A-Za-z0-9_][\w.+=-]{0,199}$/.test(etag) && !etag.includes("..") &&
    !/\.(incomplete|lock)$/.test(etag);
}
