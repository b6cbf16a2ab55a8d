/** Peculiarities of single kinds of servers: refusals, streams, limits. */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { askedDelay } from "../../core/remote/retry.ts";
import {
  answer,
  delta,
  failure,
  type Handler,
  stream,
  usage,
  withServer,
} from "../../core/remote/testing.ts";
import type { Failure } from "../results/result_file.ts";
import { ask, MODEL } from "./testing.ts";

const sse = (text: string, type = "text/event-stream") =>
  new Response(text, { headers: { "content-type": type } });
const data = (piece: unknown) => `data: ${JSON.stringify(piece)}`;
const whole = (choice: object, more: object = {}) =>
  Response.json({ choices: [{ index: 0, ...choice }], usage, ...more });
const inside = (status: number, message: string) =>
  Response.json({ error: { message, code: status } });

Deno.test("streams without a last empty line, with lone CRs, or as plain text", async () => {
  const first = data(delta("<answer>7</answer>")), last = data(delta("", "stop"));
  const answers = [
    () => sse(`${first}\n\n${last}`),
    () => sse(`${first}\n\ndata: [DONE]`),
    () => sse(`${first}\r\r${last}\r\rdata: [DONE]\r\r`),
    () => sse(`: waiting\n\n${first}\n\n${last}\n\n`, "text/plain"),
    () =>
      sse(`\n  \n${JSON.stringify({ choices: [{ text: "<answer>7</answer>" }] })}`, "text/html"),
  ];
  await withServer(
    (_, count) => answers[count - 1]!(),
    (url, requests) =>
      withFolder(async (folder) => {
        const done = await ask(url, folder, { concurrency: 1 });
        const { examples } = done.result.tasks["chain_sum"]!.models[MODEL]!;
        assert.deepEqual(
          examples.map(({ completion }) => completion),
          Array(5).fill("<answer>7</answer>"),
        );
        assert.equal(requests.length, 5);
      }),
  );
});

Deno.test("an answer that arrives slowly, after spaces, causes no time-out", async () => {
  const whole = JSON.stringify({ choices: [{ index: 0, text: "<answer>7</answer>" }], usage });
  const pieces = ["\n", "  ", " ", "\n", whole.slice(0, 9), whole.slice(9)];
  await withServer(() => {
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        for (const piece of pieces) {
          await new Promise((resolve) => setTimeout(resolve, 60));
          controller.enqueue(encoder.encode(piece));
        }
        controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": "application/json" } });
  }, (url, requests) =>
    withFolder(async (folder) => {
      const done = await ask(url, folder, { timeout: 0.2 }, { numExamples: 2 });
      assert.deepEqual([done.exitCode, requests.length], [0, 2]);
    }));
});

Deno.test("an aborted answer, or an error in its place, is not an answer", async () => {
  const broken: Handler[] = [
    () => stream([delta("<answer>9</ans"), delta("", "abort")]),
    () => whole({ message: { content: "<answer>9" }, finish_reason: "error" }),
    () => whole({ message: { content: "" }, error: { code: 502, message: "upstream is gone" } }),
    () => inside(503, "no provider"),
    () => Response.json({ choices: [], error: { message: "no" } }),
  ];
  await withServer(
    (request, count) =>
      count % 2 === 0 ? answer(request) : broken[(count - 1) / 2]!(request, count),
    (url, requests) =>
      withFolder(async (folder) => {
        const done = await ask(url, folder, { concurrency: 1 });
        const { examples, format_rate } = done.result.tasks["chain_sum"]!.models[MODEL]!;
        assert.ok(examples.every(({ completion }) => completion === "<answer>7</answer>"));
        assert.deepEqual([format_rate, requests.length], [1, 10]);
      }),
  );
});

Deno.test("an answer without content is asked for again, and counts as unanswered", async () => {
  const empty: (() => Response)[] = [
    () => whole({ message: { role: "assistant", content: null }, finish_reason: "stop" }),
    () => whole({ message: { role: "assistant" }, finish_reason: "content_filter" }),
    () => stream([{ choices: [{ index: 0, delta: { role: "assistant" } }] }, delta(null, "stop")]),
  ];
  await withServer(
    (_, count) => empty[count - 1]?.() ?? answer({ body: {} }),
    (url, requests) =>
      withFolder(async (folder) => {
        const done = await ask(url, folder, { attempts: 4, concurrency: 1 }, { numExamples: 1 });
        const { examples } = done.result.tasks["chain_sum"]!.models[MODEL]!;
        assert.equal(examples[0]!.completion, "<answer>7</answer>");
        assert.equal(requests.length, 4);
      }),
  );
  await withServer(empty[0]!, (url) =>
    withFolder(async (folder) => {
      const done = await ask(url, folder, { attempts: 2 }, { numExamples: 2 });
      const { total, errors } = done.result.tasks["chain_sum"]!.models[MODEL]!;
      assert.deepEqual([done.exitCode, total, errors], [1, 0, 2]);
      const [{ problems, error }] = done.result.failures as [Failure];
      assert.deepEqual(problems, [0, 1]);
      assert.match(error, /the answer has no content \(finish_reason: stop\)/);
    }));
  // These are answers: cut off in the middle of a thought, refused by the model, ended at once.
  const own = [
    { message: { content: null, reasoning_content: "hm" }, finish_reason: "length" },
    { message: { content: null, refusal: "I will not." }, finish_reason: "stop" },
    { message: { content: "" }, finish_reason: "stop" },
  ];
  await withServer(
    (_, count) => whole(own[count - 1]!),
    (url, requests) =>
      withFolder(async (folder) => {
        const done = await ask(url, folder, { concurrency: 1 }, { numExamples: 3 });
        assert.deepEqual([done.exitCode, requests.length], [0, 3]);
      }),
  );
});

