/** The configuration of a run, as `rgx train` and its plan for a card read it. */
import { basename, dirname, join } from "node:path";
import { withDefaults } from "../../configs/foreign/config_arguments.ts";
import { loadConfig, type LoadedConfig, type RunKind } from "../../configs/load.ts";
import { configFirst } from "../../configs/reading/overrides.ts";
import { exists } from "../../core/paths.ts";
import { requireWarmStart } from "../../training/warm_start.ts";
import { namingMissing } from "../plans/missing_parts.ts";
import type { Flags } from "../flags.ts";
import type { ChosenMetrics } from "./metric_lines.ts";
import type { TRAIN } from "./run_flags.ts";

/** The values of the flags of `rgx train` and `rgx sft`. */
export type TrainOptions = Omit<Flags<typeof TRAIN>, "maxTime" | "logMetrics"> & {
  /** Seconds after which the run saves and stops. */
  maxTime?: number;
  /** The metrics that are printed for each step. */
  logMetrics?: ChosenMetrics;
};

/**
 * Reads the configuration, and sets the environment variables that it names.
 * @param given a file, an embedded name, or with `--resume` the folder of a run, which is then
 *   also the output folder unless another one is given
 * @param more overrides from the command line
 */
export async function loadRun(
  given: string,
  more: string[],
  options: TrainOptions,
  commandOptions: readonly string[],
  phases: RunKind,
): Promise<LoadedConfig> {
  const [config, flags] = await configFirst([given, ...more]);
  const run = options.resume === undefined ? null : await runOfConfig(config);
  const [name, overrides] = await withDefaults(run?.config ?? config, flags);
  const env = Deno.env.toObject();
  const read = (outputDir: string | undefined) => {
    const all = outputDir === undefined
      ? overrides
      : [...overrides, `--output-dir=${JSON.stringify(outputDir)}`];
    const read = () => loadConfig(name, { overrides: all, commandOptions, env, phases });
    return options.printConfig ? read() : namingMissing(read);
  };
  let loaded = await read(options.outputDir);
  const isPlaced = options.outputDir !== undefined ||
    overrides.some((text) => /\boutput[_-]dir\b/.test(text));
  const { output_dir: outputDir } = loaded.config.training;
  if (run !== null && !isPlaced && !await isSameFolder(outputDir, run.folder)) {
    loaded = await read(run.folder);
  }
  for (const [key, value] of Object.entries(loaded.environment)) Deno.env.set(key, value);
  if (phases === "sft" && !options.printConfig) requireWarmStart(loaded.config);
  return loaded;
}

const CONFIG = "config.yaml";

/** The configuration of a run, and its folder; null: `name` is not the configuration of a run. */
async function runOfConfig(
  name: string,
): Promise<{ config: string; folder: string } | null> {
  const folder = basename(name) === CONFIG ? dirname(name) : name;
  const config = join(folder, CONFIG);
  const isRun = await exists(config) && await exists(join(folder, "run.json"));
  return isRun ? { config: basename(name) === CONFIG ? name : config, folder } : null;
}

/** Whether two paths name the same folder; false where one of them does not exist. */
async function isSameFolder(one: string, other: string): Promise<boolean> {
  const real = (path: string) => Deno.realPath(path).catch(() => null);
  const [a, b] = await Promise.all([real(one), real(other)]);
  return a !== null && a === b;
}
