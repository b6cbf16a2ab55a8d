/**
 * What SLURM's own commands say, where a node has them: how long this job may still run, and whether another one has
 * ended. Null where nobody tells.
 */
import { type SlurmJob, slurmJob } from "./job.ts";

/** Longest to wait for an answer, in milliseconds: the controller of a cluster may be busy or away. */
const PATIENCE = 10_000;

/** A command's stdout, or null when it is not there, fails or takes too long. */
export type Ask = (command: string, args: readonly string[]) => Promise<string | null>;

/**
 * Seconds that the job may still run, or null: no job, no limit, or nobody tells. SLURM_JOB_END_TIME where there is
 * one (newer versions), else squeue, else scontrol. Commands are asked for what is left and not for the end's time of
 * day, which would be read in this machine's time zone and by its clock.
 */
export async function secondsLeft(
  job: SlurmJob | null = slurmJob(),
  options: { ask?: Ask; now?: number } = {},
): Promise<number | null> {
  if (job === null) return null;
  const { ask = askCommand, now = Date.now() / 1000 } = options;
  if (job.endTime !== null) return Math.max(0, job.endTime - now);
  const left = await ask("squeue", ["-h", "-j", job.id, "-o", "%L"]);
  if (left !== null && left.trim() !== "") return parseSlurmTime(left);
  const shown = await ask("scontrol", ["show", "job", "-o", job.id]);
  const limit = parseSlurmTime(/\bTimeLimit=(\S+)/.exec(shown ?? "")?.[1] ?? "");
  const used = parseSlurmTime(/\bRunTime=(\S+)/.exec(shown ?? "")?.[1] ?? "");
  return limit === null || used === null ? null : Math.max(0, limit - used);
}

/** States in which a job's processes may still be there. */
const ALIVE = /\b(RUNNING|COMPLETING|CONFIGURING|SUSPENDED|STOPPED|SIGNALING|STAGE_OUT|RESIZING)\b/;

/**
 * Whether no process of a job is left; null: nobody knows.
 * @param own the job that asks: of an unknown id alone squeue only says that it is invalid
 */
export async function jobHasEnded(
  id: string,
  own: SlurmJob,
  ask: Ask = askCommand,
): Promise<boolean | null> {
  const list = await ask("squeue", ["-h", "-j", `${own.id},${id}`, "-o", "%i %T"]);
  if (list === null || !list.includes(own.id)) return null;
  const states = list.split("\n").filter((line) => line.split(" ")[0] === id);
  return !states.some((line) => ALIVE.test(line));
}

/** SLURM's D-HH:MM:SS with as many parts as it takes; null for UNLIMITED, INVALID and NOT_SET. */
export function parseSlurmTime(text: string): number | null {
  const match = /^(?:([0-9]+)-)?(?:([0-9]+):)?([0-9]+):([0-9]{2})$/.exec(text.trim());
  if (match === null) return null;
  const [, days = "0", hours = "0", minutes, seconds] = match;
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
}

async function askCommand(command: string, args: readonly string[]): Promise<string | null> {
  try {
    const { success, stdout } = await new Deno.Command(command, {
      args: [...args],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
      signal: AbortSignal.timeout(PATIENCE),
    }).output();
    return success ? new TextDecoder().decode(stdout) : null;
  } catch {
    return null; // not installed on this node
  }
}
