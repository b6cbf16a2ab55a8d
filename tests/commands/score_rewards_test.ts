/** `rgx score` with rewards: lines, the server that other trainers ask, and the Python examples. */
import assert from "node:assert/strict";
import { runCommand } from "../../core/machine/run_command.ts";
import { test, withFolder } from "../../core/testing.ts";
import { startScoreServer } from "../../cli/scoring/score.ts";
import { type Row, ROW_FORMATS } from "../../data/export_formats.ts";
import { createRubric, type RubricSection } from "../../rewards/rubric.ts";
import { createDataset } from "../../tasks/dataset.ts";
import { argv } from "../command_line.ts";
import { NEEDED, needs } from "../skipped.ts";
import { jsonLines, refuses, rgx, root, runs, serveRgx, succeeds } from "../support.ts";

const SUM = { question: "1 + 1?", answer: "2" };

async function withScores<T>(
  sections: readonly RubricSection[],
  work: (url: string) => Promise<T>,
): Promise<T> {
  const rubric = createRubric(sections), defects: unknown[] = [];
  const server = startScoreServer(rubric, {
    hostname: "127.0.0.1",
    port: 0,
    maxCompletionLength: 10,
    onDefect: (error) => defects.push(error),
  });
  try {
    return await work(server.url);
  } finally {
    await server.close();
    await rubric.close();
    assert.deepEqual(defects, []);
  }
}

const REWARDS: RubricSection[] = [
  { name: "correctness", weight: 1, params: {} },
  { name: "brevity", weight: 0.5, params: {} },
];

Deno.test("lines are rows with completions; a bad one costs only itself", async () => {
  const input = [
    JSON.stringify({ ...SUM, completion: "<answer>2</answer>", completion_ids: [1, 2] }),
    "",
    "{oops",
    JSON.stringify({ ...SUM, completion: [{ role: "assistant", content: "<answer>3</answer>" }] }),
    JSON.stringify({ ...SUM }),
  ];
  const args = argv`score --reward correctness --reward ${"{name: accuracy_reward, weight: 2}"}`;
  const { out } = await succeeds(args, { input: input.join("\n") + "\n" });
  const [first, second, third, fourth] = jsonLines(out);
  assert.deepEqual(first, { reward: 1, values: { correctness: 1, accuracy_reward: 0 } });
  assert.match(second.error, /^line 3: not JSON: [^(]*$/);
  assert.deepEqual(third.values.correctness, 0);
  assert.match(fourth.error, /^line 5: completion: expected a text .*, found none/);
  assert.equal(fourth.reward, null);
  const short = JSON.stringify({ ...SUM, completion: "<answer>2</answer>" });
  const missing = await rgx(["score", "--reward", "brevity"], { input: short + "\n" });
  assert.equal(missing.code, 1);
  assert.match(JSON.parse(missing.out).error, /^line 1: the reward brevity needs completion_ids/);
  await withFolder(async (folder) => {
    const own = (needs: string) =>
      `export const needs = ${needs};\n` +
      `export default ({ completionIds, info }) => completionIds.length + info.id;\n`;
    const score = (line: unknown) =>
      rgx(["score", "--reward", "./own.ts"], { input: `${JSON.stringify(line)}\n`, cwd: folder });
    await Deno.writeTextFile(`${folder}/own.ts`, own('["completionIds"]'));
    const sample = { ...SUM, id: 7, completion: "2" };
    const given = await score({ ...sample, completion_ids: [4, 5] });
    assert.equal(JSON.parse(given.out).reward, 9, given.err);
    assert.match(
      JSON.parse((await score(sample)).out).error,
      /^line 1: the reward own needs completion_ids, found only question, answer, id/,
    );
    await Deno.writeTextFile(`${folder}/own.ts`, own('["ids"]'));
    const wrong = await score(sample);
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /export needs: expected a list of completionIds, answer/);
  });
  const both = ["score", "--reward", "brevity", "--threads", "2"];
  await refuses([[both, "--threads is for scores of answers"]]);
});

