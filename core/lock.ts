/**
 * A lock that lets only one run use a folder. It is a file that names its process, host and job. It
 * gets its name by a hard link, which fails if the name is taken, also on network file systems
 * (flock may not), and is whole from the start. The lock of a dead process is taken over:
 * - on this machine, when the kernel says that the process is gone;
 * - at once, when it is from an earlier start of the same SLURM job or from a job that has ended;
 * - otherwise, on another machine, when its heartbeat has stopped and SLURM does not say that its
 *   job is still there, suspended perhaps: a live holder rewrites the file regularly. Ages are
 *   measured with the clock of the file system, not with those of the machines.
 */
import { createHash } from "node:crypto";
import { dirname } from "node:path";
import { explainFileError } from "./atomic_file.ts";
import { RgxError, UsageError } from "./errors.ts";
import { type SlurmJob, slurmJob } from "./machine/job.ts";
import { processIsAlive, processSpace, processStartTicks } from "./machine/process_alive.ts";
import { jobHasEnded } from "./machine/slurm_queue.ts";
import { readIfThere } from "./text_file.ts";

export const LOCK_FILE = ".rgx.lock";
const DRAFT = `${LOCK_FILE}.new-`;

/** Milliseconds after which a claim on an abandoned lock is taken for that of a dead process. */
const CLAIM_MS = 10_000;

export interface FolderLock {
  readonly path: string;
  /**
   * False when another process has taken over the lock (as after missing heartbeats), or the folder
   * is gone. If the lock file was deleted by somebody, it is created again.
   */
  isOurs(): Promise<boolean>;
  /** Writes a heartbeat if one is due: for holders that compute for minutes without a timer. */
  keepAlive(): void;
  release(): Promise<void>;
}

export interface LockOptions {
  heartbeatMs?: number;
  /** Age in milliseconds above which the lock of another machine counts as abandoned. */
  staleMs?: number;
  /** The SLURM job of this process; default: read from the environment. */
  job?: SlurmJob | null;
  /** Whether the job `id` has ended; null = unknown. Default: SLURM is asked. */
  hasEnded?: (id: string, currentJob: SlurmJob) => Promise<boolean | null>;
}

interface Holder {
  pid: number;
  host: string;
  started: string;
  ticks: string | null;
  /** See {@link processSpace}. Two nodes or containers may have the same host name. */
  space?: string | null;
  /** Id of the SLURM job, and how often it was requeued. */
  job?: string | null;
  restart?: number | null;
  id: string;
}

/** Takes the lock of a folder. @throws UsageError that names the process and host that hold it */
export async function lockFolder(folder: string, options: LockOptions = {}): Promise<FolderLock> {
  const { heartbeatMs = 30_000, job = slurmJob() } = options;
  const path = `${folder}/${LOCK_FILE}`;
  const holder: Holder = {
    pid: Deno.pid,
    host: Deno.hostname(),
    started: new Date().toISOString(),
    ticks: processStartTicks(Deno.pid),
    space: processSpace(),
    job: job?.id ?? null,
    restart: job?.restarts ?? null,
    id: crypto.randomUUID(),
  };
  const text = JSON.stringify(holder) + "\n";
  try {
    while (!await createWhole(path, text)) {
      const found = await readIfThere(path);
      if (found === null) {
        const other = await Deno.lstat(path).catch(() => null);
        if (other === null || other.isFile) continue; // released in this very moment
        throw new RgxError(`${path}: a file that locks the folder is expected there`, {
          advice: "Delete what is there.",
        });
      }
      const reason = await whyHeld(folder, path, found, { ...options, job });
      if (reason !== null) {
        throw new UsageError(`${folder}: another run is using this folder: ${reason}`, {
          advice: "Wait for it or stop it, or give this run another output_dir. " +
            `If no such run exists any more, delete ${path}.`,
        });
      }
      await takeAway(folder, path, found);
    }
  } catch (error) {
    throw error instanceof RgxError ? error : explainFileError(error, "lock the folder", folder);
  }
  await removeDrafts(folder).catch(() => {}); // the lock is held, whatever else is there
  return startHeartbeat(path, text, heartbeatMs);
}

/** Removes what processes left that died while they created the lock. */
async function removeDrafts(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) {
    if (name.startsWith(DRAFT)) await Deno.remove(`${folder}/${name}`).catch(() => {});
  }
}

function startHeartbeat(path: string, text: string, heartbeatMs: number): FolderLock {
  let beating: Promise<void> = Promise.resolve(), last = performance.now();
  const timer = setInterval(() => {
    last = performance.now();
    // A failed heartbeat (file server unavailable) is ignored: the next one may succeed.
    beating = beating.then(() => beat(path, text)).catch(() => {});
  }, heartbeatMs);
  Deno.unrefTimer(timer);
  let released: Promise<void> | null = null;
  const release = async () => {
    clearInterval(timer);
    await beating;
    // A user may have deleted the lock and started another run.
    if (await readIfThere(path) === text) await Deno.remove(path);
  };
  const isOurs = async () => {
    const found = await readIfThere(path);
    if (found !== null || released !== null) return found === text;
    return await createWhole(path, text).catch(() => false);
  };
  const keepAlive = () => {
    // The timer writes heartbeats whenever it can run.
    if (released !== null || performance.now() - last < 1.5 * heartbeatMs) return;
    last = performance.now();
    beatNow(path, text);
  };
  return { path, isOurs, keepAlive, release: () => released ??= release() };
}

