/**
 * `rgx generate` and `rgx logprobs` on small models: their output, their flags, and what is
 * refused.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { argv } from "../command_line.ts";
import { copyFiles, jsonLines, refuses, rgx, succeeds } from "../support.ts";
import { goldenPath } from "../golden.ts";

const TINY = goldenPath("models/tinystories-656k");

Deno.test("greedy generation has the recorded tokens, on both devices", async () => {
  const expected = [313, 598, 303, 1049, 1468, 267, 628, 333, 94, 1210, 263, 251, 604];
  for (const device of ["wasm", "reference"]) {
    const { out } = await succeeds(argv`generate --model ${TINY}
        --prompt ${"Once upon a time"} --temperature 0 --max-new-tokens 13 --device ${device}
        --json`);
    const result = JSON.parse(out);
    assert.deepEqual(result.prompt_ids, [1, 80, 147, 201, 282, 57]);
    assert.deepEqual(result.completions[0].ids, expected);
    assert.ok(result.completions[0].text.startsWith(", a little girl named Lily"));
    assert.equal(result.completions[0].finish_reason, "length");
    assert.equal(result.completions[0].logprobs.length, 13);
    assert.ok(result.tokens_per_second.prefill > 0 && result.tokens_per_second.decode > 0);
  }
});

Deno.test("sampled completions depend on the seed only, and n of them differ", async () => {
  const args = argv`generate --model ${TINY} --prompt Once`;
  const ids = async (...more: string[]) =>
    JSON.parse((await succeeds(argv`${args} --n 3 --json --max-new-tokens 8 ${more}`)).out)
      .completions.map((c: { ids: number[] }) => c.ids.join());
  const quiet = await succeeds(argv`${args} --max-new-tokens 4 --quiet`);
  assert.deepEqual([quiet.err, quiet.out.trim() !== ""], ["", true]);
  assert.match((await rgx(argv`${args} --max-new-tokens 4`)).err, /tokens at \d+\/s/);
  const first = await ids("--seed", "1");
  assert.deepEqual(await ids("--seed", "1", "--threads", "1"), first);
  assert.notDeepEqual(await ids("--seed", "2"), first);
  assert.equal(new Set(first).size, 3);
});

test.inFolder("texts are held to a JSON schema or a pattern, and products may be in bfloat16", async (folder) => {
  const path = `${folder}/schema.json`, required = ["n", "s"];
  const properties = { n: { type: "integer", maximum: 9 }, s: { enum: ["cat", "dog"] } };
  await Deno.writeTextFile(path, JSON.stringify({ type: "object", properties, required }));
  const generate = (model: string) =>
    argv`generate --model ${model} --prompt Once --max-new-tokens 60`;
  const base = generate(goldenPath("models/stories260k"));
  const json = await succeeds([...base, "--json-schema", path, "--compute-dtype", "bfloat16"]);
  const { n, s } = JSON.parse(json.out);
  assert.ok(n <= 9 && ["cat", "dog"].includes(s), json.out);
  const matching = await rgx([...base, "--regex", "(la ){2,3}end"]);
  assert.match(matching.out, /^(la ){2,3}end\n$/);
  const noToken = /a character of which the model's vocabulary has no token: \{/;
  await refuses([[[...generate(TINY), "--json-schema", path], noToken]], { code: 1 });
  await refuses([
    [["--regex", "(?<=a)b"], /--regex: .* a lookbehind, which is not supported/],
    [["--json-schema", `${folder}/none`], /cannot read .*none/],
    [["--json-schema", path, "--regex", "a"], /exclude each other/],
    [["--regex", "a", "--min-new-tokens", "2"], /a form has an end/],
  ], { before: base });
});

Deno.test("a prompt and its completion have the tokens of one text", async () => {
  const ask = async (prompt: string, completion: string) => {
    const { out } = await succeeds(argv`logprobs --model ${TINY} --prompt ${prompt}
      --completion ${completion} --json`);
    return JSON.parse(out).ids;
  };
  assert.deepEqual(await ask("Once upon", " a time"), [1, 80, 147, 201, 189, 111, 104, 230, 57]);
  // A model that goes on from "Once" has read its last letters as one token; " upon" has one space.
  assert.deepEqual(await ask("Once", ""), [1, 80, 147, 682]);
  assert.deepEqual(await ask("Once", " upon"), [1, 80, 147, 682, 80, 189, 111]);
});

test.inFolder("logprobs agree with those of generation, and the top tokens with recorded logits", async (folder) => {
  const prompt = [1, 80, 147, 201, 282, 57], file = `${folder}/ids.json`;
  const { out } = await succeeds(argv`generate --model ${TINY} --prompt ${"Once upon a time"}
      --seed 5 --json --max-new-tokens 6`);
  const [generated] = JSON.parse(out).completions, ids = [...prompt, ...generated.ids];
  await Deno.writeTextFile(file, JSON.stringify(ids));
  const scored = await succeeds(argv`logprobs --model ${TINY} --ids-file ${file} --top 5 --json`);
  const result = JSON.parse(scored.out);
  assert.deepEqual(result.ids, ids);
  assert.deepEqual([result.logprobs[0], result.top[0]], [null, null]);
  assert.equal(result.logprobs.length, ids.length);
  generated.logprobs.forEach((logp: number, i: number) =>
    assert.ok(Math.abs(logp - result.logprobs[prompt.length + i]) < 3e-5, `token ${i}`)
  );
  // The recorded logits of the first five: 17.3808, 13.7726, 13.7435, 12.6918, 11.3585.
  const top = result.top[prompt.length] as { id: number; logprob: number }[];
  assert.deepEqual(top.map(({ id }) => id), [313, 8, 1773, 404, 547]);
  assert.ok(Math.abs(top[0]!.logprob - top[1]!.logprob - (17.3808 - 13.7726)) < 2e-4);
  assert.equal(result.next_top.length, 5);
});

Deno.test("stop strings, a min length and a repetition penalty work from the command line", async () => {
  const run = async (...more: string[]) => {
    const { out } = await succeeds(argv`generate --model ${TINY}
        --prompt ${"Once upon a time"} --temperature 0 --max-new-tokens 60 --json ${more}`);
    return JSON.parse(out).completions[0];
  };
  const plain = await run();
  // "Lily" spans several tokens, and is in the text before "play".
  const stopped = await run("--stop", "play", "--stop", "Lily");
  assert.equal(stopped.finish_reason, "stop");
  assert.match(stopped.text, /^[^]*Lily\w*\W?$/);
  assert.deepEqual(stopped.ids, plain.ids.slice(0, stopped.ids.length));
  assert.ok(!stopped.text.slice(0, -3).includes("Lily"), "it ends with the first");
  const late = await run("--stop", "Lily", "--min-new-tokens", "20");
  assert.ok(late.ids.length > 20, "not before the min length");
  const fixed = await run("--stop", "Lily", "--min-new-tokens", "60");
  assert.deepEqual([fixed.ids.length, fixed.finish_reason], [60, "length"]);
  const varied = await run("--repetition-penalty", "1.5");
  const distinct = (ids: number[]) => new Set(ids).size / ids.length;
  assert.ok(distinct(varied.ids) > distinct(plain.ids));
});

test.inFolder("a byte order mark at the beginning of a file of prompts or ids is not text", async (dir) => {
  const args = argv`generate --model ${TINY} --max-new-tokens 1 --json`;
  const ids = async (name: string, flag: string, text: string) => {
    await Deno.writeTextFile(`${dir}/${name}`, text);
    return JSON.parse((await succeeds([...args, flag, `${dir}/${name}`])).out).prompt_ids;
  };
  const plain = await ids("plain.txt", "--file", "Once upon\r\n");
  assert.deepEqual(await ids("märk 图.txt", "--file", "\uFEFFOnce upon\r\n"), plain);
  assert.deepEqual(await ids("ids.json", "--ids-file", "\uFEFF[1, 5, 9]\r\n"), [1, 5, 9]);
  const piped = await succeeds([...args, "-"], { input: "\uFEFFOnce upon\r\n" });
  assert.deepEqual(JSON.parse(piped.out).prompt_ids, plain);
  await Deno.writeFile(`${dir}/wide.txt`, Uint8Array.of(0xff, 0xfe, 0x4f, 0, 0x6e, 0));
  await refuses([[[...args, "--file", `${dir}/wide.txt`], /wide\.txt: not UTF-8 text/, "UTF-16"]]);
});

test.inFolder("a model without a tokenizer reads and prints ids", async (dir) => {
  const model = goldenPath("tiny-models/qwen3"), file = `${dir}/ids.json`;
  const golden = JSON.parse(await Deno.readTextFile(`${model}/expected.json`));
  const prompt: number[] = golden.input_ids[0];
  await Deno.writeTextFile(file, JSON.stringify(prompt));
  const ask = async (command: string, ...more: string[]) =>
    (await succeeds(argv`${command} --model ${model} --ids-file ${file} ${more}`)).out;
  const greedy = argv`--temperature 0 --max-new-tokens 16 --ignore-eos`;
  const [one] = JSON.parse(await ask("generate", ...greedy, "--json")).completions;
  assert.deepEqual([one.ids, one.text], [golden.greedy[0], null]);
  assert.equal((await ask("generate", ...greedy)).trim(), JSON.stringify(one.ids));
  assert.equal(JSON.parse(await ask("logprobs", "--json")).logprobs.length, prompt.length);
  const table = await ask("logprobs", "--top", "1");
  assert.ok(table.includes(`#${prompt[0]}`), table);
  await refuses([
    [["--prompt", "x"], /no tokenizer: looked for tokenizer\.json\nhelp: .*tokenizer\.model/],
    [["--ids-file", file, "--stop", "x"], /--stop: .* has no tokenizer/],
  ], { before: ["generate", "--model", model] });
});

Deno.test("generate and logprobs refuse wrong arguments with exit code 2", async () => {
  await refuses([
    [["--top-p", "2"], /number above 0, up to 1/],
    [["--top-p", "0"], /number above 0, up to 1/],
    [["--min-p", "2"], /number from 0 to 1/],
    [["--chat"], /chat template/],
    [["--chat-template-kwargs", "{}"], /--chat-template-kwargs needs --chat/],
    [["--chat", "--chat-template-kwargs", "[1]"], /expected an object as JSON/],
    [["--activations", "int4"], /float32, int8/],
    [["--kv-cache-dtype", "fp8"], /float32, bfloat16/],
    [
      argv`--min-new-tokens 9 --max-new-tokens 8`,
      /--min-new-tokens 9 is more than --max-new-tokens 8/,
    ],
    [["--ids-file", "y"], /one of --prompt/],
    [["--adapter", "no"], /no: no adapter/],
    [["--n", "5000"], /from 1 to 4096/],
    [["--load-in-8bit", "--load-in-4bit"], /at most one/],
  ], { before: argv`generate --model ${TINY} --prompt x` });
  await refuses([
    [["generate", "--model", "no/such", "--prompt", "x"], /no\/such/],
    [["generate", "--prompt", "x"], /name one model: rgx generate MODEL/],
    [["generate", "--model", TINY, "Once"], /"Once": a prompt is given by --prompt or --file/],
    [["logprobs", "--model", TINY], /--ids-file/],
    [["logprobs", "--model", TINY, "--ids-file", "no.json"], /no\.json/],
    [
      argv`generate --model ${TINY} --prompt ${"Once upon a time. ".repeat(400)}`,
      /error: the prompt has \d+ tokens, and the model 512 positions, of which an/,
      /help: Shorten the prompt, or stretch the model: rope_scaling/,
    ],
  ]);
});

test.inFolder("several adapters generate one after the other, each as it does alone", async (folder) => {
  const golden = goldenPath("trl-step/adapter"), ours = `${folder}/stronger`;
  await Deno.mkdir(ours);
  const [weights, json] = ["adapter_model.safetensors", "adapter_config.json"] as const;
  await Deno.copyFile(`${golden}/${weights}`, `${ours}/${weights}`);
  const config = JSON.parse(await Deno.readTextFile(`${golden}/${json}`));
  config.lora_alpha *= 40;
  await Deno.writeTextFile(`${ours}/${json}`, JSON.stringify(config));
  const ask = async (command: string[], ...adapters: string[]) => {
    const given = adapters.flatMap((adapter) => ["--adapter", adapter]);
    return (await succeeds(argv`${command} --model ${TINY} --prompt ${"Once upon"} ${given}
      --device wasm`)).out;
  };
  const greedy = argv`generate --temperature 0 --max-new-tokens 8`;
  const scored = argv`logprobs --completion ${" a time"}`;
  for (const command of [greedy, scored]) {
    const alone = [await ask(command, golden), await ask(command, ours)];
    assert.notEqual(alone[0], alone[1], "the adapters differ");
    const both = await ask(command, golden, ours);
    assert.equal(both, `# ${golden}\n${alone[0]}# ${ours}\n${alone[1]}`);
    const rows = jsonLines(await ask([...command, "--json"], golden, ours));
    assert.deepEqual(rows.map(({ adapter }) => adapter), [golden, ours]);
  }
  assert.equal(JSON.parse(await ask([...scored, "--json"], golden)).adapter, undefined);
});

Deno.test("a note says that a text was cut off because it filled the model's positions", async () => {
  const run = (tokens: string) =>
    rgx(argv`generate --model ${TINY} --prompt Once --ignore-eos --max-new-tokens ${tokens}`);
  assert.match((await run("5000")).err, /note: cut off where the model's \d+ positions are full/);
  assert.doesNotMatch((await run("5")).err, /note/);
});

Deno.test("a model generates with weights that are narrowed or quantised while it is loaded", async () => {
  const said = async (...flags: string[]) =>
    (await succeeds(argv`generate --model ${TINY} --device wasm --prompt ${"Once upon a time"}
      --temperature 0 --max-new-tokens 12 ${flags}`)).out;
  const plain = await said();
  assert.equal(await said("--dtype", "bfloat16"), plain, "the file's values are halves");
  assert.ok((await said("--load-in-8bit")).length > 10);
});

test.inFolder("values for the chat template reach it; one that it does not read is refused", async (folder) => {
  await copyFiles(TINY, folder);
  const template = "{{ messages[0].content }}{% if loud %} time{% endif %}";
  await Deno.writeTextFile(`${folder}/chat_template.jinja`, template);
  const prompt = (values: string) =>
    rgx(argv`generate --model ${folder} --chat --prompt ${"Once upon a"} --json --max-new-tokens 1
        --chat-template-kwargs ${values}`);
  const idsOf = async (values: string) => JSON.parse((await prompt(values)).out).prompt_ids;
  // "Once upon a time" without the token at the beginning, which templates write themselves.
  assert.deepEqual(await idsOf('{"loud": true}'), [80, 147, 201, 282, 57]);
  assert.notDeepEqual(await idsOf("{}"), [80, 147, 201, 282, 57]);
  const wrong = await prompt('{"lout": true}');
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /--chat-template-kwargs\.lout: .*did you mean loud/);
});
