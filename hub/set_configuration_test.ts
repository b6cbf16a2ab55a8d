/** Where the configurations of data sets are: folders, and repositories that are here or not. */
import assert from "node:assert/strict";
import { test } from "../core/testing.ts";
import { RgxError } from "../core/errors.ts";
import { withConfiguration } from "./data_files.ts";
import { COMMIT } from "./testing.ts";

const FILES = ["main/train-0.parquet", "socratic/test-0.parquet", "data/small/train.jsonl"];

test.inFolder("a configuration is a folder of the data set, here and on the Hub", async (cache) => {
  const snapshot = `${cache}/datasets--org--sums/snapshots/${COMMIT}`;
  for (const file of [...FILES, "README.md"]) {
    const path = `${snapshot}/${file}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, "");
  }
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
