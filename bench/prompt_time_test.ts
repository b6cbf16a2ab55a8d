import assert from "node:assert/strict";
import { isLocalTime } from "../core/local_time.ts";
import { modelTest } from "./testing.ts";

modelTest(
  "a resumed benchmark keeps the time in its prompts, and results record it",
  async (folder, model, _, bench) => {
    const promptOf = async (others: Parameters<typeof bench>[0] = {}) => {
      const done = await bench({ tasks: ["spell_backward"], numExamples: 9, ...others });
      return done.result.tasks["spell_backward"]!.models[model]!.prompt;
    };
    const plain = await promptOf({ outputDir: `${folder}/plain` });
    assert.equal("prompt_time" in plain, false, "the model has no template that reads a clock");

    const template = "{{ strftime_now('%S') }} {{ messages[0].content }}";
    await Deno.writeTextFile(`${model}/chat_template.jinja`, template);
    const first = await promptOf({ numExamples: 5 });
    const lines = await linesIn(`${folder}/out`);
    const times = new Set(lines.map(({ prompt_time }) => prompt_time));
    const [time] = times;
    assert.ok(isLocalTime(time) && times.size === 1 && lines.length === 5);
    assert.equal(first.prompt_time, time);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    assert.equal((await promptOf({ resume: true })).prompt_time, time);
    const all = await linesIn(`${folder}/out`);
    assert.deepEqual([all.length, new Set(all.map((line) => line.prompt_time)).size], [9, 1]);
    assert.notEqual((await promptOf()).prompt_time, time, "a new benchmark has a new time");
  },
);

async function linesIn(folder: string): Promise<{ prompt_time?: string }[]> {
  const lines: { prompt_time?: string }[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.startsWith("samples_")) continue;
    const text = (await Deno.readTextFile(`${folder}/${name}`)).trim();
    lines.push(...text.split("\n").map((line) => JSON.parse(line)));
  }
  return lines;
}
