/**
 * `rgx plot` and `rgx curves`: draw charts of benchmarks and of training runs, and print the path
 * of the picture.
 */
import { plotCurves } from "../../reports/charts/curves.ts";
import { plotResults } from "../../reports/charts/plot_results.ts";
import { log, print } from "../terminal/terminal.ts";

interface Common {
  title?: string;
  output?: string;
  json?: boolean;
}

export async function plot(
  results: string[],
  options: Common & { rename: string[]; renameFile?: string; fullScale?: boolean },
): Promise<void> {
  const { json, ...rest } = options;
  report(await plotResults(results, rest), json);
}

export async function curves(
  runs: string[],
  options: Common & { metrics?: string; rename: string[] },
): Promise<void> {
  const { json, metrics, ...rest } = options;
  const names = metrics?.split(",").map((name) => name.trim()).filter((name) => name !== "");
  report(await plotCurves(runs, names === undefined ? rest : { ...rest, metrics: names }), json);
}

function report(drawn: { path: string; notes: string[] }, json = false): void {
  for (const note of drawn.notes) log(`note: ${note}`);
  print(json ? JSON.stringify(drawn) : drawn.path);
}
