import assert from "node:assert/strict";
import { withFolder } from "../../../core/testing.ts";
import { writeCompletions } from "../testing.ts";
import { type CompletionFilter, readCompletions } from "./completions.ts";

async function withSteps(steps: number, test: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    for (let step = 1; step <= steps; step++) await writeCompletions(folder, step);
    await test(folder);
  });
}

Deno.test("completions have their extracted answer, rewards, and further columns", () =>
  withSteps(1, async (folder) => {
    const { rows, next, steps } = await readCompletions(folder, "spell_backward");
    assert.deepEqual(rows[0], {
      step: 1,
      row: 0,
      prompt: "abc",
      completion: "<answer>cba</answer>",
      dialogue: null,
      ending: null,
      expected: null,
      extracted: "cba",
      rewards: { correctness: 1 },
      advantage: 1,
      extras: { words: 1 },
    });
    assert.deepEqual([rows[1]!.extracted, rows[3]!.rewards["correctness"]], [null, null]);
    assert.deepEqual([rows.length, next, steps], [4, null, { first: 1, last: 1, count: 1 }]);
  }));

Deno.test("every filter leaves out what does not fit", () =>
  withSteps(3, async (folder) => {
    const count = async (filter: Partial<CompletionFilter>) =>
      (await readCompletions(folder, null, filter)).rows.length;
    assert.equal(await count({}), 12);
    assert.equal(await count({ from: 2 }), 8);
    assert.equal(await count({ from: 2, to: 2 }), 4);
    assert.equal(await count({ prompt: "DEF" }), 6);
    assert.equal(await count({ text: "BOLD" }), 3);
    assert.equal(await count({ answer: "none" }), 6);
    assert.equal(await count({ answer: "found" }), 6);
    assert.equal(await count({ advantage: "negative" }), 3);
    assert.equal(await count({ advantage: "zero" }), 3);
    assert.equal(await count({ reward: "correctness", min: 1 }), 6);
    assert.equal(await count({ reward: "correctness", max: 0 }), 3);
    assert.equal(await count({ reward: "other" }), 0);
  }));

Deno.test("pages follow one another without a gap, the newest step first", () =>
  withSteps(3, async (folder) => {
    const seen: string[] = [];
    let after: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof readCompletions>> = await readCompletions(
        folder,
        null,
        { limit: 5, after },
      );
      seen.push(...page.rows.map(({ step, row }) => `${step}:${row}`));
      after = page.next;
    } while (after !== null);
    assert.deepEqual(
      seen,
      [3, 2, 1].flatMap((step) => [0, 1, 2, 3].map((row) => `${step}:${row}`)),
    );
  }));

Deno.test("a cut file is named, and the other steps are shown", () =>
  withSteps(2, async (folder) => {
    const path = `${folder}/completions/completions_00002.parquet`;
    const bytes = await Deno.readFile(path);
    await Deno.writeFile(path, bytes.subarray(0, bytes.length / 2));
    const { rows, problems } = await readCompletions(folder, null);
    assert.deepEqual(rows.map(({ step }) => step), [1, 1, 1, 1]);
    assert.match(problems[0]!, /completions_00002\.parquet is cut or still being written/);
    const none = await readCompletions(`${folder}/nothing`, null);
    assert.deepEqual([none.rows, none.steps], [[], null]);
  }));
