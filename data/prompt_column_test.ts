import assert from "node:assert/strict";
import { openProblems } from "./open_problems.ts";
import { FROM_FILE, withFile } from "./testing.ts";

/** The first problem of a file with these rows. */
function first(rows: readonly object[], column: string | null) {
  const options = { ...FROM_FILE, hold_out: false, dataset_prompt_column: column };
  return withFile(rows, async (path) => {
    try {
      return (await openProblems({ ...options, dataset_name: path })).entry("train", 0);
    } catch (error) {
      throw new Error((error as Error).message.replace(path, "FILE"));
    }
  });
}

Deno.test("dataset_prompt_column takes the prompts of any column, also beside a prompt", async () => {
  const row = { instruction: "Add 1 and 2.", prompt: "other", answer: "3", level: 4 };
  const entry = await first([row], "instruction");
  assert.deepEqual([entry.question, entry.answer], ["Add 1 and 2.", "3"]);
  assert.equal(entry.metadata["level"], 4);
  assert.equal("instruction" in entry.metadata, false);
  const chat = [{ role: "user", content: "Add 1 and 2." }];
  assert.deepEqual((await first([{ talk: chat, answer: "3" }], "talk")).messages, chat);
});

Deno.test("the column that is taken anyway leaves the format of a data set as it is", async () => {
  const row = { question: "How many?", answer: "Two and one.\n#### 3" };
  assert.deepEqual(await first([row], "question"), await first([row], null));
});

Deno.test("a column that is not there is an error with the row's columns", async () => {
  const named = "has no prompt in the column qestion, which data.dataset_prompt_column names";
  await assert.rejects(first([{ question: "a", answer: "1" }], "qestion"), {
    message: `FILE:1: ${named} (its columns: question, answer, did you mean question?)`,
  });
  await assert.rejects(first([{ q: "a" }, { q: null }], "q"), /FILE:2: .*\(it is null here\)/);
});
