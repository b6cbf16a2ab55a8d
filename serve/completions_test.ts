/** /v1/completions gives what the model generates, beside any other requests. */
import assert from "node:assert/strict";
import { logprobs } from "../models/inspect/logprobs.ts";
import type { SamplingOptions } from "../models/generation/types.ts";
import { PLAIN_SAMPLING, readSamplingDefaults } from "./sampling_fields.ts";
import { eventsOf, LIMITS, type Reply, test, type TestServer, withServer } from "./testing.ts";

const PROMPTS = [[3, 17, 5, 40], [9, 77, 21, 64, 12], [3, 17, 5, 40, 8, 51], [30]];

test.withServer("completions have the model's tokens and log-probabilities, bit for bit", async ({ ask, load }) => {
  const { model, tokenizer, eosIds } = await load();
  const options = { maxNewTokens: 12, temperature: 1, seed: 7, eosIds };
  const body = { max_tokens: 12, seed: 7, n: 3, logprobs: 0, return_token_ids: true };
  const { choices, usage } = await ask("/v1/completions", { ...body, prompt: PROMPTS });
  let total = 0;
  for (const [p, promptIds] of PROMPTS.entries()) {
    const [expected] = await model.generate([{ promptId: 0, promptIds, n: 3 }], options);
    for (const [b, { ids, logprobs, finishReason }] of expected!.entries()) {
      const choice = choices[3 * p + b];
      total += ids.length;
      assert.equal(choice.index, 3 * p + b);
      assert.deepEqual(choice.token_ids, ids);
      assert.deepEqual(choice.prompt_token_ids, promptIds);
      assert.deepEqual(choice.logprobs.token_logprobs, logprobs);
      assert.equal(choice.finish_reason, finishReason);
      const ended = finishReason === "stop" ? ids.slice(0, -1) : ids;
      assert.equal(choice.text, tokenizer.decode(ended, { skipSpecialTokens: true }));
    }
  }
  const prompts = PROMPTS.flat().length;
  assert.deepEqual(usage, {
    prompt_tokens: prompts,
    completion_tokens: total,
    total_tokens: prompts + total,
  });
});

test.withServer("a request with a seed has the same answer whatever runs beside it", async ({ ask }) => {
  const bodies = Array.from({ length: 24 }, (_, i) => ({
    prompt: PROMPTS[i % 4],
    max_tokens: 5 + i,
    seed: i % 5,
    temperature: [1, 0, 0.7][i % 3],
    top_p: i % 2 ? 0.9 : 1,
    ...(i % 7 === 0 ? { presence_penalty: 0.5 } : {}),
    ...(i % 4 === 1 ? { repetition_penalty: 1.3, logprobs: 3 } : {}),
  }));
  const alone: Reply[] = [];
  for (const body of bodies) alone.push((await ask("/v1/completions", body)).choices);
  const together = await Promise.all(bodies.map((body) => ask("/v1/completions", body)));
  assert.deepEqual(together.map(({ choices }) => choices), alone);
});

test.withServer("the prompt number and the first branch key the draws as in a run", async ({ ask, load }) => {
  const { model, eosIds } = await load(), promptIds = PROMPTS[0]!;
  const options = { maxNewTokens: 9, temperature: 0.8, seed: 3, eosIds };
  const request = { promptId: 2 ** 33 + 5, promptIds, n: 2, firstBranch: 4 };
  const [expected] = await model.generate([request], options);
  const { choices } = await ask("/v1/completions", {
    prompt: promptIds,
    prompt_id: 2 ** 33 + 5,
    first_branch: 4,
    n: 2,
    seed: 3,
    max_tokens: 9,
    temperature: 0.8,
    logprobs: 0,
    return_token_ids: true,
    logprobs_mode: "policy_logprobs",
  });
  assert.deepEqual(choices.map((choice: Reply) => choice.token_ids), expected!.map((c) => c.ids));
  assert.deepEqual(
    choices.map((choice: Reply) => choice.logprobs.token_logprobs),
    expected!.map(({ logprobs }) => logprobs),
  );
});

