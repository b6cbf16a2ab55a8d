/** The configuration of a run from a file, a folder or a name, with what flags change in it. */
import { withDefaults } from "../../configs/foreign/config_arguments.ts";
import { configFirst } from "../../configs/reading/overrides.ts";
import { loadConfig, type LoadedConfig } from "../../configs/load.ts";
import { deviceOfConfig } from "../../configs/run_device.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { PlanCard } from "../../training/card/plan_card.ts";
import { runDeviceName } from "../open_device.ts";
import { namingMissing } from "../plans/missing_parts.ts";
import { isSameFolder, runOfConfig } from "./run_of_config.ts";
import type { TrainOptions } from "./train_options.ts";

/**
 * Reads the configuration, and sets the environment variables that it names.
 * @param given a file, an embedded name, or with `--resume` the folder of a run, which then is
 *   also the output folder unless another one is given
 * @param more overrides from the command line
 */
export async function loadRun(
  given: string,
  more: string[],
  options: TrainOptions,
  commandOptions: readonly string[],
  phases: "all" | "sft",
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
  return loaded;
}

/** The options with the device that the configuration asks for. */
export function withDevice(
  options: TrainOptions,
  training: RunConfig["training"],
  card: PlanCard | null,
): TrainOptions {
  if (card !== null) {
    const flag = options.gpu === undefined ? "--device-memory" : "--gpu";
    deviceOfConfig(training, "webgpu", `${flag} plans for`);
    return options;
  }
  const device = runDeviceName(options.device, training);
  return device === undefined ? options : { ...options, device };
}
