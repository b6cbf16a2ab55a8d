import assert from "node:assert/strict";
import type { ChatMessage } from "../../core/chat_message.ts";
import { RgxError } from "../../core/errors.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import { type ChatSampling, Conversation, setSampling } from "./chat.ts";
import { nextMessage, PipedLines } from "./line_source.ts";

/** A tokenizer whose ids are character codes. */
function tokenizer(hasTemplate: boolean): Tokenizer {
  const render = (messages: readonly ChatMessage[]) => {
    if (messages.at(-1)!.content === "bad") throw new RgxError("the template refuses it");
    return messages.map(({ role, content }) => `[${role}]${content}`).join("");
  };
  return {
    chatVariables: hasTemplate ? new Set<string>() : null,
    applyChatTemplate: (messages: readonly ChatMessage[]) => hasTemplate ? render(messages) : null,
    encode: (text: string) => Array.from(text, (char) => char.codePointAt(0)!),
  } as unknown as Tokenizer;
}

const textOf = ({ promptIds }: { promptIds: number[] }) => String.fromCodePoint(...promptIds);

Deno.test("a prompt holds the system message and all turns; each answer has a number", () => {
  const chat = new Conversation(tokenizer(true), "be brief");
  assert.equal(textOf(chat.ask("hi")), "[system]be brief[user]hi");
  chat.answered("hello");
  const second = chat.ask("why?");
  assert.equal(textOf(second), "[system]be brief[user]hi[assistant]hello[user]why?");
  assert.equal(second.answer, 1);
  chat.answered("because");
  assert.ok(chat.again());
  assert.deepEqual(chat.ask(null), { ...second, answer: 2 });
  assert.ok(!chat.again());
  chat.unanswered();
  assert.equal(chat.messages.length, 3);
  chat.system = "";
  assert.deepEqual(chat.messages, []);
});

Deno.test("a message that the template refuses leaves the conversation as it was", () => {
  const chat = new Conversation(tokenizer(true), null);
  chat.ask("hi");
  chat.answered("hello");
  assert.throws(() => chat.ask("bad"), /the template refuses it/);
  assert.equal(chat.messages.length, 2);
});

Deno.test("without a chat template each message is its own prompt, and no system message fits", () => {
  const chat = new Conversation(tokenizer(false), null);
  chat.ask("one");
  chat.answered("1");
  assert.equal(textOf(chat.ask("two")), "two");
  assert.throws(() => chat.system = "be brief", /needs a chat template/);
  assert.throws(() => new Conversation(tokenizer(false), "x"), /needs a chat template/);
});

Deno.test("sampling keys are set within their ranges", () => {
  const sampling: ChatSampling = {
    temperature: 1,
    top_p: 1,
    top_k: 0,
    min_p: 0,
    repetition_penalty: 1,
    max_new_tokens: 10,
    seed: 1,
  };
  setSampling(sampling, "top-k", "40");
  setSampling(sampling, "temperature", "0");
  assert.deepEqual([sampling.top_k, sampling.temperature], [40, 0]);
  for (
    const [name, text, expected] of [
      ["temprature", "1", /no such key, did you mean temperature\?/],
      ["top_p", "0", /expected a number above 0 to 1/],
      ["top_k", "1.5", /expected an integer from 0 on/],
      ["seed", "", /expected an integer/],
      ["min_p", "two", /expected a number from 0 to 1/],
    ] as const
  ) assert.throws(() => setSampling(sampling, name, text), expected);
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
