/** Writes the pictures of a benchmark: one for each task and one for all tasks. */
import { fileName } from "../../core/paths.ts";
import type { AllTasksResultFile } from "../../bench/results/result_file.ts";
import { gatherResults, renameModels } from "./chart_data.ts";
import { withShortNames } from "./rename.ts";
import { resultsFigure } from "./results_figure.ts";
import { writeFigure } from "./write_figure.ts";

/**
 * Writes `comparison_{task}_{stamp}.png` and `summary_all_tasks_{stamp}.png` into an existing
 * folder.
 * @returns the paths, with the summary last; without results nothing is drawn
 */
export async function writeCharts(folder: string, result: AllTasksResultFile): Promise<string[]> {
  if (!Object.values(result.tasks).some(({ models }) => Object.keys(models).length > 0)) return [];
  const gathered = gatherResults([{ path: folder, result }]), paths: string[] = [];
  const data = renameModels(gathered, withShortNames(new Map(), gathered.models));
  const draw = async (name: string, tasks: string[]) => {
    const path = `${folder}/${name}_${result.stamp}.png`;
    await writeFigure(path, resultsFigure({ ...data, tasks }), name);
    paths.push(path);
  };
  for (const task of data.tasks) await draw(`comparison_${fileName(task)}`, [task]);
  await draw("summary_all_tasks", data.tasks);
  return paths;
}
