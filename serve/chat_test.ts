/** /v1/chat/completions, and the official client of OpenAI. */
import assert from "node:assert/strict";
import OpenAI from "openai";
import { eventsOf, refuses, type Reply, test } from "./testing.ts";

const messages = [
  { role: "system", content: "Be brief" },
  { role: "user", content: [{ type: "text", text: "hi " }, { type: "text", text: "there" }] },
];

test.withServer("messages are rendered by the model's template and answered", async ({ ask, post, load }) => {
  const { model, tokenizer, eosIds } = await load();
  const chat = [{ role: "system", content: "Be brief" }, { role: "user", content: "hi there" }];
  const rendered = tokenizer.applyChatTemplate(chat, { tag: "!" })!;
  assert.equal(rendered, "[system]Be brief![user]hi there![assistant]");
  const promptIds = tokenizer.encode(rendered, { addSpecialTokens: false });
  const options = { maxNewTokens: 10, temperature: 1, seed: 4, eosIds };
  const [expected] = await model.generate([{ promptId: 0, promptIds, n: 2 }], options);
  const body = {
    messages,
    chat_template_kwargs: { tag: "!" },
    seed: 4,
    n: 2,
    max_completion_tokens: 10,
    max_tokens: 99,
    logprobs: true,
    top_logprobs: 2,
    return_token_ids: true,
  };
  const whole = await ask("/v1/chat/completions", body);
  assert.equal(whole.object, "chat.completion");
  assert.equal(whole.usage.prompt_tokens, promptIds.length);
  for (const [i, { ids, logprobs, finishReason }] of expected!.entries()) {
    const { message, finish_reason, logprobs: found } = whole.choices[i];
    const text = tokenizer.decode(finishReason === "stop" ? ids.slice(0, -1) : ids, {
      skipSpecialTokens: true,
    });
    assert.deepEqual(message, { role: "assistant", content: text });
    assert.equal(finish_reason, finishReason);
    assert.deepEqual(whole.choices[i].token_ids, ids);
    assert.equal(found.content.length, ids.length);
    for (const [t, { token, logprob, bytes, top_logprobs: top }] of found.content.entries()) {
      assert.equal(token, tokenizer.decode([ids[t]!], { skipSpecialTokens: false }));
      assert.ok(Math.abs(logprob - logprobs[t]!) < 1e-5);
      const own = tokenizer.tokenBytes(ids[t]!) ?? new TextEncoder().encode(token);
      assert.deepEqual(bytes, [...own]);
      assert.equal(top.length, 2);
      assert.ok(top[0].logprob >= top[1].logprob && top[0].logprob >= logprob);
    }
  }
  const stream_options = { include_usage: true };
  const events = await eventsOf(
    await post("/v1/chat/completions", { ...body, stream: true, stream_options }),
  );
  assert.deepEqual(events.pop().usage, whole.usage);
  assert.ok(events.every(({ usage }) => usage === null));
  assert.deepEqual([whole.prompt_token_ids, events[0].prompt_token_ids], [promptIds, promptIds]);
  for (const choice of whole.choices) {
    const parts = events.map(({ choices: [one] }) => one)
      .filter(({ index }) => index === choice.index);
    assert.deepEqual(parts[0].delta, { role: "assistant", content: "" });
    const deltas = parts.map(({ delta }: Reply) => delta.content ?? "");
    assert.equal(deltas.join(""), choice.message.content);
    const logprobs = parts.flatMap(({ logprobs }: Reply) => logprobs?.content ?? []);
    assert.deepEqual(logprobs, choice.logprobs.content);
    assert.deepEqual(parts.flatMap((part) => part.token_ids ?? []), choice.token_ids);
    assert.deepEqual([parts.at(-1).delta, parts.at(-1).finish_reason], [
      {},
      choice.finish_reason,
    ]);
  }
  const last = [...messages, { role: "assistant", content: "I am" }];
  const more = { continue_final_message: true, add_generation_prompt: false, max_tokens: 3 };
  const continued = await ask("/v1/chat/completions", { ...more, messages: last });
  const text = "[system]Be brief[user]hi there[assistant]I am";
  assert.equal(continued.usage.prompt_tokens, tokenizer.encode(text).length);
  // Else an assistant's last message is as it is, before an answer or none.
  for (const [add_generation_prompt, after] of [[true, "[assistant]"], [false, ""]] as const) {
    const asked = { messages: last, add_generation_prompt };
    const { tokens } = await ask("/tokenize", asked);
    assert.deepEqual(tokens, tokenizer.encode(text + after));
    const { usage } = await ask("/v1/chat/completions", { ...asked, max_tokens: 1 });
    assert.equal(usage.prompt_tokens, tokens.length);
  }
});

