/**
 * Files and folders that are there whole or not at all, whatever kills the process or the machine:
 * written under a temporary name beside the target, flushed to the disk, renamed, and the rename
 * flushed as well. Windows has no flush of folders; there the rename alone has to do.
 */
import { formatSums, sha256Hex, SUMS_FILE } from "./checksums.ts";
import { RgxError } from "./errors.ts";
import { folderOf } from "./paths.ts";
import { processIsAlive } from "./machine/process_alive.ts";

/** Writes a file and flushes it; tests put a failing one in its place. */
export type FileWriter = (path: string, bytes: Uint8Array) => Promise<void>;

/** Writes a new file (or over an old one) and waits until its content is on the disk. */
export const writeFlushed: FileWriter = async (path, bytes) => {
  using file = await Deno.open(path, { write: true, create: true, truncate: true });
  await writeAll(file, bytes);
  await file.sync();
};

/** Writes all of the bytes where the file stands. */
export async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}

/** Waits until the names in a folder (new files, renames) are on the disk. */
async function flushFolder(path: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  using folder = await Deno.open(path, { read: true });
  await folder.sync();
}

/**
 * What went wrong with a file, in the user's words, where the user can do something about it: full disk,
 * exhausted quota, missing permission, read-only file system. Other errors come back unchanged.
 * @param what what was being done: "write the checkpoint"
 */
export function explainFileError(error: unknown, what: string, path: string): unknown {
  const reason = FILE_ERRORS[(error as { code?: string } | null)?.code ?? ""];
  if (reason === undefined || error instanceof RgxError) return error;
  const [found, advice] = reason;
  return new RgxError(`${path}: cannot ${what}: ${found}`, { advice, cause: error });
}

const FILE_ERRORS: Readonly<Record<string, readonly [found: string, advice: string]>> = {
  ENOSPC: [
    "the disk is full",
    "Free some space (df -h shows it), or name an output folder on another disk. " +
    "What was saved before is untouched; a lower save_total_limit keeps fewer checkpoints of a run.",
  ],
  EDQUOT: [
    "the disk quota is used up",
    "Delete what is no longer needed, or name an output folder with more quota. " +
    "What was saved before is untouched.",
  ],
  EACCES: ["permission denied", "Name a folder that you may write to."],
  EPERM: ["permission denied", "Name a folder that you may write to."],
  EROFS: ["the file system is read-only", "Name a folder that you may write to."],
  ENOTDIR: ["a part of the path is a file, not a folder", "Name another place."],
  EISDIR: ["a folder of this name is there", "Name another place."],
  EEXIST: ["a file of this name is there", "Name another place."],
  ENAMETOOLONG: ["the name is too long", "Choose a shorter one."],
};

/** The same of a file that is written: where its temporary name is not found, its folder is not. */
function explainWriteError(error: unknown, path: string): unknown {
  const { code, message } = (error ?? {}) as { code?: string; message?: string };
  if ((code === "ENOENT" || code === "ENOTDIR") && message?.includes(`${path}.tmp-`)) {
    return new RgxError(`${path}: cannot write the file: there is no folder ${folderOf(path)}`, {
      advice: "Make it, or name another place.",
      cause: error,
    });
  }
  return explainFileError(error, "write the file", path);
}

/**
 * Replaces a file by new content, or creates it.
 * @throws RgxError when the disk is full or the folder not writable; the old file is then untouched
 */
export async function writeFileAtomic(
  path: string,
  content: Uint8Array | string,
  options: { write?: FileWriter } = {},
): Promise<void> {
  await writeFilesAtomic(new Map([[path, content]]), options);
}

/**
 * The same for several files, which the disk takes together. They get their names in their order, once all are there
 * whole.
 * @throws RgxError as above; no file is then replaced, unless a rename itself fails
 */
export async function writeFilesAtomic(
  files: ReadonlyMap<string, Uint8Array | string>,
  { write = writeFlushed }: { write?: FileWriter } = {},
): Promise<void> {
  const temporary = (path: string) => `${path}.tmp-${Deno.pid}`;
  const explained = async (path: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      throw explainWriteError(error, path);
    }
  };
  const streams = new Set<string>();
  try {
    const ends = await Promise.allSettled([...files].map(async ([path, content]) => {
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      if (!await isStream(path)) return await explained(path, () => write(temporary(path), bytes));
      streams.add(path);
      await explained(path, () => Deno.writeFile(path, bytes, { append: true, create: false }));
    }));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
    const renamed = [...files.keys()].filter((path) => !streams.has(path));
    for (const path of renamed) {
      await explained(path, () => Deno.rename(temporary(path), path));
    }
    const folders = new Map(renamed.map((path) => [folderOf(path), path]));
    for (const [folder, path] of folders) await explained(path, () => flushFolder(folder));
  } catch (error) {
    for (const path of files.keys()) await removeQuietly(temporary(path));
    throw error;
  }
}

/** A device, a pipe or `/dev/stdout`, which take what is written and must not be replaced. */
async function isStream(path: string): Promise<boolean> {
  try {
    const { isFile, isDirectory, isSymlink } = await Deno.lstat(path);
    if (!isSymlink) return !isFile && !isDirectory;
    const target = await Deno.stat(path);
    return !target.isFile && !target.isDirectory || /^\/(dev|proc)\//.test(path);
  } catch {
    return false; // it is made anew
  }
}

