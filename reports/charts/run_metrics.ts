/**
 * Reads the metrics of a training run from its `metrics.jsonl`, by name. Metrics of the supervised
 * warm start, which counts its own steps, get the prefix `sft/`.
 */
import { RgxError, UsageError } from "../../core/errors.ts";
import { readText, whyNotJson } from "../../core/text_file.ts";

/** The value of a metric at a step. */
export interface Point {
  /** Optimizer step, from 1 on; 0 = before training. */
  step: number;
  /** The value of the metric at this step. */
  value: number;
  /** The 95 % interval of an accuracy. */
  ci95?: readonly [low: number, high: number];
}

export interface RunMetrics {
  /** The folder's name, or as many parts of its path as distinguish it from other runs. */
  name: string;
  series: Map<string, Point[]>;
}

const METRICS_FILE = "metrics.jsonl";
/** Fields of a line that are not measurements. */
const NO_METRICS = new Set(["step", "epoch"]);

/**
 * @param paths run folders, or `metrics.jsonl` files
 * @throws UsageError when one is not there, RgxError when it is damaged
 */
export async function readRuns(paths: readonly string[]): Promise<RunMetrics[]> {
  if (paths.length === 0) throw new UsageError("no runs were named");
  // With real paths, "." has a name, and a run that is named twice is noticed.
  const named = new Map<string, string>();
  for (const path of paths) {
    const whole = await Deno.realPath(path).catch(() => path);
    named.set(whole.replace(`/${METRICS_FILE}`, ""), path);
  }
  const names = shortNames([...named.keys()]), runs: RunMetrics[] = [];
  for (const [i, path] of [...named.values()].entries()) {
    runs.push({ name: names[i]!, series: await readSeries(path) });
  }
  return runs;
}

async function readSeries(path: string): Promise<Map<string, Point[]>> {
  const isFolder = await Deno.stat(path).then((info) => info.isDirectory, () => false);
  const file = isFolder ? `${path.replace(/\/+$/, "")}/${METRICS_FILE}` : path;
  let text: string;
  try {
    text = await readText(file);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    const found = isFolder ? `${path} holds no ${METRICS_FILE}` : `there is no ${path}`;
    const near = isFolder ? await runsNear(path.replace(/\/+$/, "")) : [];
    const advice = near.length > 0
      ? `runs: ${near.slice(0, MAX_NAMED).join(", ")}${near.length > MAX_NAMED ? ", …" : ""}`
      : "Name the output folder of a run of rgx train.";
    throw new UsageError(`no metrics of a run: ${found}`, { advice, cause });
  }
  return parseMetrics(text, file);
}

/** Maximum number of runs that a message names. */
const MAX_NAMED = 10;

/** The run that a checkpoint's folder belongs to, or the runs in a folder. */
async function runsNear(folder: string): Promise<string[]> {
  const folders = [folder.includes("/") ? folder.slice(0, folder.lastIndexOf("/")) : "."];
  for await (const { name } of Deno.readDir(folder)) folders.push(`${folder}/${name}`);
  const isRun = (path: string) =>
    Deno.stat(`${path}/${METRICS_FILE}`).then(({ isFile }) => isFile, () => false);
  const runs: string[] = [];
  for (const path of folders.sort()) if (await isRun(path)) runs.push(path);
  return runs;
}

/**
 * A last line that is still being written is ignored.
 * @param file the path, for messages
 */
export function parseMetrics(text: string, file: string): Map<string, Point[]> {
  const series = new Map<string, Point[]>();
  const lines = text.split("\n");
  for (const [i, line] of lines.entries()) {
    if (line.trim() === "") continue;
    let row: unknown;
    try {
      row = JSON.parse(line);
    } catch (cause) {
      if (i === lines.length - 1) break;
      throw new RgxError(`${file}:${i + 1}: not valid JSON: ${whyNotJson(cause)}`, {
        cause,
      });
    }
    if (typeof row !== "object" || row === null) {
      throw new RgxError(`${file}:${i + 1}: expected an object, found ${line.trim().slice(0, 60)}`);
    }
    eachMeasurement(row as Record<string, unknown>, (name, step, value, ci95) => {
      const point = ci95 === undefined ? { step, value } : { step, value, ci95 };
      const points = series.get(name);
      if (points === undefined) series.set(name, [point]);
      else points.push(point);
    });
  }
  return series;
}

/**
 * Calls `take` for every measurement of a line of metrics. Lines of events have no split, and the
 * last line, "final", sums up the run: they have no measurements of a step.
 */
export function eachMeasurement(
  row: Readonly<Record<string, unknown>>,
  take: (name: string, step: number, value: number, ci95?: Point["ci95"]) => void,
): void {
  const { step, split } = row;
  if (typeof step !== "number" || typeof split !== "string" || split === "final") return;
  for (const [key, value] of Object.entries(row)) {
    if (typeof value !== "number" || NO_METRICS.has(key)) continue;
    const name = split === "train" || key.startsWith(`${split}_`) ? key : `${split}/${key}`;
    const ci95 = key.includes("accuracy") ? row[key.replace("accuracy", "ci95")] : undefined;
    if (isInterval(ci95)) take(name, step, value, ci95);
    else take(name, step, value);
  }
}

function isInterval(value: unknown): value is readonly [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every((v) => typeof v === "number");
}

/** The last parts of each path, as many as distinguish all paths. */
export function shortNames(paths: readonly string[]): string[] {
  const parts = paths.map((path) => path.split(/[/\\]/));
  for (let n = 1; n < Math.max(...parts.map(({ length }) => length)); n++) {
    const names = parts.map((path) => path.slice(-n).join("/"));
    if (new Set(names).size === names.length) return names;
  }
  return [...paths];
}
