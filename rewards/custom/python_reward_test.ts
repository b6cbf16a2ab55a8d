/** Rewards in Python: the functions of TRL and verl as they are, in a process of their own. */
import assert from "node:assert/strict";
import { runCommand } from "../../core/machine/run_command.ts";
import { withFolder } from "../../core/testing.ts";
import { entriesOf } from "../../data/row_entries.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { createRubric, type RubricScores, type RubricSection } from "../rubric.ts";
import type { RewardSample } from "../types.ts";

const hasPython = (await runCommand(["python3", "--version"]))?.success === true;

const SOURCE = `
import asyncio, os, subprocess, sys, time

def reward(completions, prompts, solution, completion_ids, trainer_state, log_extra, log_metric, **columns):
    print("this is no message")
    subprocess.run(["echo", "nor this"])
    os.write(1, b"[1]")
    log_metric("longest", max(map(len, completion_ids)))
    log_extra("truth", solution)
    seen = columns["level"] == [3] * len(prompts) and trainer_state.global_step == 6
    assert seen and trainer_state.max_steps == 40, columns
    return [None if c == "skip" else float(c == s) for c, s in zip(completions, solution)]

def talk(prompts, completions, **kwargs):
    return [len(p) + len(c) * 10 for p, c in zip(prompts, completions)
            if c[0]["role"] == p[0]["role"].replace("user", "assistant")]

def strict(completions, factor): return [factor * len(c) for c in completions]
async def later(completions, **kwargs):
    await asyncio.sleep(0.01)
    return [len(c) for c in completions]
def wrong(completions, **kwargs):
    return [1 / len(c) for c in completions]
def kinds(completions, **kwargs):
    return [{"": float("nan"), "inf": float("inf"), "text": "7", "true": True}.get(c, 2) for c in completions]
def short(completions, **kwargs): return [1]
def missing(completions, hint, **kwargs): return []
def late(completions, **kwargs): time.sleep(60)
def leaves(completions, **kwargs): sys.exit("over")

def compute_score(data_source, solution_str, ground_truth, extra_info=None, bonus=0):
    if solution_str == "hang": time.sleep(60)
    if solution_str == "die": os._exit(3)
    if solution_str == "raise": raise ValueError("no")
    assert data_source == "sums" and extra_info["index"] == 7 and extra_info["num_turns"] is None
    return {"score": (solution_str == ground_truth) + bonus, "acc": solution_str == ground_truth}
async def waits(data_source, solution_str, ground_truth, extra_info):
    await asyncio.sleep(float(solution_str))
    return float(solution_str)
def many(data_sources, solution_strs, ground_truths, extra_infos):
    return [len(s) + len(g) for s, g in zip(solution_strs, ground_truths)]
`;

const SOLVED = { prompt: "2+2", solution: "4", level: 3 };
const CHAT = { prompt: [{ role: "user", content: "hi" }], answer: "4" };
const VERL = {
  data_source: "sums",
  prompt: [{ role: "user", content: "2+2" }],
  reward_model: { style: "rule", ground_truth: "4" },
  extra_info: { index: 7 },
};

function samples(row: Record<string, unknown>, completions: readonly string[]): RewardSample[] {
  const [entry] = entriesOf([{ columns: row, place: "row" }], "rows");
  return completions.map((completion) => ({
    prompt: "the rendered prompt",
    messages: entry!.messages ?? null,
    completion,
    answer: entry!.answer,
    info: entry!.metadata,
    entry: entry!,
    completionIds: [...completion].map((_, i) => i),
    truncated: false,
    step: 7,
    maxCompletionLength: 20,
  }));
}

async function scores(
  section: { function: string } & Partial<RubricSection>,
  row: Record<string, unknown>,
  completions: readonly string[],
): Promise<RubricScores> {
  return await withFolder(async (folder) => {
    const { function: name, ...more } = section, path = `${folder}/mine.py`;
    await Deno.writeTextFile(path, SOURCE);
    const file = { path, function: name };
    await using rubric = createRubric([
      { name, weight: 1, params: {}, timeout: 0.4, ...more, file },
    ], { allowPython: true, maxSteps: () => 40 });
    return await rubric.score(samples(row, completions));
  });
}

const test = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name, ignore: needs(hasPython, NEEDED.pythonProgram), fn });

