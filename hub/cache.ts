/**
 * The cache on disk. It has the layout of huggingface_hub, so both programs find each other's
 * downloads: a repository is a folder `models--org--name/` (`datasets--org--name/`) with
 * `blobs/{checksum}`, `snapshots/{commit}/{path}` (links to the blobs) and `refs/{branch}` (a file
 * that holds a commit). Nothing here uses the network.
 */
import { dirname } from "node:path";
import { explainFileError, makeFolder, replaceSymlink } from "../core/atomic_file.ts";
import { RgxError } from "../core/errors.ts";
import { isAbsent, isFolder } from "../core/paths.ts";
import { readIfThere } from "../core/text_file.ts";
import { isCommit, type Repository } from "./repository.ts";

/** `models--org--name`. */
export function cacheFolderName({ kind, name }: Repository): string {
  return `${kind}s--${name.replaceAll("/", "--")}`;
}

/** A repository at one commit. */
export interface Snapshot {
  readonly commit: string;
  /** The folder that holds the files by name. */
  readonly path: string;
}

export class RepositoryCache {
  readonly folder: string;
  readonly #locks: string;

  constructor(readonly cache: string, readonly repository: Repository) {
    const name = cacheFolderName(repository);
    this.folder = `${cache}/${name}`;
    this.#locks = `${cache}/.locks/${name}`;
  }

  get blobs(): string {
    return `${this.folder}/blobs`;
  }

  blob(etag: string): string {
    return `${this.blobs}/${etag}`;
  }

  lock(etag: string): string {
    return `${this.#locks}/${etag}.lock`;
  }

  snapshot(commit: string): string {
    return `${this.folder}/snapshots/${commit}`;
  }

  async prepare(): Promise<void> {
    for (const folder of [this.blobs, this.#locks, `${this.folder}/snapshots`]) {
      await makeFolder(folder);
    }
  }

  /** The commit of a branch or tag when it was last fetched, or null. */
  async readRef(revision: string): Promise<string | null> {
    const commit = (await readIfThere(`${this.folder}/refs/${revision}`))?.trim() ?? "";
    return isCommit(commit) ? commit : null;
  }

  /** Records the commit of a branch or tag in `refs/`. For a commit itself nothing is recorded. */
  async writeRef(revision: string, commit: string): Promise<void> {
    if (revision === commit || await this.readRef(revision) === commit) return;
    const path = `${this.folder}/refs/${revision}`;
    // The file is not inside `refs/`, where every file counts as a branch or tag.
    const temporary = `${this.folder}/ref-${crypto.randomUUID()}`;
    await makeFolder(dirname(path));
    try {
      await Deno.writeTextFile(temporary, commit); // no line end: Python reads the file as it is
      await Deno.rename(temporary, path);
    } catch (error) {
      await Deno.remove(temporary).catch(() => {});
      throw explainFileError(error, "note the commit", path);
    }
  }

  /** Size of a snapshot's file; null when it is missing, or a broken link. */
  async sizeOf(commit: string, file: string): Promise<number | null> {
    return await fileSize(`${this.snapshot(commit)}/${file}`);
  }

  /** Adds a blob to a snapshot: as a symbolic link where possible, else a hard link or copy. */
  async place(commit: string, file: string, etag: string, symlinks: boolean): Promise<void> {
    const snapshot = this.snapshot(commit), pointer = `${snapshot}/${file}`;
    const depth = await this.#makeParents(snapshot, file);
    const target = `${"../".repeat(depth + 2)}blobs/${etag}`;
    try {
      if (symlinks && await this.#placeSymlink(target, pointer)) return;
      await placeCopy(this.blob(etag), pointer);
    } catch (error) {
      throw explainFileError(error, "put the file into the snapshot", pointer);
    }
  }

  async #placeSymlink(target: string, pointer: string): Promise<boolean> {
    try {
      await Deno.symlink(target, pointer);
      return true;
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) {
        const old = await Deno.lstat(pointer);
        if (!old.isSymlink || await Deno.readLink(pointer) !== target) {
          await replaceSymlink(pointer, target);
        }
        return true;
      }
      const { code } = error as { code?: string };
      if (["EPERM", "EOPNOTSUPP", "ENOTSUP", "ENOSYS"].includes(code ?? "")) return false;
      if (Deno.build.os === "windows") return false; // no right to make links
      throw error;
    }
  }

