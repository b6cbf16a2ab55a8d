/**
 * `rgx plot` and `rgx curves`: draw charts of benchmarks and of training runs, and print the path
 * of the picture.
 */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { UsageError } from "../../core/errors.ts";
import { plotCurves } from "../../reports/charts/curves.ts";
import { plotResults } from "../../reports/charts/plot_results.ts";
import { writeReport } from "../../reports/run_report/write_report.ts";
import { type FlagsOf, given } from "../flags.ts";
import { log, print } from "../terminal/terminal.ts";

type PlotFlags = FlagsOf<"CHART">;

export const plot = (words: string[], flags: PlotFlags) => draw(words, flags, false);
export const plotRuns = (words: string[], flags: PlotFlags) => draw(words, flags, true);

/** @param ofRuns whether the files are runs; otherwise their content decides */
async function draw(words: string[], flags: PlotFlags, ofRuns: boolean): Promise<void> {
  const { json = false, metrics, renameFile, fullScale, columns, ...others } = flags;
  const rest = { ...others, ...(columns !== undefined && { columns: columns as 1 | 2 }) };
  const { files, rename } = sorted(words, flags.rename), common = { ...rest, rename };
  const isOfRuns = ofRuns || files.length > 0 && files.every(isRun);
  const foreign = isOfRuns
    ? { "--rename-file": renameFile, "--full-scale": fullScale }
    : { "--metrics": metrics };
  const wrong = Object.entries(foreign).find(([, value]) => value !== undefined)?.[0];
  if (wrong !== undefined) {
    const [of, found] = isOfRuns ? ["results", "runs"] : ["runs", "results"];
    throw new UsageError(`${wrong}: it is for charts of ${of}, and these are ${found}`);
  }
  const names = metrics?.split(",").map((name) => name.trim()).filter((name) => name !== "");
  const drawn = isOfRuns
    ? await plotCurves(files, { ...common, ...given({ metrics: names }) })
    : await plotResults(files, { ...common, ...given({ renameFile, fullScale }) });
  for (const note of drawn.notes) log(`note: ${note}`);
  print(json ? JSON.stringify(drawn) : drawn.path);
}

function isRun(path: string): boolean {
  return basename(path) === "metrics.jsonl" || existsSync(`${path}/metrics.jsonl`);
}

/** `--rename A=B C=D`: after the first, they arrive among the files. */
function sorted(words: string[], rename: string[]): { files: string[]; rename: string[] } {
  const isRename = (word: string) => rename.length > 0 && word.includes("=") && !existsSync(word);
  return {
    files: words.filter((word) => !isRename(word)),
    rename: [...rename, ...words.filter(isRename)],
  };
}

export async function report(run: string, options: { json?: boolean }): Promise<void> {
  const written = await writeReport(run);
  print(options.json ? JSON.stringify(written) : `${written.markdown}\n${written.html}`);
}