test.withServer("echo scores the prompt as rgx logprobs does, then generates", async ({ ask, load }) => {
  const { model, tokenizer } = await load(), promptIds = PROMPTS[1]!;
  const expected = await logprobs(model, promptIds, 2);
  const body = { prompt: promptIds, echo: true, logprobs: 2, temperature: 0 };
  const { choices: [choice] } = await ask("/v1/completions", { ...body, max_tokens: 1 });
  const { token_logprobs: found, top_logprobs: top, tokens } = choice.logprobs;
  assert.equal(found.length, promptIds.length + 1);
  assert.deepEqual(found.slice(0, -1), expected.logprobs);
  assert.equal(top[0], null);
  for (let i = 1; i < promptIds.length; i++) {
    const best = expected.top[i]!.map(({ id, logprob }) => [tokenizer.decode([id]), logprob]);
    const own = [tokens[i], expected.logprobs[i]];
    assert.deepEqual(top[i], Object.fromEntries([...best, own]));
  }
  // The generated token is the likeliest one.
  assert.equal(found.at(-1), Math.max(...Object.values(top.at(-1)) as number[]));
  assert.ok(Math.abs(found.at(-1) - expected.next_top[0]!.logprob) < 1e-4);
  assert.ok(choice.text.startsWith(tokenizer.decode(promptIds, { skipSpecialTokens: true })));
  const none = await ask("/v1/completions", { ...body, max_tokens: 0 });
  assert.deepEqual(none.choices[0].logprobs.token_logprobs, expected.logprobs);
  assert.equal(none.usage.completion_tokens, 0);
});

test.withServer("each mode of log-probabilities has its own distribution", async ({ ask, load }) => {
  const { model } = await load(), promptIds = PROMPTS[0]!;
  const logits = Float64Array.from(await model.lastLogits(promptIds));
  const softmax = (z: Float64Array) => {
    const total = z.reduce((sum, x) => sum + Math.exp(x), 0);
    return z.map((x) => x - Math.log(total));
  };
  const ranked = [...logits.keys()].sort((a, b) => logits[b]! - logits[a]!);
  const kept = logits.map((x, id) => ranked.indexOf(id) < 3 ? x / 0.5 : -Infinity);
  const expected = {
    raw_logprobs: softmax(logits),
    policy_logprobs: softmax(logits.map((x) => x / 0.5)),
    processed_logprobs: softmax(kept),
  };
  for (const [logprobs_mode, values] of Object.entries(expected)) {
    for (const logprobs of [0, 5]) {
      const { choices: [choice] } = await ask("/v1/completions", {
        prompt: promptIds,
        max_tokens: 1,
        temperature: 0.5,
        top_k: 3,
        seed: 1,
        logprobs,
        logprobs_mode,
        return_token_ids: true,
      });
      const [found] = choice.logprobs.token_logprobs, id = choice.token_ids[0];
      assert.ok(Math.abs(found - values[id]!) < 1e-4, `${logprobs_mode}: ${found}`);
      const top = Object.values(choice.logprobs.top_logprobs[0]) as number[];
      assert.ok(
        Math.abs(Math.max(...top) - Math.max(...logprobs ? values : [values[id]!])) < 1e-4,
      );
    }
  }
});

test.withServer("a token has the same log-probability with and without the likeliest ones", async ({ ask }) => {
  for (const temperature of [0, 1]) {
    const body = { prompt: [3, 17, 5, 40], max_tokens: 12, seed: 3, temperature };
    const [alone, among] = await Promise.all(
      [0, 5].map(async (logprobs) =>
        (await ask("/v1/completions", { ...body, logprobs })).choices[0].logprobs
      ),
    );
    assert.deepEqual(among.token_logprobs, alone.token_logprobs);
    among.top_logprobs.forEach((top: Record<string, number>, i: number) => {
      const chosen = among.token_logprobs[i], best = Math.max(...Object.values(top));
      assert.ok(Object.values(top).includes(chosen));
      if (temperature === 0) assert.equal(chosen, best);
    });
  }
});

