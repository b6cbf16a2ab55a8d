/** The pictures that a benchmark leaves beside its result files: one a task and one of all. */
import { fileName } from "../../core/paths.ts";
import type { AllTasksResultFile } from "../../bench/results/result_file.ts";
import { gatherResults } from "./chart_data.ts";
import { comparisonFigure } from "./comparison.ts";
import { summaryFigure } from "./summary.ts";
import { writeFigure } from "./write_figure.ts";

/**
 * Writes `comparison_{task}_{stamp}.png` and `summary_all_tasks_{stamp}.png` into a folder that is there.
 * @returns paths, that of the summary last; of a benchmark without any result nothing is drawn
 */
export async function writeCharts(folder: string, result: AllTasksResultFile): Promise<string[]> {
  if (!Object.values(result.tasks).some(({ models }) => Object.keys(models).length > 0)) return [];
  const data = gatherResults([{ path: folder, result }]), paths: string[] = [];
  const draw = async (name: string, figure: ReturnType<typeof summaryFigure>) => {
    const path = `${folder}/${name}_${result.stamp}.png`;
    await writeFigure(path, figure, name);
    paths.push(path);
  };
  for (const task of data.tasks) {
    await draw(`comparison_${fileName(task)}`, comparisonFigure(data, task));
  }
  await draw("summary_all_tasks", summaryFigure(data));
  return paths;
}
