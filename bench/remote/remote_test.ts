/** Remote models on a real HTTP server that misbehaves in many ways. */
import assert from "node:assert/strict";
import { test, withFolder } from "../../core/testing.ts";
import { Interrupted, type RgxError } from "../../core/errors.ts";
import { collected } from "../testing.ts";
import { Limiter } from "../../core/remote/limiter.ts";
import { askedDelay, backoff } from "../../core/remote/retry.ts";
import { baseUrl } from "../../core/remote/address.ts";
import {
  answer,
  delta,
  failure,
  type Handler,
  stream,
  usage,
  withServer,
} from "../../core/remote/testing.ts";
import { ask, MODEL } from "./testing.ts";

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
  ];
  let turn = 0;
  await withServer((request, count) => {
    const isBad = count % 2 === 0 && turn < bad.length;
    return isBad ? bad[turn++]!(request, count) : answer(request);
  }, (url, requests) =>
    withFolder(async (folder) => {
      const done = await ask(url, folder, { concurrency: 3 }, { numExamples: 25 });
      assert.equal(turn, bad.length, "all failures happened");
      assert.equal(done.exitCode, 0);
      const result = done.result.tasks["chain_sum"]!.models[MODEL]!;
      const { total, examples, errors, usage: used } = result;
      assert.deepEqual([total, errors, done.unanswered], [25, 0, 0]);
      assert.deepEqual([used.prompt_tokens, used.completion_tokens], [275, 150]);
      assert.ok(examples.every(({ completion }) => completion === "<answer>7</answer>"));
      assert.equal(requests.length, 25 + bad.length);
      assert.equal(new Set(requests.map(({ body }) => body["seed"])).size, 25);
      const { prompt_tokens, completion_tokens, cost, adjusted, ...rest } = done.remote!;
      assert.deepEqual([prompt_tokens, completion_tokens, cost, adjusted], [275, 150, null, []]);
      assert.equal(rest.requests, requests.length);
      assert.ok(rest.seconds_per_request! > 0 && rest.tokens_per_second! > 0);
      assert.deepEqual(done.result.remote, done.remote, "in the results too");
    }));
});

Deno.test("streams are joined; truncation, thoughts and token counts are kept", async () => {
  await withServer((_, count) =>
    stream([
      { choices: [{ index: 0, delta: { reasoning_content: "hm " } }] },
      delta("<answer>"),
      delta(String(count)),
      delta("</answer>", count === 1 ? "length" : "stop"),
      { choices: [], usage },
    ]), (url, requests) =>
    withFolder(async (folder) => {
      const done = await ask(url, folder, { concurrency: 1, prices: { input: 1e4, output: 1e5 } });
      const { examples, truncated_rate, mean_completion_tokens } = done.result.tasks["chain_sum"]!
        .models[MODEL]!;
      assert.deepEqual(examples.map(({ extracted }) => extracted), ["1", "2", "3", "4", "5"]);
      assert.equal(examples[0]!.reasoning, "hm ");
      assert.equal(truncated_rate, 0.2);
      assert.equal(mean_completion_tokens, 6);
      assert.ok(Math.abs(done.remote!.cost! - (5 * 11 * 0.01 + 5 * 6 * 0.1)) < 1e-9);
      assert.equal(requests[0]!.body["stream"], true);
      assert.equal(requests[0]!.path, "/v1/chat/completions");
      assert.equal(requests[0]!.body.messages!.at(-1)!.content, examples[0]!.question);
    }));
});

Deno.test("final failures are unanswered, not wrong; a resume asks only for them", async () => {
  let broken = true;
  await withServer(
    (request, count) => broken && count <= 4 ? failure(500, "always") : answer(request),
    (url, requests) =>
      withFolder(async (folder) => {
        const first = await ask(url, folder, { concurrency: 1, attempts: 2 });
        assert.equal(first.exitCode, 1);
        assert.equal(first.unanswered, 2);
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
        assert.deepEqual(second.result.failures, []);
        assert.equal(requests.length - before, 2);
      }),
  );
});

Deno.test("an answer in parts is its text; a long wait is reported once", async () => {
  const content = [{ type: "text", text: "<answer>7" }, { type: "image_url" }, {
    type: "text",
    text: "</answer>",
  }];
  const whole = { choices: [{ index: 0, message: { content }, finish_reason: "stop" }], usage };
  await withServer(
    (_, count) => count <= 6 ? failure(503, "loading") : Response.json(whole),
    (url, requests) =>
      withFolder(async (folder) => {
        const warnings: string[] = [];
        const onWarning = (text: string) => warnings.push(text);
        const done = await ask(url, folder, { onWarning }, { numExamples: 2 });
        assert.equal(requests.length, 8);
        assert.deepEqual(warnings, [`${url}/v1: asked again after 3 attempts: 503: loading`]);
        const { examples } = done.result.tasks["chain_sum"]!.models[MODEL]!;
        assert.deepEqual(
          examples.map((one) => one.completion),
          Array(2).fill("<answer>7</answer>"),
        );
      }),
  );
});

