/**
 * Compares every registered task with the recorded behaviour of reasoning-gym: scores, parameters,
 * metadata and curricula. A new task is covered automatically.
 */
import assert from "node:assert/strict";
import { checkParams, type ParamValue } from "../core/named_params.ts";
import { curriculumConfig, type CurriculumMode } from "./curriculum/levels.ts";
import { createDataset } from "./dataset.ts";
import { getTask, scoreTaskAnswer, validateTaskConfig } from "./registry.ts";
import { hasGolden, readGoldenJson, readGoldenLines } from "../tests/golden.ts";
import { testedTasks } from "./testing.ts";
import type { Entry, ScorableEntry } from "./types.ts";

interface Case {
  where: string;
  kind: string | undefined;
  answer: string | null;
  entry: ScorableEntry;
  golden: number | "error";
}

interface ItemRow extends Entry {
  checks: { kind: string; answer: string | null; score?: number; error?: string }[];
}

interface CaseRow {
  entry: ScorableEntry;
  answer: string | null;
  score: number;
}

interface Deviation {
  file: string;
  line: number;
  kind?: string;
  answer: string | null;
  golden: number | "error";
  right: number;
}

function casesOf(name: string): Case[] {
  const cases: Case[] = [];
  if (hasGolden(`reasoning-gym/items/${name}.jsonl`)) {
    readGoldenLines<ItemRow>(`reasoning-gym/items/${name}.jsonl`).forEach((row, i) => {
      for (const { kind, answer, score } of row.checks) {
        const where = `items/${name}.jsonl:${i + 1}`;
        cases.push({ where, kind, answer, entry: row, golden: score ?? "error" });
      }
    });
  }
  for (const folder of ["scorer-cases", "model-answers"]) {
    if (!hasGolden(`reasoning-gym/${folder}/${name}.jsonl`)) continue;
    readGoldenLines<CaseRow>(`reasoning-gym/${folder}/${name}.jsonl`).forEach((row, i) => {
      const where = `${folder}/${name}.jsonl:${i + 1}`;
      cases.push({
        where,
        kind: undefined,
        answer: row.answer,
        entry: row.entry,
        golden: row.score,
      });
    });
  }
  return cases;
}

Deno.test("every recorded answer gets the recorded score, except for listed deviations", () => {
  const deviations = readGoldenJson<Deviation[]>("reasoning-gym/deviations.json");
  const key = (where: string, kind: string | undefined, answer: string | null) =>
    JSON.stringify([where, kind ?? null, answer]);
  const right = new Map(
    deviations.map((d) => [key(`${d.file}:${d.line}`, d.kind, d.answer), d]),
  );
  let compared = 0;
  const names = testedTasks();
  for (const name of names) {
    const unused = new Set(
      deviations.filter((d) => d.file.endsWith(`/${name}.jsonl`))
        .map((d) => key(`${d.file}:${d.line}`, d.kind, d.answer)),
    );
    for (const { where, kind, answer, entry, golden } of casesOf(name)) {
      const score = scoreTaskAnswer(name, answer, entry);
      const exception = right.get(key(where, kind, answer));
      const expected = exception?.right ?? golden;
      const label = `${where} ${kind ?? ""} ${JSON.stringify(answer)}`;
      assert.ok(
        typeof expected === "number" && Math.abs(score - expected) <= 1e-9,
        `${label}: score ${score}, expected ${expected}`,
      );
      if (exception) {
        unused.delete(key(where, kind, answer));
        assert.ok(
          golden === "error" || Math.abs(score - golden) > 1e-9,
          `${label}: a listed deviation no longer deviates`,
        );
      }
      compared++;
    }
    assert.deepEqual([...unused], [], `${name}: listed deviations without a case`);
  }
  assert.ok(compared > 7 * names.length, `only ${compared} cases compared`);
});

/** The JSON type names of tasks.json; the integer 3 is also a float. */
function typeOf(value: unknown): string {
  if (Array.isArray(value)) {
    const elements = [...new Set(value.map(typeOf))].sort();
    return `list<${elements.join("|")}>`;
  }
  if (value === null) return "null";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  return ({ string: "str", boolean: "bool", object: "object" } as Record<string, string>)[
    typeof value
  ]!;
}