test.withServer("a text ends before its stop string, streamed or not", async ({ ask, post, load }) => {
  const { model, tokenizer } = await load();
  const options: SamplingOptions = { maxNewTokens: 60, temperature: 1, seed: 5, eosIds: [] };
  const request = { promptId: 0, promptIds: PROMPTS[0]!, n: 1 };
  const [group] = await model.generate([request], options);
  const whole = tokenizer.decode(group![0]!.ids, { skipSpecialTokens: true });
  const stop = whole.slice(20, 23), text = whole.slice(0, whole.indexOf(stop));
  const body = {
    prompt: PROMPTS[0],
    max_tokens: 60,
    seed: 5,
    ignore_eos: true,
    stop: ["never there", stop, stop + "x", whole.slice(19, 22) + "~"],
  };
  const { choices: [choice], usage } = await ask("/v1/completions", body);
  assert.deepEqual([choice.text, choice.finish_reason, choice.stop_reason], [text, "stop", stop]);
  const events = await eventsOf(
    await post("/v1/completions", {
      ...body,
      stream: true,
      stream_options: { include_usage: true },
    }),
  );
  const last = events.pop();
  assert.deepEqual([last.choices, last.usage], [[], usage]);
  assert.equal(events.map(({ choices: [one] }) => one.text).join(""), text);
  assert.equal(events.at(-1).choices[0].finish_reason, "stop");
  assert.equal(new Set(events.map(({ id }) => id)).size, 1);
  // As for the engine: a stop string that ends within the least tokens is text.
  for (const [least, isText] of [[0, false], [59, true]] as const) {
    const later = { ...body, min_tokens: least, stop: whole.slice(20, 23) };
    const { choices: [one] } = await ask("/v1/completions", later);
    assert.equal(one.text.includes(stop), isText);
    const streamed = await eventsOf(await post("/v1/completions", { ...later, stream: true }));
    assert.equal(streamed.map(({ choices: [part] }) => part.text).join(""), one.text);
  }
  const ids = { ...body, stop: null, stop_token_ids: [group![0]!.ids[4]!] };
  const { choices: [ended] } = await ask("/v1/completions", { ...ids, return_token_ids: true });
  assert.equal(ended.stop_reason, ids.stop_token_ids[0]);
  const before = ended.token_ids.slice(0, -1);
  assert.equal(ended.text, tokenizer.decode(before, { skipSpecialTokens: true }));
});

test.withServer("a stream has the tokens, texts and log-probabilities of the whole answer", async ({ ask, post }) => {
  const body = {
    prompt: PROMPTS.slice(0, 2),
    n: 2,
    seed: 11,
    max_tokens: 14,
    echo: true,
    logprobs: 2,
    return_token_ids: true,
  };
  const whole = (await ask("/v1/completions", body)).choices;
  const events = await eventsOf(await post("/v1/completions", { ...body, stream: true }));
  const parts = Object.groupBy(events.map(({ choices: [one] }) => one), ({ index }) => index);
  for (const choice of whole) {
    const own = parts[choice.index]!;
    assert.equal(own.map(({ text }) => text).join(""), choice.text);
    assert.deepEqual(own.flatMap(({ token_ids = [] }) => token_ids), choice.token_ids);
    const prompts = own.flatMap(({ prompt_token_ids: ids }) => ids === undefined ? [] : [ids]);
    assert.deepEqual(prompts, [choice.prompt_token_ids]);
    for (const [name, values] of Object.entries(choice.logprobs)) {
      assert.deepEqual(own.flatMap(({ logprobs }) => logprobs?.[name] ?? []), values, name);
    }
    assert.equal(own.at(-1).finish_reason, choice.finish_reason);
  }
});

