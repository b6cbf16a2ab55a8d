/** Peculiarities of single kinds of servers: refusals, streams, limits. */
import assert from "node:assert/strict";
import { answer, delta, failure, type Handler, stream, usage } from "../../core/remote/testing.ts";
import type { Failure } from "../results/result_file.ts";
import { ask, asked, inOrder, MODEL, serving, whole } from "./testing.ts";

const sse = (text: string, type = "text/event-stream") =>
  new Response(text, { headers: { "content-type": type } });
const data = (piece: unknown) => `data: ${JSON.stringify(piece)}`;
const SEVEN = "<answer>7</answer>";
const isSeven = ({ completion }: { completion: string }) => completion === SEVEN;

Deno.test("streams without a last empty line, with lone CRs, or as plain text", async () => {
  const first = data(delta(SEVEN)), last = data(delta("", "stop"));
  const { requests, model } = await asked(
    inOrder(
      () => sse(`${first}\n\n${last}`),
      () => sse(`${first}\n\ndata: [DONE]`),
      () => sse(`${first}\r\r${last}\r\rdata: [DONE]\r\r`),
      () => sse(`: waiting\n\n${first}\n\n${last}\n\n`, "text/plain"),
      () => sse(`\n  \n${JSON.stringify({ choices: [{ text: SEVEN }] })}`, "text/html"),
    ),
    { concurrency: 1 },
  );
  assert.ok(model.examples.every(isSeven));
  assert.equal(requests.length, 5);
});

Deno.test("an answer that arrives slowly, after spaces, causes no time-out", async () => {
  const whole = JSON.stringify({ choices: [{ index: 0, text: SEVEN }], usage });
  const pieces = ["\n", "  ", " ", "\n", whole.slice(0, 9), whole.slice(9)];
  const { done, requests } = await asked(
    () => {
      const body = new ReadableStream<Uint8Array>({
        async start(controller) {
          for (const piece of pieces) {
            await new Promise((resolve) => setTimeout(resolve, 60));
            controller.enqueue(new TextEncoder().encode(piece));
          }
          controller.close();
        },
      });
      return new Response(body, { headers: { "content-type": "application/json" } });
    },
    { timeout: 0.2 },
    { numExamples: 2 },
  );
  assert.deepEqual([done.exitCode, requests.length], [0, 2]);
});

Deno.test("an answer without content is asked for again, and counts as unanswered", async () => {
  const empty = [
    () => whole({ message: { role: "assistant", content: null }, finish_reason: "stop" }),
    () => whole({ message: { role: "assistant" }, finish_reason: "content_filter" }),
    () => stream([{ choices: [{ index: 0, delta: { role: "assistant" } }] }, delta(null, "stop")]),
  ];
  const again = await asked(inOrder(...empty), { attempts: 4, concurrency: 1 }, { numExamples: 1 });
  assert.ok(isSeven(again.model.examples[0]!));
  assert.equal(again.requests.length, 4);
  const { done, model } = await asked(empty[0]!, { attempts: 2 }, { numExamples: 2 });
  assert.deepEqual([done.exitCode, model.total, model.errors], [1, 0, 2]);
  const [{ problems, error }] = done.result.failures as [Failure];
  assert.deepEqual(problems, [0, 1]);
  assert.match(error, /the answer has no content \(finish_reason: stop\)/);
  // These are answers: cut off in the middle of a thought, refused by the model, ended at once.
  const own = inOrder(
    () => whole({ message: { content: null, reasoning_content: "hm" }, finish_reason: "length" }),
    () => whole({ message: { content: null, refusal: "I will not." }, finish_reason: "stop" }),
    () => whole({ message: { content: "" }, finish_reason: "stop" }),
  );
  const taken = await asked(own, { concurrency: 1 }, { numExamples: 3 });
  assert.deepEqual([taken.done.exitCode, taken.requests.length], [0, 3]);
});

