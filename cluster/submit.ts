/**
 * Writes a job script to a file, and submits it. Checks what this cluster says about the job: the
 * time limit of its partition, and the value of `--mpi`, of which each cluster lists its own types.
 */
import { resolve } from "node:path";
import { explainFileError, writeFileAtomic } from "../core/atomic_file.ts";
import { RgxError, UsageError } from "../core/errors.ts";
import { runCommand } from "../core/machine/run_command.ts";
import { parseTimeLimit } from "../configs/types/slurm_values.ts";
import type { JobScript } from "./job_script.ts";
import { schedulerOf } from "./schedulers.ts";
import { nearest } from "../core/suggest.ts";

export interface WriteOptions {
  force?: boolean;
  /** The text before the path in an error. */
  place?: string;
}

/**
 * Writes the script and creates the folder of its logs.
 * @throws UsageError when the file exists, or its folder does not
 */
export async function writeScript(
  script: Pick<JobScript, "text" | "logs">,
  output: string,
  { force = false, place = "--output " }: WriteOptions = {},
): Promise<void> {
  const path = resolve(output);
  const found = await Deno.lstat(path).catch(() => null);
  if (found?.isDirectory) throw new UsageError(`${place}${output}: is a folder, expected a file`);
  if (found !== null && !force) {
    throw new UsageError(`${place}${output}: the file is there already`, {
      advice: "--force writes over it; --output names another one.",
    });
  }
  const folder = path.replace(/\/[^/]*$/, "") || "/";
  if (!(await Deno.stat(folder).catch(() => null))?.isDirectory) {
    throw new UsageError(`${place}${output}: there is no folder ${folder}`);
  }
  try {
    await Deno.mkdir(script.logs, { recursive: true });
  } catch (error) {
    throw explainFileError(error, "make the folder of the logs", script.logs);
  }
  await writeFileAtomic(path, script.text);
  await Deno.chmod(path, 0o755);
}

/**
 * Runs a command that submits jobs.
 * @param idOf the id of a job from a line of the command's output; null: the line has none
 * @returns the ids of the jobs
 * @throws RgxError with the scheduler's message when it refuses
 */
export async function submit(
  command: readonly string[],
  folder: string,
  idOf = schedulerOf().idOf,
): Promise<string[]> {
  const ended = await runCommand(command, { cwd: folder, ...outsideOfJobs() });
  if (ended === null) {
    throw new RgxError(`there is no ${programOf(command)} on this machine`, {
      advice: "Submit the script on a login node of the cluster.",
    });
  }
  const { success, out, err } = ended;
  const lines = out.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const ids = lines.flatMap((line) => idOf(line) ?? []);
  if (success && ids.length === lines.length) return ids;
  const message = err.replaceAll(/^sbatch: (error: )?/gm, "").trim();
  const submitted = ids.length === 0 ? "" : ` (submitted: ${ids.join(", ")})`;
  throw new RgxError(
    `${programOf(command)} refused the job${submitted}: ${message === "" ? out.trim() : message}`,
  );
}

/** The program that a command submits with. The script of a benchmark calls sbatch itself. */
const programOf = (command: readonly string[]) =>
  command[0] === "sh" ? "bsub" : command[0] === "bash" ? "sbatch" : command[0]!;

/**
 * The environment for a command that starts a job, without SLURM's variables of the current job.
 * sbatch would pass them on, and those that SLURM does not set again would be wrong.
 */
export function outsideOfJobs(env: Readonly<Record<string, string>> = Deno.env.toObject()) {
  const isOfJob = (name: string) =>
    name.startsWith("SLURM_") && !/^SLURM_(CONF|CLUSTERS|JWT|DEBUG)$/.test(name);
  const others = Object.entries(env).filter(([name]) => !isOfJob(name));
  return { env: Object.fromEntries(others), clearEnv: true };
}

