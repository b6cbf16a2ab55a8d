/** The section `slurm` of a configuration: the options of a job that its caller does not name. */
import { loadConfig } from "../configs/load.ts";
import { findSlurmSection, type FoundSection } from "../configs/slurm_section.ts";
import { UsageError } from "../core/errors.ts";
import type { CommonOptions } from "./job_script.ts";

/** A job with what its configuration says of it. */
export interface SectionedJob<T extends CommonOptions> {
  account: string;
  options: T;
  /** The path of the script, and where it is written; null: the configuration names none. */
  output: { path: string; place: string } | null;
}

/** How the configuration is read. */
export interface ReadOptions {
  overrides: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Where it is looked for. */
  cwd: string;
}

/**
 * The options with those of the configuration's section `slurm` where they are not named.
 * @param account null: the section names it
 * @throws UsageError when neither names an account, or `slurm.work_dir` is no folder
 */
export async function withJobSection<T extends CommonOptions>(
  config: string,
  account: string | null,
  options: T,
  read: ReadOptions,
): Promise<SectionedJob<T>> {
  const found = await findSlurmSection(config, read), section = found?.section;
  const charged = account ?? section?.account ?? null;
  if (charged === null) {
    // Of a configuration with mistakes, those are the error: one of them may hide the account.
    if (found === null) await loadConfig(config, read);
    throw new UsageError("missing argument 'account': the configuration has no slurm.account", {
      advice: `Write one of them: rgx slurm ${config} ACCOUNT`,
    });
  }
  if (found === null || section === undefined) return { account: charged, options, output: null };
  const { partition, time, gpus, gpu_type, cpus, memory, nodes, requeue } = section;
  const named = {
    partition,
    time,
    gpus,
    gpuType: gpu_type === "any" ? null : gpu_type,
    cpus,
    memory,
    nodes,
    requeue,
    workDir: options.workDir === undefined ? await workFolder(found) : null,
  };
  const written = (values: object) =>
    Object.fromEntries(Object.entries(values).filter(([, value]) => value != null));
  return {
    account: charged,
    options: { ...options, ...written(named), ...written(options) },
    output: section.output === null
      ? null
      : { path: section.output, place: `${found.placeOf("output")}: ` },
  };
}

async function workFolder({ section, placeOf }: FoundSection): Promise<string | null> {
  const { work_dir } = section;
  if (work_dir === null) return null;
  const found = await Deno.stat(work_dir).catch(() => null);
  if (found?.isDirectory) return work_dir;
  const what = found === null ? "there is no such folder" : "is no folder";
  throw new UsageError(`${placeOf("work_dir")}: ${work_dir}: ${what}`, {
    advice: "Name a folder that the compute nodes see too; --work-dir is another one for once.",
  });
}
