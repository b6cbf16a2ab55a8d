/** `rgx tasks list|show|sample`: the registry and its data sets, printed. */
import { parse } from "yaml";
import { UsageError } from "../core/errors.ts";
import { SPLIT, type Split } from "../core/philox.ts";
import { createDataset } from "../tasks/dataset.ts";
import { curriculumConfig } from "../tasks/curriculum.ts";
import { getTask, taskNames } from "../tasks/registry.ts";
import type { ParamValue, Task } from "../tasks/types.ts";
import { clip, columns, log, print, table, wrap } from "./terminal.ts";

export async function listTasks(options: { category?: string; json?: boolean }): Promise<void> {
  const tasks = [];
  for (const name of taskNames()) tasks.push(await getTask(name));
  const categories = [...new Set(tasks.map((task) => task.category))].sort();
  if (options.category !== undefined && !categories.includes(options.category)) {
    throw new UsageError(`unknown category "${options.category}"`, {
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
    described(
      [
        ["task", "category", "curriculum"],
        ...rows.map((row) => [row.name, row.category, row.curriculum ? "yes" : "no"]),
      ],
      ["what", ...rows.map((row) => row.description)],
      columns(),
    ).join("\n"),
  );
}

/** A table whose last column is a text that is wrapped into what is left of `width`. */
function described(cells: string[][], texts: string[], width: number): string[] {
  const rows = table(cells).split("\n");
  const indent = Math.max(...rows.map((row) => row.length)) + 2;
  return rows.flatMap((row, i) =>
    wrap(texts[i]!, Math.max(20, width - indent)).map((line, part) =>
      (part === 0 ? row : "").padEnd(indent) + line
    )
  );
}

export async function showTask(name: string, options: { json?: boolean }): Promise<void> {
  const task = await getTask(name);
  const sample = (await createDataset(name, { ...task.example, size: 1, seed: 42 })).entry(0);
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
  const width = Math.min(columns(), 100);
  const out = [
    `${task.name} (${task.category})`,
    ...wrap(task.description, width),
    "",
    "Parameters",
  ];
  out.push(
    ...described(
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
      table(task.curriculum.map((attribute) => [
        `  ${attribute.name}`,
        attribute.field ?? `${attribute.lowerField}/${attribute.upperField}`,
        clip(JSON.stringify(attribute.levels), 40),
      ])),
    );
  }
  out.push("", "Scoring", ...wrap(task.scoring, width - 2).map((line) => `  ${line}`));
  out.push("", "Sample (seed 42, entry 0)");
  out.push(...wrap(sample.question, width - 2).map((line) => `  ${line}`));
  out.push(`  answer: ${JSON.stringify(sample.answer)}`);
  print(out.join("\n"));
}

interface SampleOptions {
  size: number;
  seed: number;
  offset: number;
  split: string;
  set: string[];
  level?: number;
  setLevel: string[];
}

export async function sampleTask(name: string, options: SampleOptions): Promise<void> {
  if (!(options.split in SPLIT)) {
    throw new UsageError(`unknown split "${options.split}"`, {
      advice: `splits: ${Object.keys(SPLIT).join(", ")}`,
    });
  }
  const task = await getTask(name);
  const levels: Record<string, number> = {};
  if (options.level !== undefined) levels["*"] = options.level;
  for (const text of options.setLevel) {
    const [attribute, value] = splitPair(text, "--set-level", "attribute=level");
    const level = Number(value);
    if (!Number.isInteger(level) || level < 0) {
      throw new UsageError(`--set-level ${text}: expected an integer level ≥ 0, found "${value}"`);
    }
    levels[attribute] = level;
  }
  const params: Record<string, ParamValue> = Object.keys(levels).length > 0
    ? curriculumConfig(task, levels, { onClamp: (text) => log(`note: ${text}`) })
    : {};
  noteLastLevels(task, levels);
  for (const text of options.set) {
    const [key, value] = splitPair(text, "--set", "key=value");
    if (key === "seed" || key === "size") {
      throw new UsageError(`--set ${text}: write --${key} ${value}`);
    }
    params[key] = parse(value) as ParamValue;
  }
  const dataset = await createDataset(name, {
    ...params,
    size: Math.max(1, options.size),
    seed: options.seed,
    split: options.split as Split,
  });
  for (let i = 0; i < options.size; i++) print(JSON.stringify(dataset.entry(options.offset + i)));
}

/** Says of which attributes `--level` was meant to be higher than there are levels. */
function noteLastLevels({ curriculum = [] }: Task, levels: Readonly<Record<string, number>>): void {
  const { "*": asked = 0, ...named } = levels;
  const lower = curriculum.filter(({ name, levels: { length } }) =>
    asked >= length && !(name in named)
  );
  if (lower.length === 0) return;
  const last = lower.map(({ name, levels: { length } }) => `${name} ${length - 1}`).join(", ");
  log(`note: --level ${asked}: the last level is taken where there are fewer: ${last}`);
}

function splitPair(text: string, flag: string, form: string): [string, string] {
  const at = text.indexOf("=");
  if (at <= 0) throw new UsageError(`${flag} ${text}: expected ${form}`);
  return [text.slice(0, at), text.slice(at + 1)];
}
