/**
 * The folders of a run's checkpoints, `checkpoint-{step}`: written atomically with checksums,
 * checked, listed, and deleted beyond a maximum number. The links `latest` and `best` point to two
 * of them. What the files contain is defined in `checkpoint_files.ts`. Checkpoints of other
 * trainers have no `SHA256SUMS`. They count as complete if they hold a readable
 * `trainer_state.json` and no mark of an unfinished save.
 */
import {
  explainFileError,
  type FileContent,
  replaceSymlink,
  writeFolderAtomic,
} from "../../core/atomic_file.ts";
import { parseSums, SUMS_FILE, verifySums } from "../../core/checksums.ts";
import { RgxError } from "../../core/errors.ts";
import {
  readSafetensors,
  type SafetensorsFile,
} from "../../models/formats/safetensors/safetensors.ts";

export const WARM_START = "warm-start";
/** File that transformers leaves in a checkpoint that it could not finish. */
const INCOMPLETE_MARK = "checkpoint-is-incomplete.txt";
/** Only rgx writes this file, and never without checksums. */
const RGX_STATE = "rgx_state.json";
const TRAINER_STATE = "trainer_state.json";
const LATEST = "latest";
const BEST = "best";

export interface CheckpointEntry {
  path: string;
  step: number;
}

/** A checkpoint whose checksums are right (or one of another trainer that looks complete). */
export interface Checkpoint {
  files: ReadonlySet<string>;
  /** @throws RgxError when there is no such file */
  read(name: string): Promise<Uint8Array<ArrayBuffer>>;
  readText(name: string): Promise<string>;
  /** Opens a safetensors file. @throws RgxError when there is no such file */
  open(name: string): Promise<SafetensorsFile>;
}

export interface SaveOptions {
  /** Maximum number of checkpoints to keep; null = all. */
  saveTotalLimit?: number | null;
  /** Step of the best checkpoint, which is never deleted; the link `best` points to it. */
  bestStep?: number | null;
}

export function checkpointPath(outputDir: string, step: number): string {
  return `${outputDir}/checkpoint-${step}`;
}

/**
 * Writes a checkpoint, points `latest` to it, then deletes the oldest checkpoints beyond the limit.
 * The best one and the one just written are never deleted, nor are damaged ones, which a person may
 * want to look at.
 * @throws RgxError when the disk is full or not writable; earlier checkpoints are then unchanged
 */
export async function saveCheckpoint(
  outputDir: string,
  step: number,
  files: ReadonlyMap<string, FileContent>,
  options: SaveOptions = {},
): Promise<{ path: string; removed: string[] }> {
  const path = checkpointPath(outputDir, step), name = `checkpoint-${step}`;
  await writeFolderAtomic(path, files);
  await pointTo(outputDir, LATEST, name);
  if (options.bestStep === step) await pointTo(outputDir, BEST, name);
  const removed: string[] = [];
  const { saveTotalLimit = null, bestStep = null } = options;
  if (saveTotalLimit !== null) {
    for (const old of await surplus(outputDir, step, bestStep, Math.max(1, saveTotalLimit))) {
      await removeCheckpoint(old);
      removed.push(old);
    }
  }
  return { path, removed };
}

async function pointTo(outputDir: string, link: string, name: string): Promise<void> {
  try {
    await replaceSymlink(`${outputDir}/${link}`, name);
  } catch (error) {
    // The links are for people, and a resume does not read them: file systems without links are
    // fine, and so are programs that may only write in their folder (Deno makes no links for them).
    const cause = error instanceof RgxError ? error.cause : error;
    if (cause instanceof Deno.errors.NotCapable) return;
    const { code } = cause as { code?: string };
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP" && code !== "ENOSYS") {
      throw error;
    }
  }
}

/** Checkpoints to delete, oldest first; none of a later step than the one just written. */
async function surplus(
  outputDir: string,
  step: number,
  bestStep: number | null,
  limit: number,
): Promise<string[]> {
  const complete: CheckpointEntry[] = [];
  for (const entry of await listCheckpoints(outputDir)) {
    if (entry.step <= step && await looksComplete(entry.path)) complete.push(entry);
  }
  const excess = complete.length - limit;
  return complete
    .filter((entry) => entry.step !== step && entry.step !== bestStep)
    .slice(0, Math.max(0, excess))
    .map((entry) => entry.path);
}