/** Whether a type is one of the expected ones, reading int where JSON cannot tell it from float. */
function fits(type: string, expected: string[]): boolean {
  return expected.map(loose).includes(loose(type));
}

function loose(type: string): string {
  return type.replaceAll("float", "int").replace(/int(\|int)+/g, "int")
    .replace(/list<int>(\|list<int>)+/g, "list<int>");
}

interface TaskFacts {
  category: string;
  fields: {
    name: string;
    type: string;
    default: ParamValue;
    nullable: boolean;
    values?: string[];
    /** "null (rgx default) = …" where rgx's default differs on purpose. */
    note?: string;
  }[];
  metadata: { key: string; types: string[]; always: boolean }[];
  difficulty: Record<string, string[]>;
  curriculum: {
    name: string;
    levels: ParamValue[];
    fields: string[];
    ensure_interval?: boolean;
  }[] | null;
}

function isNullByDefault({ note }: TaskFacts["fields"][number]): boolean {
  return note?.startsWith("null (rgx default)") ?? false;
}

const PARAM_TYPES: Record<string, string> = {
  str: "string",
  enum: "string",
  time: "string",
  date: "string",
  "list<str>": "string[]",
  "list<enum>": "string[]",
  "list<float>": "float[]",
  "list<[float,float]>": "any",
  object: "any",
};
/** Recorded as integers because of a default, but meant as shares. */
const FLOATS = ["rearc.diff_lb", "rearc.diff_ub"];

Deno.test("categories, parameters, defaults and curriculum attributes are as documented", () => {
  const facts = readGoldenJson<Record<string, TaskFacts>>("reasoning-gym/tasks.json");
  for (const name of testedTasks()) {
    const task = getTask(name), expected = facts[name]!;
    assert.equal(task.category, expected.category, name);
    const fields = expected.fields.filter(({ name }) => name !== "seed" && name !== "size");
    assert.deepEqual(Object.keys(task.params).sort(), fields.map((f) => f.name).sort(), name);
    for (const field of fields) {
      const spec = task.params[field.name]!;
      const free = isNullByDefault(field);
      assert.deepEqual(spec.default, free ? null : field.default, `${name}.${field.name}`);
      assert.equal(spec.nullable ?? false, free || field.nullable, `${name}.${field.name}`);
      const label = `${name}.${field.name}`;
      const type = FLOATS.includes(label) ? "float" : PARAM_TYPES[field.type] ?? field.type;
      assert.equal(spec.type, type, label);
      if (field.values) assert.deepEqual([...spec.values!].sort(), field.values.toSorted());
    }
    const size = expected.fields.find((field) => field.name === "size")?.default ?? 500;
    assert.equal(createDataset(name, { seed: 1 }).length, size, name);
    assert.deepEqual(
      task.curriculum?.map((a) => ({
        name: a.name,
        levels: a.levels,
        fields: a.field === undefined ? [a.lowerField, a.upperField] : [a.field],
        ensure_interval: a.ensureInterval ?? false,
      })) ?? null,
      expected.curriculum?.map((a) => ({
        name: a.name,
        levels: a.levels,
        fields: a.fields,
        ensure_interval: a.ensure_interval ?? false,
      })) ?? null,
      name,
    );
  }
});

