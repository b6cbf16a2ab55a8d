/**
 * A run that is resumed by the configuration in its folder (`rgx train RUN/config.yaml --resume`,
 * or `rgx train RUN --resume`) goes on in this folder, from wherever the command is started. The
 * `output_dir` in that file is relative to the folder in which the run was started.
 */
import { basename, dirname, join } from "node:path";
import { exists } from "../../core/paths.ts";

const CONFIG = "config.yaml";

/** The configuration of a run, and its folder; null: `name` is not the configuration of a run. */
export async function runOfConfig(
  name: string,
): Promise<{ config: string; folder: string } | null> {
  const folder = basename(name) === CONFIG ? dirname(name) : name;
  const config = join(folder, CONFIG);
  const isRun = await exists(config) && await exists(join(folder, "run.json"));
  return isRun ? { config: basename(name) === CONFIG ? name : config, folder } : null;
}

/** Whether two paths name the same folder; false where one of them does not exist. */
export async function isSameFolder(one: string, other: string): Promise<boolean> {
  const real = (path: string) => Deno.realPath(path).catch(() => null);
  const [a, b] = await Promise.all([real(one), real(other)]);
  return a !== null && a === b;
}