Deno.test("no money, no quota or a day's limit end the benchmark with one request", async () => {
  const cases: [Handler, RegExp][] = [
    [() => failure(402, "Insufficient Balance"), /402: Insufficient Balance/],
    [() => inside(401, "no credentials"), /401: no credentials/],
    [
      () =>
        Response.json({ error: { message: "quota", code: "insufficient_quota" } }, { status: 429 }),
      /429: quota$/,
    ],
    [
      () => failure(429, "requests per day", { "retry-after": "86400" }),
      /429: requests per day; it asks to wait 24 h/,
    ],
  ];
  for (const [handler, message] of cases) {
    await withServer(handler, (url, requests) =>
      withFolder(async (folder) => {
        const tasks = ["chain_sum", "leg_counting"];
        const done = await ask(url, folder, {}, { numExamples: 20, tasks });
        assert.equal(requests.length, 1);
        assert.deepEqual([done.exitCode, done.unanswered], [1, 40]);
        assert.deepEqual(done.result.failures.map(({ task }) => task), tasks);
        assert.match(done.result.failures[0]!.error, message);
      }));
  }
});

Deno.test("a long message of the server is cut, and on one line", async () => {
  await withServer(
    () => failure(400, `bad\n  input: ${"x".repeat(5000)}`),
    (url) =>
      withFolder(async (folder) => {
        const done = await ask(url, folder, {}, { numExamples: 1 });
        const [first] = done.result.tasks["chain_sum"]!.models[MODEL]!.examples;
        assert.match(first!.error!, /400: bad input: x{400,}…$/);
        assert.ok(first!.error!.length < 600);
      }),
  );
});

Deno.test("a question forbidden after others were answered is unanswered", async () => {
  await withServer(
    (request, count) => count === 3 ? failure(403, "flagged") : answer(request),
    (url, requests) =>
      withFolder(async (folder) => {
        const done = await ask(url, folder, { concurrency: 1 });
        assert.deepEqual([done.unanswered, requests.length], [1, 5]);
        const [{ error, ...failure }, ...more] = done.result.failures as [Failure];
        assert.deepEqual(failure, { model: MODEL, task: "chain_sum", problems: [2] });
        assert.match(error, /403: flagged/);
        assert.deepEqual(more, []);
      }),
  );
});

Deno.test("fields are found in lists of errors; a large number is not a new name", async () => {
  await withServer((request) => {
    if ("top_p" in request.body) {
      return Response.json([{ error: { message: 'Unknown name "top_p"' } }], { status: 400 });
    }
    const unknown = ["seed", "stream_options"].filter((name) => name in request.body);
    const detail = unknown.map((name) => ({ loc: ["body", name], msg: "Extra inputs" }));
    if (detail.length === 0) return answer(request);
    return Response.json({ message: { detail } }, { status: 422 });
  }, (url, requests) =>
    withFolder(async (folder) => {
      const done = await ask(url, folder, { concurrency: 1 });
      assert.deepEqual([done.exitCode, requests.length], [0, 8]);
      assert.equal(done.remote!.adjusted.length, 3);
      assert.match(done.remote!.adjusted[0]!, /refuses the field top_p/);
    }));
  const tooLarge = "'max_tokens' or 'max_completion_tokens' is too large: 9. Not more than 8 fit.";
  await withServer(() => failure(400, tooLarge), (url, requests) =>
    withFolder(async (folder) => {
      const done = await ask(url, folder, { concurrency: 1 });
      assert.deepEqual([requests.length, done.remote!.adjusted], [5, []]);
    }));
});

Deno.test("text after a stop text is cut where the server ignores stop texts", async () => {
  await withServer((request) => {
    if ("stop" in request.body) return failure(400, "Unsupported parameter: 'stop'");
    return whole({ message: { content: "<answer>7</answer>END <answer>8</answer>" } });
  }, (url) =>
    withFolder(async (folder) => {
      const sampling = { max_new_tokens: 8, stop: ["never", "END"] };
      const done = await ask(url, folder, {}, { sampling });
      const { examples } = done.result.tasks["chain_sum"]!.models[MODEL]!;
      assert.ok(examples.every(({ completion }) => completion === "<answer>7</answer>"));
    }));
});

