/**
 * The result of a benchmark as text: a table of tasks × models with intervals, and what else a
 * reader must know.
 */
import { percentDigits } from "../../core/counted.ts";
import { holm } from "../../core/holm.ts";
import type { AllTasksResultFile, Failure, ModelResult } from "../../bench/results/result_file.ts";
import { shownNames } from "../../bench/results/shown_names.ts";
import { breakWidth, table, wrap } from "../terminal/terminal.ts";
import { textWidth } from "../terminal/terminal.ts";

const percent = percentDigits;
type Metrics = Readonly<Record<string, number>>;

/**
 * "45.0 ± 9.6": the distance from the value to the farther end of the interval, in points; a dash
 * without examples. Intervals are lopsided near 0 and 100 %, so half of their width would be too
 * small.
 */
function accuracyCell(
  { accuracy, ci95: [low, high], n }: Pick<ModelResult, "accuracy" | "ci95"> & { n: number },
) {
  if (n === 0) return "–";
  return `${percent(accuracy)} ± ${percent(Math.max(accuracy - low, high - accuracy))}`;
}

function modelNames({ tasks }: AllTasksResultFile): string[] {
  return [...new Set(Object.values(tasks).flatMap(({ models }) => Object.keys(models)))];
}

function accuracyRows(result: AllTasksResultFile): string[][] {
  const names = modelNames(result);
  const rows = Object.values(result.tasks).map(({ task, models }) => {
    const n = Math.max(...Object.values(models).map(({ num_examples }) => num_examples));
    return [
      task,
      String(n),
      ...names.map((name) => {
        const model = models[name];
        if (model === undefined) return "–";
        const { total, errors, too_long, num_examples } = model;
        const answered = Math.round(num_examples * total / (total + errors + too_long));
        const cell = accuracyCell({ ...model, n: total });
        return answered === n || total === 0 ? cell : `${cell} (n ${answered})`;
      }),
    ];
  });
  // An average over fewer tasks is not comparable with one over all of them.
  const averages = names.map((name) => {
    const average = result.average[name]!;
    const cell = accuracyCell({ ...average, n: average.tasks });
    const few = `${average.tasks} ${average.tasks === 1 ? "task" : "tasks"}`;
    return average.tasks === rows.length || average.tasks === 0 ? cell : `${cell} (${few})`;
  });
  const last = ["average", "", ...averages];
  return [["task", "n", ...shownNames(names)], ...rows, ...(rows.length > 1 ? [last] : [])];
}

/** Details of each model over all tasks. Columns that are empty for all models are left out. */
function detailRows(result: AllTasksResultFile): string[][] {
  const names = modelNames(result), shown = shownNames(names);
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  const rows = names.map((name, i) => {
    const all = Object.values(result.tasks).flatMap(({ models }) => models[name] ?? []);
    const answered = all.filter(({ total }) => total > 0);
    const mean = (value: (r: ModelResult) => number, unit = "") =>
      answered.length === 0
        ? "–"
        : `${(sum(answered.map(value)) / answered.length).toFixed(1)}${unit}`;
    const seen = all.map(({ overlap }) => overlap).filter((overlap) => overlap !== null);
    return {
      model: shown[i]!,
      score: mean((r) => 100 * r.mean_score, " %"),
      format: mean((r) => 100 * r.format_rate, " %"),
      truncated: mean((r) => 100 * r.truncated_rate, " %"),
      tokens: mean((r) => r.mean_completion_tokens),
      "trained on": seen.length === 0 ? "–" : String(sum(seen)),
      unanswered: String(sum(all.map(({ errors }) => errors))),
      "too long": String(sum(all.map(({ too_long }) => too_long))),
    };
  });
  const nothing: Record<string, string> = { "trained on": "–", unanswered: "0", "too long": "0" };
  type Column = keyof typeof rows[number];
  const columns = (Object.keys(rows[0]!) as Column[])
    .filter((column) => rows.some((row) => row[column] !== nothing[column]));
  return [columns, ...rows.map((row) => columns.map((column) => row[column]))];
}

/** The results of each model on each task, with the names that are shown. */
function resultsOf(result: AllTasksResultFile) {
  const names = modelNames(result), shown = shownNames(names);
  return Object.values(result.tasks).flatMap(({ task, models }) =>
    names.flatMap((name, i) =>
      models[name] === undefined ? [] : [{ task, name: shown[i]!, result: models[name] }]
    )
  );
}

