/** The configuration of a run, as `rgx train` and its plan for a card read it. */
import { basename, dirname, join } from "node:path";
import { withDefaults } from "../../configs/foreign/config_arguments.ts";
import { loadConfig, type LoadedConfig, type RunKind } from "../../configs/load.ts";
import { configFirst } from "../../configs/reading/overrides.ts";
import { UsageError } from "../../core/errors.ts";
import { exists } from "../../core/paths.ts";
import type { PlanCard } from "../../training/card/plan_card.ts";
import { requireWarmStart } from "../../training/warm_start.ts";
import type { Flags } from "../flags.ts";
import { cardFromFlags } from "../plans/plan_text.ts";
import { namingMissing } from "../plans/missing_parts.ts";
import { parseDuration } from "../stop_control.ts";
import { type ChosenMetrics, readChosenMetrics } from "./metric_lines.ts";
import type { TRAIN } from "./run_flags.ts";

export type TrainOptions = Omit<Flags<typeof TRAIN>, "maxTime" | "logMetrics"> & {
  /** Seconds after which the run saves and stops. */
  maxTime?: number;
  logMetrics?: ChosenMetrics;
};

/** Reads the flags with a form of their own. @returns the card to plan for; null: this machine */
export function readFlags(
  options: TrainOptions & { maxTime?: unknown; logMetrics?: unknown },
): PlanCard | null {
  const { maxTime, logMetrics, dryRun: plans = false } = options;
  if (maxTime !== undefined) options.maxTime = parseDuration(String(maxTime));
  if (logMetrics !== undefined) options.logMetrics = readChosenMetrics(String(logMetrics));
  const card = cardFromFlags(options, { plans, planFlag: "--dry-run" });
  if (options.measure && (!plans || card !== null)) {
    throw new UsageError("--measure: the steps of a dry run are measured, on this machine", {
      advice: plans ? "Leave out --measure for another card." : "Add --dry-run.",
    });
  }
  return card;
}

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
