/** What a server refuses, cuts and ends, without disturbing others. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { type Mistake, refuses, type Reply, test, type TestServer, withServer } from "./testing.ts";

const PROMPT = [3, 17, 5, 40];

/** A request that runs until it is ended. */
const LONG = { prompt: PROMPT, max_tokens: 10 ** 9, ignore_eos: true };

/** The value of a gauge or counter. */
async function metric({ url }: Pick<TestServer, "url">, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
}

async function until(isNow: () => boolean | Promise<boolean>): Promise<void> {
  while (!await isNow()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/**
 * Sends raw bytes, and gives the beginning of the answer. With `cut` the connection is closed at
 * once.
 */
async function raw(url: string, bytes: string, cut = false): Promise<string> {
  const { hostname, port } = new URL(url), part = new Uint8Array(1000);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(bytes));
  const count = cut ? 0 : await connection.read(part) ?? 0;
  connection.close();
  return new TextDecoder().decode(part.subarray(0, count));
}

Deno.test("the base answers to its served names, its path and its folder's name", async () => {
  await withServer(
    async ({ url, ask, post, host }) => {
      const listed = await (await fetch(`${url}/v1/models`)).json();
      const ids = listed.data.map(({ id }: { id: string }) => id);
      assert.deepEqual(ids, ["first", "second"], "as vLLM lists them");
      const place = host.base.root;
      for (const model of ["first", "second", place, "base"]) {
        const body = { model, prompt: [5, 6], max_tokens: 1 };
        assert.equal((await ask("/v1/completions", body)).model, "first", model);
        const card = await fetch(`${url}/v1/models/${encodeURIComponent(model)}`);
        assert.equal(card.status, 200);
        await card.body?.cancel();
      }
      const malformed = await fetch(`${url}/v1/models/%zz`);
      assert.equal((await malformed.json()).error.code, "model_not_found");
      // An adapter that takes the folder's name keeps it also when it has gone.
      const load = (lora_name: string) =>
        post("/v1/load_lora_adapter", { lora_name, lora_path: `${place}/../one` });
      assert.equal((await load("second")).status, 400);
      assert.equal((await load("base")).status, 200);
      assert.equal(host.find("base").parent, "first");
      assert.equal((await post("/v1/unload_lora_adapter", { lora_name: "base" })).status, 200);
      assert.equal((await post("/v1/completions", { model: "base", prompt: [5] })).status, 404);
    },
    { host: { servedNames: ["first", "second"] } },
  );
});

Deno.test("a key is asked for everywhere but at /health", () =>
  withServer(async ({ url, post }) => {
    const status = async (path: string, authorization?: string) => {
      const headers = authorization === undefined ? {} : { authorization };
      const response = await fetch(url + path, { headers });
      await response.body?.cancel();
      return response.status;
    };
    assert.equal(await status("/health"), 200);
    for (const path of ["/v1/models", "/metrics", "/version", "/nothing"]) {
      for (
        const key of [undefined, "Bearer", "Bearer ", "Bearer sekret", "Bearer secret2", "secret"]
      ) {
        assert.equal(await status(path, key), 401, `${path} ${key}`);
      }
    }
    assert.equal(await status("/v1/models", "Bearer secret"), 200);
    assert.equal(await status("/v1/models", "bearer secret"), 200);
    const refused = await post("/v1/completions", { prompt: "x" });
    assert.equal((await refused.json()).error.type, "authentication_error");
  }, { apiKey: "secret" }));

test.withServer("paths, methods, models and bodies that are wrong get their own errors", async (server) => {
  const { post, ask, defects, url } = server;
  const refused = async (path: string, body: unknown, init: RequestInit = {}) => {
    const response = await post(path, body, init), { error } = await response.json();
    assert.equal(typeof error.message, "string");
    assert.doesNotMatch(error.message, /\.ts:\d+|^\s+at /m);
    assert.ok(response.headers.get("x-request-id"));
    return [response.status, error.type, error.param, error.code];
  };
  const bad = [400, "invalid_request_error"];
  assert.deepEqual(await refused("/v1/nothing", {}), [404, "not_found_error", null, null]);
  const advice: [string, RegExp][] = [
    ["/v1/embeddings", /: this server only generates text/],
    ["/chat/completions", /did you mean \/v1\/chat\/completions\?/],
    ["/v1/models/", /did you mean \/v1\/models\?/],
  ];
  for (const [path, message] of advice) {
    assert.match((await ask(path, {})).error.message, message);
  }
  for (const name of ["other", "%zz", "a%2Fb", "%ff"]) {
    const response = await fetch(`${url}/v1/models/${name}`);
    assert.equal((await response.json()).error.code, "model_not_found", name);
  }
  const counters = await (await fetch(`${url}/metrics`)).text();
  assert.match(counters, /rgx_requests_total\{path="\/v1\/models\/\{id\}",status="404"\} 4/);
  assert.deepEqual(await refused("/v1/models", {}), [405, "invalid_request_error", null, null]);
  const path = "/v1/completions";
  for (const body of ["", "{", "[]", "null", "3", '"x"', "{} {}", "\xff", "[".repeat(100_000)]) {
    assert.deepEqual(await refused(path, body), [...bad, null, null], body.slice(0, 9));
  }
  const garbage = crypto.getRandomValues(new Uint8Array(300));
  assert.deepEqual(await refused(path, "", { body: garbage }), [...bad, null, null]);
  const packed = { body: "{}", headers: { "content-encoding": "gzip" } };
  assert.deepEqual(await refused(path, "", packed), [...bad, null, null]);
  // A text may be split into more tokens than the context has, though not answered.
  const long = { prompt: "x".repeat(2 ** 16) };
  assert.equal((await refused(path, long))[3], "context_length_exceeded");
  assert.ok((await ask("/tokenize", long)).count > 2 ** 10);
  const large = JSON.stringify({ prompt: "x".repeat(2 ** 20) });
  assert.equal((await refused(path, large))[0], 413);
  const prompts = [undefined, null, [], "", [[]], ["a", []], [-1], [96], [1.5], [["a"]], {}, 5];
  await refuses(server, path, {}, prompts.map((prompt): Mistake => [{ prompt }, "prompt"]));
  const over = [...bad, "prompt", "context_length_exceeded"];
  assert.deepEqual(await refused(path, { prompt: Array(256).fill(3) }), over);
  assert.deepEqual(await refused(path, { prompt: "word ".repeat(9000) }), over);
  await refuses(server, path, {}, [
    [{ prompt: Array(9).fill("a"), n: 16 }, "prompt"],
    [{ prompt: "a", suffix: "b" }, "suffix"],
  ]);
  const gone = [404, "not_found_error", "model", "model_not_found"];
  assert.deepEqual(await refused(path, { prompt: "a", model: "b/c" }), gone);
  const cut = await ask(path, { prompt: PROMPT, max_tokens: 10 ** 9, ignore_eos: true });
  assert.equal(cut.usage.total_tokens, 256);
  assert.equal(cut.choices[0].finish_reason, "length");
  assert.deepEqual(defects, []);
});

test.withServer("many texts in one request do not keep the others waiting", async ({ post, url, host }) => {
  const { tokenizer } = host.base.loaded, { encode } = tokenizer;
  let encoded = 0;
  tokenizer.encode = (...given) => {
    for (const end = performance.now() + 12; performance.now() < end;);
    encoded++;
    return encode.apply(tokenizer, given);
  };
  const asked = post("/v1/completions", { prompt: Array(32).fill("a"), max_tokens: 1 });
  await until(() => encoded > 0);
  const seen = new Set<number>();
  while (encoded < 32) {
    await (await fetch(`${url}/health`)).text();
    seen.add(encoded);
  }
  assert.ok(seen.size > 3, `${seen.size} answers came meanwhile`);
  assert.equal((await (await asked).json()).choices.length, 32);
});

test.withServer("a client that leaves frees its work at once", async (server) => {
  const { post, url } = server;
  for (const stream of [false, true]) {
    const control = new AbortController();
    const body = { ...LONG, n: 4, stream };
    const asked = post("/v1/completions", body, { signal: control.signal });
    if (stream) await (await asked).body!.getReader().read();
    else await until(async () => await metric(server, "rgx_running_completions") === 4);
    control.abort();
    await asked.catch(() => {});
    await until(async () => await metric(server, "rgx_running_completions") === 0);
  }
  // Half a request, then silence or an end; a connection that sends nothing.
  const head = "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n";
  await raw(url, `${head}{"prompt"`, true);
  await raw(url, "POST /v1/comp", true);
  await raw(url, "", true);
  assert.match(await raw(url, "garbage\r\n\r\n"), /^HTTP\/1\.1 400/);
  const { choices } = await server.ask("/v1/completions", { prompt: PROMPT, seed: 1 });
  assert.equal(choices.length, 1);
  assert.deepEqual(server.defects, []);
});

Deno.test("a slow body and a slow request are ended in their time", async () => {
  await withServer(async ({ url }) => {
    const head = "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n";
    assert.match(await raw(url, `${head}{"prompt"`), /^HTTP\/1\.1 408/);
  }, { body: { maxBytes: 1000, seconds: 0.05 } });
  await withServer(async (server) => {
    const response = await server.post("/v1/completions", { ...LONG, n: 16 });
    assert.equal(response.status, 408);
    assert.equal(response.headers.get("x-should-retry"), "false");
    assert.match((await response.json()).error.message, /took longer than/);
    assert.equal(await metric(server, "rgx_running_completions"), 0);
  }, { requestSeconds: 0.001 });
});

test.withServer("web pages of other origins and other machines' names get 403", async ({ url, post, folder, host, defects }) => {
  const adapter = { lora_name: "mine", lora_path: `${folder}/one` };
  for (const origin of ["http://evil.example", "null"]) {
    // A browser asks no permission for a text.
    const headers = { origin, "content-type": "text/plain" };
    for (
      const [path, body] of [
        ["/v1/load_lora_adapter", adapter],
        ["/v1/completions", { prompt: PROMPT }],
      ] as const
    ) {
      const refused = await post(path, body, { headers });
      assert.equal(refused.status, 403);
      const { error } = await refused.json();
      assert.equal(error.type, "permission_error");
      assert.match(error.message, /may not call this server: --cors ORIGIN lets them/);
      assert.equal(refused.headers.get("access-control-allow-origin"), null);
    }
    const health = await fetch(`${url}/health`, { headers });
    assert.equal(health.status, 403);
    await health.body?.cancel();
  }
  const rebound = "GET /v1/models HTTP/1.1\r\nhost: evil.example\r\n\r\n";
  assert.match(await raw(url, rebound), /^HTTP\/1\.1 403/);
  assert.equal(host.models.length, 1);
  const own = await post("/v1/completions", { prompt: PROMPT }, { headers: { origin: url } });
  assert.equal(own.status, 200, await own.text());
  assert.deepEqual(defects, []);
});

Deno.test("only the named origin may call from a browser", () =>
  withServer(async ({ url, post }) => {
    const options = await fetch(`${url}/v1/completions`, { method: "OPTIONS" });
    assert.equal(options.status, 204);
    assert.match(options.headers.get("access-control-allow-headers")!, /authorization/);
    // The client of OpenAI sends headers of its own.
    const asked = { "access-control-request-headers": "authorization,x-stainless-os" };
    const preflight = await fetch(`${url}/v1/completions`, { method: "OPTIONS", headers: asked });
    assert.equal(
      preflight.headers.get("access-control-allow-headers"),
      asked["access-control-request-headers"],
    );
    const headers = { authorization: "Bearer secret" };
    const response = await post("/v1/completions", { prompt: PROMPT, stream: true }, { headers });
    for (const { headers } of [options, response]) {
      assert.equal(headers.get("access-control-allow-origin"), "http://page");
    }
    await response.text();
    for (const [origin, status] of [["http://page", 200], ["http://other", 403]] as const) {
      const sent = { headers: { ...headers, origin } };
      const answer = await post("/v1/completions", { prompt: PROMPT, max_tokens: 1 }, sent);
      assert.equal(answer.status, status);
      await answer.body?.cancel();
    }
  }, { cors: "http://page", apiKey: "secret" }));

/** Lets generations begin only when the returned function is called. */
function hold({ host }: TestServer): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  const generate = host.generate.bind(host);
  host.generate = async (model, request) => {
    await promise;
    return await generate(model, request);
  };
  return resolve;
}