Deno.test("a cache that cannot be written costs a warning, not the answers", async () => {
  await withServer(answer, (url) =>
    withFolder(async (folder) => {
      const warnings: string[] = [], cache = `${folder}/no-such-folder/cache.jsonl`;
      const done = await ask(url, folder, { cache, onWarning: (text) => warnings.push(text) });
      assert.deepEqual([done.exitCode, warnings.length], [0, 1]);
      assert.match(warnings[0]!, /answers are not kept: .*no-such-folder/);
    }));
});

Deno.test("samples of few problems use all requests where a server gives one each", async () => {
  let active = 0, peak = 0;
  await withServer(async ({ body }) => {
    peak = Math.max(peak, ++active);
    await new Promise((resolve) => setTimeout(resolve, 5));
    active--;
    return answer({ body: { ...body, n: 1 } });
  }, (url, requests) =>
    withFolder(async (folder) => {
      const sampling = { samples: 12, max_new_tokens: 8 };
      const done = await ask(url, folder, { concurrency: 8 }, { sampling, numExamples: 2 });
      assert.deepEqual([peak, requests.length, done.evaluated], [8, 24, 24]);
    }));
});

Deno.test("requests that wait for a retry leave their places to others", async () => {
  const seen = new Set<unknown>();
  let seenAtReturn = 0;
  await withServer((request, count) => {
    const { seed } = request.body;
    if (seen.has(seed) && seenAtReturn === 0) seenAtReturn = seen.size;
    seen.add(seed);
    return count >= 2 && count <= 5 ? failure(500, "busy") : answer(request);
  }, (url) =>
    withFolder(async (folder) => {
      await ask(url, folder, { concurrency: 4, firstDelay: 300 }, { numExamples: 9 });
      assert.equal(seenAtReturn, 9, "all others were asked meanwhile");
    }));
});

Deno.test("samples in one request share its attempts", async () => {
  await withServer(
    (request, count) => count === 1 ? answer(request) : failure(500, "gone"),
    (url, requests) =>
      withFolder(async (folder) => {
        const sampling = { samples: 3, max_new_tokens: 8 };
        const done = await ask(url, folder, { attempts: 2 }, { sampling });
        assert.deepEqual([done.unanswered, requests.length], [12, 1 + 4 * 2]);
      }),
  );
});

Deno.test("a damaged cache loses only the damaged lines", async () => {
  await withServer(answer, (url, requests) =>
    withFolder(async (folder) => {
      const cache = `${folder}/cache.jsonl`;
      await ask(url, `${folder}/a`, { cache });
      const lines = (await Deno.readTextFile(cache)).trimEnd().split("\n");
      const hollow = { ...JSON.parse(lines[1]!), reply: { choices: [{}] } };
      lines[1] = JSON.stringify(hollow);
      lines[4] = lines[4]!.slice(0, 90);
      await Deno.writeTextFile(cache, lines.join("\n"));
      await ask(url, `${folder}/b`, { cache });
      assert.equal(requests.length, 7);
      await ask(url, `${folder}/c`, { cache });
      assert.equal(requests.length, 7, "what was asked again is kept");
    }));
});

Deno.test("a wait of 0 is ignored, and so are limits far away", () => {
  const at = (headers: Record<string, string>, status = 429) =>
    askedDelay(status, new Headers(headers), 1_000_000_000_000);
  for (const after of ["0", "-1", "Wed, 21 Oct 1998 07:28:00 GMT", "5 minutes", ""]) {
    assert.equal(at({ "retry-after": after }), null, after);
  }
  assert.equal(at({ "retry-after": "0.25" }), 250);
  assert.equal(at({ "retry-after-ms": "0", "retry-after": "2" }), 2000);
  const limits = { "x-ratelimit-reset-requests": "4h48m0s", "x-ratelimit-reset-tokens": "120ms" };
  const left = (requests: number, tokens: number) => ({
    ...limits,
    "x-ratelimit-remaining-requests": String(requests),
    "x-ratelimit-remaining-tokens": String(tokens),
  });
  assert.equal(at(left(8000, 0)), 120);
  assert.equal(at(left(0, 0)), 17_280_000);
  assert.equal(at(left(8000, 300)), 120);
  assert.equal(at(limits, 500), null, "told in every answer, whatever was wrong with it");
});

Deno.test("only the provider of an eval file may answer; its answers have other keys", async () => {
  await withServer(answer, (url, requests) =>
    withFolder(async (folder) => {
      const one = await ask(url, folder, { provider: "Hyperbolic" });
      assert.deepEqual(requests[0]!.body["provider"], {
        order: ["Hyperbolic"],
        allow_fallbacks: false,
      });
      assert.equal(one.remote!.provider, "Hyperbolic");
      const other = await ask(url, folder, { provider: "Together" }, { resume: true });
      const again = await ask(`${url}/v1/`, folder, { provider: "Together" }, { resume: true });
      assert.deepEqual([other.resumed, again.resumed], [0, 5], "the address in another spelling");
    }));
});