test.withServer("what a chat cannot do is refused by the field's name", async ({ ask }) => {
  const image = [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }];
  await refuses({ ask }, "/v1/chat/completions", { messages }, [
    [{ messages: [] }, "messages"],
    [{ messages: "hi" }, "messages"],
    [{ messages: [{ role: "user" }] }, "messages[0].content"],
    [{ messages: [{ content: "x" }] }, "messages[0].role"],
    [{ messages: [{ role: "usr", content: "x" }] }, "messages[0].role"],
    [{ messages: image }, "messages[0].content[0].type"],
    [{ continue_final_message: true }, "continue_final_message"],
    [{ response_format: { type: "xml" } }, "response_format.type"],
    [{ response_format: { type: "json_schema" } }, "response_format.json_schema"],
    [
      { response_format: { type: "json_schema", json_schema: { name: "x" } } },
      "response_format.json_schema.schema",
    ],
    [{ chat_template: "{{ 1 }}" }, "chat_template"],
    [{ top_logprobs: 3 }, "top_logprobs"],
    [{ logprobs: true, top_logprobs: 21 }, "top_logprobs"],
    [{ temperature: "hot" }, "temperature"],
    [{ top_p: 0 }, "top_p"],
    [{ n: 17 }, "n"],
    [{ stop: [1] }, "stop"],
    [{ stop: "" }, "stop"],
    [{ stop: ["a", ""] }, "stop"],
    [{ seed: 1.5 }, "seed"],
    [{ logit_bias: { "999": 1 } }, "logit_bias"],
    [{ stream_options: { include_usage: true } }, "stream_options"],
    [{ stream: true, stream_options: 5 }, "stream_options"],
    [{ max_tokens: -1 }, "max_tokens"],
    [{ max_tokens: 2, min_tokens: 3 }, "min_tokens"],
    [{ prompt_logprobs: 1, stream: true }, "prompt_logprobs"],
  ]);
  // Values that the template does not read are ignored, as in vLLM.
  const prompt = async (chat_template_kwargs: object) => {
    const asked = { messages, max_tokens: 1, return_token_ids: true, chat_template_kwargs };
    return (await ask("/v1/chat/completions", asked)).prompt_token_ids;
  };
  assert.deepEqual(await prompt({ enable_thinking: false }), await prompt({}));
  assert.notDeepEqual(await prompt({ tag: "!" }), await prompt({}));
  // Fields that nobody knows are ignored, and null is the same as absent.
  const ignored = { messages, max_tokens: 2, user: "me", metadata: {}, stop: null, tools: null };
  assert.equal((await ask("/v1/chat/completions", ignored)).choices.length, 1);
  // These ask for nothing, and seeds may have 64 bits.
  const nothing = { tools: [], top_logprobs: 0, use_beam_search: false };
  const large = { messages, max_tokens: 2, ...nothing, seed: 2 ** 64 - 2 ** 20 };
  assert.equal((await ask("/v1/chat/completions", large)).choices.length, 1);
});

test.withServer("the official client completes, chats, streams and gets its own exceptions", async ({ url, ask }) => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "any", maxRetries: 0 });
  const names = [];
  for await (const { id } of client.models.list()) names.push(id);
  assert.deepEqual(names, ["base"]);
  assert.equal((await client.models.retrieve("base")).object, "model");
  const question = { model: "base", prompt: "hello", max_tokens: 9, seed: 2 };
  const completion = await client.completions.create(question);
  const expected = await ask("/v1/completions", question);
  assert.equal(completion.choices[0]!.text, expected.choices[0].text);
  const chat = {
    model: "base",
    seed: 2,
    max_completion_tokens: 9,
    logprobs: true,
    messages: [{ role: "user", content: "hi" }],
  } as const;
  const answer = await client.chat.completions.create({ ...chat, messages: [...chat.messages] });
  const stream = client.chat.completions.stream({
    ...chat,
    messages: [...chat.messages],
    stream_options: { include_usage: true },
  });
  let text = "";
  stream.on("content", (delta) => text += delta);
  const final = await stream.finalChatCompletion();
  assert.equal(text, answer.choices[0]!.message.content);
  assert.equal(final.choices[0]!.message.content, text);
  assert.deepEqual(final.usage, answer.usage);
  assert.deepEqual(final.choices[0]!.logprobs?.content, answer.choices[0]!.logprobs?.content);
  await assert.rejects(
    client.completions.create({ model: "nobody", prompt: "x" }),
    (error) => error instanceof OpenAI.NotFoundError && error.code === "model_not_found",
  );
  await assert.rejects(
    client.completions.create({ model: "base", prompt: "x", n: 3, best_of: 2 }),
    (error) => error instanceof OpenAI.BadRequestError && error.param === "best_of",
  );
});