Deno.test("requests beyond the queue get 429, and the others their answers", () =>
  withServer(
    async (server) => {
      const { post, host } = server;
      assert.equal(host.slots, 2);
      const release = hold(server);
      const large = post("/v1/completions", { prompt: Array(8).fill(PROMPT), max_tokens: 9 });
      await until(async () => await metric(server, "rgx_waiting_requests") === 1);
      const small = post("/v1/completions", { prompt: PROMPT, max_tokens: 2 });
      await until(async () => await metric(server, "rgx_waiting_requests") === 2);
      const refused = await post("/v1/completions", { prompt: PROMPT, max_tokens: 2 });
      assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "1"]);
      assert.equal((await refused.json()).error.type, "rate_limit_error");
      release();
      assert.equal((await (await small).json()).choices.length, 1);
      assert.equal((await (await large).json()).choices.length, 8);
    },
    { maxWaiting: 2, host: { maxSequences: 2 } },
  ));

Deno.test("a stop finishes what runs, refuses what is new, and ends what takes too long", async () => {
  for (const [grace, status] of [[60, 200], [0, 503]] as const) {
    await withServer(async (server) => {
      const release = hold(server);
      const asked = server.post("/v1/completions", { prompt: PROMPT, max_tokens: 9, n: 4 });
      await until(async () => await metric(server, "rgx_running_completions") === 4);
      const stopping = server.stop(grace);
      if (grace > 0) {
        const late = await server.post("/v1/completions", { prompt: PROMPT });
        assert.equal(late.status, 503);
        assert.ok(late.headers.get("retry-after"));
        await late.body?.cancel();
      }
      release();
      const response = await asked;
      assert.equal(response.status, status);
      await response.json();
      await stopping;
      await assert.rejects(server.post("/v1/completions", { prompt: PROMPT }));
    });
  }
});

