/** The example in docs/adding-a-task.md is read from the page, registered and used as a task. */
import assert from "node:assert/strict";
import { createDataset, registerTask, scoreAnswer, type Task } from "../../mod.ts";
import { curriculumConfig } from "../../tasks/curriculum/levels.ts";
import { unregisterTask, validateTaskConfig } from "../../tasks/registry.ts";
import { root } from "../support.ts";

/**
 * The page's block of code that defines a task of rgx, as a module; its imports are those of a file
 * in `tasks/categories/arithmetic/`.
 */
async function exampleTask(): Promise<Task> {
  const page = await Deno.readTextFile(new URL("docs/adding-a-task.md", root));
  const blocks = [...page.matchAll(/```ts(?: ignore)?\n([^]*?)```/g)].map(([, block]) => block!);
  const code = blocks.find((block) => block.includes("defineTask({"));
  assert.ok(code !== undefined);
  const folder = new URL("tasks/categories/arithmetic/", root);
  const text = code.replaceAll(
    /from "(\.\.?\/[^"]+)"/g,
    (_, path) => `from "${new URL(path, folder)}"`,
  );
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, text);
    return (await import(`file://${file}`)).default;
  } finally {
    await Deno.remove(file);
  }
}

Deno.test("the example in docs/adding-a-task.md is a task that works", async () => {
  const task = await exampleTask();
  registerTask(task);
  for (let level = 0; level < 4; level++) {
    const config = curriculumConfig(task, { "*": level });
    for (const entry of createDataset(task.name, { ...config, seed: 9, size: 50 })) {
      const digits = /of ([0-9]+)\?/.exec(entry.question)![1]!;
      const sum = [...digits].reduce((total, digit) => total + Number(digit), 0);
      assert.equal(entry.answer, String(sum));
      assert.equal(scoreAnswer(entry.answer, entry), 1);
      assert.equal(scoreAnswer("no", entry), 0);
      assert.equal(digits.length, entry.metadata["digits"]);
    }
  }
  assert.match(validateTaskConfig(task.name, { min_digits: 0 })[0]!, /^min_digits: .*found 0/);
  assert.deepEqual(validateTaskConfig(task.name, { min_digits: 7 }).length, 1);
  unregisterTask(task);
});