/** Renames it first: if the process is killed in between, no damaged checkpoint remains. */
async function removeCheckpoint(path: string): Promise<void> {
  try {
    const leaving = `${path}.tmp-${Deno.pid}`;
    await Deno.rename(path, leaving);
    await Deno.remove(leaving, { recursive: true });
  } catch (error) {
    throw explainFileError(error, "delete the old checkpoint", path);
  }
}

/** Complete or damaged, oldest first; none if `outputDir` does not exist. */
export async function listCheckpoints(outputDir: string): Promise<CheckpointEntry[]> {
  const entries: CheckpointEntry[] = [];
  try {
    for await (const { name, isDirectory } of Deno.readDir(outputDir)) {
      const match = /^checkpoint-(\d+)$/.exec(name);
      if (match !== null && isDirectory) {
        entries.push({ path: `${outputDir}/${name}`, step: Number(match[1]) });
      }
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return entries.sort((a, b) => a.step - b.step);
}

/**
 * The newest checkpoint that can be resumed from; all its checksums have been checked. After a
 * crash, call `removeLeftovers(outputDir)` first: it restores a folder that was being replaced.
 * @returns null if there is none, and the newer ones that are damaged, newest first
 */
export async function findNewestValid(outputDir: string): Promise<{
  newest: CheckpointEntry | null;
  skipped: { path: string; reason: string }[];
}> {
  const skipped: { path: string; reason: string }[] = [];
  for (const entry of (await listCheckpoints(outputDir)).reverse()) {
    const reason = await checkpointDamage(entry.path);
    if (reason === null) return { newest: entry, skipped };
    skipped.push({ path: entry.path, reason });
  }
  return { newest: null, skipped };
}

/** What is wrong with a checkpoint folder, or null if it is complete. Reads every file. */
export async function checkpointDamage(path: string): Promise<string | null> {
  const names = await fileNames(path);
  if (names === null) return "there is no such folder";
  if (names.has(INCOMPLETE_MARK)) return `${INCOMPLETE_MARK} says that it was not finished`;
  if (names.has(SUMS_FILE)) return await verifySums(path);
  if (names.has(RGX_STATE) || !names.has(TRAINER_STATE)) return `${SUMS_FILE} is missing`;
  try {
    JSON.parse(await Deno.readTextFile(`${path}/${TRAINER_STATE}`));
    return null;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return `${TRAINER_STATE} is not valid JSON`;
  }
}

/** The cheap part of {@link checkpointDamage}, which looks only at the names of the files. */
async function looksComplete(path: string): Promise<boolean> {
  const names = await fileNames(path);
  return names !== null && !names.has(INCOMPLETE_MARK) &&
    (names.has(SUMS_FILE) || (names.has(TRAINER_STATE) && !names.has(RGX_STATE)));
}

async function fileNames(path: string): Promise<Set<string> | null> {
  const names = new Set<string>();
  try {
    for await (const entry of Deno.readDir(path)) if (!entry.isDirectory) names.add(entry.name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return null;
    }
    throw error;
  }
  return names;
}

async function summedFiles(folder: string): Promise<Set<string>> {
  const sums = parseSums(await Deno.readTextFile(`${folder}/${SUMS_FILE}`));
  return new Set([SUMS_FILE, ...sums?.keys() ?? []]);
}

/**
 * Opens a checkpoint after checking all its files. A link such as `latest` is followed.
 * @throws RgxError when it is missing or damaged; the message says what is wrong
 */
export async function openCheckpoint(path: string): Promise<Checkpoint> {
  const reason = await checkpointDamage(path);
  if (reason !== null) {
    throw new RgxError(`${path}: this checkpoint cannot be used: ${reason}`, {
      advice:
        "Resume from an earlier one, or with --resume alone, which takes the newest whole one.",
    });
  }
  const real = await Deno.realPath(path);
  const present = (await fileNames(path))!;
  // A file without a checksum may hold anything, so it is not part of the checkpoint.
  const files = present.has(SUMS_FILE) ? await summedFiles(real) : present;
  const inside = (name: string) => {
    if (files.has(name)) return `${real}/${name}`;
    throw new RgxError(`${path}: the checkpoint holds no ${name}`);
  };
  const read = async (name: string) => await Deno.readFile(inside(name));
  return {
    files,
    read,
    readText: async (name) => new TextDecoder().decode(await read(name)),
    open: async (name) => await readSafetensors(inside(name)),
  };
}