/**
 * The same for content that is too large to be held at once.
 * @param produce writes it under the temporary name that it is given
 */
export async function produceFileAtomic(
  path: string,
  produce: (temporary: string) => Promise<void> | void,
): Promise<void> {
  const temporary = `${path}.tmp-${Deno.pid}`;
  try {
    await produce(temporary);
    using file = await Deno.open(temporary, { read: true, write: true });
    await file.sync();
    await Deno.rename(temporary, path);
    await flushFolder(folderOf(path));
  } catch (error) {
    await removeQuietly(temporary);
    throw explainWriteError(error, path);
  }
}

/**
 * Makes a folder of these files (plain names) and their `SHA256SUMS`, which is written last. A folder
 * that is there already is replaced.
 * @throws RgxError when the disk is full or the place not writable; nothing half-written remains, and
 *   what was there before is untouched
 */
export async function writeFolderAtomic(
  target: string,
  files: ReadonlyMap<string, Uint8Array>,
  options: { write?: FileWriter } = {},
): Promise<void> {
  const write = options.write ?? writeFlushed;
  await produceFolderAtomic(target, async (temporary) => {
    const sums = new Map<string, string>();
    for (const [name, bytes] of files) {
      if (name === "" || name.includes("/") || name === SUMS_FILE) {
        throw new RangeError(`"${name}" is no name for a file in ${target}`);
      }
      await write(`${temporary}/${name}`, bytes);
      sums.set(name, sha256Hex(bytes));
    }
    await write(`${temporary}/${SUMS_FILE}`, new TextEncoder().encode(formatSums(sums)));
  });
}

/**
 * The same for files that are too large to be held at once.
 * @param produce fills the folder that it is given, with files that are flushed
 */
export async function produceFolderAtomic(
  target: string,
  produce: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = `${target}.tmp-${Deno.pid}`;
  const old = `${target}.old-${Deno.pid}`;
  try {
    await removeQuietly(temporary);
    await Deno.mkdir(temporary, { recursive: true });
    await produce(temporary);
    await flushFolder(temporary);
    await renameIfThere(target, old);
    try {
      await Deno.rename(temporary, target);
    } catch (error) {
      await renameIfThere(old, target);
      throw error;
    }
    await flushFolder(folderOf(target));
  } catch (error) {
    await removeQuietly(temporary);
    throw explainFileError(error, "write the folder", target);
  }
  await removeQuietly(old);
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await Deno.rename(from, to);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Removes a file or folder if it is there; failure to do so must not hide the error that led here. */
async function removeQuietly(path: string): Promise<void> {
  try {
    await Deno.remove(path, { recursive: true });
  } catch {
    // It is cleaned up by removeLeftovers later.
  }
}

/**
 * Clears away what killed processes left in a folder: unfinished temporary files and folders, and the old
 * version of a folder whose replacement was cut off between two renames, which is put back in its place.
 * Only for folders that one run at a time writes to (see `lock.ts`): process ids are this machine's.
 * @returns names of what was removed or put back
 */
export async function removeLeftovers(folder: string): Promise<string[]> {
  const found: { name: string; target: string; old: boolean }[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    const match = /^(.+)\.(tmp|old)-(\d+)$/.exec(name);
    if (match === null) continue;
    const pid = Number(match[3]);
    if (pid !== Deno.pid && processIsAlive(pid)) continue;
    found.push({ name, target: match[1]!, old: match[2] === "old" });
  }
  for (const { name, target, old } of found) {
    if (old && !await pathExists(`${folder}/${target}`)) {
      await Deno.rename(`${folder}/${name}`, `${folder}/${target}`);
    } else {
      await Deno.remove(`${folder}/${name}`, { recursive: true });
    }
  }
  return found.map(({ name }) => name).sort();
}

async function pathExists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Points a symbolic link at another target without a moment in which it is missing. */
export async function replaceSymlink(link: string, target: string): Promise<void> {
  const temporary = `${link}.tmp-${Deno.pid}`;
  try {
    await removeQuietly(temporary);
    await Deno.symlink(target, temporary);
    await Deno.rename(temporary, link);
  } catch (error) {
    await removeQuietly(temporary);
    throw explainFileError(error, "set the link", link);
  }
}

/**
 * Appends one line (its newline is added) to a file, which is created if need be. A line that could not
 * be written whole is taken back.
 * @param options.sync also wait until it is on the disk
 * @returns length of the file afterwards, in bytes
 * @throws RgxError when the disk is full or the file not writable
 */
export async function appendLine(
  path: string,
  line: string,
  options: { sync?: boolean } = {},
): Promise<number> {
  const bytes = new TextEncoder().encode(line + "\n");
  try {
    using file = await Deno.open(path, { append: true, create: true });
    const before = (await file.stat()).size;
    try {
      await writeAll(file, bytes);
      if (options.sync) await file.sync();
    } catch (error) {
      await file.truncate(before).catch(() => {});
      throw error;
    }
    return before + bytes.length;
  } catch (error) {
    throw explainFileError(error, "append to the file", path);
  }
}
