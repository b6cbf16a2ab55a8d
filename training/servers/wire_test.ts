import assert from "node:assert/strict";
import { completionBody, readCompletions } from "./wire.ts";

const options = {
  sampling: {
    temperature: 0.7,
    top_p: 1,
    top_k: 0,
    min_p: 0,
    repetition_penalty: 1,
    max_new_tokens: 8,
    stop: ["\n\n"],
    min_new_tokens: 2,
  },
  seed: 42,
  eosIds: [2, 5],
};
const request = { promptId: 2 ** 40, promptIds: [7, 8], n: 3 };

Deno.test("a request asks for ids, log-probabilities and the trainer's own ends", () => {
  const body = completionBody(request, options, "rgx-abc", true);
  assert.deepEqual(body, {
    model: "rgx-abc",
    prompt: [7, 8],
    n: 3,
    max_tokens: 8,
    temperature: 0.7,
    top_p: 1,
    top_k: -1,
    min_p: 0,
    repetition_penalty: 1,
    stop: ["\n\n"],
    min_tokens: 2,
    ignore_eos: true,
    stop_token_ids: [2, 5],
    logprobs: 0,
    return_token_ids: true,
    return_tokens_as_token_ids: true,
    seed: 42,
    prompt_id: 2 ** 40,
    first_branch: 0,
    logprobs_mode: "policy_logprobs",
  });
});

Deno.test("a turn of a dialogue has its own length, and goes on with the draws", () => {
  const answers = [{ begin: 1, end: 2 }];
  const turn = { ...request, firstPosition: 5, answers, sampling: { maxNewTokens: 1 } };
  const body = completionBody(turn, options, "rgx-abc", true);
  assert.deepEqual(body["answers"], [[1, 2]]);
  assert.deepEqual([body["first_position"], body["max_tokens"], body["min_tokens"]], [5, 1, 1]);
  const seeds = [turn, { ...turn, firstPosition: 6 }, request].map((asked) =>
    completionBody(asked, options, "m", false)["seed"]
  );
  assert.equal(new Set(seeds).size, 3);
});

Deno.test("a server that is not rgx gets a seed of its own for each prompt", () => {
  const seedOf = (promptId: number, seed = 42) =>
    completionBody({ ...request, promptId }, { ...options, seed }, "m", false)["seed"] as number;
  const seeds = new Set<number>();
  for (let i = 0; i < 1000; i++) seeds.add(seedOf(i));
  assert.equal(seeds.size, 1000);
  assert.ok([...seeds].every((seed) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31));
  assert.equal(seedOf(3), seedOf(3));
  assert.notEqual(seedOf(3), seedOf(3, 43));
  assert.ok(!("prompt_id" in completionBody(request, options, "m", false)));
});

const choice = (index: number, more = {}) => ({
  index,
  finish_reason: "stop",
  token_ids: [4, 2],
  logprobs: { tokens: ["a", ""], token_logprobs: [-0.5, -1.5] },
  ...more,
});

Deno.test("choices are put in order; a log-probability that is null is NaN", () => {
  const nulls = { logprobs: { token_logprobs: [null, -1] }, finish_reason: "length" };
  const found = readCompletions({ choices: [choice(1, nulls), choice(0)] }, 2, 10);
  assert.deepEqual(found, [
    { ids: [4, 2], logprobs: [-0.5, -1.5], finishReason: "stop" },
    { ids: [4, 2], logprobs: [Number.NaN, -1], finishReason: "length" },
  ]);
});

Deno.test("ids that stand in the texts of tokens are read", () => {
  const logprobs = { tokens: ["token_id:4", "token_id:2"], token_logprobs: [-1, -2] };
  const [found] = readCompletions(
    { choices: [choice(0, { token_ids: undefined, logprobs })] },
    1,
    9,
  );
  assert.deepEqual(found!.ids, [4, 2]);
});

Deno.test("an answer that lacks something is refused, never tokenised again", () => {
  for (
    const [choices, expected] of [
      [[choice(0)], /1 choices, expected 2/],
      [undefined, /no choices/],
      [[choice(0), choice(0)], /has no choice/],
      [[choice(0), choice(1, { token_ids: undefined })], /has no token_ids/],
      [[choice(0), choice(1, { token_ids: [4, 10] })], /has no token_ids/],
      [[choice(0), choice(1, { logprobs: null })], /log-probability for each of its 2 tokens/],
      [[choice(0), choice(1, { logprobs: { token_logprobs: [-1] } })], /for each of its 2 tokens/],
      [[choice(0), choice(1, { finish_reason: "abort" })], /ended by "abort"/],
    ] as const
  ) assert.throws(() => readCompletions({ choices }, 2, 10), expected);
  assert.throws(() => readCompletions("no", 1, 10), /no choices/);
});
