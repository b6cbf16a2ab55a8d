/**
 * The numbers of a training run by name, from its `metrics.jsonl`. Names are those of the file; the lines of the
 * supervised warm start, whose steps count for themselves, get `sft/` in front.
 */
import { RgxError, UsageError } from "../../core/errors.ts";
import { readText } from "../../core/text_file.ts";

export interface Point {
  step: number;
  value: number;
  /** The 95 % interval that stands beside an accuracy. */
  ci95?: readonly [low: number, high: number];
}

export interface RunMetrics {
  /** Its folder's name, or as much of the path as tells it from others. */
  name: string;
  series: Map<string, Point[]>;
}

const METRICS_FILE = "metrics.jsonl";
/** Fields of a line that are no measurements. */
const NO_METRICS = new Set(["step", "epoch"]);

/**
 * @param paths run folders, or `metrics.jsonl` files
 * @throws UsageError when one is not there, RgxError when it is damaged
 */
export async function readRuns(paths: readonly string[]): Promise<RunMetrics[]> {
  if (paths.length === 0) throw new UsageError("no runs were named");
  // A run that is called "." has a better name.
  const whole = paths.map((path) => Deno.realPath(path).catch(() => path));
  const names = shortNames(await Promise.all(whole));
  const runs: RunMetrics[] = [];
  for (const [i, path] of paths.entries()) {
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
    throw new UsageError(`no metrics of a run: ${found}`, {
      advice: "Name the output folder of a run of rgx train.",
      cause,
    });
  }
  return parseMetrics(text, file);
}

/** @param file for messages. A last line without its end is still being written, and left out. */
export function parseMetrics(text: string, file: string): Map<string, Point[]> {
  const series = new Map<string, Point[]>();
  const lines = text.split("\n");
  lines.pop();
  for (const [i, line] of lines.entries()) {
    if (line.trim() === "") continue;
    let row: Record<string, unknown>;
    try {
      row = JSON.parse(line);
    } catch (cause) {
      throw new RgxError(`${file}:${i + 1}: not valid JSON: ${(cause as Error).message}`, {
        cause,
      });
    }
    const { step, split } = row;
    // Events have no split; the last line sums the run up.
    if (typeof step !== "number" || typeof split !== "string" || split === "final") continue;
    for (const [key, value] of Object.entries(row)) {
      if (typeof value !== "number" || NO_METRICS.has(key)) continue;
      const name = split === "train" || key.startsWith(`${split}_`) ? key : `${split}/${key}`;
      const ci95 = row[key.replace("accuracy", "ci95")];
      const point = isInterval(ci95) ? { step, value, ci95 } : { step, value };
      const points = series.get(name);
      if (points === undefined) series.set(name, [point]);
      else points.push(point);
    }
  }
  return series;
}

function isInterval(value: unknown): value is readonly [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every((v) => typeof v === "number");
}

/** The fewest last parts of each path that no other one ends in. */
function shortNames(paths: readonly string[]): string[] {
  const parts = paths.map((path) => path.replace(`/${METRICS_FILE}`, "").split(/[/\\]/));
  return parts.map((own, i) => {
    for (let n = 1; n < own.length; n++) {
      const name = own.slice(-n).join("/");
      const isAlone = parts.every((other, j) => j === i || other.slice(-n).join("/") !== name);
      if (isAlone) return name;
    }
    return own.join("/");
  });
}
