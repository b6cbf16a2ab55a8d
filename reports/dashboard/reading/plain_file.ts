/**
 * Looks at a file of a run before it is read. Whoever may write into a folder of runs could put a
 * link to a file of somebody else there, which the dashboard would show to all who read it, or a
 * pipe, at which it would wait for ever. So only plain files are read, up to a size.
 */
import { RgxError } from "../../../core/errors.ts";
import { isAbsent } from "../../../core/paths.ts";
import { readIfThere } from "../../../core/text_file.ts";

/** Maximum size of a configuration, a lock or a state. */
const USUAL_BYTES = 2 ** 24;

/**
 * The file's size and time; null when it is not there.
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