Deno.test("no money, no quota or a day's limit end the benchmark with one request", async () => {
  const quota = { error: { message: "quota", code: "insufficient_quota" } };
  const cases: [Handler, RegExp][] = [
    [() => failure(402, "Insufficient Balance"), /402: Insufficient Balance/],
    [
      () => Response.json({ error: { message: "no credentials", code: 401 } }),
      /401: no credentials/,
    ],
    [() => Response.json(quota, { status: 429 }), /429: quota$/],
    [
      () => failure(429, "requests per day", { "retry-after": "86400" }),
      /429: requests per day; it asks to wait 24 h/,
    ],
  ];
  const tasks = ["chain_sum", "leg_counting"];
  for (const [handler, message] of cases) {
    const { done, requests } = await asked(handler, {}, { numExamples: 20, tasks });
    assert.deepEqual([requests.length, done.exitCode, done.unanswered], [1, 1, 40]);
    assert.deepEqual(done.result.failures.map(({ task }) => task), tasks);
    assert.match(done.result.failures[0]!.error, message);
  }
});

Deno.test("a long message of the server is cut, and on one line", async () => {
  const handler = () => failure(400, `bad\n  input: ${"x".repeat(5000)}`);
  const { model: { examples: [first] } } = await asked(handler, {}, { numExamples: 1 });
  assert.match(first!.error!, /400: bad input: x{400,}…$/);
  assert.ok(first!.error!.length < 600);
});

Deno.test("a question forbidden after others were answered is unanswered", async () => {
  const handler = inOrder(answer, answer, () => failure(403, "flagged"));
  const { done, requests } = await asked(handler, { concurrency: 1 });
  assert.deepEqual([done.unanswered, requests.length], [1, 5]);
  const [{ error, ...rest }, ...more] = done.result.failures as [Failure];
  assert.deepEqual([rest, more], [{ model: MODEL, task: "chain_sum", problems: [2] }, []]);
  assert.match(error, /403: flagged/);
});

Deno.test("fields are found in lists of errors; a large number is not a new name", async () => {
  const { done, requests } = await asked((request) => {
    if ("top_p" in request.body) {
      return Response.json([{ error: { message: 'Unknown name "top_p"' } }], { status: 400 });
    }
    const unknown = ["seed", "stream_options"].filter((name) => name in request.body);
    const detail = unknown.map((name) => ({ loc: ["body", name], msg: "Extra inputs" }));
    if (detail.length === 0) return answer(request);
    return Response.json({ message: { detail } }, { status: 422 });
  }, { concurrency: 1 });
  assert.deepEqual([done.exitCode, requests.length, done.remote!.adjusted.length], [0, 8, 3]);
  assert.match(done.remote!.adjusted[0]!, /refuses the field top_p/);
  const tooLarge = "'max_tokens' or 'max_completion_tokens' is too large: 9. Not more than 8 fit.";
  const large = await asked(() => failure(400, tooLarge), { concurrency: 1 });
  assert.deepEqual([large.requests.length, large.done.remote!.adjusted], [5, []]);
});

Deno.test("text after a stop text is cut where the server ignores stop texts", async () => {
  const sampling = { max_new_tokens: 8, stop: ["never", "END"] };
  const { model } = await asked(
    (request) => {
      if ("stop" in request.body) return failure(400, "Unsupported parameter: 'stop'");
      return whole({ message: { content: `${SEVEN}END <answer>8</answer>` } });
    },
    {},
    { sampling },
  );
  assert.ok(model.examples.every(isSeven));
});

Deno.test("requests that wait for a retry leave their places to others", async () => {
  const seen = new Set<unknown>();
  let seenAtReturn = 0;
  await asked(
    (request, count) => {
      const { seed } = request.body;
      if (seen.has(seed) && seenAtReturn === 0) seenAtReturn = seen.size;
      seen.add(seed);
      return count >= 2 && count <= 5 ? failure(500, "busy") : answer(request);
    },
    { concurrency: 4, firstDelay: 300 },
    { numExamples: 9 },
  );
  assert.equal(seenAtReturn, 9, "all others were asked meanwhile");
});

Deno.test("only the provider of an eval file may answer; its answers have other keys", () =>
  serving(answer, async (url, folder, requests) => {
    const one = await ask(url, folder, { provider: "Hyperbolic" });
    const { provider } = requests[0]!.body;
    assert.deepEqual(provider, { order: ["Hyperbolic"], allow_fallbacks: false });
    assert.equal(one.remote!.provider, "Hyperbolic");
    const other = await ask(url, folder, { provider: "Together" }, { resume: true });
    const again = await ask(`${url}/v1/`, folder, { provider: "Together" }, { resume: true });
    assert.deepEqual([other.resumed, again.resumed], [0, 5], "the address in another spelling");
  }));
