/**
 * The lock of a download, shared with huggingface_hub (flock on a file in `.locks`). It only avoids
 * double work: files are also right without it, as on a file system that does not support locks.
 */
import { interruption } from "./http.ts";

/** Milliseconds of waiting after which `onWait` is called. */
const NOTICE_DELAY_MS = 500;

export interface LockOptions {
  signal?: AbortSignal;
  onWait?: () => void;
}

/** Runs `work` while holding the lock. */
export async function withLock<T>(
  path: string,
  { signal, onWait = () => {} }: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  const file = await openLock(path);
  if (file === null) return await work();
  const taken = file.lock(true).then(() => true, () => false);
  const timer = setTimeout(onWait, NOTICE_DELAY_MS);
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
    // The wait cannot be cancelled. If it gets the lock later, closing the file releases it.
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
    return null; // not writable: the download reports it if it needs to write
  }
}
