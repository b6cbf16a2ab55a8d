/**
 * Which files of a folder or pulled data set belong to a split, and where its configurations are;
 * errors when this is unclear.
 */
import assert from "node:assert/strict";
import { withFolder, writeFiles } from "../core/testing.ts";
import { RgxError } from "../core/errors.ts";
import { type DataSplit, findDataFiles, withConfiguration } from "./data_files.ts";
import { COMMIT } from "./testing.ts";

async function withFiles(
  names: readonly string[],
  work: (
    snapshot: string,
    find: (name: string, split?: DataSplit) => Promise<string>,
    cache: string,
  ) => unknown,
): Promise<void> {
  await withFolder(async (cache) => {
    const snapshot = `${cache}/datasets--org--sums/snapshots/${COMMIT}`;
    await writeFiles(snapshot, Object.fromEntries(names.map((name) => [name, ""])));
    const env = (key: string) => key === "HF_HUB_CACHE" ? cache : undefined;
    const find = async (name: string, split: DataSplit = "train") => {
      try {
        const { files, advice } = await findDataFiles(name, split, env);
        if (files === null) return `none; ${advice}`;
        return files.map((file) => file.replace(`${snapshot}/`, "")).join(" ");
      } catch (error) {
        assert.ok(error instanceof RgxError);
        return `${error.message}; ${error.advice}`;
      }
    };
    await work(snapshot, find, cache);
  });
}

Deno.test("files of a split are found by name in the usual layouts of the Hub", async () => {
  const layouts: [string[], train: string, test: string][] = [
    [["train.jsonl", "test.jsonl", "README.md"], "train.jsonl", "test.jsonl"],
    [
      ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"],
      "data/train-00000-of-00002.parquet data/train-00001-of-00002.parquet",
      'no split "test", only train',
    ],
    [
      ["default/train/0000.parquet", "default/validation/0000.parquet"],
      "default/train/0000.parquet",
      "default/validation/0000.parquet",
    ],
    [["a.jsonl", "b.jsonl"], "a.jsonl b.jsonl", "a.jsonl b.jsonl"],
    [["latest.jsonl", "contest.jsonl"], "contest.jsonl latest.jsonl", "contest.jsonl latest.jsonl"],
    [["train.jsonl", "train.parquet", "dev.jsonl"], "train.parquet", "dev.jsonl"],
    [["only_test.parquet"], 'no split "train", only test', "only_test.parquet"],
    [["train.jsonl.gz", "test.jsonl.zst"], "train.jsonl.gz", "test.jsonl.zst"],
    [["train.parquet", "other.jsonl"], "train.parquet", 'no split "test", only train'],
    [["train.csv", "test.csv"], "train.csv", "test.csv"],
    [["train.csv", "train.jsonl", "scores.csv"], "train.jsonl", 'no split "test", only train'],
    [["problems.jsonl", "test.jsonl"], "problems.jsonl", "test.jsonl"],
    [["train.csv", "test.csv", "old/test.csv", "old/train.csv"], "train.csv", "test.csv"],
    [["train.csv", "a/test.csv", "b/test.csv"], "train.csv", "several sets of problems: a, b"],
    [["data-00000-of-00001.arrow"], "Arrow files are not read", "to_parquet"],
  ];
  for (const [names, train, test] of layouts) {
    await withFiles(names, async (snapshot, find) => {
      for (const name of ["org/sums", "hf://datasets/org/sums", snapshot]) {
        assert.ok((await find(name)).includes(train), `${name}: ${await find(name)}`);
        assert.ok((await find(name, "test")).includes(test), await find(name, "test"));
      }
    });
  }
});

Deno.test("of several sets, a folder, file or pattern names one", async () => {
  const names = ["main", "socratic"].flatMap((set) =>
    ["train", "test"].map((split) => `${set}/${split}-00000-of-00001.parquet`)
  );
  await withFiles(names, async (_, find) => {
    assert.equal(
      await find("org/sums"),
      "hf://datasets/org/sums: it holds several sets of problems: main, socratic; " +
        "Name one of them: hf://datasets/org/sums/main",
    );
    assert.equal(await find("hf://datasets/org/sums/main", "test"), names[1]);
    assert.equal(await find(`hf://datasets/org/sums@${COMMIT}/${names[3]}`), names[3]);
    assert.equal(await find("hf://datasets/org/sums/*/test-*"), `${names[1]} ${names[3]}`);
    assert.match(
      await find("hf://datasets/org/sums/other"),
      /sums\/other: there are no .parquet, .jsonl and .csv files; There are: main\/test-/,
    );
    assert.match(await find("hf://datasets/org/sums/../../x"), /there are no .parquet/);
  });
});

Deno.test("for a missing data set, the advice is the command that fetches it", async () => {
  await withFiles(["a.jsonl"], async (_, find) => {
    assert.match(
      await find("org/other@v1"),
      /^none; If it is .*rgx pull --dataset org\/other@v1 f/,
    );
    assert.equal(await find("./no/such/file.jsonl"), "none; null");
    assert.match(await find("org/sums@v1"), /^none; .*org\/sums@v1/);
  });
});

Deno.test("a configuration is a folder of the data set, here and on the Hub", async () => {
  const files = ["main/train-0.parquet", "socratic/test-0.parquet", "data/small/train.jsonl"];
  await withFiles([...files, "README.md"], async (snapshot, _, cache) => {
    await Deno.writeTextFile(`${cache}/p.jsonl`, "");
    const env = (key: string) => key === "HF_HUB_CACHE" ? cache : undefined;
    const find = async (name: string, configuration: string) => {
      try {
        return await withConfiguration(name, configuration, env);
      } catch (error) {
        assert.ok(error instanceof RgxError);
        return `${error.message}; ${error.advice}`;
      }
    };
    const hub = "hf://datasets/org/sums";
    const cases: [name: string, configuration: string, expected: string][] = [
      ["org/sums", "main", `${hub}/main`],
      [hub, "small", `${hub}/data/small`],
      [`org/sums@${COMMIT}`, "main", `${hub}@${COMMIT}/main`],
      ["org/sums", "default", "org/sums"],
      [`${hub}/main`, "main", `${hub}/main`],
      [`${snapshot}/`, "socratic", `${snapshot}/socratic`],
      [snapshot, "default", snapshot],
      // Not pulled yet.
      ["org/other", "main", "hf://datasets/org/other/main"],
      ["org/other", "default", "org/other"],
      [
        "org/sums",
        "socratc",
        `socratc: no such configuration of ${hub}; A configuration is a ` +
        "folder with data files (its folders: data, main, small, socratic), did you mean socratic?",
      ],
      [
        `${hub}/main`,
        "small",
        `small: ${hub}/main names main already; Write ${hub}, or leave the key out.`,
      ],
      [
        `${cache}/p.jsonl`,
        "main",
        `main: ${cache}/p.jsonl has no configurations; A folder has them, or a data set of the ` +
        "Hub: leave the key out.",
      ],
    ];
    for (const [name, configuration, expected] of cases) {
      assert.equal(await find(name, configuration), expected);
    }
  });
});
