/** Benchmarks on the test split of parquet files and of data set folders. */
import assert from "node:assert/strict";
import { parquetWriteFile } from "hyparquet-writer";
import { collected, modelTest } from "./testing.ts";

modelTest(
  "a folder with GSM8K as parquet gives the problems of its test split",
  async (folder, model, device) => {
    const count = 8;
    for (const split of ["train", "test"]) {
      const numbers = Array.from({ length: count }, (_, i) => i);
      await Deno.mkdir(`${folder}/data`, { recursive: true });
      parquetWriteFile({
        filename: `${folder}/data/${split}-00000-of-00001.parquet`,
        columnData: [
          { name: "question", data: numbers.map((i) => `${split} ${i}+1?`), type: "STRING" },
          { name: "answer", data: numbers.map((i) => `add #### ${i + 1}`), type: "STRING" },
        ],
      });
    }
    const done = await collected({
      models: [model],
      tasks: [{ name: "gsm8k", path: `${folder}/data` }],
      outputDir: `${folder}/out`,
      device,
    });
    const { examples } = done.result.tasks["gsm8k"]!.models[model]!;
    assert.deepEqual(
      examples.map(({ question, expected }) => [question, expected]),
      Array.from({ length: 5 }, (_, i) => [`test ${i}+1?`, String(i + 1)]),
    );
    const missing = collected({
      models: [model],
      tasks: [{ name: "gsm8k", path: "org/no-such-data" }],
      outputDir: `${folder}/out`,
      device,
    });
    await assert.rejects(missing, /org\/no-such-data: no such file, nor a data set from the Hub/);
  },
);

modelTest(
  "a resume asks only the problems of a file that are new or have changed",
  async (folder, model, device) => {
    let path = `${folder}/mine.jsonl`;
    const asked = async (...questions: string[]) => {
      const rows = questions.map((question) => JSON.stringify({ question, answer: "1" }));
      await Deno.writeTextFile(path, rows.join("\n"));
      const tasks = [{ name: "file", path, label: "mine" }];
      const outputDir = `${folder}/out`;
      const done = await collected({ models: [model], tasks, outputDir, device, resume: true });
      return [done.resumed, done.evaluated];
    };
    assert.deepEqual(await asked("a?", "b?"), [0, 2]);
    assert.deepEqual(await asked("a?", "b?", "c?"), [2, 1]);
    assert.deepEqual(await asked("a?", "d?", "c?"), [2, 1]);
    path = `${folder}/moved.jsonl`;
    assert.deepEqual(await asked("a?", "d?", "c?"), [3, 0]);
  },
);
