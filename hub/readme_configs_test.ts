/** The list `configs` of a README; the files are those that `datasets` 4.x found, too. */
import assert from "node:assert/strict";
import { withFolder, writeFiles } from "../core/testing.ts";
import { RgxError } from "../core/errors.ts";
import { findDataFiles, isDataPath } from "./data_files.ts";
import { withConfiguration } from "./data_files.ts";

const FILES = ["train.jsonl", "a/t1.jsonl", "a/t2.jsonl", "a/b/c.jsonl", "a/.y.jsonl", "x.txt"]
  .concat("data/train_sft-00000-of-00002.jsonl", "data/train_sft-00001-of-00002.jsonl")
  .concat("data/test_sft-00000-of-00001.jsonl", "data/rows.json", "data/rows.csv");

async function withSet(configs: string | null, work: (folder: string) => Promise<void>) {
  await withFolder(async (folder) => {
    await writeFiles(folder, Object.fromEntries(FILES.map((file) => [file, ""])));
    if (configs !== null) {
      const text = `---\nlicense: mit\nconfigs:\n${configs}---\n# Sums\n`;
      await writeFiles(folder, { "README.md": text });
    }
    await work(folder);
  });
}

async function find(folder: string, name: string, split: string): Promise<string> {
  const shown = (text: string) => text.replaceAll(`${folder}/`, "").replaceAll(folder, "SET");
  try {
    const { files } = await findDataFiles(name, split);
    return shown(files?.join(" ") ?? "none");
  } catch (error) {
    assert.ok(error instanceof RgxError);
    return shown(`${error.message}; ${error.advice}`);
  }
}

Deno.test("a README's list says the files of each split", async () => {
  const lists: [configs: string, ...expected: [split: string, files: string][]][] = [
    ["- config_name: c\n  data_files: a/*.jsonl\n", ["train", "a/t1.jsonl a/t2.jsonl"]],
    [
      "- config_name: c\n  data_files: ['a/**', ./train.jsonl]\n",
      ["train", "a/b/c.jsonl a/t1.jsonl a/t2.jsonl train.jsonl"],
    ],
    [
      "- config_name: c\n  data_files:\n  - {split: train, path: 'a/t[!2].jsonl'}\n" +
      "  - {split: held, path: [a/t2.jsonl, '**/c.jsonl', 'a/.*']}\n",
      ["train", "a/t1.jsonl"],
      ["held", "a/t2.jsonl a/b/c.jsonl a/.y.jsonl"],
      [
        "test",
        'SET: there is no split "test", only train, held; Name one: ' +
        "data.dataset_train_split and data.dataset_test_split; or name the files, for example " +
        "a/t1.jsonl.",
      ],
    ],
    [
      "- config_name: c\n  data_dir: data\n  data_files: [rows.json, rows.csv]\n",
      ["train", "data/rows.json data/rows.csv"],
    ],
    ["- config_name: c\n  data_dir: ./a/\n", ["train", "a/b/c.jsonl a/t1.jsonl a/t2.jsonl"]],
    [
      "- config_name: c\n  data_files: '*.txt'\n",
      [
        "train",
        "SET: the files of its configuration c are not .parquet, .jsonl, .json or .csv; " +
        "They are x.txt.",
      ],
    ],
    [
      "- config_name: c\n  data_files: none-*\n",
      ["train", "SET: no files of its configuration c are here (none-*); undefined"],
    ],
    // A single regular expression would try for hours.
    [
      `- config_name: c\n  data_files: ['data/${"*t".repeat(40)}', '${
        "**/".repeat(40)
      }t1.jsonl']\n`,
      ["train", "a/t1.jsonl"],
    ],
    // A folder whose name begins like another one's is another one.
    [
      "- config_name: c\n  data_dir: dat\n- config_name: d\n  data_dir: a\n",
      ["train", "a/b/c.jsonl a/t1.jsonl a/t2.jsonl"],
    ],
  ];
  for (const [configs, ...expected] of lists) {
    await withSet(configs, async (folder) => {
      for (const [split, files] of expected) assert.equal(await find(folder, folder, split), files);
    });
  }
});

Deno.test("of several configurations the default one is meant, or the one that is named", async () => {
  const two = "- config_name: first\n  data_files: a/t1.jsonl\n" +
    "- config_name: second\n  data_files: a/t2.jsonl\n";
  await withSet(two, async (folder) => {
    assert.equal(
      await find(folder, folder, "train"),
      "SET: it holds several sets of problems: first, second; Name one of them: first",
    );
    assert.equal(await find(folder, `${folder}/second`, "train"), "a/t2.jsonl");
    assert.equal(
      await find(folder, `${folder}/second`, "dev"),
      'second: there is no split "dev", only train; Name one: data.dataset_train_split and ' +
        "data.dataset_test_split; or name the files, for example a/t2.jsonl.",
    );
    assert.deepEqual(
      [await isDataPath(`${folder}/second`), await isDataPath(`${folder}/third`)],
      [true, false],
    );
    assert.equal(await withConfiguration(folder, "second"), `${folder}/second`);
    await assert.rejects(
      withConfiguration(folder, "secnd"),
      (error: RgxError) => error.advice === "Its README lists first, second, did you mean second?",
    );
  });
  await withSet(two + "  default: true\n", async (folder) => {
    assert.equal(await find(folder, folder, "train"), "a/t2.jsonl");
  });
  // Only one of them was fetched.
  await withSet(two.replace("t1", "t9"), async (folder) => {
    assert.equal(await find(folder, folder, "train"), "a/t2.jsonl");
  });
});

Deno.test("without a list, the names of the Hub's shards are the splits", async () => {
  await withSet(null, async (folder) => {
    const shards = "data/train_sft-00000-of-00002.jsonl data/train_sft-00001-of-00002.jsonl";
    assert.equal(await find(folder, folder, "train_sft"), shards);
    assert.match(
      await find(folder, folder, "train"),
      /^SET: there is no split "train", only test_sft, train_sft; /,
    );
  });
});

Deno.test("a list that cannot be read is named with its file", async () => {
  const broken: [configs: string, message: RegExp][] = [
    ["  a: b\n", /^README\.md: configs: expected a list; Name the files instead/],
    ["- data_files: x\n", /configs: an entry has no config_name/],
    ["- {config_name: c, data_files: [1]}\n", /c: data_files: expected text, a list of texts/],
    ["- {config_name: c, data_files: [{split: a, path: x}, {split: a, path: y}]}\n", /a .* twice/],
    ["- config_name: default\n- {config_name: c, default: true}\n", /several defaults: default, c/],
    ["- 'a\n", /not valid YAML/],
  ];
  for (const [configs, message] of broken) {
    await withSet(configs, async (folder) => {
      assert.match(await find(folder, folder, "train"), message);
    });
  }
});
