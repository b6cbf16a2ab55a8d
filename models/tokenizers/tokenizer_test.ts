import assert from "node:assert/strict";
import { refusal, test } from "../../core/testing.ts";
import { RgxError } from "../../core/errors.ts";
import { loadTokenizer, tokenizerFromFiles } from "./tokenizer.ts";
import { goldenPath } from "../../tests/golden.ts";

const shared = goldenPath("");

Deno.test("tinystories-656k: the ids and texts that its makers' tokenizer gives", async () => {
  const tokenizer = await loadTokenizer(`${shared}models/tinystories-656k`);
  const prompt = [1, 80, 147, 201, 282, 57];
  assert.deepEqual(tokenizer.encode("Once upon a time"), prompt);
  assert.deepEqual(
    tokenizer.encode("Once upon a time", { addSpecialTokens: false }),
    prompt.slice(1),
  );
  assert.equal(tokenizer.vocabSize, 2048);
  assert.equal(tokenizer.eosId, 2);
  assert.equal(tokenizer.padId, 0);
  const greedy = [313, 598, 303, 1049, 1468, 267, 628, 333, 94, 1210, 263, 251, 604];
  assert.equal(
    tokenizer.decode([...prompt, ...greedy], { skipSpecialTokens: true }),
    "Once upon a time, a little girl named Lily lived in a small house with her mom, dad, and her dog",
  );
  assert.equal(
    tokenizer.decode([...prompt, 2]),
    "<|start_story|> Once upon a time<|end_story|>",
  );
  // This model normalises its special tokens, which puts a blank before them.
  assert.deepEqual(tokenizer.encode("Hi <|end_story|>").slice(-1), [2]);
  assert.ok(tokenizer.encode("🙂").includes(0));
  assert.equal(tokenizer.tokenId("<|end_story|>"), 2);
  assert.equal(tokenizer.tokenId("no such token"), null);
  assert.equal(tokenizer.decode([]), "");
  assert.equal(tokenizer.decode([1, 2], { skipSpecialTokens: true }), "");
  assert.equal(tokenizer.decode([80, 99999]), tokenizer.decode([80]));
  assert.equal(tokenizer.applyChatTemplate([{ role: "user", content: "x" }]), null);
  assert.deepEqual([...tokenizer.files().keys()], [
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
  ]);
});

Deno.test("stories260k: ids, and unknown characters as bytes", async () => {
  const tokenizer = await loadTokenizer(`${shared}models/stories260k`);
  assert.deepEqual(tokenizer.encode("Once upon a time"), [1, 403, 407, 261, 378]);
  const text =
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. " +
    "One day, she saw a big, red ball. She wanted to play with it, but it was too high.";
  for (const sample of [text, "naïve 🙂 ក្រុម\n\ttab", "a"]) {
    const ids = tokenizer.encode(sample);
    assert.ok(ids.every((id) => id < tokenizer.vocabSize));
    assert.equal(tokenizer.decode(ids, { skipSpecialTokens: true }), sample);
  }
  const smile = tokenizer.encode("🙂", { addSpecialTokens: false });
  assert.deepEqual(
    smile.slice(-4),
    [0xf0, 0x9f, 0x99, 0x82].map((byte) => byte + 3),
  );
  // A character cut in half, as sampling may leave it, does not throw: a sign for each byte.
  assert.equal(tokenizer.decode(smile.slice(0, -2), { skipSpecialTokens: true }), "\ufffd\ufffd");
  assert.equal(tokenizer.encode("Hi</s>").at(-1), 2);
  assert.equal(tokenizer.eosId, 2);
  assert.equal(tokenizer.padId, null);
});

/** A tokenizer of the letters a and b, with parts replaced. */
function tinyFiles(config: Record<string, unknown> = {}, json: Record<string, unknown> = {}) {
  return new Map([
    [
      "tokenizer.json",
      JSON.stringify({
        added_tokens: [{ id: 2, content: "</s>", special: true }],
        decoder: { type: "Fuse" },
        model: { type: "BPE", vocab: { a: 0, b: 1, "</s>": 2 }, merges: [] },
        ...json,
      }),
    ],
    ["tokenizer_config.json", JSON.stringify(config)],
  ]);
}

Deno.test("special tokens come as text or as objects, from either file", () => {
  assert.equal(tokenizerFromFiles(tinyFiles({ eos_token: "</s>" }), "t").eosId, 2);
  assert.equal(tokenizerFromFiles(tinyFiles({ eos_token: { content: "</s>" } }), "t").eosId, 2);
  const files = tinyFiles().set("special_tokens_map.json", `{"eos_token": "</s>"}`);
  assert.equal(tokenizerFromFiles(files, "t").eosId, 2);
  assert.equal(tokenizerFromFiles(tinyFiles(), "t").eosId, null);
  const extra = tokenizerFromFiles(tinyFiles({ additional_special_tokens: ["b"] }), "t");
  assert.equal(extra.decode([0, 1, 2], { skipSpecialTokens: true }), "a");
  assert.equal(extra.decode([0, 1, 2]), "ab</s>");
});

Deno.test("a token with a role is special, even if it is only in the vocabulary", () => {
  const pieces = { type: "Unigram", vocab: [["a", 0], ["b", 0], ["</s>", 0]], unk_id: 0 };
  for (const change of [{}, { model: pieces }]) {
    const files = tinyFiles({ eos_token: "</s>" }, { added_tokens: [], ...change });
    const tokenizer = tokenizerFromFiles(files, "m");
    assert.deepEqual(tokenizer.encode("a</s>b", { addSpecialTokens: false }), [0, 2, 1]);
    assert.equal(tokenizer.decode([0, 2, 1], { skipSpecialTokens: true }), "ab");
  }
  // One that the vocabulary lacks has no row in a model.
  assert.equal(tokenizerFromFiles(tinyFiles({ mask_token: "<mask>" }), "m").vocabSize, 3);
});

