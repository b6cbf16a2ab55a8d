/**
 * A chart from result files: a comparison of the models on one task, or a summary of several tasks;
 * the results decide which. The renderer is loaded only when it is needed.
 */
import { UsageError } from "../../core/errors.ts";
import { timeStamp } from "../../core/local_time.ts";
import { fileName, folderOf } from "../../core/paths.ts";
import {
  type AllTasksResultFile,
  readResultFile,
  type ResultFile,
} from "../../bench/results/result_file.ts";
import { gatherResults, type NamedResult, renameModels } from "./chart_data.ts";
import type { Figure } from "./style.ts";
import {
  parseRename,
  readRenameFile,
  type Rename,
  resolveRenames,
  withShortNames,
} from "./rename.ts";
import { resultsFigure, resultsTitle } from "./results_figure.ts";
import { checkPicturePath, writeFigure } from "./write_figure.ts";

/** Title, names and file of a chart of results. */
export interface PlotOptions {
  /** Heading of the chart; default: what it compares. */
  title?: string;
  /** Names of the models in the chart: `{ model: name }`, or `["model=name", …]`. */
  rename?: Readonly<Record<string, string>> | readonly string[];
  /** A JSON file of such names. */
  renameFile?: string;
  /** The scale ends at 100 %; default: where the data end. */
  fullScale?: boolean;
  /** For a paper: as wide as one or two of its columns. */
  columns?: 1 | 2;
  /**
   * A path ending in .png, .svg, .pdf or .html; an existing file is replaced. Default: a new PNG in
   * the folder of the results.
   */
  output?: string;
}

/** The chart that was written. */
export interface Plot {
  /** The picture that was written. */
  path: string;
  /** `comparison`: task by task; `summary`: averages over tasks. */
  kind: "comparison" | "summary";
  /** Names of the tasks in the chart. */
  tasks: string[];
  /** Names of the models in the chart. */
  models: string[];
  /** Notes for the reader of the chart. */
  notes: string[];
}

/**
 * Draws the results of a benchmark.
 * @param results result files, folders of them, or results themselves
 * @throws UsageError for files that do not exist, renames that fit no model, other kinds of output;
 *   RgxError for files without results of this version, or when the chart cannot be written
 */
export async function plotResults(
  results: readonly (string | ResultFile)[],
  options: PlotOptions = {},
): Promise<Plot> {
  if (options.output !== undefined) checkPicturePath(options.output);
  const { figure, title, ...plot } = await figureOf(results, options);
  const path = options.output ?? await newPath(results, plot.kind, plot.tasks[0]!);
  const notes = await writeFigure(path, figure, title);
  return { path, ...plot, notes: [...plot.notes, ...notes] };
}

async function figureOf(
  results: readonly (string | ResultFile)[],
  options: PlotOptions,
): Promise<Omit<Plot, "path"> & { figure: Figure; title: string }> {
  const gathered = gatherResults(await readAll(results));
  const renames: Rename[] = [];
  const { rename = [], renameFile } = options;
  if (isList(rename)) renames.push(...rename.map((text) => parseRename(text, gathered.models)));
  else {
    for (const [from, to] of Object.entries(rename)) {
      renames.push({ from, to, place: "rename" });
    }
  }
  if (renameFile !== undefined) {
    renames.push(...await readRenameFile(renameFile, gathered.models, gathered.notes));
  }
  const names = resolveRenames(renames, gathered.models);
  const data = renameModels(gathered, withShortNames(names, gathered.models));
  const { tasks, models } = data, isFull = options.fullScale ?? false;
  return {
    figure: resultsFigure(data, options.title, isFull, options.columns),
    title: options.title ?? resultsTitle(tasks),
    kind: tasks.length === 1 ? "comparison" : "summary",
    tasks,
    models,
    notes: gathered.notes,
  };
}

function isList(rename: NonNullable<PlotOptions["rename"]>): rename is readonly string[] {
  return Array.isArray(rename);
}

async function readAll(results: readonly (string | ResultFile)[]): Promise<NamedResult[]> {
  if (results.length === 0) throw new UsageError("no result files were named");
  const files: NamedResult[] = [];
  for (const item of results) {
    if (typeof item !== "string") files.push({ path: `result ${files.length + 1}`, result: item });
    else {
      for (const path of await filesIn(item)) {
        files.push({ path, result: await readResultFile(path) });
      }
    }
  }
  return files;
}

/** The result files of a folder, or the file itself. */
async function filesIn(path: string): Promise<string[]> {
  const isFolder = await Deno.stat(path).then((info) => info.isDirectory, () => false);
  if (!isFolder) return [path];
  const names: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    if (!isDirectory && /^results_.*\.json$/.test(name)) names.push(name);
  }
  if (names.length === 0) {
    throw new UsageError(`${path}: there is no results_….json in this folder`);
  }
  return names.sort().map((name) => `${path.replace(/\/+$/, "")}/${name}`);
}

/** A new path in the folder of the first result. */
async function newPath(
  results: readonly (string | ResultFile)[],
  kind: Plot["kind"],
  task: string,
): Promise<string> {
  const [first] = results;
  let folder = ".";
  if (typeof first === "string") {
    const isFolder = (await Deno.stat(first)).isDirectory;
    folder = isFolder ? first.replace(/\/+$/, "") : folderOf(first);
  }
  const subject = kind === "summary" ? "summary_all_tasks" : `comparison_${fileName(task)}`;
  const stem = `${folder}/${subject}_${timeStamp(new Date())}`;
  for (let n = 1;; n++) {
    const path = `${stem}${n === 1 ? "" : `_${n}`}.png`;
    const isTaken = await Deno.lstat(path).then(() => true, () => false);
    if (!isTaken) return path;
  }
}

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