function sampleRows(result: AllTasksResultFile): string[][] {
  const all = resultsOf(result).flatMap(({ result, ...about }) =>
    result.samples ? [{ ...about, result, samples: result.samples }] : []
  );
  if (all.length === 0) return [];
  const { k, pass_at } = all[0]!.samples;
  // In this row, a problem counts only if all of its samples have answers.
  const isPart = all.some(({ result, samples }) => samples.problems < result.num_examples);
  const passes = Object.keys(pass_at).map((level) => `pass@${level}`);
  return [
    ["task", "model", ...(isPart ? ["n"] : []), ...passes, `avg@${k}`, `maj@${k}`],
    ...all.map(({ task, name, samples: { problems, pass_at, avg_at_k, majority_at_k } }) => [
      task,
      name,
      ...(isPart ? [String(problems)] : []),
      ...[...Object.values(pass_at), avg_at_k, majority_at_k].map(percent),
    ]),
  ];
}

/** The dialogues of each model on each task; none without environments and tools. */
function dialogueRows(result: AllTasksResultFile): string[][] {
  const all = resultsOf(result).flatMap(({ task, name, result: { dialogues } }) =>
    dialogues === undefined ? [] : [{ task, name, ...dialogues }]
  );
  if (all.length === 0) return [];
  const hasTools = all.some(({ metrics }) => metrics["tools/call_frequency"]! > 0);
  const listOf = (metrics: Metrics, prefix: string, text: (value: number) => string) =>
    Object.entries(metrics).filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => `${name.slice(prefix.length)} ${text(value)}`).join(", ");
  const ofTools = (metrics: Metrics) => [
    metrics["tools/call_frequency"]!.toFixed(2),
    `${percent(metrics["tools/failure_frequency"]!)} %`,
  ];
  const columns = "task model with answers reward".split(" ");
  return [
    [...columns, ...(hasTools ? ["calls", "failed"] : []), "ended by", "environment"],
    ...all.map(({ task, name, with: names, answers, reward, metrics }) => [
      task,
      name,
      names.join(", "),
      answers.toFixed(2),
      reward === null ? "–" : reward.toFixed(3),
      ...(hasTools ? ofTools(metrics) : []),
      listOf(metrics, "stop/", (share) => `${percent(share)} %`),
      listOf(metrics, "environment/", (value) => value.toFixed(3)) || "–",
    ]),
  ];
}

/** Every pair of models on every task, by the paired test. */
function comparisonRows(result: AllTasksResultFile): string[][] {
  const names = modelNames(result), shown = shownNames(names);
  const nameOf = (name: string) => shown[names.indexOf(name)]!;
  const all = Object.values(result.tasks).flatMap(({ comparisons }) => comparisons);
  const corrected = holm(all.map(({ p_value }) => p_value));
  const rows = all.map(({ task, first, second, difference, ci95: [low, high] }, i) => {
    const p_value = corrected[i]!;
    return [
      task,
      `${nameOf(second)} − ${nameOf(first)}`,
      `${difference > 0 ? "+" : ""}${percent(difference)} [${percent(low)}, ${percent(high)}]`,
      p_value < 0.001 ? "< 0.001" : p_value.toFixed(3),
    ];
  });
  return rows.length === 0 ? [] : [["task", "models", "difference in points [95 %]", "p"], ...rows];
}

function testNote(result: AllTasksResultFile): string {
  const all = Object.values(result.tasks).flatMap(({ comparisons }) => comparisons);
  const isSampled = Object.values(result.tasks)
    .some(({ models }) => Object.values(models).some(({ samples }) => (samples?.k ?? 1) > 1));
  const test = isSampled ? "a sign-flip test" : "McNemar's exact test";
  return `p: ${test} on the same problems` +
    (all.length > 1 ? `, with Holm's correction for ${all.length} comparisons` : "");
}

/**
 * A table. If the table is wider than the terminal, each text of column `by` gets a table of its
 * own.
 */
function parted(rows: readonly (readonly string[])[], by: number, width: number): string {
  const whole = table(rows);
  if (fits(whole, width)) return whole;
  const [header, ...body] = rows, without = (row: readonly string[]) => row.toSpliced(by, 1);
  return [...new Set(body.map((row) => row[by]!))].map((text) => {
    const part = body.filter((row) => row[by] === text);
    return `${text}\n${table([header!, ...part].map(without))}`;
  }).join("\n\n");
}