/**
 * Checks a job's time limit against that of its partition. SLURM accepts a job with a longer limit
 * and never starts it. Nothing is checked when the partition's limit is unknown.
 * @param partition null = the site's default
 * @throws UsageError for a longer limit
 */
export async function checkPartitionTime(partition: string | null, time: string): Promise<void> {
  if (partition?.includes(",")) return;
  const named = partition === null ? [] : [partition];
  const asked = await runCommand(["scontrol", "-o", "show", "partition", ...named]);
  const lines = asked?.out.split("\n") ?? [];
  const line = partition === null ? lines.find((line) => /\bDefault=YES/.test(line)) : lines[0];
  const maxTime = /\bMaxTime=(\S+)/.exec(line ?? "")?.[1];
  if (maxTime === undefined || !/^[\d:-]+$/.test(maxTime)) return;
  if (parseTimeLimit(time).seconds <= parseTimeLimit(maxTime).seconds) return;
  throw new UsageError(
    `--time ${time}: ${
      partition === null ? "the default partition" : `partition ${partition}`
    } allows at most ${maxTime}; the job would wait for ever`,
  );
}

/**
 * Checks that bash can read a script with lines of the user. Nothing is checked without bash.
 * @throws UsageError
 */
export async function checkShell(script: string): Promise<void> {
  const found = await runCommand(["bash", "-nc", script]);
  if (found === null || found.success) return;
  const [said = ""] = found.err.split("\n");
  throw new UsageError(`--setup: bash cannot read the script with it: ${said}`, {
    advice: "Each --setup is one whole command; several lines that belong together are one " +
      "--setup, or a file: --setup 'source FILE'.",
  });
}

/** Types in SLURM's own sources that tell an MPI library its ranks. */
const KNOWN = ["pmix", "pmi2", "cray_shasta", "openmpi"];
const VERSIONED = /^pmix_v\d+$/;
/** Values that srun accepts, but with which no ranks start. */
const NO_RANKS: Readonly<Record<string, string>> = {
  none: "starts processes that do not know of each other",
  list: "only lists the types",
};

/**
 * Checks a type: on a machine of a cluster with srun's list, elsewhere by its name.
 * @returns notes about an unknown type
 * @throws UsageError for a type that can start no ranks here
 */
export async function checkMpiType(type: string): Promise<string[]> {
  const why = Object.hasOwn(NO_RANKS, type) ? NO_RANKS[type] : undefined;
  if (why !== undefined) {
    throw new UsageError(`--mpi ${type}: ${why}`, {
      advice: `Types with ranks: ${KNOWN.join(", ")}.`,
    });
  }
  const here = await typesHere();
  if (here?.includes(type)) return [];
  if (here !== null) {
    throw new UsageError(`--mpi ${type}: srun has no such type here`, {
      advice: `srun --mpi=list: ${here.join(", ")}`,
    });
  }
  if (KNOWN.includes(type) || VERSIONED.test(type)) return [];
  const near = nearest(type, KNOWN);
  return [
    `--mpi ${type} is no type that rgx knows (${KNOWN.join(", ")}, pmix_v4, …)` +
    (near === null ? "" : `, did you mean ${near}?`) +
    "; srun --mpi=list on the cluster says which there are",
  ];
}

/** The types that srun lists; null where there is no srun, or it finds no cluster. */
async function typesHere(): Promise<string[] | null> {
  const asked = await runCommand(["srun", "--mpi=list"], outsideOfJobs());
  if (!asked?.success) return null;
  // Newer releases print to stdout, older ones to stderr with "srun: " before each line.
  const lines = `${asked.out}\n${asked.err}`.replaceAll(/^srun: /gm, "").split("\n");
  const types = lines.flatMap((line) =>
    /^\s*([a-z][a-z0-9_]*)\s*$/.exec(line)?.[1] ??
      /^specific pmix plugin versions available: *(.*)$/.exec(line)?.[1]?.split(/[,\s]+/) ?? []
  ).filter((type) => type !== "");
  return types.length === 0 ? null : types;
}
