/** Second tries for problems of many tasks. */
import assert from "node:assert/strict";
import { createDataset } from "../../tasks/dataset.ts";
import { taskNames } from "../../tasks/registry.ts";
import { rowOf } from "../../bench/dialogue/play_dialogues.ts";
import type { Reply } from "./environment.ts";
import { secondTries } from "./second_tries.ts";

Deno.test("a wrong answer may be given again, whatever the task", async () => {
  // How each task scores is the matter of its own tests.
  const names = taskNames().filter((name, i) => name !== "composite" && i % 4 === 0);
  const environment = secondTries();
  const ask = async (...asked: Parameters<typeof environment.answer>[0]) =>
    await environment.answer(asked, 1) as Reply[];
  for (const name of names) {
    const entry = [...createDataset(name, { size: 1, seed: 3 })][0]!;
    const say = (answer: string, state: Reply["state"]) => ({
      call: "step" as const,
      message: { role: "assistant", content: `<answer>${answer}</answer>` },
      state,
    });
    // JSON is all that lies between two calls.
    const row = JSON.parse(JSON.stringify(rowOf(entry)));
    const [start] = await ask({ call: "reset", row, seed: 0, example: 0 });
    const [first] = await ask(say("surely not this", start!.state));
    assert.equal(first!.done, false, name);
    assert.match(first!.content, /^That is not right\./, name);
    const [second] = await ask(say(entry.answer ?? "nor this", first!.state));
    assert.equal(second!.done, true, name);
    if (entry.answer !== null) assert.ok(second!.reward! > 0, `${name}: ${second!.reward}`);
    assert.ok("correct_at_2" in second!.metrics, name);
  }
});
