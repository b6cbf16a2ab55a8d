import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { tinyRunConfig } from "../../training/testing.ts";
import { planTasks, rowsLeftOut } from "./task_plan.ts";

test.inFolder("a task is also named by its file, and no task has no problems", async (folder) => {
  const text = `import { defineTask, defaultScore } from "@rgx/rgx";
      export default defineTask({
        name: "plan_of_file", category: "c", description: "d", scoring: "s", params: {},
        generate: (random) => {
          const x = random.int(1, 1e6);
          return { question: \`\${x} =\`, answer: \`\${x}\`, metadata: {}, difficulty: {} };
        },
        score: defaultScore,
      });`;
  await Deno.writeTextFile(`${folder}/mine.ts`, text);
  const [set] = await planTasks({ tasks: [`${folder}/mine.ts`], numExamples: 3 }, 1);
  assert.deepEqual([set!.label, set!.entries.length], ["plan_of_file", 3]);
  for (const numExamples of [0, -1, 1.5, NaN]) {
    const none = planTasks({ tasks: ["chain_sum"], numExamples }, 1);
    await assert.rejects(none, /chain_sum: \S+ problems are asked for, expected 1 or more/);
  }
});

test.inFolder("a file named as a run's data that is gone is asked as it; repeated rows are noted", async (folder) => {
  const rows = Array.from({ length: 60 }, (_, i) => `{"question": "${i} + 1 =", "answer": "1"}`);
  const path = `${folder}/sums.jsonl`, tasks = [{ name: "file", path, label: "sums" }];
  const noted = async (lines: string[], ...names: string[]) => {
    await Deno.writeTextFile(path, lines.join("\n"));
    const runs = names.map((dataset_name) =>
      tinyRunConfig("", { data: { task_name: null, dataset_name }, eval: { num_examples: 5 } })
    );
    return rowsLeftOut(await planTasks({ tasks, numExamples: 100 }, 1, runs)).join();
  };
  assert.equal(await noted(rows, "/nowhere/others.jsonl"), "");
  assert.match(await noted([...rows, rows[3]!]), /1 row repeats the question of an earlier one/);
  const heldOut = /a model was trained on it, so \d+ of its 60 questions/;
  assert.match(await noted(rows, "/nowhere/sums.jsonl"), heldOut);
});

test.inFolder("a data set is asked with the split that a run on it names, or what it held out", async (folder) => {
  const rows = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => `{"question": "${name}${i}", "answer": "1"}`);
  await Deno.mkdir(`${folder}/set/data`, { recursive: true });
  const shard = (split: string) => `${folder}/set/data/${split}-00000-of-00001.jsonl`;
  await Deno.writeTextFile(shard("train_sft"), rows("t", 60).join("\n"));
  await Deno.writeTextFile(shard("dev"), rows("d", 3).join("\n"));
  const path = `${folder}/set`, tasks = [{ name: "file", path: `${path}/../set`, label: "set" }];
  const asked = async (data: object) => {
    const own = { task_name: null, dataset_name: path, dataset_train_split: "train_sft" };
    const run = tinyRunConfig("", { data: { ...own, ...data }, eval: { num_examples: 5 } });
    const [set] = await planTasks({ tasks, numExamples: 100 }, 1, [run]);
    return set!.entries.map(({ question }) => question);
  };
  assert.deepEqual(await asked({ dataset_test_split: "dev[1:]" }), ["d1", "d2"]);
  const heldOut = await asked({});
  assert.ok(heldOut.length > 0 && heldOut.length < 30, "only what its training held out");
  const of = { tasks, numExamples: 100 };
  await assert.rejects(planTasks(of, 1), /no split "test", only dev, train_sft$/);
});
