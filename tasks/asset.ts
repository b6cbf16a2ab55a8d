/** The data files that belong to the tasks (`assets/`, with their licences), read when they are first needed. */
import { RgxError } from "../core/errors.ts";

/** Where `assets/<name>` lies. */
export function assetUrl(name: string): URL {
  return new URL(`./assets/${name}`, import.meta.url);
}

/** The text of `assets/<name>`. Throws RgxError where it cannot be read. */
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