Deno.test("the metadata has the documented keys and types", () => {
  const facts = readGoldenJson<Record<string, TaskFacts>>("reasoning-gym/tasks.json");
  for (const name of testedTasks()) {
    const { metadata, difficulty } = facts[name]!;
    const dataset = createDataset(name, { seed: 11, size: 50 });
    for (const entry of dataset) {
      const keys = Object.keys(entry.metadata);
      for (const key of keys) {
        // Some tasks lack them upstream; here every entry has them.
        if (key === "source_index" || key === "difficulty") continue;
        assert.ok(metadata.some((m) => m.key === key), `${name}: unknown metadata key ${key}`);
      }
      for (const { key, types, always } of metadata) {
        if (!keys.includes(key)) {
          assert.ok(!always, `${name}: metadata key ${key} is missing`);
        } else {
          const type = typeOf(entry.metadata[key]);
          assert.ok(fits(type, types), `${name}.${key}: ${type}, expected ${types}`);
        }
      }
      const found = entry.metadata["difficulty"];
      if ("(scalar)" in difficulty) {
        assert.equal(typeof found, "number", name);
        continue;
      }
      assert.deepEqual(Object.keys(found as object).sort(), Object.keys(difficulty).sort(), name);
      for (const [key, value] of Object.entries(found as object)) {
        assert.ok(fits(typeOf(value), difficulty[key]!), `${name}: difficulty.${key}`);
      }
    }
  }
});

/**
 * The recorded `TextTransformation.ORIGINAL` stands for the value `original`, and times and dates
 * for their ISO texts.
 */
function withPlainValues(config: Record<string, ParamValue>): Record<string, ParamValue> {
  return JSON.parse(
    JSON.stringify(config),
    (_key, value) =>
      typeof value === "string" && /^[A-Z]\w+\.[A-Z_]+$/.test(value)
        ? value.split(".")[1]!.toLowerCase()
        : isoText(value?.__repr__) ?? value,
  );
}

/** "datetime.time(23, 59)" as "23:59:00", "datetime.date(1900, 1, 1)" as "1900-01-01". */
function isoText(repr: unknown): string | null {
  const match = typeof repr === "string" && /^datetime\.(time|date)\((.*)\)$/.exec(repr);
  if (!match) return null;
  const [first = "0", second = "0", third = "0", micro] = match[2]!.split(", ");
  const padded = [first.padStart(2, "0"), second.padStart(2, "0"), third.padStart(2, "0")];
  if (match[1] === "date") return padded.join("-");
  return padded.join(":") + (micro === undefined ? "" : `.${micro.padStart(6, "0")}`);
}

interface Curricula {
  configs: Record<string, { level: number; config: Record<string, ParamValue>; valid: unknown }[]>;
}

/** Two tasks have no validation in reasoning-gym, so their levels are recorded as other errors. */
function isUnchecked(valid: unknown): boolean {
  return typeof valid === "string" && valid.endsWith("has no attribute 'validate'");
}

Deno.test("every curriculum level gives the recorded configuration in all three modes", () => {
  const golden = readGoldenJson<Record<string, Curricula>>("reasoning-gym/core/curricula.json");
  const facts = readGoldenJson<Record<string, TaskFacts>>("reasoning-gym/tasks.json");
  for (const name of testedTasks()) {
    const task = getTask(name);
    if (task.curriculum === undefined) {
      assert.ok(!(name in golden), name);
      continue;
    }
    for (const [modeText, rows] of Object.entries(golden[name]!.configs)) {
      const mode = modeText.replace(/\(.*/, "") as CurriculumMode;
      for (const { level, config: recorded, valid } of rows) {
        const expected = withPlainValues(recorded);
        for (const field of facts[name]!.fields.filter(isNullByDefault)) {
          expected[field.name] = null;
        }
        const clamped: string[] = [];
        const onClamp = (note: string) => clamped.push(note);
        const config = curriculumConfig(task, { "*": level }, { mode, onClamp });
        const label = `${name} ${modeText} level ${level}`;
        assert.deepEqual(validateTaskConfig(name, config), [], label);
        if (valid === true || isUnchecked(valid)) assert.deepEqual(config, expected, label);
        else assert.ok(clamped.length > 0, `${label} is not valid upstream and was not clamped`);
      }
    }
  }
});

Deno.test("the recorded configurations of the items are accepted", () => {
  for (const name of testedTasks()) {
    const [row] = readGoldenLines<{ config: Record<string, ParamValue> }>(
      `reasoning-gym/items/${name}.jsonl`,
    );
    const { seed: _seed, size: _size, ...config } = withPlainValues(row!.config);
    assert.deepEqual(checkParams(`task ${name}`, getTask(name).params, config), []);
    assert.deepEqual(validateTaskConfig(name, config), []);
  }
});
