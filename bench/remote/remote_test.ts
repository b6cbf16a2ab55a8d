/** Remote models on a real HTTP server that misbehaves in many ways. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { Interrupted, type RgxError } from "../../core/errors.ts";
import type { Sampling } from "../results/result_file.ts";
import { collected } from "../testing.ts";
import { Limiter } from "../../core/remote/limiter.ts";
import { askedDelay, backoff } from "../../core/remote/retry.ts";
import {
  answer,
  delta,
  failure,
  type Handler,
  stream,
  usage,
  withServer,
} from "../../core/remote/testing.ts";
import { ask, asked, MODEL, serving, whole } from "./testing.ts";

const SEVEN = "<answer>7</answer>";

Deno.test("every passing failure is survived, and no answer is lost or counted twice", async () => {
  const bad: Handler[] = [
    () => failure(429, "slow down", { "retry-after": "0" }),
    () => failure(500, "broken"),
    () => failure(503, "loading", { "retry-after-ms": "1" }),
    () => new Response("<html>proxy error</html>", { status: 502 }),
    () => new Response("{not json", { headers: { "content-type": "application/json" } }),
    () => Response.json({ choices: [] }),
    () => Response.json({ choices: [{ index: 0 }] }),
    () => Response.json({ error: { message: "provider is down", code: 502 } }),
    () => stream([delta("<answer>9</ans")], { cut: true }),
    () => stream([delta("<answer>9</ans")], { done: false }),
    () => stream([delta("<answer>9"), { error: { message: "out of memory" } }]),
    // An aborted answer, or an error in its place, is not an answer.
    () => stream([delta("<answer>9</ans"), delta("", "abort")]),
    () => whole({ message: { content: "<answer>9" }, finish_reason: "error" }),
    () => whole({ message: { content: "" }, error: { code: 502, message: "upstream is gone" } }),
    () => Response.json({ error: { message: "no provider", code: 503 } }),
    () => Response.json({ choices: [], error: { message: "no" } }),
  ];
  let turn = 0;
  const { done, requests, model } = await asked(
    (request, count) => {
      const isBad = count % 2 === 0 && turn < bad.length;
      return isBad ? bad[turn++]!(request, count) : answer(request);
    },
    { concurrency: 3 },
    { numExamples: 25 },
  );
  assert.equal(turn, bad.length, "all failures happened");
  const { total, examples, errors, usage: used } = model;
  assert.deepEqual([done.exitCode, total, errors, done.unanswered], [0, 25, 0, 0]);
  assert.deepEqual([used.prompt_tokens, used.completion_tokens], [275, 150]);
  assert.ok(examples.every(({ completion }) => completion === SEVEN));
  assert.equal(requests.length, 25 + bad.length);
  assert.equal(new Set(requests.map(({ body }) => body["seed"])).size, 25);
  const { prompt_tokens, completion_tokens, cost, adjusted, ...rest } = done.remote!;
  assert.deepEqual([prompt_tokens, completion_tokens, cost, adjusted], [275, 150, null, []]);
  assert.equal(rest.requests, requests.length);
  assert.ok(rest.seconds_per_request! > 0 && rest.tokens_per_second! > 0);
  assert.deepEqual(done.result.remote, done.remote, "in the results too");
});

Deno.test("streams are joined; truncation, thoughts and token counts are kept", async () => {
  const { done, requests, model } = await asked((_, count) =>
    stream([
      { choices: [{ index: 0, delta: { reasoning_content: "hm " } }] },
      delta("<answer>"),
      delta(String(count)),
      delta("</answer>", count === 1 ? "length" : "stop"),
      { choices: [], usage },
    ]), { concurrency: 1, prices: { input: 1e4, output: 1e5 } });
  const { examples, truncated_rate, mean_completion_tokens } = model;
  assert.deepEqual(examples.map(({ extracted }) => extracted), ["1", "2", "3", "4", "5"]);
  assert.equal(examples[0]!.reasoning, "hm ");
  assert.deepEqual([truncated_rate, mean_completion_tokens], [0.2, 6]);
  assert.ok(Math.abs(done.remote!.cost! - (5 * 11 * 0.01 + 5 * 6 * 0.1)) < 1e-9);
  const { path, body } = requests[0]!;
  assert.deepEqual([path, body["stream"]], ["/v1/chat/completions", true]);
  assert.equal(body.messages!.at(-1)!.content, examples[0]!.question);
});

Deno.test("final failures are unanswered, not wrong; a resume asks only for them", async () => {
  let broken = true;
  const handler: Handler = (request, count) =>
    broken && count <= 4 ? failure(500, "always") : answer(request);
  await serving(handler, async (url, folder, requests) => {
    const first = await ask(url, folder, { concurrency: 1, attempts: 2 });
    assert.deepEqual([first.exitCode, first.unanswered], [1, 2]);
    const { total, errors, accuracy_of_all, accuracy, examples } = first.result
      .tasks["chain_sum"]!.models[MODEL]!;
    assert.deepEqual([total, errors], [3, 2]);
    assert.equal(accuracy_of_all, accuracy * 3 / 5);
    assert.match(examples[0]!.error!, /500: always \(2 attempts\)/);
    const missed = first.result.failures.map(({ problems }) => problems);
    assert.deepEqual(missed, [[0, 1]], "in the file, with their reason");
    broken = false;
    const before = requests.length;
    const second = await ask(url, folder, {}, { resume: true });
    assert.deepEqual([second.resumed, second.evaluated, second.exitCode], [3, 2, 0]);
    assert.deepEqual([second.result.failures, requests.length - before], [[], 2]);
  });
});

Deno.test("an answer in parts is its text; a long wait is reported once", async () => {
  const text = (text: string) => ({ type: "text", text });
  const content = [text("<answer>7"), { type: "image_url" }, text("</answer>")];
  const warnings: string[] = [], onWarning = (text: string) => warnings.push(text);
  const { url, requests, model } = await asked(
    (_, count) =>
      count <= 6 ? failure(503, "loading") : whole({ message: { content }, finish_reason: "stop" }),
    { onWarning },
    { numExamples: 2 },
  );
  assert.equal(requests.length, 8);
  assert.deepEqual(warnings, [`${url}/v1: asked again after 3 attempts: 503: loading`]);
  assert.deepEqual(model.examples.map(({ completion }) => completion), [SEVEN, SEVEN]);
});

Deno.test("a request to a slow server is sent again after the time-out", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  await serving(async (request, count) => {
    if (count === 1) await held;
    return answer(request);
  }, async (url, folder) => {
    const done = await ask(url, folder, { timeout: 0.1, concurrency: 1 });
    release();
    assert.equal(done.exitCode, 0);
  });
});

Deno.test("refused fields are dropped or renamed once for the whole run", async () => {
  const warnings: string[] = [], onWarning = (text: string) => warnings.push(text);
  const { done, requests } = await asked(
    (request) => {
      const { body } = request;
      if ("stream_options" in body) return failure(400, "unknown field `stream_options`");
      if ("seed" in body) {
        return Response.json({ error: { message: "not supported", param: "seed" } }, {
          status: 400,
        });
      }
      if ("max_tokens" in body) return failure(400, "use max_completion_tokens, not max_tokens");
      return answer(request);
    },
    { onWarning, concurrency: 2 },
    { numExamples: 8 },
  );
  assert.deepEqual([done.exitCode, requests.length, warnings.length], [0, 8 + 3, 3]);
  assert.equal(requests.at(-1)!.body["max_completion_tokens"], 8);
});

Deno.test("a request has the fields of sampling that differ from a server's defaults", async () => {
  const fields = async (sampling: Partial<Sampling>) => {
    const { requests } = await asked(answer, {}, { numExamples: 1, sampling });
    const { top_k, min_p, repetition_penalty, stop } = requests[0]!.body;
    return { top_k, min_p, repetition_penalty, stop };
  };
  const given = { top_k: 1, min_p: 0.1, repetition_penalty: 1.1, stop: ["\n"] };
  assert.deepEqual(await fields(given), given);
  const none = { top_k: undefined, min_p: undefined, repetition_penalty: undefined };
  assert.deepEqual(await fields({}), { ...none, stop: undefined });
});

Deno.test("a refusal that no field explains is an unanswered sample, asked once", async () => {
  const handler = () => failure(400, "bad temperature of the room");
  const { done, requests, model } = await asked(handler, { concurrency: 1 });
  assert.equal(done.unanswered, 5);
  assert.equal(requests.length, 6, "once more without the field that seems to be meant");
  assert.match(model.examples[0]!.error!, /400: bad temperature of the room/);
});

Deno.test("a repeated benchmark costs nothing, and of a damaged cache only its lines are lost", () =>
  serving(answer, async (url, folder, requests) => {
    const cache = `${folder}/cache.jsonl`;
    await ask(url, `${folder}/a`, { cache });
    const again = await ask(url, `${folder}/b`, { cache });
    assert.deepEqual([requests.length, again.evaluated], [5, 5]);
    const { requests: asked, cached, prompt_tokens, completion_tokens } = again.remote!;
    assert.deepEqual([asked, cached, prompt_tokens, completion_tokens], [0, 5, 0, 0]);
    const lines = (await Deno.readTextFile(cache)).trimEnd().split("\n");
    lines[1] = JSON.stringify({ ...JSON.parse(lines[1]!), reply: { choices: [{}] } });
    lines[4] = lines[4]!.slice(0, 90);
    await Deno.writeTextFile(cache, lines.join("\n"));
    for (const name of ["c", "d"]) {
      await ask(url, `${folder}/${name}`, { cache });
      assert.equal(requests.length, 7, "what was asked again is kept");
    }
  }));

Deno.test("a cache that cannot be written costs a warning, not the answers", async () => {
  const warnings: string[] = [], onWarning = (text: string) => warnings.push(text);
  const { done } = await asked(answer, { cache: "/no-such-folder/cache.jsonl", onWarning });
  assert.deepEqual([done.exitCode, warnings.length], [0, 1]);
  assert.match(warnings[0]!, /answers are not kept: .*no-such-folder/);
});

Deno.test("several samples come in one request where the server can, else one by one", async () => {
  const sampling = { samples: 3, max_new_tokens: 8 };
  const oneEach: Handler = ({ body }) => answer({ body: { ...body, n: 1 } });
  for (const [handler, count] of [[answer, 5], [oneEach, 15]] as const) {
    const { model, requests } = await asked(handler, {}, { sampling });
    assert.deepEqual([model.total, requests.length], [15, count]);
  }
  const handler: Handler = (request, count) => count === 1 ? answer(request) : failure(500, "gone");
  const { done, requests } = await asked(handler, { attempts: 2 }, { sampling });
  assert.deepEqual([done.unanswered, requests.length], [12, 1 + 4 * 2], "they share attempts");
});

Deno.test("the server gets the requested number of requests, and half after 429", async () => {
  let active = 0, peak = 0;
  const slowly = (n?: number): Handler => async ({ body }) => {
    peak = Math.max(peak, ++active);
    await new Promise((resolve) => setTimeout(resolve, 5));
    active--;
    return answer({ body: { ...body, ...(n !== undefined && { n }) } });
  };
  await asked(slowly(), { concurrency: 6 }, { numExamples: 40 });
  assert.equal(peak, 6);
  // Samples of few problems use all requests, too, where a server gives one each.
  peak = 0;
  const sampling = { samples: 12, max_new_tokens: 8 };
  const { done, requests } = await asked(slowly(1), { concurrency: 8 }, {
    sampling,
    numExamples: 2,
  });
  assert.deepEqual([peak, requests.length, done.evaluated], [8, 24, 24]);
  const limiter = new Limiter(8);
  let ticket = 0;
  for (let i = 0; i < 8; i++) ticket = await limiter.acquire();
  limiter.release(ticket, "too many");
  limiter.release(ticket, "too many");
  assert.equal(limiter.limit, 4, "both were sent before anything was said");
  for (let i = 0; i < 6; i++) limiter.release(ticket, "good");
  for (let i = 0; i < 14; i++) limiter.release(await limiter.acquire(), "good");
  assert.equal(limiter.limit, 5);
});

test.inFolder("an unreachable server and an unknown model end the benchmark", async (folder) => {
  const gone = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = gone.addr as Deno.NetAddr;
  gone.close();
  const url = `http://127.0.0.1:${port}`;
  await assert.rejects(ask(url, `${folder}/out`), /the server cannot be reached/);
  await assert.rejects(Deno.stat(`${folder}/out`), Deno.errors.NotFound);
  Deno.env.set("ALL_PROXY", "http://name:secret@127.0.0.1:1");
  await assert.rejects(ask(url, `${folder}/out`), (error: RgxError) => {
    assert.match(error.advice!, /the proxy of ALL_PROXY; NO_PROXY=127\.0\.0\.1 would/);
    return !error.advice!.includes("secret");
  }).finally(() => Deno.env.delete("ALL_PROXY"));
  await assert.rejects(
    collected({ models: [MODEL], tasks: ["chain_sum"], outputDir: folder }),
    /--base-url|address/,
  );
  const handler = () => failure(404, "no model tinny");
  const { done, requests } = await asked(handler, {}, { models: ["openai:tinny"] });
  assert.deepEqual([requests.length, done.exitCode], [1, 1]);
  assert.match(done.result.failures[0]!.error, /404: no model tinny, did you mean tiny\?/);
});

test.inFolder("a resume needs a server only where answers are missing", async (folder) => {
  let address = "";
  const first = await withServer(answer, (url) => ask(address = url, folder));
  const again = await ask(address, folder, {}, { resume: true });
  assert.deepEqual([again.resumed, again.evaluated, again.exitCode], [first.evaluated, 0, 0]);
  const examples = ({ result }: typeof first) => result.tasks["chain_sum"]!.models[MODEL]!.examples;
  assert.deepEqual(examples(again), examples(first));
  await assert.rejects(
    ask(address, folder, {}, { resume: true, numExamples: 6 }),
    /the server cannot be reached/,
  );
});

Deno.test("plain prompts for completions, turns as messages, a note on empty answers", async () => {
  const { done, requests } = await asked(
    () => Response.json({ choices: [{ index: 0, text: "", finish_reason: "stop" }] }),
    { completions: true },
    { prompt: { system_prompt: "direct", few_shot: 1, add_instructions: false } },
  );
  const { path, body } = requests[0]!;
  assert.equal(path, "/v1/completions");
  assert.match(String(body["prompt"]), /^Reply with.*<answer>-?\d+<\/answer>\n\n/s);
  const warning = done.events.find(({ type }) => type === "warning");
  assert.match(JSON.stringify(warning), /answered none of 5 problems/);
  const prompt = { few_shot: 2, few_shot_as: "turns", add_instructions: false } as const;
  const turns = await asked(answer, {}, { prompt });
  const roles = turns.requests[0]!.body.messages!.map(({ role }) => role);
  assert.deepEqual(roles, ["user", "assistant", "user", "assistant", "user"]);
});

test.inFolder("messages of a row are sent as they are, unless an assistant's is the last", async (folder) => {
  const user = { role: "user", content: "Q" }, system = { role: "system", content: "S" };
  const path = `${folder}/chat.jsonl`, assistant = { role: "assistant", content: "It is" };
  const rows = [
    { prompt: [user, assistant], answer: "7" },
    { prompt: [system, user], answer: "7", chat_template_kwargs: { enable_thinking: false } },
  ];
  await Deno.writeTextFile(path, rows.map((row) => JSON.stringify(row)).join("\n"));
  const tasks = [{ name: "file", label: "chat", path }];
  const { requests, done, model } = await asked(answer, {}, { tasks });
  assert.equal(requests.length, 1);
  const { messages, chat_template_kwargs: values } = requests[0]!.body;
  assert.deepEqual([messages, values], [[system, user], { enable_thinking: false }]);
  assert.deepEqual([model.total, model.errors], [1, 1]);
  assert.match(
    done.result.failures[0]!.error,
    /ends with an assistant's message, which a server does not continue/,
  );
});

Deno.test("a stop request ends running requests and keeps the answers", async () => {
  let stop = false;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  await serving(async (request, count) => {
    if (count > 3) {
      stop = true;
      await held;
    }
    return answer(request);
  }, async (url, folder, requests) => {
    await assert.rejects(
      ask(url, folder, { concurrency: 2 }, { shouldStop: () => stop, numExamples: 9 }),
      Interrupted,
    );
    assert.ok(requests.length <= 5, "no other request takes the place of one that is stopped");
    release();
    const resumed = await ask(url, folder, {}, { resume: true });
    assert.deepEqual([resumed.resumed, resumed.evaluated], [3, 2]);
  });
});

Deno.test("waiting times come from the headers, else grow exponentially with jitter", () => {
  const limits = { "x-ratelimit-reset-requests": "4h48m0s", "x-ratelimit-reset-tokens": "120ms" };
  const left = (requests: number, tokens: number) => ({
    ...limits,
    "x-ratelimit-remaining-requests": String(requests),
    "x-ratelimit-remaining-tokens": String(tokens),
  });
  const waits: [headers: Record<string, string>, ms: number | null, status?: number][] = [
    [{ "retry-after": "3" }, 3000],
    [{ "retry-after": "0.25" }, 250],
    [{ "retry-after-ms": "20", "retry-after": "3" }, 20],
    [{ "retry-after-ms": "0", "retry-after": "2" }, 2000],
    [{ "retry-after": new Date(1_000_000_005_000).toUTCString() }, 5000],
    [{ "x-ratelimit-reset-requests": "6m0s", "x-ratelimit-reset-tokens": "20ms" }, 360_000],
    [{ ratelimit: '"api";r=0;t=55' }, 55_000],
    [{ ratelimit: '"api";r=3;t=55' }, null],
    [{}, null],
    // A wait of 0 is ignored, and so are limits far away.
    ...["0", "-1", "Wed, 21 Oct 1998 07:28:00 GMT", "5 minutes", ""]
      .map((after): [Record<string, string>, null] => [{ "retry-after": after }, null]),
    [left(8000, 0), 120],
    [left(0, 0), 17_280_000],
    [left(8000, 300), 120],
    // These are told in every answer, whatever was wrong with it.
    [limits, null, 500],
  ];
  for (const [headers, ms, status = 429] of waits) {
    const found = askedDelay(status, new Headers(headers), 1_000_000_000_000);
    assert.equal(found, ms, JSON.stringify(headers));
  }
  assert.equal(backoff(1, 1000, 0.5), 1000);
  assert.equal(backoff(3, 1000, 0), 3000);
  assert.equal(backoff(20, 1000, 0.5), 60_000);
});
