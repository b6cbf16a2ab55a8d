/** For tests: the lines of metrics.jsonl. */

/** Metrics that depend on the clock or the machine (see the documentation of metrics.jsonl). */
const CLOCK = /^(time|step_time|time\/.*|memory\/.*|throughput\/.*|.*_runtime|.*_per_second)$/;

/** A line of metrics.jsonl. */
export type Line = Record<string, unknown>;

/** All lines of metrics.jsonl. */
export async function metricsOf(outputDir: string): Promise<Line[]> {
  const text = await Deno.readTextFile(`${outputDir}/metrics.jsonl`);
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

/** The same without metrics that depend on the clock. @param split of the lines; default: all */
export async function metricsWithoutClock(outputDir: string, split?: string): Promise<Line[]> {
  return (await metricsOf(outputDir)).filter((line) => (split ?? line["split"]) === line["split"])
    .map((line) => Object.fromEntries(Object.entries(line).filter(([name]) => !CLOCK.test(name))));
}