Deno.test("a request to a slow server is sent again after the time-out", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => release = resolve);
  await withServer(async (request, count) => {
    if (count === 1) await held;
    return answer(request);
  }, (url) =>
    withFolder(async (folder) => {
      const done = await ask(url, folder, { timeout: 0.1, concurrency: 1 });
      release();
      assert.equal(done.exitCode, 0);
    }));
});

Deno.test("refused fields are dropped or renamed once for the whole run", async () => {
  const warnings: string[] = [];
  await withServer((request) => {
    const { body } = request;
    if ("stream_options" in body) return failure(400, "unknown field `stream_options`");
    if ("seed" in body) {
      return Response.json({ error: { message: "not supported", param: "seed" } }, { status: 400 });
    }
    if ("max_tokens" in body) return failure(400, "use max_completion_tokens, not max_tokens");
    return answer(request);
  }, (url, requests) =>
    withFolder(async (folder) => {
      const onWarning = (text: string) => warnings.push(text);
      const done = await ask(url, folder, { onWarning, concurrency: 2 }, { numExamples: 8 });
      assert.equal(done.exitCode, 0);
      assert.equal(requests.length, 8 + 3);
      assert.equal(warnings.length, 3);
      assert.equal(requests.at(-1)!.body["max_completion_tokens"], 8);
    }));
});

Deno.test("a refusal that no field explains is an unanswered sample, asked once", async () => {
  await withServer(
    () => failure(400, "bad temperature of the room"),
    (url, requests) =>
      withFolder(async (folder) => {
        const done = await ask(url, folder, { concurrency: 1 });
        assert.equal(done.unanswered, 5);
        assert.equal(requests.length, 6, "once more without the field that seems to be meant");
        const [first] = done.result.tasks["chain_sum"]!.models[MODEL]!.examples;
        assert.match(first!.error!, /400: bad temperature of the room/);
      }),
  );
});

Deno.test("a repeated benchmark costs nothing: answers come from the cache", async () => {
  await withServer(answer, (url, requests) =>
    withFolder(async (folder) => {
      const cache = `${folder}/cache.jsonl`;
      await ask(url, `${folder}/a`, { cache });
      const again = await ask(url, `${folder}/b`, { cache });
      assert.equal(requests.length, 5);
      assert.equal(again.evaluated, 5);
      const { requests: asked, cached, prompt_tokens, completion_tokens } = again.remote!;
      assert.deepEqual([asked, cached, prompt_tokens, completion_tokens], [0, 5, 0, 0]);
    }));
});

Deno.test("several samples come in one request where the server can, else one by one", async () => {
  const sampling = { samples: 3, max_new_tokens: 8 };
  await withServer(answer, (url, requests) =>
    withFolder(async (folder) => {
      const done = await ask(url, folder, {}, { sampling });
      assert.equal(done.result.tasks["chain_sum"]!.models[MODEL]!.total, 15);
      assert.equal(requests.length, 5);
    }));
  await withServer(
    ({ body }) => answer({ body: { ...body, n: 1 } }),
    (url, requests) =>
      withFolder(async (folder) => {
        const done = await ask(url, folder, {}, { sampling });
        assert.equal(done.result.tasks["chain_sum"]!.models[MODEL]!.total, 15);
        assert.equal(requests.length, 15);
      }),
  );
});

