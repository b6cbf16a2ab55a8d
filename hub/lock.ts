/**
 * The lock of a download, the one that huggingface_hub takes too (flock on a file in `.locks`). It only saves
 * work: without it, or where the file system knows no locks, files are right all the same.
 */
import { interruption } from "./http.ts";

/** Milliseconds after which it is said that somebody else is busy. */
const SILENT = 500;

export interface LockOptions {
  signal?: AbortSignal;
  onWait?: () => void;
}

/** Does `work` while nobody else holds the lock. */
export async function withLock<T>(
  path: string,
  { signal, onWait = () => {} }: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  const file = await openLock(path);
  if (file === null) return await work();
  const taken = file.lock(true).then(() => true, () => false);
  const timer = setTimeout(onWait, SILENT);
  let stop = () => {};
  const stopped = new Promise<"stopped">((resolve) => {
    stop = () => resolve("stopped");
    signal?.addEventListener("abort", stop);
  });
  let outcome: boolean | "stopped";
  try {
    outcome = await Promise.race([taken, stopped]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
  if (outcome === "stopped") {
    // The wait itself cannot be ended; what it brings later is given back.
    taken.then(() => file.close());
    throw interruption(signal!);
  }
  try {
    return await work();
  } finally {
    if (outcome) await file.unlock().catch(() => {});
    file.close();
  }
}

async function openLock(path: string): Promise<Deno.FsFile | null> {
  try {
    return await Deno.open(path, { read: true, write: true, create: true, mode: 0o664 });
  } catch {
    return null; // not writable: the download will say so, if it has to
  }
}
