/** `rgx tasks export`: its files, and what is refused. */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { lines, rgx } from "../support.ts";

interface ExportedRow {
  split: string;
  question: string;
  answer: string;
  metadata: Record<string, unknown>;
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    await work(folder);
  });
}

Deno.test("every row names its split, and no question is in two splits", () =>
  inFolder(async (folder) => {
    const path = `${folder}/all.jsonl`;
    const { code, out, err } = await rgx(argv`tasks export spell_backward chain_sum --output ${path}
      --splits train=200,test=60 --seed 5 --set chain_sum.max_terms=2 --set chain_sum.max_digits=2
      --set spell_backward.max_word_len=4`);
    assert.equal(code, 0, err);
    assert.equal(out, `${path}\n`);
    assert.match(err, /wrote .*all\.jsonl \(train 400, test 120\)/);
    const rows = lines(await Deno.readTextFile(path)).map((l) => JSON.parse(l) as ExportedRow);
    assert.equal(rows.length, 520);
    const asked = (split: string) =>
      new Set(rows.filter((row) => row.split === split).map(({ question }) => question));
    assert.ok([...asked("test")].every((question) => !asked("train").has(question)));
    const first = JSON.parse(
      (await rgx(argv`tasks sample chain_sum --size 1 --seed 5 --split test --set max_terms=2
        --set max_digits=2`)).out,
    );
    const sampled = rows.find((row) =>
      row.split === "test" && row.metadata["source_dataset"] === "chain_sum"
    )!;
    assert.deepEqual(sampled, { split: "test", ...first });
    const scored = await rgx(
      ["score"],
      rows.map((entry) => JSON.stringify({ entry, answer: entry.answer })).join("\n"),
    );
    assert.deepEqual(new Set(lines(scored.out)), new Set(['{"score":1}']));
  }));

Deno.test("{split} in the name writes a file for each split", () =>
  inFolder(async (folder) => {
    const { code, err } = await rgx(argv`tasks export chain_sum --format trl
      --output ${folder}/{split}.jsonl --splits train=3,validation=2 --no-instructions
      --system ${"Be brief."}`);
    assert.equal(code, 0, err);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      "train.jsonl",
      "validation.jsonl",
    ]);
    const again = argv`tasks export gcd --output ${folder}/train.jsonl --splits test=1`;
    const raw = await rgx(argv`${again.slice(0, 3)} --output ${folder}/raw.jsonl --system x`);
    assert.match(raw.err, /note: --system has no effect with --format raw: .*data\.system_prompt/);
    const written = await Deno.readTextFile(`${folder}/train.jsonl`);
    const row = JSON.parse(lines(written)[0]!);
    assert.doesNotMatch(err, /in place of/);
    assert.match((await rgx(again)).err, /\(test 1\) in place of the file that was there/);
    assert.deepEqual(Object.keys(row), ["prompt", "answer", "task", "metadata"]);
    assert.equal(row.prompt[0].content, "Be brief.");
  }));

Deno.test("impossible exports are refused, and nothing is written", () =>
  inFolder(async (folder) => {
    const wrong: [string[], RegExp][] = [
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
    ];
    for (const [args, expected] of wrong) {
      const { code, err } = await rgx(["tasks", "export", ...args], "", {}, folder);
      assert.equal(code, 2, args.join(" "));
      assert.match(err, expected);
    }
    assert.deepEqual([...Deno.readDirSync(folder)], []);
  }));
