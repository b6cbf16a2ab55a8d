/** Answers that are held to a form: `response_format`, and the fields of vLLM. */
import assert from "node:assert/strict";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { keptWeights } from "../kernels/ops/sample/reference.ts";
import { idsOf } from "../models/grammar/grammar_testing.ts";
import { TokenConstraint } from "../models/grammar/token_constraint.ts";
import { eventsOf, refuses, type Reply, test, withServer } from "./testing.ts";

const messages = [{ role: "user", content: "hi" }];

/** Every value of it is short, so that a model of random weights comes to an end. */
const SHORT = {
  type: "object",
  properties: {
    mood: { enum: ["glad", "sad"] },
    count: { type: "integer", minimum: 0, maximum: 99 },
    tags: { type: "array", items: { type: "boolean" }, maxItems: 2 },
    id: { type: ["string", "null"], maxLength: 3 },
  },
  required: ["mood", "count", "tags", "id"],
  additionalProperties: false,
};
const response_format = { type: "json_schema", json_schema: { name: "short", schema: SHORT } };

test.withServer("an answer in the form of a schema is valid, beside other requests and streamed", async ({ ask, post, defects }) => {
  const body = (seed: number, more = {}) => ({
    messages,
    seed,
    response_format,
    max_tokens: 120,
    temperature: 1.5,
    ...more,
  });
  const seeds = Array.from({ length: 6 }, (_, i) => i);
  const alone: string[] = [];
  for (const seed of seeds) {
    const { choices: [{ message, finish_reason }] } = await ask(
      "/v1/chat/completions",
      body(seed),
    );
    assert.equal(finish_reason, "stop");
    const { mood, count, tags, id, ...rest } = JSON.parse(message.content);
    assert.ok(["glad", "sad"].includes(mood) && Number.isInteger(count) && tags.length <= 2);
    assert.ok(id === null || [...id].length <= 3);
    assert.deepEqual(rest, {});
    alone.push(message.content);
  }
  assert.ok(new Set(alone).size > 1);
  // Beside one another, beside free answers, and beside answers of other forms.
  const others = [
    ask("/v1/completions", { prompt: "x", max_tokens: 40, ignore_eos: true }),
    ask("/v1/completions", {
      prompt: "x",
      max_tokens: 40,
      structured_outputs: { regex: "(ab){3,9}c" },
    }),
    ask("/v1/completions", {
      prompt: "x",
      structured_outputs: { choice: ["yes", "no"] },
      min_p: 0.1,
    }),
  ];
  const together = await Promise.all(
    seeds.map((seed) => ask("/v1/chat/completions", body(seed))),
  );
  assert.deepEqual(together.map(({ choices: [one] }) => one.message.content), alone);
  const [free, regex, choice] = await Promise.all(others);
  assert.equal(free.usage.completion_tokens, 40);
  assert.match(regex.choices[0].text, /^(ab){3,9}c$/);
  assert.ok(["yes", "no"].includes(choice.choices[0].text));
  const events = await eventsOf(
    await post("/v1/chat/completions", body(3, { stream: true, logprobs: true })),
  );
  const text = events.map(({ choices: [one] }) => one.delta.content ?? "").join("");
  assert.equal(text, alone[3]);
  // Cut off by its length, as any other answer.
  const cut = await ask("/v1/chat/completions", body(1, { max_tokens: 9 }));
  assert.equal(cut.choices[0].finish_reason, "length");
  assert.ok(alone[1]!.startsWith(cut.choices[0].message.content));
  const object = { type: "json_object" };
  const greedy = { response_format: object, temperature: 0, max_tokens: 60 };
  const any = await ask("/v1/chat/completions", { messages, ...greedy });
  assert.equal(any.choices[0].message.content[0], "{");
  assert.deepEqual(defects, []);
});

Deno.test("log-probabilities are the model's, and after all rules only in that mode", () =>
  withServer(async ({ ask, load }) => {
    const { model, tokenizer, eosIds } = await load();
    const prompt = [5, 9, 33], choices = ["ab", "ax", "c"], k = 3;
    const constraint = new TokenConstraint({ kind: "choice", choices }, tokenizer, 96);
    const body = {
      prompt,
      temperature: 1,
      seed: 3,
      max_tokens: 4,
      logprobs: k,
      return_token_ids: true,
      structured_outputs: { choice: choices },
    };
    const raw = await ask("/v1/completions", body);
    const mode = { logprobs_mode: "processed_logprobs" };
    const processed = await ask("/v1/completions", { ...body, ...mode });
    const [one, other] = [raw.choices[0], processed.choices[0]];
    assert.equal(one.text, other.text);
    const all: Float64Array[] = [];
    await model.generate([{
      promptId: 0,
      promptIds: prompt,
      n: 1,
      onLogits: (_, logits) => all.push(Float64Array.from(logits)),
    }], { maxNewTokens: 4, temperature: 1, seed: 3, eosIds, constraint });
    const text = constraint.begin(eosIds), ids: number[] = one.token_ids;
    ids.forEach((id, place) => {
      const log = (z: Float64Array) => {
        const weights = keptWeights(z, Math.max(...z), { topK: 0, topP: 1, minP: 0 });
        return Math.log(weights[id]! / weights.reduce((sum, w) => sum + w));
      };
      const allowed = new Set(idsOf(text.allowed));
      const masked = all[place]!.map((l, id) => allowed.has(id) ? l : -Infinity);
      assert.ok(Math.abs(one.logprobs.token_logprobs[place] - log(all[place]!)) < 1e-4);
      assert.ok(Math.abs(other.logprobs.token_logprobs[place] - log(masked)) < 1e-4);
      text.push(id);
    });
    assert.ok(text.isOver);
  }));