Deno.test("rewards are served for rows of TRL, of verl and of files", async () => {
  const entry = createDataset("spell_backward", { seed: 5 }).entry(0);
  const options = { systemPrompt: null, addInstructions: true };
  const right = `<answer>${entry.answer}</answer>`;
  await withScores(REWARDS, async (url) => {
    const ask = async (samples: unknown) => {
      const body = JSON.stringify({ samples });
      const reply = await fetch(`${url}/score`, { method: "POST", body });
      return { status: reply.status, ...await reply.json() };
    };
    const trl = ROW_FORMATS.trl.row(entry, "train", options);
    const verl = ROW_FORMATS.verl.row(entry, "train", options);
    const { data_source, extra_info, reward_model } = verl as Record<string, Row>;
    const { status, rewards, values, errors } = await ask([
      { ...trl, completion: [{ role: "assistant", content: right }], completion_ids: [1, 2, 3, 4] },
      { ...trl, completion: "<answer>x</answer>", completion_ids: [], truncated: true },
      {
        data_source,
        extra_info,
        solution_str: right,
        completion_ids: [],
        ground_truth: reward_model!["ground_truth"],
      },
      {
        data_source: "openai/gsm8k",
        solution_str: "#### 72",
        ground_truth: "72",
        completion_ids: [5],
      },
    ]);
    assert.equal(status, 200);
    assert.deepEqual(errors, []);
    assert.deepEqual(values.correctness, [1, 0, 1, 1]);
    assert.deepEqual(values.brevity, [0.6, 0, 1, 0]);
    assert.deepEqual(rewards, [1.3, 0, 1.5, 1]);
    assert.deepEqual(await ask([]), {
      status: 200,
      rewards: [],
      errors: [],
      values: { correctness: [], brevity: [] },
    });
    const health = await (await fetch(`${url}/health`)).json();
    assert.deepEqual(health, { rewards: ["correctness", "brevity"], weights: [1, 0.5] });
    for (
      const [samples, message] of [
        [null, /samples: expected a list/],
        [
          [{ ...SUM, completion: "a", completion_ids: [1] }, 3],
          /^samples\[1\]: expected an object/,
        ],
        [[{ completion: "a" }], /^samples\[0\]: has no column prompt, question/],
        [[{ ...SUM, completion: "a", completion_ids: "x" }], /completion_ids: expected a list/],
        [
          [{ ...SUM, completion: "a" }],
          /^samples\[0\]: the reward brevity needs completion_ids, found only question, answer, com/,
        ],
        [
          [{ prompt: "1 + 1?", label: "2", completion: "a", completion_ids: [1] }],
          /reward correctness needs a column answer, .*, found only prompt, label, completion/,
        ],
        [
          [{ data_source: "mine", solution_str: "a", ground_truth: null, completion_ids: [1] }],
          /reward correctness needs a column answer, .*, found only data_source, solution_str/,
        ],
      ] as const
    ) {
      const { status, error } = await ask(samples);
      assert.equal(status, 400);
      assert.match(error.message, message);
    }
    const page = { method: "POST", body: "{}", headers: { origin: "http://evil.example" } };
    assert.equal((await fetch(`${url}/score`, page)).status, 403);
    assert.equal((await fetch(`${url}/score`)).status, 405);
    assert.equal((await fetch(`${url}/`)).status, 404);
  });
});

test.inFolder("a failing reward counts 0 and is named; one that does not apply is null", async (folder) => {
  const path = `${folder}/mine.ts`;
  await Deno.writeTextFile(
    path,
    "export default ({ completion }) => { if (completion) throw Error('no'); return null; };",
  );
  await withScores([{ name: "mine", weight: 1, params: {}, file: { path } }], async (url) => {
    const samples = [{ ...SUM, completion: "a" }, { ...SUM, completion: "" }];
    // Two requests at once take turns.
    const ask = () => fetch(`${url}/score`, { method: "POST", body: JSON.stringify({ samples }) });
    for (const reply of await Promise.all([ask(), ask()])) {
      const { rewards, errors } = await reply.json();
      assert.deepEqual(rewards, [0, null]);
      assert.equal(errors.length, 1);
      assert.deepEqual([errors[0].index, errors[0].reward], [0, "mine"]);
      assert.match(errors[0].message, /^no \(line 1/);
    }
  });
});

/** Python with its standard library is all that the examples need. */
const python = Deno.env.get("RGX_TEST_PYTHON") ?? "python3";
const hasPython = (await runCommand([python, "--version"]))?.success === true;

const CALLS = `
from trl_reward import rgx_reward
from verl_reward import compute_score
chat = [[{"role": "user", "content": "1 + 1?"}], [{"role": "user", "content": "2 + 1?"}]]
said = [[{"role": "assistant", "content": "<answer>2</answer>"}],
        [{"role": "assistant", "content": "<answer>2</answer>"}]]
print(rgx_reward(chat, said, [[1], [1, 2]], answer=["2", "3"], trainer_state=object()),
      compute_score("file", "<answer>5</answer>", "5", {"split": "train"}))
try:
    compute_score("file", "<answer>5</answer>", None)
except ValueError as error:
    print("needs a column" in str(error))
`;

Deno.test({
  name: "the examples in Python get rewards from rgx score --serve",
  ignore: needs(hasPython, NEEDED.python),
  fn: async () => {
    const server = await serveRgx(["score", "--serve", "--port", "0"]);
    try {
      const there = { cwd: new URL("examples", root), env: { RGX_SCORE_URL: server.url } };
      const { out, err } = await runs([python, "-c", CALLS], there);
      assert.deepEqual([out.trim(), err], ["[1, 0] 1\nTrue", ""]);
    } finally {
      assert.equal((await server.end()).code, 0);
    }
  },
});
