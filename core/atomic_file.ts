/**
 * Atomic writes: a file or folder exists completely or not at all, even if the process is killed or
 * the machine crashes. It is written under a temporary name beside the target, flushed to the disk
 * and renamed, and the rename is flushed too. Windows cannot flush folders; there the rename is not
 * flushed.
 */
import { createHash, type Hash } from "node:crypto";
import { formatSums, SUMS_FILE } from "./checksums.ts";
import { RgxError } from "./errors.ts";
import { folderOf } from "./paths.ts";
import { processIsAlive } from "./machine/process_alive.ts";

/** The bytes of a file in their order, in pieces of any size. */
export type BytePieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** A file's content: bytes, or what makes them while they are written, if too large for memory. */
export type FileContent = Uint8Array | (() => BytePieces);

/** The function that writes and flushes a file; tests replace it by one that fails. */
export type FileWriter = (path: string, pieces: BytePieces) => Promise<void>;

/** Creates or overwrites a file and waits until its content is on the disk. */
export const writeFlushed: FileWriter = async (path, pieces) => {
  using file = await Deno.open(path, { write: true, create: true, truncate: true });
  for await (const piece of pieces) await writeAll(file, piece);
  await file.sync();
};

function piecesOf(content: FileContent | string): BytePieces {
  if (typeof content === "string") return [new TextEncoder().encode(content)];
  return content instanceof Uint8Array ? [content] : content();
}

/** Writes all bytes at the current position; a single `write` may write fewer. */
export async function writeAll(file: Pick<Deno.FsFile, "write">, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}

/** Waits until the entries of a folder (new files, renames) are on the disk. */
async function flushFolder(path: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  using folder = await Deno.open(path, { read: true });
  await folder.sync();
}

/** An RgxError with advice for errors such as a full disk; others unchanged. @param what failed */
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
    "Earlier files are unchanged; " +
    "a lower save_total_limit keeps fewer checkpoints of a run.",
  ],
  EDQUOT: [
    "the disk quota is used up",
    "Delete what is no longer needed, or name an output folder with more quota. " +
    "Earlier files are unchanged.",
  ],
  EIO: [
    "the disk or the file server has an error",
    "The system's log (dmesg) says more. Earlier files are unchanged.",
  ],
  EACCES: ["permission denied", "Name a folder that you may write to."],
  EPERM: ["permission denied", "Name a folder that you may write to."],
  EROFS: ["the file system is read-only", "Name a folder that you may write to."],
  ENOTDIR: ["a part of the path is a file, not a folder", "Name another place."],
  EISDIR: ["a folder of this name is there", "Name another place."],
  EEXIST: ["a file of this name is there", "Name another place."],
  ENAMETOOLONG: ["the name is too long", "Choose a shorter one."],
};

/** Explains a failed write. If the temporary file cannot be created, its folder does not exist. */
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

/** Creates or replaces a file. @throws RgxError when it cannot; the old file is then unchanged */
export async function writeFileAtomic(
  path: string,
  content: FileContent | string,
): Promise<void> {
  await writeFilesAtomic(new Map([[path, content]]));
}

/** `writeFileAtomic` of several files: all are complete before one is renamed. @throws RgxError */
export async function writeFilesAtomic(
  files: ReadonlyMap<string, FileContent | string>,
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
      const pieces = piecesOf(content);
      if (!await isStream(path)) {
        return await explained(path, () => writeFlushed(temporary(path), pieces));
      }
      streams.add(path);
      await explained(path, async () => {
        using stream = await Deno.open(path, { append: true });
        for await (const piece of pieces) await writeAll(stream, piece);
      });
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

/** Whether a path is a device, a pipe or `/dev/stdout`: these are written to, never replaced. */
async function isStream(path: string): Promise<boolean> {
  try {
    const { isFile, isDirectory, isSymlink } = await Deno.lstat(path);
    if (!isSymlink) return !isFile && !isDirectory;
    const target = await Deno.stat(path);
    return !target.isFile && !target.isDirectory || /^\/(dev|proc)\//.test(path);
  } catch {
    return false; // it does not exist and will be created
  }
}

/** `writeFileAtomic` for content too large for memory. @param produce writes to the given path */
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
 * Creates a folder with these files (names without folders) and their `SHA256SUMS`, which is
 * written last. An existing folder is replaced.
 * @throws RgxError when the disk is full or the place not writable; nothing incomplete remains, and
 *   an existing folder is unchanged
 */
export async function writeFolderAtomic(
  target: string,
  files: ReadonlyMap<string, FileContent>,
  options: { write?: FileWriter } = {},
): Promise<void> {
  const write = options.write ?? writeFlushed;
  await produceFolderAtomic(target, async (temporary) => {
    const sums = new Map<string, string>();
    for (const [name, content] of files) {
      if (name === "" || name.includes("/") || name === SUMS_FILE) {
        throw new RangeError(`"${name}" is no name for a file in ${target}`);
      }
      const hash = createHash("sha256");
      await write(`${temporary}/${name}`, hashed(piecesOf(content), hash));
      sums.set(name, hash.digest("hex"));
    }
    await write(`${temporary}/${SUMS_FILE}`, piecesOf(formatSums(sums)));
  });
}

async function* hashed(pieces: BytePieces, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

/** `writeFolderAtomic` for large files. @param produce writes flushed files to the given folder */
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

/** Removes a file or folder if it exists. Ignores a failure, which would hide an earlier error. */
async function removeQuietly(path: string): Promise<void> {
  try {
    await Deno.remove(path, { recursive: true });
  } catch {
    // removeLeftovers removes it later.
  }
}

/**
 * Removes what killed processes left in a folder: unfinished temporary files and folders, and old
 * versions of replaced folders. If a process was killed between the two renames of a replacement,
 * the old version is renamed back. Use this only for folders that a lock protects (`lock.ts`):
 * process ids are compared with those of this machine only.
 * @returns the names that were removed or renamed back
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

/** Changes the target of a symbolic link; the link exists at every moment. */
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
 * Appends a line (a newline is added) to a file, which is created if missing. A line that could not
 * be written completely is removed again.
 * @param options.sync also waits until the line is on the disk
 * @returns the new length of the file in bytes
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

/** Makes a folder and those above it. @throws the errors of explainFileError */
export async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (error) {
    throw explainFileError(error, "make the folder", path);
  }
}