/** Rewrites the lock in place, if it is still ours, to update its modification time. */
async function beat(path: string, text: string): Promise<void> {
  if (await readIfThere(path) !== text) return;
  // Without truncation the file is never empty.
  using file = await Deno.open(path, { write: true });
  await file.write(new TextEncoder().encode(text));
}

/** Rewrites the lock like {@link beat}, but without waiting for the event loop. */
function beatNow(path: string, text: string): void {
  try {
    if (Deno.readTextFileSync(path) !== text) return;
    using file = Deno.openSync(path, { write: true });
    file.writeSync(new TextEncoder().encode(text));
  } catch {
    // The next heartbeat may succeed.
  }
}

/** Creates the lock with its text at once, so that none is ever empty. @returns false for a lock */
async function createWhole(path: string, text: string): Promise<boolean> {
  const draft = `${dirname(path)}/${DRAFT}${crypto.randomUUID()}`;
  await Deno.writeTextFile(draft, text, { createNew: true });
  try {
    await Deno.link(draft, path);
    return true;
  } catch (error) {
    // Not found: the holder has removed the draft.
    if (error instanceof Deno.errors.AlreadyExists || error instanceof Deno.errors.NotFound) {
      return false;
    }
    // Some file systems have no hard links.
    return await createExclusively(path, text);
  } finally {
    await Deno.remove(draft).catch(() => {});
  }
}

async function createExclusively(path: string, text: string): Promise<boolean> {
  try {
    await Deno.writeTextFile(path, text, { createNew: true });
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}

/** Describes the holder of the lock, as a part of a sentence; null when the holder is gone. */
async function whyHeld(
  folder: string,
  path: string,
  text: string,
  { staleMs = 300_000, job = null, hasEnded = jobHasEnded }: LockOptions,
): Promise<string | null> {
  const holder = parseHolder(text);
  if (holder !== null && isHere(holder)) {
    return isRunning(holder)
      ? `process ${holder.pid} on ${holder.host}${inJob(holder)}, since ${holder.started}`
      : null;
  }
  let isQueued = false;
  if (holder !== null && job !== null && (holder.job ?? null) !== null) {
    // SLURM starts a job again only when all processes of the earlier start are gone.
    if (holder.job === job.id && (holder.restart ?? Infinity) < job.restarts) return null;
    const ended = holder.job === job.id ? null : await hasEnded(holder.job!, job);
    if (ended) return null;
    isQueued = ended === false;
  }
  const age = await ageByFileSystem(folder, path);
  // A suspended job gives no sign of life, but continues later.
  if (age === null || age > staleMs && !isQueued) return null;
  const seconds = Math.max(0, Math.round(age / 1000));
  return holder === null
    ? `its lock file is not readable, but was written ${seconds} s ago`
    : `process ${holder.pid} on ${holder.host}${inJob(holder)}, since ${holder.started}, ` +
      `last sign of life ${seconds} s ago`;
}

/** Whether the holder's process id can be compared with the process ids that this process sees. */
function isHere({ host, space }: Holder): boolean {
  return host === Deno.hostname() && ((space ?? null) === null || space === processSpace());
}

/** Whether the holder still runs: a later process with its id began at another time. */
function isRunning({ pid, ticks }: Holder): boolean {
  return processIsAlive(pid) && ((ticks ?? null) === null || processStartTicks(pid) === ticks);
}

/** The process of this machine that holds the lock with this text; null: there is none. */
export function holderHere(text: string): number | null {
  const holder = parseHolder(text);
  return holder !== null && isHere(holder) && isRunning(holder) ? holder.pid : null;
}

/** Whether the process that a lock with this text names is one of this machine that has ended. */
export function holderHasEnded(text: string): boolean {
  const holder = parseHolder(text);
  return holder !== null && isHere(holder) && !isRunning(holder);
}

function inJob({ job }: Holder): string {
  return (job ?? null) === null ? "" : ` (job ${job})`;
}

function parseHolder(text: string): Holder | null {
  try {
    const holder = JSON.parse(text) as Holder;
    return Number.isInteger(holder.pid) && typeof holder.host === "string" ? holder : null;
  } catch {
    return null;
  }
}

/** Milliseconds since the last write by the clock of the file system, which a new file shows. */
async function ageByFileSystem(folder: string, path: string): Promise<number | null> {
  const probe = `${folder}/${LOCK_FILE}.probe-${crypto.randomUUID()}`;
  await Deno.writeTextFile(probe, "");
  try {
    const now = (await Deno.stat(probe)).mtime!.getTime();
    return now - (await Deno.stat(path)).mtime!.getTime();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  } finally {
    await Deno.remove(probe);
  }
}

/**
 * Removes an abandoned lock. Several processes may find it at the same time, and a new lock may
 * already stand in its place. So only the process that creates a claim on this very lock may remove
 * it; the others wait and look again.
 */
async function takeAway(folder: string, path: string, judged: string): Promise<void> {
  const id = createHash("sha256").update(judged).digest("hex").slice(0, 16);
  const claim = `${path}.taken-${id}`;
  if (!await createExclusively(claim, "")) {
    const age = await ageByFileSystem(folder, claim);
    // A process that died with its claim does not keep the others out.
    if (age !== null && age > CLAIM_MS) await Deno.remove(claim).catch(() => {});
    else await new Promise((resolve) => setTimeout(resolve, 20));
    return;
  }
  try {
    if (await readIfThere(path) === judged) await Deno.remove(path);
  } finally {
    await Deno.remove(claim).catch(() => {});
  }
}