const fits = (text: string, width: number) =>
  text.split("\n").every((line) => textWidth(line) <= width);

/** One column per model; if that is too wide, one row per model. */
function accuracyTable(result: AllTasksResultFile, width: number): string {
  const rows = accuracyRows(result), wide = table(rows);
  if (fits(wide, width)) return wide;
  const [[task, n, ...names], ...body] = rows as [string[], ...string[][]];
  return table([
    [task!, n!, "model", "accuracy"],
    ...body.flatMap(([label, count, ...cells]) =>
      cells.map((cell, i) => [i === 0 ? label! : "", i === 0 ? count! : "", names[i]!, cell])
    ),
  ]);
}

/** @param width columns of the terminal; in a pipe or a file tables are not divided */
export function textReport(result: AllTasksResultFile, width = breakWidth("stdout")): string {
  const parts = modelNames(result).length === 0 ? ["Nothing was measured."] : [
    "Accuracy in %, ± to the farther end of the 95 % interval",
    accuracyTable(result, width),
    "",
    parted(detailRows(result), 0, width),
  ];
  const samples = sampleRows(result), comparisons = comparisonRows(result);
  const dialogues = dialogueRows(result);
  if (dialogues.length > 0) parts.push("", parted(dialogues, 1, width));
  if (samples.length > 0) parts.push("", parted(samples, 1, width));
  if (comparisons.length > 0) {
    parts.push("", parted(comparisons, 1, width), ...wrap(testNote(result), width));
  }
  for (const failure of result.failures) parts.push("", failureText(failure));
  return parts.join("\n") + "\n";
}

/** Maximum number of problems without an answer whose numbers are shown. */
const SHOWN_PROBLEMS = 5;

function failureText({ model, task, error, problems }: Failure): string {
  if (problems === undefined) return `failed: ${model} on ${task}: ${error}`;
  const shown = problems.slice(0, SHOWN_PROBLEMS).join(", "),
    more = problems.length - SHOWN_PROBLEMS;
  const which = `${problems.length === 1 ? "problem" : "problems"} ${shown}`;
  return `no answer: ${model} on ${task}, ${which}${more > 0 ? ` and ${more} more` : ""}: ${error}`;
}

export function markdownTable(result: AllTasksResultFile): string {
  const [header, ...rows] = accuracyRows(result);
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(header!), line(header!.map((_, i) => i === 0 ? "---" : "---:")), ...rows.map(line)]
    .join("\n");
}

/** One row per combination of task and model, with all numbers and full names. */
export function csvTable(result: AllTasksResultFile): string {
  const quote = (cell: string) => /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  const all = Object.values(result.tasks).flatMap(({ task, models }) =>
    Object.entries(models).map(([name, result]) => ({ task, name, ...result }))
  );
  const sampled = all.find(({ samples }) => samples)?.samples,
    hasDialogues = all.some(({ dialogues }) => dialogues);
  const levels = Object.keys(sampled?.pass_at ?? {});
  const played = [
    ...new Set(all.flatMap(({ dialogues }) => Object.keys(dialogues?.metrics ?? {}))),
  ];
  const fields = [
    "correct",
    "total",
    "mean_score",
    "format_rate",
    "truncated_rate",
    "mean_completion_tokens",
    "overlap",
    "errors",
    "too_long",
  ] as const;
  const header = [
    ..."task model accuracy ci95_low ci95_high".split(" "),
    ...fields,
    ...(sampled ? [...levels.map((k) => `pass_at_${k}`), "avg_at_k", "majority_at_k"] : []),
    ...(hasDialogues ? ["reward", "answers", ...played] : []),
  ];
  const rows = all.map(({ task, name, samples, dialogues, ...r }) => [
    task,
    name,
    r.accuracy,
    ...r.ci95,
    ...fields.map((field) => r[field]),
    ...levels.map((k) => samples?.pass_at[k]),
    ...(sampled ? [samples?.avg_at_k, samples?.majority_at_k] : []),
    ...(hasDialogues ? [dialogues?.reward, dialogues?.answers] : []),
    ...played.map((name) => dialogues?.metrics[name]),
  ]);
  return [header, ...rows]
    .map((row) => row.map((cell) => quote(String(cell ?? ""))).join(",")).join("\n");
}