test.withServer("best_of gives the completions whose tokens are the likeliest", async ({ ask, post }) => {
  const body = {
    prompt: PROMPTS.slice(0, 2),
    seed: 5,
    max_tokens: 6,
    logprobs: 0,
    ignore_eos: true,
  };
  const all = await ask("/v1/completions", { ...body, n: 5 });
  const best = await ask("/v1/completions", { ...body, n: 2, best_of: 5 });
  const mean = ({ logprobs: { token_logprobs: each } }: Reply) =>
    each.reduce((sum: number, x: number) => sum + x, 0) / each.length;
  for (const p of [0, 1]) {
    const some: Reply[] = all.choices.slice(5 * p, 5 * p + 5);
    const expected = some.sort((a, b) => mean(b) - mean(a)).slice(0, 2);
    const found: Reply[] = best.choices.slice(2 * p, 2 * p + 2);
    assert.deepEqual(found.map(({ text }) => text), expected.map(({ text }) => text));
    assert.deepEqual(found.map(({ index }) => index), [2 * p, 2 * p + 1]);
  }
  // The tokens of all generated completions are counted, also of those that are not returned.
  assert.deepEqual(best.usage, all.usage);
  for (const more of [{ best_of: 2, stream: true }, { n: 3, best_of: 2 }, { best_of: 17 }]) {
    const response = await post("/v1/completions", { ...body, ...more });
    assert.equal((await response.json()).error.param, "best_of");
  }
});

Deno.test("log-probabilities of a prompt have ranks, and as many others as the server allows", () =>
  withServer(async ({ ask, load }) => {
    const { model } = await load(), prompt = [5, 9, 33, 7];
    const known = await logprobs(model, prompt, 96);
    const body = { prompt, max_tokens: 1, logprobs: 30 };
    const answer = await ask("/v1/completions", { ...body, prompt_logprobs: 30 });
    const [{ prompt_logprobs: found, logprobs: { top_logprobs } }] = answer.choices;
    assert.ok(Object.keys(top_logprobs[0]).length >= 30 - 1);
    prompt.forEach((id, place) => {
      if (place === 0) return assert.equal(found[0], null);
      const order = known.top[place]!.map((one) => one.id);
      assert.equal(found[place][id].rank, order.indexOf(id) + 1);
      const ids = new Set([...order.slice(0, 30), id]);
      assert.equal(Object.keys(found[place]).length, ids.size);
      for (const one of ids) assert.equal(found[place][one].rank, order.indexOf(one) + 1);
    });
    assert.equal((await ask("/v1/completions", { ...body, logprobs: 31 })).error.param, "logprobs");
  }, { limits: { ...LIMITS, maxLogprobs: 30 } }));

Deno.test("requests that do not say how they sample follow generation_config.json", async () => {
  const folder = await Deno.makeTempDir();
  const write = (config: object) =>
    Deno.writeTextFile(`${folder}/generation_config.json`, JSON.stringify(config));
  await write({ temperature: 1.7, top_k: 5, top_p: 0.8, repetition_penalty: 1.3, top_h: null });
  const defaults = await readSamplingDefaults(folder);
  await write({ temperature: 0.6, top_k: -2 });
  await assert.rejects(
    readSamplingDefaults(folder),
    /generation_config\.json: top_k is -2, expected/,
  );
  await Deno.remove(folder, { recursive: true });
  assert.deepEqual(await readSamplingDefaults(folder), PLAIN_SAMPLING, "there is no file");
  const body = { prompt: [5, 9], seed: 3, max_tokens: 30, ignore_eos: true };
  const same = { temperature: 1.7, top_k: 5, top_p: 0.8, repetition_penalty: 1.3 };
  const text = async (ask: TestServer["ask"], more: object) =>
    (await ask("/v1/completions", { ...body, ...more })).choices[0].text;
  await withServer(async ({ ask }) => {
    assert.equal(await text(ask, {}), await text(ask, same));
    assert.notEqual(await text(ask, {}), await text(ask, { temperature: 1 }));
    const chat = { messages: [{ role: "user", content: "x" }], ignore_eos: true };
    const { usage } = await ask("/v1/chat/completions", chat);
    assert.equal(usage.completion_tokens, 7);
  }, { limits: { ...LIMITS, defaults: { ...defaults, maxTokens: 7 } } });
});
