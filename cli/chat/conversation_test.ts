import assert from "node:assert/strict";
import { Conversation } from "./chat.ts";
import { nextMessage, PipedLines } from "./line_source.ts";

const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });

Deno.test("a conversation has the system message and all turns, of which the last is dropped", () => {
  const chat = new Conversation(true, "be brief");
  const system = { role: "system", content: "be brief" };
  chat.add(user("hi"));
  chat.add(assistant("hello"));
  chat.add(user("why?"));
  chat.add({ ...assistant(""), tool_calls: [] }, { role: "tool", content: "4" });
  chat.unanswered();
  assert.deepEqual(chat.messages, [system, user("hi"), assistant("hello")]);
  assert.ok(chat.again());
  assert.deepEqual(chat.messages, [system, user("hi")]);
  assert.ok(!chat.again());
  chat.unanswered();
  assert.deepEqual(chat.messages, [system]);
  chat.system = "";
  assert.deepEqual(chat.messages, []);
});

Deno.test("without a chat template there is no system message", () => {
  assert.throws(() => new Conversation(false).system = "be brief", /needs a chat template/);
  assert.throws(() => new Conversation(false, "x"), /needs a chat template/);
});

Deno.test("piped lines are messages, whatever pieces they come in; a backslash joins two", async () => {
  const pieces = ["one\r\ntw", "o\\\nthree", "\n\nlast"].map((text) =>
    new TextEncoder().encode(text)
  );
  const lines = new PipedLines(ReadableStream.from(pieces));
  const found: unknown[] = [];
  for (;;) {
    const typed = await nextMessage(lines, "");
    if (typeof typed === "string") break;
    found.push(typed.line);
  }
  assert.deepEqual(found, ["one", "two\nthree", "", "last"]);
});
