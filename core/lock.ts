/**
 * One run per folder. The lock is a file made with O_EXCL, which also holds on network file systems (no
 * flock there), that names its process, host and job. A lock whose process is gone is taken over: on this
 * machine by asking the kernel; of an earlier start of this very job, or of a job that SLURM has ended, at once;
 * otherwise, from another machine, when its heartbeat (the file is written again now and then) has stopped. Ages
 * are measured by the file system's own clock, not by those of the machines.
 */
import { explainFileError } from "./atomic_file.ts";
import { RgxError, UsageError } from "./errors.ts";
import { type SlurmJob, slurmJob } from "./machine/job.ts";
import { processIsAlive, processSpace, processStartTicks } from "./machine/process_alive.ts";
import { jobHasEnded } from "./machine/slurm_queue.ts";
import { readIfThere } from "./text_file.ts";

export const LOCK_FILE = ".rgx.lock";

export interface FolderLock {
  readonly path: string;
  /**
   * False once another process has taken it over, as after a silence, or the folder is gone. A lock that somebody
   * has deleted and nobody has made again is made again.
   */
  isOurs(): Promise<boolean>;
  /**
   * A sign of life, when one is due: for a holder that computes for minutes without letting timers in. Costs
   * nothing when none is.
   */
  keepAlive(): void;
  /** Gives the folder free. Idempotent. */
  release(): Promise<void>;
}

export interface LockOptions {
  /** How often a living holder touches its lock, in milliseconds. */
  heartbeatMs?: number;
  /** Age from which the lock of another machine counts as left behind, in milliseconds. */
  staleMs?: number;
  /** The job that this process is in; default: what the environment says. */
  job?: SlurmJob | null;
  /** Whether a job of that id has ended; null: nobody knows. Default: SLURM is asked. */
  hasEnded?: (id: string, own: SlurmJob) => Promise<boolean | null>;
}

interface Holder {
  pid: number;
  host: string;
  /** ISO 8601 */
  started: string;
  /** See {@link processStartTicks}. */
  ticks: string | null;
  /**
   * What a process id counts in: this start of this machine, and its process namespace. Two nodes or containers
   * may share a host name.
   */
  space?: string | null;
  /** Id of SLURM's job, and how often that was requeued. */
  job?: string | null;
  restart?: number | null;
  /** Tells this lock from every other one. */
  id: string;
}

/**
 * Takes the lock of a folder, which must exist.
 * @throws UsageError when another run holds it, naming its process and host
 */
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
  let contested = false;
  try {
    while (!await createExclusively(path, text) || (contested && !await settled(path, text))) {
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
      await takeAway(path, found);
      contested = true;
    }
  } catch (error) {
    throw error instanceof RgxError ? error : explainFileError(error, "lock the folder", folder);
  }
  return startHeartbeat(path, text, heartbeatMs);
}

function startHeartbeat(path: string, text: string, heartbeatMs: number): FolderLock {
  let beating: Promise<void> = Promise.resolve(), last = performance.now();
  const timer = setInterval(() => {
    last = performance.now();
    // A failed beat (file server away) is no reason to stop: the next one may succeed.
    beating = beating.then(() => beat(path, text)).catch(() => {});
  }, heartbeatMs);
  Deno.unrefTimer(timer);
  let released: Promise<void> | null = null;
  const release = async () => {
    clearInterval(timer);
    await beating;
    // Somebody may have deleted the lock by hand and started another run.
    if (await readIfThere(path) === text) await Deno.remove(path);
  };
  const isOurs = async () => {
    const found = await readIfThere(path);
    if (found !== null || released !== null) return found === text;
    return await createExclusively(path, text).catch(() => false);
  };
  const keepAlive = () => {
    // The timer comes first where it can.
    if (released !== null || performance.now() - last < 1.5 * heartbeatMs) return;
    last = performance.now();
    beatNow(path, text);
  };
  return { path, isOurs, keepAlive, release: () => released ??= release() };
}

/** Writes the lock again in place, if it is still ours, so that its modification time moves on. */
async function beat(path: string, text: string): Promise<void> {
  if (await readIfThere(path) !== text) return;
  using file = await Deno.open(path, { write: true }); // not truncated: it is never empty
  await file.write(new TextEncoder().encode(text));
}

/** {@link beat} without letting anything else in between. */
function beatNow(path: string, text: string): void {
  try {
    if (Deno.readTextFileSync(path) !== text) return;
    using file = Deno.openSync(path, { write: true });
    file.writeSync(new TextEncoder().encode(text));
  } catch {
    // The next one may succeed.
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

/** Who holds the lock, as part of a sentence, or null when its holder is gone. */
async function whyHeld(
  folder: string,
  path: string,
  text: string,
  { staleMs = 300_000, job = null, hasEnded = jobHasEnded }: LockOptions,
): Promise<string | null> {
  const holder = parseHolder(text);
  if (holder !== null && isHere(holder)) {
    const { pid, ticks, started } = holder;
    const sameProcess = (ticks ?? null) === null || processStartTicks(pid) === ticks;
    return processIsAlive(pid) && sameProcess
      ? `process ${pid} on ${holder.host}${inJob(holder)}, since ${started}`
      : null;
  }
  if (holder !== null && job !== null && (holder.job ?? null) !== null) {
    // SLURM starts a job again only when its processes are gone, with their node if need be.
    if (holder.job === job.id && (holder.restart ?? Infinity) < job.restarts) return null;
    if (holder.job !== job.id && await hasEnded(holder.job!, job)) return null;
  }
  const age = await ageByFileSystem(folder, path);
  if (age === null || age > staleMs) return null;
  const seconds = Math.max(0, Math.round(age / 1000));
  return holder === null
    ? `its lock file is not readable, but was written ${seconds} s ago`
    : `process ${holder.pid} on ${holder.host}${inJob(holder)}, since ${holder.started}, ` +
      `last sign of life ${seconds} s ago`;
}

/** Whether its process id counts among those that this process can see. */
function isHere({ host, space }: Holder): boolean {
  return host === Deno.hostname() && ((space ?? null) === null || space === processSpace());
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

/** Milliseconds since the file was last written, by the clock that stamps the folder's files. */
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
 * Removes a lock left behind. Two processes may have judged the same one: it is renamed first, and when
 * what was renamed turns out to be a new lock that the faster one has just made, it is put back.
 */
async function takeAway(path: string, judged: string): Promise<void> {
  const aside = `${path}.taken-${crypto.randomUUID()}`;
  try {
    await Deno.rename(path, aside);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  if (await Deno.readTextFile(aside) !== judged) {
    try {
      await Deno.link(aside, path);
    } catch (error) {
      // A third one was faster still; the owner of what was renamed finds out in `settled`.
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
  }
  await Deno.remove(aside);
}

/** After a take-over: is the new lock still ours once everybody else who judged the old one is done? */
async function settled(path: string, text: string): Promise<boolean> {
  await new Promise((resolve) => setTimeout(resolve, 100));
  return await readIfThere(path) === text;
}
