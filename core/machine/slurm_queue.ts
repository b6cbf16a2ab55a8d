/**
 * Asks SLURM's commands how long this job may still run and whether another job has ended. The
 * answer is null when it is unknown, for example on a node without these commands.
 */
import { type SlurmJob, slurmJob } from "./job.ts";
import { runCommand } from "./run_command.ts";

/** Time-out of a command in milliseconds: the controller of a cluster may be busy or down. */
const COMMAND_TIMEOUT_MS = 10_000;

/** Runs a command. @returns its stdout, or null when it is missing, fails or takes too long */
export type Ask = (command: string, args: readonly string[]) => Promise<string | null>;

/**
 * Seconds that the job may still run; null without a job, without a limit, or when unknown. The
 * source is SLURM_JOB_END_TIME (newer versions of SLURM), else squeue, else scontrol. The commands
 * report the time left: an end as a time of day would depend on the local time zone and clock.
 */
export async function secondsLeft(
  job: Pick<SlurmJob, "id" | "endTime"> | null = slurmJob(),
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

/** The job's memory on one node in bytes; null = no limit, or not known (srun alone sets none). */
export async function jobMemory(
  job: Pick<SlurmJob, "id" | "memory" | "cpusOnNode">,
  ask: Ask = askCommand,
): Promise<number | null> {
  if (job.memory !== null) return job.memory;
  const shown = await ask("scontrol", ["show", "job", "-o", job.id]) ?? "";
  const [, per, size, unit = "M"] = /\bMinMemory(Node|CPU)=([0-9.]+)([KMGT])?\b/.exec(shown) ?? [];
  const count = per === "CPU" ? job.cpusOnNode : 1;
  if (size === undefined || Number(size) === 0 || count === null) return null;
  return Math.round(Number(size) * count * 2 ** (10 * (1 + "KMGT".indexOf(unit))));
}

/** States in which processes of a job may still exist. */
const ALIVE = /\b(RUNNING|COMPLETING|CONFIGURING|SUSPENDED|STOPPED|SIGNALING|STAGE_OUT|RESIZING)\b/;

/** Whether no process of a job is left; null = unknown. squeue is asked about both jobs at once. */
export async function jobHasEnded(
  id: string,
  currentJob: SlurmJob,
  ask: Ask = askCommand,
): Promise<boolean | null> {
  const list = await ask("squeue", ["-h", "-j", `${currentJob.id},${id}`, "-o", "%i %T"]);
  if (list === null || !list.includes(currentJob.id)) return null;
  const states = list.split("\n").filter((line) => line.split(" ")[0] === id);
  return !states.some((line) => ALIVE.test(line));
}

/** Parses SLURM's [[D-]HH:]MM:SS. @returns seconds; null for UNLIMITED, INVALID and NOT_SET */
export function parseSlurmTime(text: string): number | null {
  const match = /^(?:([0-9]+)-)?(?:([0-9]+):)?([0-9]+):([0-9]{2})$/.exec(text.trim());
  if (match === null) return null;
  const [, days = "0", hours = "0", minutes, seconds] = match;
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
}

async function askCommand(command: string, args: readonly string[]): Promise<string | null> {
  const ended = await runCommand([command, ...args], { timeoutMs: COMMAND_TIMEOUT_MS });
  return ended?.success ? ended.out : null;
}
