/**
 * `rgx rewards list|show` prints the built-in rewards. `rgx rewards test` holds a reward against
 * cases: completions, each with the value that is expected for it. A reward from a file runs as it
 * does in training: in a sandbox, with a time limit.
 */
import { EXIT, UsageError } from "../../core/errors.ts";
import { typeText } from "../../core/named_params.ts";
import { isRecord } from "../../core/json_file.ts";
import { exists } from "../../core/paths.ts";
import { didYouMean } from "../../core/suggest.ts";
import { readText } from "../../core/text_file.ts";
import {
  BUILT_IN_REWARDS,
  type BuiltInReward,
  getReward,
  REWARD_ALIASES,
} from "../../rewards/registry.ts";
import { createRubric } from "../../rewards/rubric.ts";
import type { RewardSample, RewardValue } from "../../rewards/types.ts";
import { type Flags, parseJson } from "../flags.ts";
import { rewardFile } from "../scoring/reward_flags.ts";
import type { REWARDS_TEST } from "../scoring/score_flags.ts";
import { readValue, splitPair } from "../tasks/task_params.ts";
import {
  breakWidth,
  clip,
  columns,
  describedTable,
  print,
  table,
  wrap,
} from "../terminal/terminal.ts";

function aliases(reward: BuiltInReward): string[] {
  return Object.keys(REWARD_ALIASES).filter((name) => REWARD_ALIASES[name] === reward.name);
}

function json(reward: BuiltInReward): object {
  return {
    name: reward.name,
    aliases: aliases(reward),
    metric: reward.metric ?? reward.name,
    description: reward.description,
    weight: reward.defaultWeight ?? 1,
    parameters: reward.params,
  };
}

export function listRewards(options: { json?: boolean }): void {
  if (options.json) return print(JSON.stringify(BUILT_IN_REWARDS.map(json)));
  const cells = BUILT_IN_REWARDS.map(({ name }) => [name]);
  const texts = BUILT_IN_REWARDS.map(({ description }) => description);
  print(
    describedTable([["reward"], ...cells], ["what", ...texts], breakWidth("stdout")).join("\n"),
  );
}

export function showReward(name: string, options: { json?: boolean }): void {
  const reward = getReward(name);
  if (options.json) return print(JSON.stringify(json(reward)));
  const width = breakWidth("stdout", 100), others = aliases(reward);
  const lines = [reward.name, ...wrap(reward.description, width), ""];
  if (others.length > 0) lines.push(...wrap(`Also: ${others.join(", ")}`, width));
  if (reward.metric !== undefined) lines.push(`In the metrics: ${reward.metric}`);
  lines.push(`Weight unless written: ${reward.defaultWeight ?? 1}`);
  const params = Object.entries(reward.params);
  if (params.length > 0) {
    const cells = params.map(([key, spec]) => [
      `  ${key}`,
      typeText(spec),
      JSON.stringify(spec.default),
    ]);
    const texts = params.map(([, spec]) => spec.description);
    lines.push("", "Parameters", ...describedTable(cells, texts, width));
  }
  lines.push("", "In a configuration", "  rewards:", `    - ${example(reward)}`);
  print(lines.join("\n"));
}

/** An entry of `rewards:` with the reward's first parameter that has a value to write. */
function example({ name, params }: BuiltInReward): string {
  const param = Object.entries(params).find(([, spec]) => spec.default !== null);
  if (param === undefined) return name;
  return `{ name: ${name}, weight: 0.5, ${param[0]}: ${JSON.stringify(param[1].default)} }`;
}

type TestOptions = Flags<typeof REWARDS_TEST>;

interface Case {
  line: number;
  sample: RewardSample;
  expected: RewardValue;
}

/** Largest difference that counts as equal, relative to the expected value. */
const TOLERANCE = 1e-6;

/** Fields of a case, and what each must be. */
const FIELDS: Readonly<Record<string, readonly [what: string, is: (value: unknown) => boolean]>> = {
  completion: ["text", isText],
  expected: ["a number or null", (value) => value === null || isNumber(value)],
  prompt: ["text", isText],
  messages: ["a list of messages", Array.isArray],
  question: ["text", isText],
  answer: ["text or null", (value) => value === null || isText(value)],
  info: ["an object", isRecord],
  completionIds: ["a list of numbers", (value) => Array.isArray(value) && value.every(isNumber)],
  truncated: ["true or false", (value) => typeof value === "boolean"],
  step: ["a number", isNumber],
  maxCompletionLength: ["a number", isNumber],
};

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

