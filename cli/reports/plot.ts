/**
 * `rgx plot` and `rgx curves`: draw charts of benchmarks and of training runs, and print the path
 * of the picture.
 */
import { existsSync } from "node:fs";
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
  const { json, ...rest } = options, { files, rename } = sorted(results, options.rename);
  report(await plotResults(files, { ...rest, rename }), json);
}

export async function curves(
  runs: string[],
  options: Common & { metrics?: string; rename: string[] },
): Promise<void> {
  const { json, metrics, ...others } = options, { files, rename } = sorted(runs, options.rename);
  const names = metrics?.split(",").map((name) => name.trim()).filter((name) => name !== "");
  const rest = { ...others, rename };
  report(await plotCurves(files, names === undefined ? rest : { ...rest, metrics: names }), json);
}

/** `--rename A=B C=D`: after the first, they arrive among the files. */
function sorted(words: string[], rename: string[]): { files: string[]; rename: string[] } {
  const isRename = (word: string) => rename.length > 0 && word.includes("=") && !existsSync(word);
  return {
    files: words.filter((word) => !isRename(word)),
    rename: [...rename, ...words.filter(isRename)],
  };
}

function report(drawn: { path: string; notes: string[] }, json = false): void {
  for (const note of drawn.notes) log(`note: ${note}`);
  print(json ? JSON.stringify(drawn) : drawn.path);
}