Deno.test("the server gets the requested number of requests, and half after 429", async () => {
  let active = 0, peak = 0;
  await withServer(async (request) => {
    peak = Math.max(peak, ++active);
    await new Promise((resolve) => setTimeout(resolve, 5));
    active--;
    return answer(request);
  }, (url) =>
    withFolder(async (folder) => {
      await ask(url, folder, { concurrency: 6 }, { numExamples: 40 });
      assert.equal(peak, 6);
    }));
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

Deno.test("an unreachable server, a refused key, an unknown model end the benchmark", async () => {
  const gone = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = gone.addr as Deno.NetAddr;
  gone.close();
  await withFolder(async (folder) => {
    await assert.rejects(
      ask(`http://127.0.0.1:${port}`, `${folder}/out`),
      /the server cannot be reached/,
    );
    await assert.rejects(Deno.stat(`${folder}/out`), Deno.errors.NotFound);
    Deno.env.set("ALL_PROXY", "http://name:secret@127.0.0.1:1");
    await assert.rejects(ask(`http://127.0.0.1:${port}`, `${folder}/out`), (error: RgxError) => {
      assert.match(error.advice!, /the proxy of ALL_PROXY; NO_PROXY=127\.0\.0\.1 would/);
      return !error.advice!.includes("secret");
    }).finally(() => Deno.env.delete("ALL_PROXY"));
    await assert.rejects(
      collected({ models: [MODEL], tasks: ["chain_sum"], outputDir: folder }),
      /--base-url|address/,
    );
  });
  await withServer(
    () => failure(404, "no model tinny"),
    (url, requests) =>
      withFolder(async (folder) => {
        const done = await ask(url, folder, {}, { models: ["openai:tinny"] });
        assert.equal(requests.length, 1);
        assert.equal(done.exitCode, 1);
        assert.match(done.result.failures[0]!.error, /404: no model tinny, did you mean tiny\?/);
      }),
  );
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
  await withServer(
    () => Response.json({ choices: [{ index: 0, text: "", finish_reason: "stop" }] }),
    (url, requests) =>
      withFolder(async (folder) => {
        const done = await ask(url, folder, { completions: true }, {
          prompt: { system_prompt: "direct", few_shot: 1, add_instructions: false },
        });
        const { path, body } = requests[0]!;
        assert.equal(path, "/v1/completions");
        assert.match(String(body["prompt"]), /^Reply with.*<answer>-?\d+<\/answer>\n\n/s);
        const warning = done.events.find(({ type }) => type === "warning");
        assert.match(JSON.stringify(warning), /answered none of 5 problems/);
      }),
  );
  await withServer(answer, (url, requests) =>
    withFolder(async (folder) => {
      await ask(url, folder, {}, {
        prompt: { few_shot: 2, few_shot_as: "turns", add_instructions: false },
      });
      const roles = requests[0]!.body.messages!.map(({ role }) => role);
      assert.deepEqual(roles, ["user", "assistant", "user", "assistant", "user"]);
    }));
});

Deno.test("a stop request ends running requests and keeps the answers", async () => {
  let stop = false, release = () => {};
  const held = new Promise<void>((resolve) => release = resolve);
  await withServer(async (request, count) => {
    if (count > 3) {
      stop = true;
      await held;
    }
    return answer(request);
  }, (url, requests) =>
    withFolder(async (folder) => {
      await assert.rejects(
        ask(url, folder, { concurrency: 2 }, { shouldStop: () => stop, numExamples: 9 }),
        Interrupted,
      );
      assert.ok(requests.length <= 5, "no other request takes the place of one that is stopped");
      release();
      const resumed = await ask(url, folder, {}, { resume: true });
      assert.deepEqual([resumed.resumed, resumed.evaluated], [3, 2]);
    }));
});

Deno.test("waiting times come from the headers, else grow exponentially with jitter", () => {
  const at = (headers: Record<string, string>) =>
    askedDelay(429, new Headers(headers), 1_000_000_000_000);
  assert.equal(at({ "retry-after": "3" }), 3000);
  assert.equal(at({ "retry-after-ms": "20", "retry-after": "3" }), 20);
  assert.equal(at({ "retry-after": new Date(1_000_000_005_000).toUTCString() }), 5000);
  assert.equal(
    at({ "x-ratelimit-reset-requests": "6m0s", "x-ratelimit-reset-tokens": "20ms" }),
    360_000,
  );
  assert.equal(at({ ratelimit: '"api";r=0;t=55' }), 55_000);
  assert.equal(at({ ratelimit: '"api";r=3;t=55' }), null);
  assert.equal(at({}), null);
  assert.equal(backoff(1, 1000, 0.5), 1000);
  assert.equal(backoff(3, 1000, 0), 3000);
  assert.equal(backoff(20, 1000, 0.5), 60_000);
});

Deno.test("addresses may have /v1 or not; other texts are refused", () => {
  for (
    const given of ["http://h:1", "http://h:1/", "http://h:1/v1/", "http://h:1/v1/chat/completions"]
  ) {
    assert.equal(baseUrl(given), "http://h:1/v1");
  }
  assert.equal(baseUrl("https://h/api/v2"), "https://h/api/v2");
  assert.throws(() => baseUrl("localhost"), /not an address/);
  assert.throws(() => baseUrl("ftp://h/v1"), /expected http/);
});