/** Returns the exit code: 0 when every case has its expected value, else 1. */
export async function testReward(
  reward: string,
  given: string | undefined,
  options: TestOptions,
): Promise<number> {
  const file = rewardFile(reward);
  if (file !== null && !await exists(file.path)) {
    throw new UsageError(`${file.path}: there is no such file`);
  }
  const path = given ?? (file === null ? null : file.path.replace(/\.\w+$/, "_cases.jsonl"));
  const advice = 'A file of lines such as {"completion": "…", "answer": "4", "expected": 1}.';
  if (path === null) throw new UsageError("missing argument 'cases'", { advice });
  if (!await exists(path)) throw new UsageError(`${path}: there is no such file`, { advice });
  const cases = readCases(path, await readText(path));
  const params = Object.fromEntries(options.set.map((text) => {
    const [key, value] = splitPair(text, "--set", "key=value");
    return [key, readValue(value, `--set ${text}`)];
  }));
  const section = { name: file === null ? reward : "reward", weight: 1, params };
  const rubric = createRubric([file === null ? section : { ...section, file }], {
    allowPython: options.allowPython ?? false,
  });
  try {
    await rubric.open();
    // One after the other, so that an error belongs to its case.
    const results = [];
    for (const { line, sample, expected } of cases) {
      const { values, errors } = await rubric.score([sample]);
      const value = errors.length > 0 ? null : values[0]![0]!, error = errors[0]?.message ?? null;
      const passed = error === null && isSame(value, expected);
      results.push({ line, completion: sample.completion, expected, value, error, passed });
    }
    const failed = results.filter(({ passed }) => !passed);
    if (options.json) print(JSON.stringify(results));
    else {
      const width = Math.max(20, columns() - 40);
      const rows = failed.map(({ line, completion, expected, value, error }) => [
        `${path}:${line}`,
        String(expected),
        error === null ? String(value) : `failed: ${clip(error, 100)}`,
        clip(JSON.stringify(completion), width),
      ]);
      if (rows.length > 0) print(table([["case", "expected", "found", "completion"], ...rows]));
      print(`${results.length - failed.length} passed, ${failed.length} failed`);
    }
    return failed.length > 0 ? EXIT.failure : EXIT.ok;
  } finally {
    await rubric.close();
  }
}

function isSame(value: RewardValue, expected: RewardValue): boolean {
  if (value === null || expected === null) return value === expected;
  return Math.abs(value - expected) <= TOLERANCE * Math.max(1, Math.abs(expected));
}

function readCases(path: string, text: string): Case[] {
  const cases = text.split("\n").flatMap((line, i): Case[] =>
    line.trim() === "" ? [] : [readCase(line, `${path}:${i + 1}`, i + 1)]
  );
  if (cases.length === 0) throw new UsageError(`${path}: no cases were found`);
  return cases;
}

function readCase(text: string, place: string, line: number): Case {
  const found = parseJson(text, place);
  if (!isRecord(found)) throw new UsageError(`${place}: expected an object, found ${text}`);
  for (const [name, value] of Object.entries(found)) {
    const field = Object.hasOwn(FIELDS, name) ? FIELDS[name]! : undefined;
    if (field === undefined) {
      throw new UsageError(
        `${place}: unknown field ${name}${didYouMean(name, Object.keys(FIELDS))}`,
      );
    }
    const [what, is] = field;
    if (!is(value)) {
      throw new UsageError(`${place}: ${name}: expected ${what}, found ${JSON.stringify(value)}`);
    }
  }
  for (const name of ["completion", "expected"]) {
    if (!Object.hasOwn(found, name)) throw new UsageError(`${place}: ${name} is missing`);
  }
  const { expected, question, ...fields } = found as Partial<RewardSample> & {
    completion: string;
    expected: RewardValue;
    question?: string;
  };
  const { answer = null, info = {} } = fields;
  const entry = { ...(question !== undefined && { question }), answer, metadata: info };
  const sample: RewardSample = {
    prompt: question ?? "",
    messages: null,
    completionIds: [],
    truncated: false,
    step: 1,
    maxCompletionLength: 256,
    ...fields,
    answer,
    info,
    entry,
  };
  return { line, sample, expected };
}