Deno.test("chat templates: from the jinja file, the text in the configuration, or its list", () => {
  const template = "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}] {{ m.content }}\n" +
    "{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
  const chat = [{ role: "user", content: "2+2?" }];
  const expected = "</s>[user] 2+2?\n[assistant]";
  const config = { bos_token: "</s>", chat_template: template };
  assert.equal(tokenizerFromFiles(tinyFiles(config), "t").applyChatTemplate(chat), expected);
  const list = {
    ...config,
    chat_template: [{ name: "tool_use", template: "x" }, { name: "default", template }],
  };
  assert.equal(tokenizerFromFiles(tinyFiles(list), "t").applyChatTemplate(chat), expected);
  const files = tinyFiles(config).set("chat_template.jinja", "only {{ messages[0].content }}");
  assert.equal(tokenizerFromFiles(files, "t").applyChatTemplate(chat), "only 2+2?");

  const known = "{{ tools is none and documents is none }}|{{ sep_token }}";
  const asked = tinyFiles({ chat_template: known, sep_token: { content: "</s>" } });
  assert.equal(tokenizerFromFiles(asked, "t").applyChatTemplate(chat), "True|</s>");

  const lines = "{% if true %}\n{{ bos_token }}a\n{% endif %}\n{{ messages[0].content }}\n";
  for (const end of ["\n", "\r\n", "\r"]) {
    const written = tinyFiles(config).set("chat_template.jinja", lines.replaceAll("\n", end));
    assert.equal(tokenizerFromFiles(written, "t").applyChatTemplate(chat), "</s>a\n2+2?");
  }

  const refusing = tinyFiles({ chat_template: "{{ raise_exception('no system role here') }}" });
  assert.throws(
    () => tokenizerFromFiles(refusing, "m").applyChatTemplate([{ role: "system", content: "" }]),
    refusal(/m\/tokenizer_config\.json.*no system role here/),
  );
  assert.throws(
    () => tokenizerFromFiles(tinyFiles({ chat_template: "{% for %}" }), "m"),
    /the chat template cannot be parsed/,
  );
  assert.throws(
    () => tokenizerFromFiles(tinyFiles({ chat_template: [{ name: "rag", template: "" }] }), "m"),
    /lists "rag", expected one named "default"/,
  );
});

/** Files of a BPE with these merges. */
function merging(merges: unknown[]): Map<string, string> {
  return tinyFiles({}, { model: { type: "BPE", vocab: { a: 0, b: 1, ab: 2, "</s>": 3 }, merges } });
}

Deno.test("an unusable tokenizer is one clear error", async () => {
  const whole = tinyFiles().get("tokenizer.json")!;
  const cases: [Map<string, string>, RegExp][] = [
    [new Map([["tokenizer.json", whole.slice(0, 40)]]), /^m\/tokenizer\.json: not valid JSON/],
    [new Map([["tokenizer.json", "version https://git-lfs.github.com/spec/v1"]]), /not valid JSON/],
    [new Map([["tokenizer.json", "[]"]]), /expected a JSON object/],
    [new Map([["tokenizer.json", "{}"]]), /^m\/tokenizer\.json: no "model" in it/],
    [tinyFiles({}, { model: { type: "Odd" } }), /the model "Odd" is not supported/],
    [
      tinyFiles({}, { model: { type: "BPE", vocab: {} } }),
      /its model is a BPE, and its "merges" are missing, expected a list of pairs/,
    ],
    [merging(["ab"]), /merge 0 is "ab", expected a pair of tokens/],
    [merging([["a", "b", "a"]]), /merge 0 is \["a","b","a"\], expected a pair of tokens/],
    [merging(["a b", "a c"]), /merge 1 is "a c", but "c" is no token of its vocabulary/],
    [merging([["b", "a"]]), /merge 0 is \["b","a"\], but "ba" is no token of its vocabulary/],
    [tinyFiles({ eos_token: "<gone>" }), /the eos_token is "<gone>", which is not in/],
    [tinyFiles().set("tokenizer_config.json", "{"), /tokenizer_config\.json: not valid JSON/],
  ];
  for (const [files, message] of cases) {
    assert.throws(() => tokenizerFromFiles(files, "m"), (error) => {
      assert.ok(error instanceof RgxError);
      assert.match(error.message, message);
      assert.ok(error.advice);
      return true;
    });
  }
  const folder = await Deno.makeTempDir();
  await assert.rejects(loadTokenizer(folder), /no tokenizer: looked for tokenizer\.json/);
  await Deno.remove(folder);
  assert.throws(
    () =>
      tokenizerFromFiles(tinyFiles({}, { model: { type: "WordLevel", vocab: { a: 0 } } }), "m")
        .encode("zzz"),
    RgxError,
  );
});

test.inFolder("a mark that an editor put at the beginning of a file is no part of it", async (folder) => {
  const files = tinyFiles({ eos_token: "</s>" }).set("chat_template.jinja", "{{ eos_token }}");
  for (const [name, text] of files) {
    await Deno.writeTextFile(`${folder}/${name}`, `\uFEFF${text}`);
  }
  const tokenizer = await loadTokenizer(folder);
  assert.deepEqual([tokenizer.eosId, tokenizer.applyChatTemplate([])], [2, "</s>"]);
});
