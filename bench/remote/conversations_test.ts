/** Conversations of data sets are sent to a server as they are. */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { answer, withServer } from "../../core/remote/testing.ts";
import { ask, MODEL } from "./testing.ts";

const user = { role: "user", content: "Q" };
const system = { role: "system", content: "S" };
const assistant = { role: "assistant", content: "It is" };

async function askAbout(rows: readonly object[]) {
  return await withFolder(async (folder) => {
    const path = `${folder}/chat.jsonl`;
    await Deno.writeTextFile(path, rows.map((row) => JSON.stringify(row)).join("\n"));
    return await withServer(answer, async (url, requests) => {
      const tasks = [{ name: "file", label: "chat", path }];
      const { events: _, ...done } = await ask(url, `${folder}/results`, {}, { tasks });
      return { requests, result: done.result, said: JSON.stringify(done) };
    });
  });
}

Deno.test("a server gets the messages of a row, without the instruction, and its values", async () => {
  const { requests } = await askAbout([
    { prompt: [system, user], answer: "7", chat_template_kwargs: { enable_thinking: false } },
  ]);
  assert.equal(requests.length, 1);
  const { messages, chat_template_kwargs: values } = requests[0]!.body;
  assert.deepEqual(messages, [system, user]);
  assert.deepEqual(values, { enable_thinking: false });
});

Deno.test("a prompt that ends with an assistant's message is not sent", async () => {
  const { requests, result, said } = await askAbout([
    { prompt: [user, assistant], answer: "7" },
    { prompt: [system, user], answer: "7" },
  ]);
  assert.equal(requests.length, 1);
  const { total, errors } = result.tasks["chat"]!.models[MODEL]!;
  assert.deepEqual([total, errors], [1, 1]);
  assert.match(said, /ends with an assistant's message, which a server does not continue/);
});
