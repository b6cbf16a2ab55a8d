/**
 * `rgx generate` and `rgx logprobs` on small models: their output, their flags, and what is
 * refused.
 */
import assert from "node:assert/strict";
import { test, withFolder } from "../../core/testing.ts";
import { readInput } from "../../cli/models/model_input.ts";
import { UsageError } from "../../core/errors.ts";
import { argv } from "../command_line.ts";
import { rgx } from "../support.ts";
import { goldenPath } from "../golden.ts";

const TINY = goldenPath("models/tinystories-656k");

Deno.test("greedy generation has the recorded tokens, on both devices", async () => {
  const expected = [313, 598, 303, 1049, 1468, 267, 628, 333, 94, 1210, 263, 251, 604];
  for (const device of ["wasm", "reference"]) {
    const { code, out, err } = await rgx(argv`generate --model ${TINY}
        --prompt ${"Once upon a time"} --temperature 0 --max-new-tokens 13 --device ${device}
        --json`);
    assert.equal(code, 0, err);
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
  const args = ["generate", "--model", TINY, "--prompt", "Once", "--n", "3", "--json"];
  const ids = async (...more: string[]) =>
    JSON.parse((await rgx([...args, "--max-new-tokens", "8", ...more])).out).completions
      .map((c: { ids: number[] }) => c.ids.join());
  const plain = ["generate", "--model", TINY, "--prompt", "Once", "--max-new-tokens", "4"];
  const quiet = await rgx([...plain, "--quiet"]);
  assert.deepEqual([quiet.code, quiet.err, quiet.out.trim() !== ""], [0, "", true]);
  assert.match((await rgx(plain)).err, /tokens at \d+\/s/);
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
  const json = await rgx([...base, "--json-schema", path, "--compute-dtype", "bfloat16"]);
  assert.equal(json.code, 0, json.err);
  const { n, s } = JSON.parse(json.out);
  assert.ok(n <= 9 && ["cat", "dog"].includes(s), json.out);
  const matching = await rgx([...base, "--regex", "(la ){2,3}end"]);
  assert.match(matching.out, /^(la ){2,3}end\n$/);
  const unknown = await rgx([...generate(TINY), "--json-schema", path]);
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /a character of which the model's vocabulary has no token: \{/);
  const cases: [string[], RegExp][] = [
    [["--regex", "(?<=a)b"], /--regex: .* a lookbehind, which is not supported/],
    [["--json-schema", `${folder}/none`], /cannot read .*none/],
    [["--json-schema", path, "--regex", "a"], /exclude each other/],
    [["--regex", "a", "--min-new-tokens", "2"], /a form has an end/],
  ];
  for (const [args, message] of cases) {
    const { code, err } = await rgx([...base, ...args]);
    assert.equal(code, 2);
    assert.match(err, message);
  }
});

Deno.test("a prompt and its completion have the tokens of one text", async () => {
  const ask = async (prompt: string, completion: string) => {
    const { code, out, err } = await rgx(argv`logprobs --model ${TINY} --prompt ${prompt}
      --completion ${completion} --json`);
    assert.equal(code, 0, err);
    return JSON.parse(out).ids;
  };
  assert.deepEqual(await ask("Once upon", " a time"), [1, 80, 147, 201, 189, 111, 104, 230, 57]);
  // A model that goes on from "Once" has read its last letters as one token; " upon" has one space.
  assert.deepEqual(await ask("Once", ""), [1, 80, 147, 682]);
  assert.deepEqual(await ask("Once", " upon"), [1, 80, 147, 682, 80, 189, 111]);
});

Deno.test("logprobs agree with those of generation, and the top tokens with recorded logits", async () => {
  const prompt = [1, 80, 147, 201, 282, 57];
  const generated = JSON.parse(
    (await rgx(argv`generate --model ${TINY} --prompt ${"Once upon a time"} --seed 5 --json
        --max-new-tokens 6`)).out,
  ).completions[0];
  await withFolder(async (folder) => {
    const file = `${folder}/ids.json`;
    const ids = [...prompt, ...generated.ids];
    await Deno.writeTextFile(file, JSON.stringify(ids));
    const { code, out, err } = await rgx(
      ["logprobs", "--model", TINY, "--ids-file", file, "--top", "5", "--json"],
    );
    assert.equal(code, 0, err);
    const result = JSON.parse(out);
    assert.deepEqual(result.ids, ids);
    assert.equal(result.logprobs[0], null);
    assert.equal(result.top[0], null);
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
});

Deno.test("stop strings, a min length and a repetition penalty work from the command line", async () => {
  const run = async (...more: string[]) => {
    const { code, out, err } = await rgx(argv`generate --model ${TINY}
        --prompt ${"Once upon a time"} --temperature 0 --max-new-tokens 60 --json ${more}`);
    assert.equal(code, 0, err);
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

Deno.test({
  name: "a byte order mark at the beginning of a file of prompts or ids is not text",
  fn: () =>
    withFolder(async (dir) => {
      const ids = async (name: string, flag: string, text: string) => {
        await Deno.writeTextFile(`${dir}/${name}`, text);
        const args = ["--model", TINY, flag, `${dir}/${name}`, "--max-new-tokens", "1", "--json"];
        const { code, out, err } = await rgx(["generate", ...args]);
        assert.equal(code, 0, err);
        return JSON.parse(out).prompt_ids;
      };
      const plain = await ids("plain.txt", "--file", "Once upon\r\n");
      assert.deepEqual(await ids("märk 图.txt", "--file", "\uFEFFOnce upon\r\n"), plain);
      assert.deepEqual(await ids("ids.json", "--ids-file", "\uFEFF[1, 5, 9]\r\n"), [1, 5, 9]);
      const piped = await rgx(
        ["generate", "--model", TINY, "--max-new-tokens", "1", "--json", "-"],
        "\uFEFFOnce upon\r\n",
      );
      assert.deepEqual(JSON.parse(piped.out).prompt_ids, plain);
      const wide = Uint8Array.of(0xff, 0xfe, 0x4f, 0, 0x6e, 0);
      await Deno.writeFile(`${dir}/wide.txt`, wide);
      await assert.rejects(readInput(`${dir}/wide.txt`), (error) => {
        assert.ok(error instanceof UsageError);
        return /wide\.txt: not UTF-8 text/.test(error.message) && /UTF-16/.test(error.advice!);
      });
    }),
});

Deno.test({
  name: "a model without a tokenizer reads and prints ids",
  fn: () =>
    withFolder(async (dir) => {
      const model = goldenPath("tiny-models/qwen3");
      const golden = JSON.parse(await Deno.readTextFile(`${model}/expected.json`));
      const file = `${dir}/ids.json`, prompt: number[] = golden.input_ids[0];
      await Deno.writeTextFile(file, JSON.stringify(prompt));
      const ask = async (command: string, ...more: string[]) =>
        await rgx([command, "--model", model, "--ids-file", file, ...more]);
      const greedy = ["--temperature", "0", "--max-new-tokens", "16", "--ignore-eos"];
      const [one] = JSON.parse((await ask("generate", ...greedy, "--json")).out).completions;
      assert.deepEqual([one.ids, one.text], [golden.greedy[0], null]);
      assert.equal((await ask("generate", ...greedy)).out.trim(), JSON.stringify(one.ids));
      const { logprobs } = JSON.parse((await ask("logprobs", "--json")).out);
      assert.equal(logprobs.length, prompt.length);
      const table = (await ask("logprobs", "--top", "1")).out;
      assert.ok(table.includes(`#${prompt[0]}`), table);
      const { code, err } = await rgx(["generate", "--model", model, "--prompt", "x"]);
      assert.equal(code, 2);
      assert.match(err, /no tokenizer: looked for tokenizer\.json\nhelp: .*tokenizer\.model/);
      assert.match((await ask("generate", "--stop", "x")).err, /--stop: .* has no tokenizer/);
    }),
});

Deno.test("generate and logprobs refuse wrong arguments with exit code 2", async () => {
  const cases: [string[], RegExp][] = [
    [["generate", "--model", "no/such", "--prompt", "x"], /no\/such/],
    [["generate", "--prompt", "x"], /name one model: rgx generate MODEL/],
    [["generate", "--model", TINY, "--prompt", "x", "--top-p", "2"], /number above 0, up to 1/],
    [["generate", "--model", TINY, "--prompt", "x", "--top-p", "0"], /number above 0, up to 1/],
    [["generate", "--model", TINY, "--prompt", "x", "--min-p", "2"], /number from 0 to 1/],
    [["generate", "--model", TINY, "--prompt", "x", "--chat"], /chat template/],
    [
      ["generate", "--model", TINY, "--prompt", "x", "--chat-template-kwargs", "{}"],
      /--chat-template-kwargs needs --chat/,
    ],
    [
      ["generate", "--model", TINY, "--prompt", "x", "--chat", "--chat-template-kwargs", "[1]"],
      /expected an object as JSON/,
    ],
    [["generate", "--model", TINY, "--prompt", "x", "--activations", "int4"], /float32, int8/],
    [
      argv`generate --model ${TINY} --prompt x --min-new-tokens 9 --max-new-tokens 8`,
      /--min-new-tokens 9 is more than --max-new-tokens 8/,
    ],
    [["generate", "--model", TINY, "--prompt", "x", "--ids-file", "y"], /one of --prompt/],
    [["generate", "--model", TINY, "--prompt", "x", "--adapter", "no"], /no: no adapter/],
    [["generate", "--model", TINY, "Once"], /"Once": a prompt is given by --prompt or --file/],
    [["generate", "--model", TINY, "--prompt", "x", "--n", "5000"], /from 1 to 4096/],
    [["logprobs", "--model", TINY], /--ids-file/],
    [["logprobs", "--model", TINY, "--ids-file", "no.json"], /no\.json/],
  ];
  for (const [args, message] of cases) {
    const { code, err, out } = await rgx(args);
    assert.equal(code, 2, `${args.join(" ")}: ${err}`);
    assert.match(err, message);
    assert.equal(out, "");
  }
});

Deno.test({
  name: "several adapters generate one after the other, each as it does alone",
  fn: () =>
    withFolder(async (folder) => {
      const golden = goldenPath("trl-step/adapter");
      const ours = `${folder}/stronger`;
      await Deno.mkdir(ours);
      await Deno.copyFile(
        `${golden}/adapter_model.safetensors`,
        `${ours}/adapter_model.safetensors`,
      );
      const config = JSON.parse(await Deno.readTextFile(`${golden}/adapter_config.json`));
      const stronger = { ...config, lora_alpha: 40 * config.lora_alpha };
      await Deno.writeTextFile(`${ours}/adapter_config.json`, JSON.stringify(stronger));
      const ask = async (command: string[], ...adapters: string[]) => {
        const given = adapters.flatMap((adapter) => ["--adapter", adapter]);
        const { code, out, err } = await rgx(
          [...command, "--model", TINY, "--prompt", "Once upon", ...given, "--device", "wasm"],
        );
        assert.equal(code, 0, err);
        return out;
      };
      const greedy = ["generate", "--temperature", "0", "--max-new-tokens", "8"];
      const scored = ["logprobs", "--completion", " a time"];
      for (const command of [greedy, scored]) {
        const alone = [await ask(command, golden), await ask(command, ours)];
        assert.notEqual(alone[0], alone[1], "the adapters differ");
        assert.equal(
          await ask(command, golden, ours),
          `# ${golden}\n${alone[0]}# ${ours}\n${alone[1]}`,
        );
        const lines = (await ask([...command, "--json"], golden, ours)).trimEnd().split("\n");
        assert.deepEqual(lines.map((line) => JSON.parse(line).adapter), [golden, ours]);
      }
      assert.equal(JSON.parse(await ask([...scored, "--json"], golden)).adapter, undefined);
    }),
});

Deno.test("a note says that a text was cut off because it filled the model's positions", async () => {
  const run = (tokens: string) =>
    rgx(argv`generate --model ${TINY} --prompt Once --ignore-eos --max-new-tokens ${tokens}`);
  assert.match((await run("5000")).err, /note: cut off where the model's \d+ positions are full/);
  assert.doesNotMatch((await run("5")).err, /note/);
});

Deno.test("a prompt that fills the model's positions is refused with what helps", async () => {
  const prompt = "Once upon a time. ".repeat(400);
  const { code, err } = await rgx(["generate", "--model", TINY, "--prompt", prompt]);
  assert.equal(code, 2);
  assert.match(err, /error: the prompt has \d+ tokens, and the model 512 positions, of which an/);
  assert.match(err, /help: Shorten the prompt, or stretch the model: rope_scaling/);
});

Deno.test("a model generates with weights that are narrowed or quantised while it is loaded", async () => {
  const run = (...flags: string[]) =>
    rgx(argv`generate --model ${TINY} --device wasm --prompt ${"Once upon a time"} --temperature 0
        --max-new-tokens 12 ${flags}`);
  const plain = await run(), halves = await run("--dtype", "bfloat16");
  assert.equal(plain.code, 0, plain.err);
  assert.equal(halves.out, plain.out, "the file's values are halves");
  const eight = await run("--load-in-8bit");
  assert.equal(eight.code, 0, eight.err);
  assert.ok(eight.out.length > 10);
  const both = await run("--load-in-8bit", "--load-in-4bit");
  assert.equal(both.code, 2);
  assert.match(both.err, /at most one/);
});

test.inFolder("values for the chat template reach it; one that it does not read is refused", async (folder) => {
  for await (const { name } of Deno.readDir(TINY)) {
    await Deno.copyFile(`${TINY}/${name}`, `${folder}/${name}`);
  }
  const template = "{{ messages[0].content }}{% if loud %} time{% endif %}";
  await Deno.writeTextFile(`${folder}/chat_template.jinja`, template);
  const prompt = (values: string) =>
    rgx(argv`generate --model ${folder} --chat --prompt ${"Once upon a"} --json --max-new-tokens 1
        --chat-template-kwargs ${values}`);
  const idsOf = async (values: string) => JSON.parse((await prompt(values)).out).prompt_ids;
  // "Once upon a time" without the token at the beginning, which templates write themselves.
  assert.deepEqual(await idsOf('{"loud": true}'), [80, 147, 201, 282, 57]);
  assert.notDeepEqual(await idsOf("{}"), [80, 147, 201, 282, 57]);
  const { code, err } = await prompt('{"lout": true}');
  assert.equal(code, 2);
  assert.match(err, /--chat-template-kwargs\.lout: .*did you mean loud/);
});
