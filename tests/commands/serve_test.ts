/** `rgx serve` as a process: answers as `generate` and `logprobs` give them, signals, mistakes. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { lines, refuses, rgx, root, serveRgx } from "../support.ts";

const MODEL = new URL("tests/golden/models/tinystories-656k", root).pathname;

/** Starts a server, and ends it with `signal` after `work`. @returns its code and its messages */
async function serving(
  args: readonly string[],
  work: (url: string) => Promise<void>,
  signal?: Deno.Signal,
) {
  const server = await serveRgx(argv`serve ${MODEL} --port 0 --threads 1 ${args}`);
  try {
    assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    await work(server.url);
  } catch (error) {
    await server.end();
    throw error;
  }
  return await server.end(signal);
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
  const asked = argv`logprobs ${flags} --prompt ${prompt} --completion ${completion}`;
  const scored = JSON.parse((await rgx(asked)).out);
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
  await refuses([
    [[], /name one model: rgx serve MODEL/],
    [[MODEL, "--model", MODEL], /name one model/],
    [[`${folder}/none`], /none/],
    [[MODEL, "--adapter", "mine"], /expected NAME=FOLDER/],
    [[MODEL, "--adapter", `mine=${folder}`], /adapter_config\.json/],
    [[MODEL, "--api-key-file", `${folder}/key`], /expected one line, the key/],
    [[MODEL, "--api-key-file", `${folder}/none`], /--api-key-file .*no such file/i],
    [[MODEL, "--max-model-len", "99999"], /has only \d+ positions/],
    [[MODEL, "--allow-adapter-loading", `${folder}/none`], /--allow-adapter-loading/],
    [[MODEL, "--host", "192.0.2.1"], /192\.0\.2\.1:8000: cannot listen there/],
    [[MODEL, "--cors", "page.example"], /--cors page\.example: expected an origin/],
    [[MODEL, "--cors", "http://page:80/"], /For example --cors http:\/\/page\./],
    [[MODEL, "--port", "70000"], /expected an integer from 0 to 65535/],
  ], { before: ["serve"] });
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const args = ["serve", MODEL, "--port", String(taken.addr.port)];
  await refuses([[args, "is in use"]], { code: 1 });
  taken.close();
});
