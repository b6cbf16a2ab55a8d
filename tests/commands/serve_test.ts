/** `rgx serve` as a process: answers as `generate` and `logprobs` give them, signals, mistakes. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { assertClean, lines, rgx, root, spawnRgx } from "../support.ts";

const MODEL = new URL("tests/golden/models/tinystories-656k", root).pathname;

/** Starts a server, and ends it with `signal` after `work`. @returns its code and its messages */
async function serving(
  args: readonly string[],
  work: (url: string) => Promise<void>,
  signal: Deno.Signal = "SIGTERM",
) {
  const child = spawnRgx(["serve", MODEL, "--port", "0", "--threads", "1", ...args]);
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const errors = new Response(child.stderr).text();
  try {
    const { value } = await reader.read();
    assert.match(value ?? await errors, /^http:\/\/127\.0\.0\.1:\d+\/v1\n$/);
    await work(value!.trim());
  } finally {
    child.kill(signal);
    await reader.cancel();
  }
  return { code: (await child.status).code, err: await errors };
}

const post = async (url: string, body: unknown, headers: Record<string, string> = {}) =>
  await (await fetch(url, { method: "POST", body: JSON.stringify(body), headers })).json();

Deno.test("a served model says what generate and logprobs say", async () => {
  const prompt = "Once upon a time", flags = ["--model", MODEL, "--threads", "1", "--json"];
  const generate = async (...more: string[]) => {
    const { out } = await rgx(["generate", ...flags, "--prompt", prompt, ...more]);
    return JSON.parse(out);
  };
  const greedy = await generate("--max-new-tokens", "20", "--temperature", "0");
  const drawn = await generate("--max-new-tokens", "12", "--seed", "5", "--n", "2");
  const completion = " there was a little girl";
  const scored = JSON.parse(
    (await rgx(["logprobs", ...flags, "--prompt", prompt, "--completion", completion])).out,
  );
  const { code, err } = await serving([], async (url) => {
    const ask = (fields: object) => post(`${url}/completions`, { prompt, ...fields });
    const one = await ask({ max_tokens: 20, temperature: 0, logprobs: 0 });
    assert.equal(one.choices[0].text, greedy.completions[0].text);
    assert.deepEqual(one.choices[0].logprobs.token_logprobs, greedy.completions[0].logprobs);
    const two = await ask({ max_tokens: 12, seed: 5, n: 2 });
    assert.deepEqual(
      two.choices.map(({ text }: { text: string }) => text),
      drawn.completions.map(({ text }: { text: string }) => text),
    );
    const echo = { prompt: scored.ids, echo: true, logprobs: 1, max_tokens: 1, temperature: 0 };
    const { choices: [choice] } = await ask(echo);
    assert.deepEqual(choice.logprobs.token_logprobs.slice(0, -1), scored.logprobs);
  });
  assert.deepEqual([code, lines(err).length], [0, 2], err);
  assert.match(err, /tinystories-656k: \d+ tokens of context, \d+ completions at once, wasm/);
});

test.inFolder("the key comes from a file, and Ctrl-C ends the server with 0", async (folder) => {
  await Deno.writeTextFile(`${folder}/key`, "sesame\n");
  const flags = ["--api-key-file", `${folder}/key`, "--served-model-name", "mine"];
  const { code, err } = await serving(flags, async (url) => {
    assert.equal((await post(`${url}/completions`, {})).error.type, "authentication_error");
    const headers = { authorization: "Bearer sesame" };
    const { data } = await (await fetch(`${url}/models`, { headers })).json();
    assert.deepEqual([data[0].id, data[0].max_model_len], ["mine", 512]);
  }, "SIGINT");
  assert.equal(code, 0);
  assert.doesNotMatch(err, /sesame/);
});

test.inFolder("mistakes are told before anything is served", async (folder) => {
  await Deno.writeTextFile(`${folder}/key`, "two words\n");
  const cases: [string[], number, RegExp][] = [
    [[], 2, /name one model: rgx serve MODEL/],
    [[MODEL, "--model", MODEL], 2, /name one model/],
    [[`${folder}/none`], 2, /none/],
    [[MODEL, "--adapter", "mine"], 2, /expected NAME=FOLDER/],
    [[MODEL, "--adapter", `mine=${folder}`], 2, /adapter_config\.json/],
    [[MODEL, "--api-key-file", `${folder}/key`], 2, /expected one line, the key/],
    [[MODEL, "--api-key-file", `${folder}/none`], 2, /--api-key-file .*no such file/i],
    [[MODEL, "--max-model-len", "99999"], 2, /has only \d+ positions/],
    [[MODEL, "--allow-adapter-loading", `${folder}/none`], 2, /--allow-adapter-loading/],
    [[MODEL, "--host", "192.0.2.1"], 2, /192\.0\.2\.1:8000: cannot listen there/],
    [[MODEL, "--cors", "page.example"], 2, /--cors page\.example: expected an origin/],
    [[MODEL, "--cors", "http://page:80/"], 2, /For example --cors http:\/\/page\./],
    [[MODEL, "--port", "70000"], 2, /expected an integer from 0 to 65535/],
  ];
  for (const [args, code, message] of cases) {
    const result = await rgx(["serve", ...args]);
    assertClean(result);
    assert.match(result.err, message, args.join(" "));
    assert.equal(result.code, code, result.err);
  }
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const result = await rgx(["serve", MODEL, "--port", String(taken.addr.port)]);
  taken.close();
  assertClean(result);
  assert.match(result.err, /is in use/);
});
