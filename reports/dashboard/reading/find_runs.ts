/**
 * Finds runs and benchmark results in folders. A folder of a run is recognized by its
 * `metrics.jsonl`, or by `run.json` beside `config.yaml`. Links are not followed, so that no folder
 * is looked at twice; a folder that cannot be read is left out.
 */
import { sha256Hex } from "../../../core/checksums.ts";
import { UsageError } from "../../../core/errors.ts";
import { shortNames } from "../../charts/run_metrics.ts";

export interface FoundRun {
  /** Short, made from the path; the same at every start. */
  id: string;
  /** The last parts of the path, as many as distinguish it from other runs. */
  name: string;
  /** Path as the user would write it. */
  folder: string;
}

export interface FoundBenchmark {
  id: string;
  /** Path of the result file. */
  path: string;
}

export interface Found {
  runs: FoundRun[];
  benchmarks: FoundBenchmark[];
}

/** Depth of folders below a named one that are searched. */
const MAX_DEPTH = 4;
/** Folders of a run, and others that hold no runs. */
const SKIPPED =
  /^(\.|checkpoint-\d+|completions$|warm-start$|wandb$|node_modules$|\w+\.tmp-\d+$|latest$|best$)/;

/** @throws UsageError when a named folder does not exist or holds other things than runs */
export async function checkFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const info = await Deno.stat(folder).catch((error) => error as Error);
    if (info instanceof Error) {
      throw new UsageError(`${folder}: there is no such folder`, {
        advice: "Name the output folder of rgx train or of rgx bench, or a folder of these.",
      });
    }
    if (!info.isDirectory) {
      throw new UsageError(`${folder}: a file; the dashboard shows folders of runs`, {
        advice: "Name the folder that holds it.",
      });
    }
    const { runs, benchmarks } = await findRuns([folder]);
    const isEmpty = (await Array.fromAsync(Deno.readDir(folder))).length === 0;
    if (runs.length + benchmarks.length === 0 && !isEmpty) {
      throw new UsageError(`${folder}: no run and no benchmark results in this folder`, {
        advice: "A run has a metrics.jsonl, a benchmark a results_….json. Name the output folder " +
          "of rgx train or of rgx bench, or a folder of these; an empty folder is waited for.",
      });
    }
  }
}

/** The runs and results in these folders, sorted by path. */
export async function findRuns(folders: readonly string[]): Promise<Found> {
  const runs = new Set<string>(), benchmarks = new Map<string, FoundBenchmark>();
  const search = async (folder: string, depth: number): Promise<void> => {
    let entries: Deno.DirEntry[];
    try {
      entries = await Array.fromAsync(Deno.readDir(folder));
    } catch {
      return; // removed in this moment, or not ours to read
    }
    const names = new Set(entries.map(({ name }) => name));
    const isRun = names.has("metrics.jsonl") || names.has("run.json") && names.has("config.yaml");
    if (isRun) runs.add(folder);
    for (const { name, isFile } of entries) {
      if (!isFile || !/^results_.*\.json$/.test(name)) continue;
      const path = `${folder}/${name}`;
      benchmarks.set(path, { id: idOf(path), path });
    }
    if (depth === 0 || isRun) return;
    const inner = entries.filter(({ name, isDirectory }) => isDirectory && !SKIPPED.test(name));
    await Promise.all(inner.map(({ name }) => search(`${folder}/${name}`, depth - 1)));
  };
  for (const folder of folders) {
    const path = folder === "/" ? folder : folder.replace(/\/+$/, "");
    await search(path, MAX_DEPTH);
  }
  const paths = [...runs].sort(), names = paths.length === 0 ? [] : shortNames(paths);
  return {
    runs: paths.map((folder, i) => ({ id: idOf(folder), name: names[i]!, folder })),
    benchmarks: [...benchmarks.values()].sort((a, b) => a.path < b.path ? -1 : 1),
  };
}

function idOf(path: string): string {
  return sha256Hex(new TextEncoder().encode(path)).slice(0, 12);
}
