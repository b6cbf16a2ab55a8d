/** `rgx tasks export`: its files, and what is refused. */
import assert from "node:assert/strict";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { jsonLines, lines, namesIn, refuses, rgx, succeeds, tinyConfig } from "../support.ts";

test.inFolder("every row names its split, and no question is in two splits", async (folder) => {
  const path = `${folder}/all.jsonl`;
  const { out, err } = await succeeds(argv`tasks export spell_backward chain_sum --output ${path}
      --splits train=200,test=60 --seed 5 --set chain_sum.max_terms=2 --set chain_sum.max_digits=2
      --set spell_backward.max_word_len=4`);
  assert.equal(out, `${path}\n`);
  assert.match(err, /wrote .*all\.jsonl \(train 400, test 120\)/);
  const rows = jsonLines(await Deno.readTextFile(path));
  assert.equal(rows.length, 520);
  const asked = (split: string) =>
    new Set(rows.filter((row) => row.split === split).map(({ question }) => question));
  assert.ok([...asked("test")].every((question) => !asked("train").has(question)));
  const first = JSON.parse(
    (await rgx(argv`tasks sample chain_sum --size 1 --seed 5 --split test --set max_terms=2
        --set max_digits=2`)).out,
  );
  const sampled = rows.find(({ split, metadata }) =>
    split === "test" && metadata.source_dataset === "chain_sum"
  );
  assert.deepEqual(sampled, { split: "test", ...first });
  const scored = await rgx(["score"], {
    input: rows.map((entry) => JSON.stringify({ entry, answer: entry.answer })).join("\n"),
  });
  assert.deepEqual(new Set(lines(scored.out)), new Set(['{"score":1}']));
});

test.inFolder("{split} in the name writes a file for each split", async (folder) => {
  const { err } = await succeeds(argv`tasks export chain_sum --format trl
      --output ${folder}/{split}.jsonl --splits train=3,validation=2 --no-instructions
      --system ${"Be brief."}`);
  assert.deepEqual(namesIn(folder), ["train.jsonl", "validation.jsonl"]);
  const again = argv`tasks export gcd --output ${folder}/train.jsonl --splits test=1`;
  const raw = await rgx(argv`${again.slice(0, 3)} --output ${folder}/raw.jsonl --system x`);
  assert.match(raw.err, /note: --system has no effect with --format raw: .*data\.system_prompt/);
  const written = await Deno.readTextFile(`${folder}/train.jsonl`);
  const row = JSON.parse(lines(written)[0]!);
  assert.doesNotMatch(err, /in place of/);
  assert.match((await rgx(again)).err, /\(test 1\) in place of the file that was there/);
  assert.deepEqual(Object.keys(row), ["prompt", "answer", "task", "metadata"]);
  assert.equal(row.prompt[0].content, "Be brief.");
});

test.inFolder("impossible exports are refused, and nothing is written", async (folder) => {
  await refuses([
    [["chain_sum", "--output", "a.csv"], /ends in \.jsonl or \.parquet/],
    [["chain_sun", "--output", "a.jsonl"], /unknown task "chain_sun".*chain_sum/],
    [["chain_sum", "chain_sum", "--output", "a.jsonl"], /named twice/],
    [["chain_sum", "--output", "none/a.jsonl"], /none\/a\.jsonl: there is no folder none/],
    [["chain_sum", "--output", "a.jsonl", "--format", "csv"], /one of raw, chat, verl, trl/],
    [["chain_sum", "--output", "a.jsonl", "--splits", "trian=3"], /found "trian=3".*train/],
    [["chain_sum", "--output", "a.jsonl", "--splits", "train=0"], /number of entries, found "0"/],
    [
      ["chain_sum", "leg_counting", "--output", "a.jsonl", "--set", "max_terms=3"],
      /of several tasks, say which: chain_sum\.max_terms=3/,
    ],
  ], { cwd: folder, before: ["tasks", "export"] });
  assert.deepEqual(namesIn(folder), []);
});

test.inFolder("the right answers of a run are a data set that rgx sft trains on", async (folder) => {
  const run = `${folder}/run`, config = await tinyConfig(folder);
  await succeeds(argv`train ${config} --output-dir ${run} --quiet`);
  const best = `${folder}/best.jsonl`;
  // Two prompts have right answers: one of them two different ones, and one that was cut off.
  const table = `${run}/completions/completions_00001.parquet`;
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(table) });
  const answers = [0, 1, 2, 4].map((i) => {
    const { answer } = JSON.parse(rows[i]!["entry"] as string);
    Object.assign(rows[i]!, { completion: `<answer>${answer}</answer>`, truncated: i === 2 });
    return answer as string;
  });
  rows[1]!["completion"] = `so <answer>${answers[1]}</answer>`;
  rows[1]!["completion_ids"] = [1];
  rows[0]!["completion_ids"] = [1, 2, 3];
  const columns = Object.keys(rows[0]!).map((name) => ({
    name,
    data: rows.map((row) => {
      const value = row[name];
      return Array.isArray(value) ? JSON.stringify(value) : value as string | number | boolean;
    }),
  }));
  await Deno.writeFile(table, new Uint8Array(parquetWriteBuffer({ columnData: columns })));
  for (const step of [2, 3, 4]) {
    await Deno.remove(`${run}/completions/completions_0000${step}.parquet`);
  }
  const shortest = await succeeds(argv`tasks export --from-run ${run} --best --output ${best}`);
  assert.match(shortest.err, /2 right answers to 2 of the 4 prompts, of 16 completions/);
  const exported = jsonLines(await Deno.readTextFile(best));
  assert.equal(exported.length, 2);
  assert.equal(exported[1].completion, `<answer>${answers[3]}</answer>`);
  const all = await rgx(argv`tasks export --from-run ${run} --best all --output ${best}`);
  assert.match(all.err, /3 right answers to 2 of the 4 prompts/);
  await succeeds(argv`sft ${config} data.dataset_name=${best} ~data.task_name
      data.num_examples=null eval.num_examples=0 sft.max_steps=2
      sft.per_device_train_batch_size=2 --output-dir ${folder}/warm --quiet`);

  const from = { before: ["tasks", "export", "--output", best] };
  await refuses([
    [["--from-run", folder], /is not the folder of a run/],
    [["--from-run", run, "chain_sum"], /chain_sum: --from-run exports what/],
    [["--best", "all"], /--best: needs --from-run/],
    [[], /expected the names of tasks/],
  ], from);
  const none = ["--from-run", `${folder}/warm`];
  await refuses([[none, "there are no completions"]], { ...from, code: 1 });
});
