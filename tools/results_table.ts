/**
 * `deno task results:table RUN…`: the accuracies of runs before and after training, as Markdown.
 *
 *     deno task results:table NAME=FOLDER…
 *
 * Each folder is one of `rgx train`, with evaluations before and after. Accuracies are in percent,
 * with Wilson's 95 % intervals. Both evaluations ask the same problems, so p is from McNemar's
 * exact test. "Format" is the share of sampled answers with the requested form. Rewards are the
 * means of each sixth of the steps.
 */
import { mean } from "../core/statistics.ts";
import { evaluations } from "../reports/run_report/evaluation_section.ts";
import { markdownTable } from "../reports/run_report/markdown.ts";
import { readRunRecord } from "../reports/run_report/run_record.ts";

const HEADS = ["run", "greedy: before → after", "p", "sampled: before → after", "p", "format"];
/** The rewards are means of so many parts of the steps. */
const PARTS = 6;

interface Share {
  accuracy: number;
  ci95: readonly [number, number];
}

const percent = (share: number) => (100 * share).toFixed(1);

function withInterval({ accuracy, ci95: [low, high] }: Share): string {
  return `${percent(accuracy)} [${percent(low)}, ${percent(high)}]`;
}

function pValue(p: number): string {
  return p < 0.001 ? p.toExponential(0) : p.toPrecision(1);
}

async function row(name: string, folder: string): Promise<string[]> {
  const record = await readRunRecord(folder), { paired } = record;
  const [before, after] = evaluations(record);
  const greedy = [before, after].map((result) => (result as { greedy?: Share } | null)?.greedy);
  if (!before || !after || !greedy[0] || !greedy[1] || !paired?.greedy) {
    throw new Error(`${folder}: no evaluations before and after`);
  }
  const points = record.metrics.series.get("reward") ?? [], size = points.length / PARTS;
  const rewards = Array.from({ length: PARTS }, (_, i) => {
    const part = points.slice(Math.round(i * size), Math.round((i + 1) * size));
    return mean(part.map(({ value }) => value)).toFixed(2);
  });
  const format = [before, after].map((result) => percent(result.format_rate ?? NaN));
  return [
    name,
    `${withInterval(greedy[0])} → ${withInterval(greedy[1])}`,
    pValue(paired.greedy.p_value),
    `${withInterval(before)} → ${withInterval(after)}`,
    pValue(paired.sampled.p_value),
    format.join(" → "),
    rewards.join(" "),
  ];
}

if (import.meta.main) {
  const runs = Deno.args.map((text) => {
    const at = text.indexOf("=");
    return at < 0 ? [text, text] as const : [text.slice(0, at), text.slice(at + 1)] as const;
  });
  if (runs.length === 0) {
    console.error("name folders of runs");
    Deno.exit(2);
  }
  const rows = await Promise.all(runs.map(([name, folder]) => row(name, folder)));
  console.log(markdownTable({ rows: [[...HEADS, "rewards"], ...rows] }));
}
