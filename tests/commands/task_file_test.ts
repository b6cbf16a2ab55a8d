/** Tasks from a user's file: in training, mixtures, curricula, benchmarks, and what is refused. */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { jsonLines, lines, namesIn, refuses, rgx, succeeds, TINY } from "../support.ts";

const DIGIT_SUM = `
import { defaultScore, defineTask, intParam as int, rangeAttribute } from "@rgx/rgx";

export default defineTask({
  name: "digit_sum",
  category: "arithmetic",
  description: "Add up the digits of a number.",
  scoring: "1 when the answer is the sum",
  params: { min_digits: int(2, "fewest digits", { min: 1 }), max_digits: int(6, "most digits") },
  curriculum: [rangeAttribute("digits", ["min_digits", "max_digits"], [2, 4, 8], "digits")],
  generate(random, config) {
    const count: number = random.int(config.min_digits, config.max_digits);
    const digits = Array.from({ length: count }, (_, i) => random.int(i === 0 ? 1 : 0, 9));
    return {
      question: "What is the sum of the digits of " + digits.join("") + "?",
      answer: String(digits.reduce((total, digit) => total + digit, 0)),
      metadata: { digits: count },
      difficulty: { digits: [config.min_digits, config.max_digits] },
    };
  },
  score: defaultScore,
});
`;

/** A folder with the task's file, and a configuration in a folder beside it. */
async function withTask(body: (cwd: string) => Promise<void>, source = DIGIT_SUM): Promise<void> {
  await withFolder(async (cwd) => {
    await Deno.mkdir(`${cwd}/mine`);
    await Deno.writeTextFile(`${cwd}/mine/digit_sum.ts`, source);
    await Deno.writeTextFile(`${cwd}/mine/tiny.yaml`, TINY);
    await body(cwd);
  });
}

Deno.test("a run on a task of one's own is trained, resumed and measured like any other", () =>
  withTask(async (cwd) => {
    const data = "{ task_name: ./digit_sum.ts, task_config: { max_digits: 3, _delete_: true } }";
    await Deno.writeTextFile(
      `${cwd}/mine/own.yaml`,
      `_base_: tiny.yaml\ndata: ${data}\nlogging: { report_to: [] }\n`,
    );
    const device = ["--device", "reference"];
    const first = await succeeds(["train", "mine/own.yaml", "--output-dir", "run", ...device], {
      cwd,
    });
    assert.match(first.err, /task +digit_sum, max_digits 3/);
    const config = await Deno.readTextFile(`${cwd}/run/config.yaml`);
    assert.match(config, /task_name: digit_sum/);
    assert.match(config, /path: mine\/digit_sum\.ts/);
    const eight = ["--resume", "training.max_steps=5", ...device];
    await succeeds(["train", "run/config.yaml", ...eight], { cwd });

    const bench = await succeeds(
      argv`bench --models run --tasks mine/digit_sum.ts --set max_digits=3 --num-examples 8
        --no-base --output-dir results ${device}`,
      { cwd },
    );
    assert.match(bench.out, /^digit_sum +8 /m);
    // The problems and the answers of the benchmark are those of the run's own evaluation.
    const rows = async (file: string) => jsonLines(await Deno.readTextFile(`${cwd}/${file}`));
    const greedy = (await rows("run/eval_after.jsonl"))
      .filter(({ temperature }) => temperature === 0).map(({ completion }) => completion);
    const samples = namesIn(`${cwd}/results`).find((name) => name.startsWith("samples"));
    const answers: string[] = [];
    for (const { index, result } of await rows(`results/${samples}`)) {
      answers[index] = result.completion;
    }
    assert.deepEqual(answers, greedy);

    await Deno.writeTextFile(`${cwd}/mine/digit_sum.ts`, DIGIT_SUM + "// changed\n");
    const changed = await rgx(["config", "check", "run/config.yaml"], { cwd });
    assert.match(changed.err + changed.out, /digit_sum\.ts has changed/);
  }));

