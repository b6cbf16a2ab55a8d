/** What a container must see besides the folder of its job. */
import { dirname, isAbsolute, relative, resolve } from "node:path";
import type { RunConfig } from "../configs/schema/run_config.ts";
import { exists } from "../core/paths.ts";
import { shellWord } from "./quote.ts";

/** Folders outside of `workDir` that hold files which the configurations name, in their order. */
export async function foldersOutside(
  configs: readonly RunConfig[],
  workDir: string,
): Promise<string[]> {
  const folders = new Set<string>();
  for (const { model, data, rewards, training } of configs) {
    const named = [
      model.model_name_or_path,
      model.adapter_name_or_path,
      model.tokenizer_name_or_path,
      data.dataset_name,
      data.eval_dataset_name,
      ...(data.task_files ?? []).map(({ path }) => path),
      ...rewards.map(({ file }) => file?.path),
    ];
    for (const name of named) {
      if (name === null || name === undefined || name === "") continue;
      const path = resolve(workDir, name);
      if (!await exists(path)) continue; // a name on the Hub
      const isFolder = (await Deno.stat(path)).isDirectory;
      if (!isInside(path, workDir)) folders.add(isFolder ? path : dirname(path));
    }
    // It may be made by the run.
    const output = resolve(workDir, training.output_dir);
    if (!isInside(output, workDir)) folders.add(dirname(output));
  }
  return [...folders];
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith("../") && !isAbsolute(way);
}

/** The shell lines for them. */
export function bindLines(folders: readonly string[]): string {
  if (folders.length === 0) return "";
  return "\n# Folders elsewhere, which the configuration names.\n" +
    `export APPTAINER_BIND=${shellWord(folders.join(","))}",$APPTAINER_BIND"`;
}
