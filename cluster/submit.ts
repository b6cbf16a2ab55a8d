/** Writing a job script where it can be submitted, and submitting it. */
import { resolve } from "node:path";
import { writeFileAtomic } from "../core/atomic_file.ts";
import { explainFileError } from "../core/atomic_file.ts";
import { RgxError, UsageError } from "../core/errors.ts";
import { parseTimeLimit } from "./limits.ts";
import type { JobScript } from "./job_script.ts";

/**
 * Writes the script and makes the folder of its logs.
 * @throws UsageError when there is a file already, or no folder for it
 */
export async function writeScript(
  script: JobScript,
  output: string,
  options: { force?: boolean } = {},
): Promise<void> {
  const path = resolve(output);
  const found = await Deno.lstat(path).catch(() => null);
  if (found?.isDirectory) throw new UsageError(`--output ${output}: is a folder, expected a file`);
  if (found !== null && !options.force) {
    throw new UsageError(`--output ${output}: the file is there already`, {
      advice: "--force writes over it; --output names another one.",
    });
  }
  const folder = path.replace(/\/[^/]*$/, "") || "/";
  if (!(await Deno.stat(folder).catch(() => null))?.isDirectory) {
    throw new UsageError(`--output ${output}: there is no folder ${folder}`);
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
 * @returns numbers of the jobs
 * @throws RgxError with SLURM's own words when it refuses
 */
export async function submit(command: readonly string[], folder: string): Promise<string[]> {
  const { success, out, err } = await run(command, folder, outsideOfJobs(Deno.env.toObject()));
  const ids = out.split("\n").map((line) => line.split(";")[0]!.trim()).filter((id) => id !== "");
  if (success && ids.every((id) => /^\d+$/.test(id))) return ids;
  const said = err.replaceAll(/^sbatch: (error: )?/gm, "").trim();
  const submitted = ids.length === 0 ? "" : ` (submitted: ${ids.join(", ")})`;
  throw new RgxError(`sbatch refused the job${submitted}: ${said === "" ? out.trim() : said}`);
}

/** sbatch hands a job the variables of the job that it is called in, where that job has none of its own. */
export function outsideOfJobs(env: Readonly<Record<string, string>>): Record<string, string> {
  const isOfJob = (name: string) =>
    name.startsWith("SLURM_") && !/^SLURM_(CONF|CLUSTERS|JWT|DEBUG)$/.test(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isOfJob(name)));
}

/**
 * SLURM takes a job that is longer than its partition allows and lets it wait for ever.
 * @throws UsageError for such a job; nothing where the partition can not be asked
 */
export async function checkPartitionTime(partition: string, time: string): Promise<void> {
  if (partition.includes(",")) return;
  const asked = await run(["scontrol", "-o", "show", "partition", partition]).catch(() => null);
  const most = /\bMaxTime=(\S+)/.exec(asked?.out ?? "")?.[1];
  if (most === undefined || !/^[\d:-]+$/.test(most)) return;
  if (parseTimeLimit(time).seconds <= parseTimeLimit(most).seconds) return;
  throw new UsageError(
    `--time ${time}: partition ${partition} allows at most ${most}; the job would wait for ever`,
  );
}

async function run(command: readonly string[], cwd?: string, env?: Record<string, string>) {
  const [program, ...args] = command;
  try {
    const { success, stdout, stderr } = await new Deno.Command(program!, {
      args,
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env, clearEnv: true }),
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    return { success, out: decoder.decode(stdout), err: decoder.decode(stderr) };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new RgxError(`there is no ${program} on this machine`, {
      advice: "Submit the script on a login node of the cluster.",
    });
  }
}