test.withServer("the official client parses answers with zod's schemas", async ({ url }) => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "any", maxRetries: 0 });
  const form = z.object({
    mood: z.enum(["glad", "sad"]),
    count: z.int().min(0).max(99),
    day: z.iso.date().nullable(),
    steps: z.array(z.object({ ok: z.boolean() })).max(2),
    kind: z.discriminatedUnion("type", [
      z.object({ type: z.literal("a"), x: z.number().min(0).max(1) }),
      z.object({ type: z.literal("b"), code: z.string().regex(/^[a-c]{1,3}$/) }),
    ]),
  });
  for (const seed of [1, 2, 3]) {
    const answer = await client.chat.completions.parse({
      model: "base",
      seed,
      max_completion_tokens: 220,
      temperature: 1,
      messages: [{ role: "user", content: "hi" }],
      response_format: zodResponseFormat(form, "form"),
    });
    const { parsed } = answer.choices[0]!.message;
    assert.ok(form.safeParse(parsed).success, JSON.stringify(parsed));
  }
  // An address may be long: only its beginning is asked for.
  const mail = await client.chat.completions.create({
    model: "base",
    seed: 1,
    max_completion_tokens: 20,
    messages: [{ role: "user", content: "hi" }],
    response_format: zodResponseFormat(z.object({ mail: z.email() }), "mail"),
  });
  assert.match(mail.choices[0]!.message.content!, /^\{ ?"mail": ?"[\w'+.-]+/);
});

test.withServer("a form that cannot be kept is refused by its name", async ({ ask }) => {
  const schema = (schema: unknown) => ({
    response_format: { type: "json_schema", json_schema: { name: "x", schema } },
  });
  const form = (structured_outputs: object) => ({ structured_outputs });
  await refuses({ ask }, "/v1/chat/completions", { messages }, [
    [schema({ type: "string", contentEncoding: "base64" }), "response_format", /contentEncoding/],
    [schema({ properties: { a: { not: {} } } }), "response_format", /schema\.properties\.a\.not/],
    [form({ json: "{" }), "structured_outputs.json", /expected a JSON schema/],
    [form({ regex: "(?<=a)b" }), "structured_outputs", /lookbehind/],
    [form({ choice: [] }), "structured_outputs.choice", /1 to 1000 texts/],
    [form({}), "structured_outputs", /expected one of json/],
    [form({ grammar: "x" }), "structured_outputs.grammar", /use json/],
    [form({ regex: "a", choice: ["a"] }), "structured_outputs", /expected one of json/],
    [{ ...form({ regex: "a" }), ...schema({}) }, "response_format", /exclude each other/],
    [{ ...form({ regex: "a" }), min_tokens: 3 }, "min_tokens", /ends with it/],
    [{ guided_regex: "a" }, "guided_regex", /use structured_outputs/],
    [{ documents: [{ text: "a" }] }, "documents", /chat_template_kwargs has them/],
    // The vocabulary of this model has no such character.
    [form({ choice: ["é"] }), null, /vocabulary has no token: byte 195/],
  ]);
});

test.withServer("a form that would keep all others waiting is refused, or is made soon", async ({ ask, defects }) => {
  const names = (count: number) => Array.from({ length: count }, (_, i) => `property${i}`);
  const object = (count: number) => ({
    type: "object",
    properties: Object.fromEntries(names(count).map((name) => [name, { type: "boolean" }])),
    required: [] as string[],
    additionalProperties: false,
  });
  const nested = JSON.parse(`${"[".repeat(9e4)}${"]".repeat(9e4)}`);
  const refused: [unknown, RegExp][] = [
    [{ type: "number", minimum: 1e307 }, /minimum is 1e\+307, expected at most 1e\+21/],
    [{ type: "integer", maximum: -1e307 }, /maximum is -1e\+307, expected at least -1e\+21/],
    [object(3000), /too large|more than 4096 ways/],
    [{ enum: names(5e4) }, /expected a list of 1 to 4096 values/],
    [{ enum: ["x".repeat(1e6)] }, /too large/],
    [{ type: "string", pattern: "^a+$", maxLength: 1e9 }, /too large/],
    [{ oneOf: names(4000).map((name) => ({ const: name })) }, /too large/],
    [{ properties: {}, required: ["x".repeat(1e6)] }, /required names xxx/],
    [{ const: nested }, /too (deep|large)/],
  ];
  const asked = (json: unknown): Promise<Reply> =>
    ask("/v1/completions", { prompt: "x", structured_outputs: { json } });
  for (const [schema, message] of refused) {
    const { error } = await asked(schema);
    assert.match(error?.message ?? "answered", message);
    assert.ok(error.message.length < 1100);
  }
  for (
    const schema of [
      { type: "number", minimum: -Number.MAX_VALUE, maximum: Number.MAX_VALUE },
      { enum: names(1000) },
      { ...object(1000), required: names(1000) },
    ]
  ) {
    const { choices } = await asked(schema);
    assert.equal(choices?.length, 1, JSON.stringify(schema).slice(0, 60));
  }
  assert.deepEqual(defects, []);
});