/** Values that fields may have, right and wrong. */
const VALUES = fc.oneof(
  fc.constantFrom(null, true, false, "", "a", "never", [], {}, [3], [[3, 5]], ["a", "b"], [[]]),
  fc.constantFrom(-1, 0, 1, 2, 0.5, 1e9, 2 ** 53, -0.1, 1e308, "1", [null], { "3": 5 }, [1, "a"]),
  fc.jsonValue({ maxDepth: 2 }),
);
const NAMES = ("model prompt messages max_tokens temperature top_p n echo logprobs stop seed " +
  "stream stream_options presence_penalty logit_bias suffix top_k min_p " +
  "repetition_penalty stop_token_ids ignore_eos prompt_logprobs min_tokens " +
  "top_logprobs max_completion_tokens response_format chat_template_kwargs tools " +
  "best_of prompt_id first_branch first_position answers logprobs_mode add_special_tokens " +
  "tokens lora_name lora_path lora_files skip_special_tokens return_token_ids " +
  "add_generation_prompt continue_final_message structured_outputs").split(" ");
const PATHS = [
  "/v1/completions",
  "/v1/chat/completions",
  "/tokenize",
  "/detokenize",
  "/v1/load_lora_adapter",
  "/v1/unload_lora_adapter",
];
const BODIES = fc.record({
  path: fc.constantFrom(...PATHS),
  right: fc.constantFrom({}, { prompt: "a", max_tokens: 2 }, { prompt: [[3, 4]], max_tokens: 1 }, {
    messages: [{ role: "user", content: "hi" }],
    max_tokens: 2,
  }),
  fields: fc.dictionary(fc.constantFrom(...NAMES), VALUES, { maxKeys: 4 }),
});
const FUZZ_RUNS = Number(Deno.env.get("RGX_FUZZ_BODIES") ?? 300);

test.withServer("any body is answered or refused, and others get their answers meanwhile", async ({ ask, post, defects }) => {
  const question = { prompt: PROMPT, max_tokens: 6, seed: 1 };
  const { choices: expected } = await ask("/v1/completions", question);
  let answered = 0;
  const one = async ({ path, right, fields }: Reply) => {
    const response = await post(path, { ...right, ...fields }), { status } = response;
    const text = await response.text();
    assert.ok(status === 200 || status === 400 || status === 404, `${status}: ${text}`);
    if (status === 200) answered++;
    else assert.equal(typeof JSON.parse(text).error.message, "string");
  };
  await fc.assert(
    fc.asyncProperty(fc.array(BODIES, { minLength: 8, maxLength: 8 }), async (some) => {
      const [own] = await Promise.all([ask("/v1/completions", question), ...some.map(one)]);
      assert.deepEqual((own as Reply).choices, expected);
    }),
    { numRuns: Math.ceil(FUZZ_RUNS / 8), seed: 1 },
  );
  assert.ok(answered > FUZZ_RUNS / 20, `${answered} were answered`);
  assert.deepEqual(defects, []);
});