  /** Creates the folders above a file. None may be a link, which could lead out of the cache. */
  async #makeParents(snapshot: string, file: string): Promise<number> {
    const folders = file.split("/").slice(0, -1);
    let path = snapshot;
    await makeFolder(path);
    for (const name of folders) {
      path += `/${name}`;
      await makeFolder(path);
      if (!(await Deno.lstat(path)).isDirectory) {
        throw new RgxError(
          `${path}: it is a link, expected a folder; nothing is written through it`,
        );
      }
    }
    return folders.length;
  }
}

/** Places a blob without a symbolic link: as a hard link, or else as a copy. */
async function placeCopy(blob: string, pointer: string): Promise<void> {
  const temporary = `${blob}.copy-${crypto.randomUUID()}`;
  try {
    await Deno.link(blob, temporary).catch(() => Deno.copyFile(blob, temporary));
    await Deno.rename(temporary, pointer);
  } finally {
    // When both names are hard links to one file, the rename above does nothing.
    await Deno.remove(temporary).catch(() => {});
  }
}

/** The snapshot of a revision (default main, or the only one); null when it is not in the cache. */
export async function findSnapshot(
  cache: string,
  repository: Repository,
  revision: string | null,
): Promise<Snapshot | null> {
  const place = new RepositoryCache(cache, repository), wanted = revision ?? "main";
  let commit = isCommit(wanted) ? wanted : await place.readRef(wanted);
  if (commit === null && revision === null) {
    const names = await folderNames(`${place.folder}/snapshots`);
    if (names.length === 1) commit = names[0]!;
  }
  if (commit === null) return null;
  const path = place.snapshot(commit);
  return await isFolder(path) ? { commit, path } : null;
}

/** For messages: where a revision that is not here would be, and the revisions that are here. */
export async function placeWithout(
  cache: string,
  repository: Repository,
  revision: string | null,
): Promise<string> {
  const place = new RepositoryCache(cache, repository);
  const here = new Set(await folderNames(`${place.folder}/snapshots`)), named = new Set<string>();
  const refs = await isFolder(`${place.folder}/refs`) ? await filesOf(`${place.folder}/refs`) : [];
  const names: string[] = [];
  for (const name of refs) {
    const commit = await place.readRef(name);
    if (commit === null || !here.has(commit)) continue;
    names.push(name);
    named.add(commit);
  }
  names.push(...[...here].filter((commit) => !named.has(commit)).sort());
  const path = place.snapshot(revision ?? "main");
  return names.length === 0 ? path : `${path} (revisions here: ${names.join(", ")})`;
}

/** Names of the files of a snapshot, sorted, without broken links. */
export async function filesOf(snapshot: string): Promise<string[]> {
  const found: string[] = [];
  const walk = async (folder: string, prefix: string): Promise<void> => {
    for await (const entry of Deno.readDir(folder)) {
      const name = prefix + entry.name;
      if (entry.isDirectory) await walk(`${folder}/${entry.name}`, `${name}/`);
      else if (await fileSize(`${folder}/${entry.name}`) !== null) found.push(name);
    }
  };
  await walk(snapshot, "");
  return found.sort();
}

/** Size of a file (through links), or null when there is none. */
export async function fileSize(path: string): Promise<number | null> {
  try {
    const info = await Deno.stat(path);
    return info.isFile ? info.size : null;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

async function folderNames(path: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const entry of Deno.readDir(path)) if (entry.isDirectory) names.push(entry.name);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
  return names;
}
