/**
 * `rgx tasks list|show|sample`: prints the registry of tasks and entries of their data sets. What
 * reads task files and parameters is not loaded for the list.
 */
import { UsageError } from "../../core/errors.ts";
import { SPLIT, type Split } from "../../core/philox.ts";
import { didYouMean } from "../../core/suggest.ts";
import { createDataset } from "../../tasks/dataset.ts";
import { entryJson } from "../../tasks/entry_json.ts";
import { getTask, taskNames } from "../../tasks/registry.ts";
import { describedTable } from "../terminal/terminal.ts";
import { breakWidth, clip, LineWriter, print, wrap } from "../terminal/terminal.ts";
import type { FlagsOf } from "../flags.ts";

export function listTasks(options: { category?: string; json?: boolean }): void {
  const tasks = taskNames().map(getTask);
  const categories = [...new Set(tasks.map((task) => task.category))].sort();
  if (options.category !== undefined && !categories.includes(options.category)) {
    const hint = didYouMean(options.category, categories);
    throw new UsageError(`unknown category "${options.category}"${hint}`, {
      advice: `categories: ${categories.join(", ")}`,
    });
  }
  const shown = tasks.filter((task) => !options.category || task.category === options.category);
  const rows = shown.map((task) => ({
    name: task.name,
    category: task.category,
    description: task.description,
    curriculum: task.curriculum !== undefined,
  }));
  if (options.json) return print(JSON.stringify(rows));
  print(
    describedTable(
      [
        ["task", "category", "curriculum"],
        ...rows.map((row) => [row.name, row.category, row.curriculum ? "yes" : "no"]),
      ],
      ["what", ...rows.map((row) => row.description)],
      breakWidth("stdout"),
    ).join("\n"),
  );
}

export async function showTask(nameOrFile: string, options: { json?: boolean }): Promise<void> {
  const { taskNameOf } = await import("../../tasks/custom/task_file.ts");
  const name = await taskNameOf(nameOrFile), task = getTask(name);
  const sample = createDataset(name, { ...task.example, size: 1, seed: 42 }).entry(0);
  if (options.json) {
    return print(JSON.stringify({
      name: task.name,
      category: task.category,
      description: task.description,
      scoring: task.scoring,
      parameters: task.params,
      curriculum: task.curriculum ?? null,
      sample,
    }));
  }
  const width = breakWidth("stdout", 100);
  const out = [
    `${task.name} (${task.category})`,
    ...wrap(task.description, width),
    "",
    "Parameters",
  ];
  out.push(
    ...describedTable(
      Object.entries(task.params).map(([key, spec]) => [
        `  ${key}`,
        spec.type + (spec.nullable ? " or null" : ""),
        clip(JSON.stringify(spec.default), 24),
      ]),
      Object.values(task.params).map((spec) => spec.description),
      width,
    ),
  );
  if (task.curriculum) {
    out.push("", "Curriculum (levels from 0)");
    out.push(
      ...describedTable(
        task.curriculum.map((attribute) => [
          `  ${attribute.name}`,
          attribute.field ?? `${attribute.lowerField}/${attribute.upperField}`,
        ]),
        task.curriculum.map(({ levels }) =>
          JSON.stringify(levels).slice(1, -1).replaceAll(",", ", ")
        ),
        width,
      ),
    );
  }
  out.push("", "Scoring", ...wrap(task.scoring, width - 2).map((line) => `  ${line}`));
  out.push("", "Sample (seed 42, entry 0)");
  out.push(...wrap(sample.question, width - 2).map((line) => `  ${line}`));
  const answer = `answer: ${JSON.stringify(sample.answer)}`;
  out.push(...wrap(answer, width - 2).map((line) => `  ${line}`));
  print(out.join("\n"));
}

type SampleOptions = FlagsOf<"TASKS_SAMPLE">;

export async function sampleTask(nameOrFile: string, options: SampleOptions): Promise<void> {
  if (!(options.split in SPLIT)) {
    const hint = didYouMean(options.split, Object.keys(SPLIT));
    throw new UsageError(`unknown split "${options.split}"${hint}`, {
      advice: `splits: ${Object.keys(SPLIT).join(", ")}`,
    });
  }
  const { taskNameOf } = await import("../../tasks/custom/task_file.ts");
  const { readTaskParams } = await import("./task_params.ts");
  const name = await taskNameOf(nameOrFile), task = getTask(name);
  const params = readTaskParams(task, options);
  const dataset = createDataset(name, {
    ...params,
    size: Math.max(1, options.size),
    seed: options.seed,
    split: options.split as Split,
  });
  const lines = new LineWriter();
  for (let i = 0; i < options.size; i++) {
    lines.write(entryJson(dataset.entry(options.offset + i)));
  }
  lines.flush();
}
