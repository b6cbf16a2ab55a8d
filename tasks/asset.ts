/** Reads the data files of the tasks (`assets/`, licences included) when they are first needed. */
import { RgxError } from "../core/errors.ts";

/** The URL of `assets/<name>`. */
export function assetUrl(name: string): URL {
  return new URL(`./assets/${name}`, import.meta.url);
}

/**
 * Returns the text of `assets/<name>`.
 * @throws RgxError when the file cannot be read
 */
export function readAsset(name: string): string {
  const file = assetUrl(name);
  try {
    return Deno.readTextFileSync(file);
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

export function unreadable(file: URL, cause: unknown): RgxError {
  return new RgxError(`cannot read ${file.pathname}: ${(cause as Error).message}`, {
    advice: "the file belongs to the program; reinstall it, and allow reading",
    cause,
  });
}