test("functions of TRL and verl have the values and errors that they have there", async () => {
  const values = (...found: unknown[]) => ({ found, errors: [] as RegExp[] });
  const fails = (...errors: RegExp[]) => ({ found: errors.map(() => 0), errors });
  const cases: [
    section: Parameters<typeof scores>[0],
    row: Record<string, unknown>,
    completions: string[],
    { found: unknown[]; errors: RegExp[] },
  ][] = [
    [{ function: "reward" }, SOLVED, ["4", "5", "skip"], values(1, 0, null)],
    [{ function: "talk" }, CHAT, ["a", "bc"], values(11, 11)],
    [{ function: "strict", params: { factor: 3 } }, SOLVED, ["a", "bc"], values(3, 6)],
    [{ function: "later" }, SOLVED, ["a", "bc"], values(1, 2)],
    [{ function: "kinds" }, SOLVED, ["inf", "text", "", "true", "x"], {
      found: [0, 0, null, 1, 2],
      errors: [/returned inf/, /returned '7'/],
    }],
    [{ function: "wrong" }, SOLVED, [""], fails(/^ZeroDivisionError: .* \(mine\.py, line 23\)$/)],
    [{ function: "short" }, SOLVED, ["a", "b"], fails(/returned 1 values for 2/, /for 2 compl/)],
    [{ function: "missing" }, SOLVED, ["a"], fails(/missing needs hint, found only .*solution/)],
    [{ function: "late" }, SOLVED, ["a"], fails(/gave no value within 0\.4 s/)],
    [{ function: "leaves" }, SOLVED, ["a"], fails(/SystemExit: over \(mine\.py, line 29\)/)],
    [{ function: "compute_score", params: { bonus: 2 } }, VERL, ["4", "5"], values(3, 2)],
    [{ function: "many" }, VERL, ["a", "bcd"], values(2, 4)],
    [{ function: "waits", timeout: 0.3 }, VERL, ["0.2", "0", "0.1"], values(0.2, 0, 0.1)],
    [{ function: "waits", timeout: 0.2 }, VERL, ["0.5"], fails(/within 0\.2 s/)],
  ];
  for (const [section, row, completions, expected] of cases) {
    const { values, errors, logged, extras } = await scores(section, row, completions);
    assert.deepEqual(values.map(([value]) => value), expected.found, section.function);
    assert.equal(errors.length, expected.errors.length, JSON.stringify(errors));
    for (const [i, { message }] of errors.entries()) assert.match(message, expected.errors[i]!);
    if (section.function !== "reward") continue;
    assert.deepEqual([...logged], [["longest", [4]]]);
    assert.deepEqual([...extras], [["truth", ["4", "4", "4"]]]);
  }
});

test("a value that hangs, dies or fails costs only its completion, in order", async () => {
  const completions = ["4", "hang", "5", "die", "4", "raise", "4"];
  const { values, errors, extras } = await scores({ function: "compute_score" }, VERL, completions);
  assert.deepEqual(values.flat(), [1, 0, 0, 0, 1, 0, 1]);
  assert.deepEqual(errors.map(({ row }) => row), [1, 3, 5]);
  assert.match(errors.map(({ message }) => message).join("\n"), /0\.4 s.*\n.*code 3.*\n.*: no/);
  assert.deepEqual(extras.get("acc"), [true, null, false, null, true, null, true]);
});

test("Python is refused unless it is allowed; what cannot be loaded is one error", async () => {
  await withFolder(async (folder) => {
    const open = async (source: string, file: object = {}, allowPython = true) => {
      const path = `${folder}/mine.py`;
      await Deno.writeTextFile(path, source);
      const section = { name: "m", weight: 1, params: {}, file: { path, ...file } };
      await using rubric = createRubric([section], { allowPython });
      await rubric.open();
    };
    const touch = `open(${JSON.stringify(`${folder}/ran`)}, "w")\ndef f(completions): pass\n`;
    await assert.rejects(open(touch, {}, false), { advice: /--allow-python/ });
    await assert.rejects(Deno.stat(`${folder}/ran`), Deno.errors.NotFound);
    await open(touch);
    await Deno.stat(`${folder}/ran`);
    const two = "def a(completions): pass\ndef b(completions): pass\n";
    const cases: [source: string, file: object, message: RegExp][] = [
      ["def f(:\n", {}, /SyntaxError: .*\(mine\.py, line 1\)$/],
      ["\nimport no_such_module\n", {}, /ModuleNotFoundError: .*\(mine\.py, line 2\)/],
      [two, {}, /its functions are a, b: name one with `function`/],
      [two, { function: "c" }, /there is no function c; its functions are a, b/],
      ["", {}, /there is no function compute_score; it has no functions/],
      [two, { function: "a", cache: true }, /gets all completions at once/],
      [two, { function: "a", python: "no-such-python" }, /: no-such-python cannot be started: no /],
    ];
    for (const [source, file, message] of cases) await assert.rejects(open(source, file), message);
  });
});