Deno.test("a task of one's own is part of mixtures, composites, curricula and evaluations", () =>
  withTask(async (cwd) => {
    const plan = async (text: string) => {
      await Deno.writeTextFile(`${cwd}/mine/mix.yaml`, `_base_: tiny.yaml\n${text}`);
      return (await succeeds(["train", "mine/mix.yaml", "--dry-run", "--device", "reference"], {
        cwd,
      })).err;
    };
    const none = "task_config: null";
    assert.match(
      await plan(
        `data: { task_name: null, ${none}, tasks: { ./digit_sum.ts: { weight: 2 }, gcd: {} } }
curriculum: { enabled: true, curricula: { ./digit_sum.ts: { attribute_levels: { digits: 1 } } } }`,
      ),
      /task +digit_sum × 2, gcd × 1, with a curriculum/,
    );
    assert.match(
      await plan(`data: { task_name: null, ${none}, tasks: [{ task_name: ./digit_sum.ts }] }`),
      /task +digit_sum × 1/,
    );
    assert.match(
      await plan(
        `data: { task_name: composite, task_config: { _delete_: true, datasets: [
          { name: ./digit_sum.ts, weight: 1 } ] } }`,
      ),
      /sum of the digits/,
    );
    const one = await succeeds(["tasks", "sample", "mine/digit_sum.ts", "--size", "1"], { cwd });
    assert.equal(JSON.parse(one.out).metadata.source_dataset, "digit_sum");
    assert.match(
      (await succeeds(["tasks", "show", "mine/digit_sum.ts"], { cwd })).out,
      /min_digits/,
    );
  }));

Deno.test("a task file that cannot be used is refused with its line and the reason", async () => {
  const cases: [string, RegExp][] = [
    [DIGIT_SUM.replace("@rgx/rgx", "node:fs"), /digit_sum\.ts:2: imports "node:fs".*@rgx\/rgx/],
    [DIGIT_SUM.replace('"digit_sum"', '"gcd"'), /another task has its name, gcd/],
    [
      DIGIT_SUM.replace("random.int(i ===", "(Math.random() * 9) || random.int(i ==="),
      /two entries/,
    ],
    [
      DIGIT_SUM.replace("score: defaultScore", "score: () => 0.5"),
      /score\(\) gives 0\.5 to the ans/,
    ],
    [DIGIT_SUM.replace("const count", "null.x; const count"), /line 12/],
    ["export default 3;", /its default export is no task/],
    ["export default {", /digit_sum\.ts:1:\d+: not a module/],
  ];
  for (const [source, message] of cases) {
    await withTask(async (cwd) => {
      const text = "_base_: tiny.yaml\ndata: { task_name: ./digit_sum.ts, task_config: null }\n";
      await Deno.writeTextFile(`${cwd}/mine/own.yaml`, text);
      const place = /mine\/own\.yaml:2:\d+: data\.task_name/;
      await refuses([[["config", "check", "mine/own.yaml"], place, message]], { cwd });
    }, source);
  }
});

Deno.test("rgx score knows a task file that is named, and says what an unknown task is", () =>
  withTask(async (cwd) => {
    const file = "mine/digit_sum.ts";
    const output = ["--output", "entries.jsonl", "--splits", "train=2"];
    await succeeds(["tasks", "export", `./${file}`, ...output], { cwd });
    const text = await Deno.readTextFile(`${cwd}/entries.jsonl`);
    const entries = jsonLines(text);
    const answers = entries.flatMap((entry) => [
      { entry, answer: entry.answer },
      { entry, answer: "no number" },
    ]);
    await Deno.writeTextFile(
      `${cwd}/answers.jsonl`,
      answers.map((a) => JSON.stringify(a)).join("\n"),
    );
    const scored = await succeeds(["score", "answers.jsonl", "--task", file], { cwd });
    assert.deepEqual(lines(scored.out).map((line) => JSON.parse(line).score), [1, 0, 1, 0]);

    const unknown = await rgx(["score", "answers.jsonl"], { cwd });
    assert.equal(unknown.code, 1);
    assert.match(unknown.out, /unknown task \\"digit_sum\\"/);
    const mixed = ["score", "answers.jsonl", "--task", file, "--reward", "correctness"];
    await refuses([[mixed, "--task is for scores of answers"]], { cwd });
  }));
