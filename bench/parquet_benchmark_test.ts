/** Benchmarks on the test split of parquet files and of data set folders. */
import assert from "node:assert/strict";
import { parquetWriteFile } from "hyparquet-writer";
import { modelTest } from "./testing.ts";

modelTest(
  "a folder with GSM8K as parquet gives the problems of its test split",
  async (folder, model, _, bench) => {
    const numbers = [0, 1, 2, 3, 4, 5, 6, 7];
    for (const split of ["train", "test"]) {
      await Deno.mkdir(`${folder}/data`, { recursive: true });
      parquetWriteFile({
        filename: `${folder}/data/${split}-00000-of-00001.parquet`,
        columnData: [
          { name: "question", data: numbers.map((i) => `${split} ${i}+1?`), type: "STRING" },
          { name: "answer", data: numbers.map((i) => `add #### ${i + 1}`), type: "STRING" },
        ],
      });
    }
    const done = await bench({ tasks: [{ name: "gsm8k", path: `${folder}/data` }] });
    const { examples } = done.result.tasks["gsm8k"]!.models[model]!;
    assert.deepEqual(
      examples.map(({ question, expected }) => [question, expected]),
      numbers.slice(0, 5).map((i) => [`test ${i}+1?`, String(i + 1)]),
    );
    const missing = bench({ tasks: [{ name: "gsm8k", path: "org/no-such-data" }] });
    await assert.rejects(missing, /org\/no-such-data: no such file, nor a data set from the Hub/);
  },
);

modelTest(
  "a resume asks only the problems of a file that are new or have changed",
  async (folder, _model, _device, bench) => {
    let path = `${folder}/mine.jsonl`;
    const asked = async (...questions: string[]) => {
      const rows = questions.map((question) => JSON.stringify({ question, answer: "1" }));
      await Deno.writeTextFile(path, rows.join("\n"));
      const tasks = [{ name: "file", path, label: "mine" }];
      const { resumed, evaluated } = await bench({ tasks, resume: true });
      return [resumed, evaluated];
    };
    assert.deepEqual(await asked("a?", "b?"), [0, 2]);
    assert.deepEqual(await asked("a?", "b?", "c?"), [2, 1]);
    assert.deepEqual(await asked("a?", "d?", "c?"), [2, 1]);
    path = `${folder}/moved.jsonl`;
    assert.deepEqual(await asked("a?", "d?", "c?"), [3, 0]);
  },
);
