/**
 * Looks at a file of a run before it is read. Whoever may write into a folder of runs could put a
 * link to a file of somebody else there, which the dashboard would show to all who read it, or a
 * pipe, at which it would wait for ever. So only plain files are read, up to a size.
 */
import { RgxError } from "../../../core/errors.ts";
import { isAbsent } from "../../../core/paths.ts";
import { readIfThere } from "../../../core/text_file.ts";

/** Maximum bytes of a file of settings or of a run's state. */
const USUAL_BYTES = 2 ** 24;

/**
 * A plain file; null when it is not there.
 * @throws RgxError for a link, a pipe, a folder, or a larger file
 */
export async function plainFile(path: string, maxBytes: number): Promise<Deno.FileInfo | null> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.lstat(path);
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
  if (!info.isFile) throw new RgxError(`${path} is not shown: it is a link, or no plain file`);
  if (info.size > maxBytes) {
    throw new RgxError(`${path} is not shown: ${info.size} bytes are more than ${maxBytes}`);
  }
  return info;
}

/** The text of a plain file; null when it is not there. @throws as plainFile does */
export async function readPlain(path: string, maxBytes = USUAL_BYTES): Promise<string | null> {
  return await plainFile(path, maxBytes) === null ? null : await readIfThere(path);
}

/** Changes when a file or a folder does; "" where there is none. */
export async function versionOf(path: string): Promise<string> {
  const info = await Deno.lstat(path).catch(() => null);
  return info === null ? "" : `${info.size} ${info.mtime?.getTime()}`;
}

/** What was made of files, until they change. */
export class FileCache<T> {
  readonly #known = new Map<string, { version: string; value: T }>();

  /** @param most number of files that are kept; they may be large */
  constructor(private readonly most = Infinity) {}

  async get(path: string, make: () => Promise<T>): Promise<T> {
    const version = await versionOf(path), before = this.#known.get(path);
    this.#known.delete(path);
    const known = before?.version === version ? before : { version, value: await make() };
    this.#known.set(path, known);
    while (this.#known.size > this.most) this.#known.delete(this.#known.keys().next().value!);
    return known.value;
  }
}
