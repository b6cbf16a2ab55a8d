/** Names of repositories, settings from the environment, patterns, and unsafe file names. */
import assert from "node:assert/strict";
import { test } from "../core/testing.ts";
import { isBlobName, shown, whyUnsafe } from "./file_names.ts";
import { wantedFiles } from "./choose_files.ts";
import { matcher } from "./file_patterns.ts";
import { isRepositoryName, isRevision, parseNamed } from "./repository.ts";
import { hubCache, hubSettings } from "./settings.ts";

const environment = (values: Record<string, string>) => (name: string) => values[name];

Deno.test("the forms in which a user may name a repository", () => {
  const cases: [string, string | null][] = [
    ["org/name", "model org/name null null"],
    ["gpt2", "model gpt2 null null"],
    ["org/name@v1.0", "model org/name v1.0 null"],
    ["org/name@refs/pr/1", "model org/name refs/pr/1 null"],
    ["datasets/org/name", "dataset org/name null null"],
    ["hf://org/name", "model org/name null null"],
    ["hf://datasets/org/name@v1/main/train-*.parquet", "dataset org/name v1 main/train-*.parquet"],
    ["hf://datasets/org/name@refs%2Fpr%2F1/a.jsonl", "dataset org/name refs/pr/1 a.jsonl"],
    ["https://huggingface.co/org/name", "model org/name null null"],
    ["https://huggingface.co/gpt2/", "model gpt2 null null"],
    ["https://huggingface.co/datasets/org/name/tree/main/a", "dataset org/name main a"],
    ["https://hub/org/name/blob/main/a%20b.gguf?download=true", "model org/name main a b.gguf"],
    ["https://hub/org/name/resolve/refs%2Fpr%2F1/x.json", "model org/name refs/pr/1 x.json"],
    ...["", "a/b/c", "../a", "a/..", "-a/b", "a/.b", "a--b/c", "a/b.git", "a b", "/a/b", "a/b@"]
      .map((name): [string, null] => [name, null]),
    ...["a/b@../x", "a/b@x y", "a/b@/x", "hf://a", "https://hub/", "file:///a/b", "ü/b"]
      .map((name): [string, null] => [name, null]),
  ];
  for (const [text, wanted] of cases) {
    const found = parseNamed(text, "model");
    const { repository, revision, path } = found ?? {};
    assert.equal(
      found === null ? null : `${repository!.kind} ${repository!.name} ${revision} ${path}`,
      wanted,
      text,
    );
  }
  assert.ok(isRepositoryName("HuggingFaceTB/SmolLM2-135M-Instruct"));
  assert.ok(!isRepositoryName("a".repeat(97)));
  assert.ok(!isRevision("a".repeat(256)) && !isRevision("x.lock") && !isRevision("a\n"));
});

test.inFolder("settings from the environment: defaults, precedence, old names", async (home) => {
  const plain = await hubSettings(environment({ HOME: home }));
  assert.deepEqual(plain, {
    endpoint: "https://huggingface.co",
    cache: `${home}/.cache/huggingface/hub`,
    token: null,
    tokenPath: `${home}/.cache/huggingface/token`,
    offline: null,
    metadataTimeout: 10_000,
    downloadTimeout: 10_000,
    symlinks: true,
    progress: true,
    certificates: null,
  });
  await Deno.writeTextFile(`${home}/token`, " hf_file\n");
  const other = await hubSettings(environment({
    HF_HOME: home,
    HF_ENDPOINT: "http://mirror:81/hub/",
    TRANSFORMERS_OFFLINE: "yes",
    HF_HUB_DISABLE_SYMLINKS: "1",
    HF_HUB_DISABLE_PROGRESS_BARS: "true",
    HF_HUB_DOWNLOAD_TIMEOUT: "2.5",
    SSL_CERT_FILE: "/ca.pem",
  }));
  assert.deepEqual(
    [other.endpoint, other.cache, other.token, other.offline, other.symlinks, other.progress],
    ["http://mirror:81/hub", `${home}/hub`, "hf_file", "TRANSFORMERS_OFFLINE", false, false],
  );
  assert.deepEqual([other.downloadTimeout, other.certificates], [2500, "/ca.pem"]);
  const token = async (values: Record<string, string>) =>
    (await hubSettings(environment({ HF_HOME: home, ...values }))).token;
  assert.equal(await token({ HF_TOKEN: "hf_env" }), "hf_env");
  assert.equal(await token({ HUGGING_FACE_HUB_TOKEN: "hf_old", HF_TOKEN: "" }), "hf_old");
  assert.equal(await token({ HF_TOKEN_PATH: `${home}/none` }), null);
  assert.equal(await token({ HF_TOKEN: "hf_env", HF_HUB_DISABLE_IMPLICIT_TOKEN: "on" }), null);
  await assert.rejects(token({ HF_TOKEN: "hf\nx" }), /HF_TOKEN: holds no token/);
  await assert.rejects(hubSettings(environment({})), /there is no home folder/);
});

Deno.test("the cache is in HF_HUB_CACHE, its old names, HF_HOME, XDG_CACHE_HOME or home", () => {
  const all = {
    HF_HUB_CACHE: "~/a/",
    HUGGINGFACE_HUB_CACHE: "/b",
    TRANSFORMERS_CACHE: "$SCRATCH/c",
    HF_HOME: "/d",
    XDG_CACHE_HOME: "/e",
    HOME: "/h",
    SCRATCH: "/s",
  };
  const wanted = ["/h/a", "/b", "/s/c", "/d/hub", "/e/huggingface/hub"];
  const left: Record<string, string> = { ...all };
  for (const [i, name] of Object.keys(all).slice(0, 5).entries()) {
    assert.equal(hubCache(environment(left)), wanted[i]);
    delete left[name];
  }
  assert.equal(hubCache(environment({ HOME: "/h" })), "/h/.cache/huggingface/hub");
  assert.equal(hubCache(environment({})), null);
});

Deno.test("patterns match like Python's fnmatch", () => {
  const cases: [string, string, boolean][] = [
    ["*.json", "config.json", true],
    ["*.json", "a/b.json", true],
    ["*.json", "config.jsonl", false],
    ["model-0000?-of-*.safetensors", "model-00001-of-00002.safetensors", true],
    ["[ab].txt", "b.txt", true],
    ["[!ab].txt", "b.txt", false],
    ["[!ab].txt", "c.txt", true],
    ["data/", "data/x", true],
    ["data", "data/x/y", true],
    ["data", "database", false],
    ["a+b(1).txt", "a+b(1).txt", true],
    ["a.c", "abc", false],
    ["[x", "[x", true],
    ["[z-a]", "b", false],
    ["[]]", "]", true],
    ["[^a]", "^", true],
    ["[^a]", "b", false],
    ["?.json", "\u{1f600}.json", true],
    ["[\u{1f600}-\u{1f64f}]", "\u{1f601}", true],
    ["a]", "a]", true],
  ];
  for (const [pattern, name, wanted] of cases) {
    assert.equal(matcher(pattern)(name), wanted, `${pattern} ${name}`);
  }
});

Deno.test("a pattern with many stars takes no time", () => {
  const name = "a".repeat(3000);
  assert.equal(matcher("*a".repeat(60) + "b")(name), false);
  assert.equal(matcher("*a".repeat(60))(name), true);
});

Deno.test("by default no pickles, no code and no second copy of a model are fetched", () => {
  const nothing = { files: [], include: [], exclude: [] };
  const files = ("README.md config.json generation_config.json special_tokens_map.json " +
    "tokenizer.json tokenizer.model tokenizer_config.json tokenizer.py merges.txt " +
    "vocab.json added_tokens.json chat_template.jinja model.safetensors.index.json " +
    "model-00001-of-00002.safetensors model-00002-of-00002.safetensors " +
    "consolidated.safetensors pytorch_model.bin model.py original/a.safetensors " +
    "adapter_config.json adapter_model.safetensors training_args.bin model.gguf").split(" ");
  const left = ["README.md", "tokenizer.py", "consolidated.safetensors", "pytorch_model.bin"];
  left.push("model.py", "original/a.safetensors", "training_args.bin", "model.gguf");
  assert.deepEqual(
    wantedFiles(files, "model", nothing),
    files.filter((name) => !left.includes(name)),
  );
  assert.deepEqual(wantedFiles(["consolidated.safetensors"], "model", nothing), [
    "consolidated.safetensors",
  ]);
  const data = ["README.md", "a/train.parquet", "b.jsonl", "d.csv", "e.tsv.gz"];
  const others = ["a/README.md", "c.json", "e.py"];
  assert.deepEqual(wantedFiles([...data, ...others], "dataset", nothing), data);
});

Deno.test("safe and unsafe file names", () => {
  for (const name of ["a", "a/b.c", "..a", "a..b/c", "ü/ﬁ", "a b#?&%2e", ".gitattributes"]) {
    assert.equal(whyUnsafe(name), null, name);
  }
  for (
    const name of ["..", "a/..", "../a", "/a", "a\\b", "a\0", "a\nb", "C:x", "a//b", "a/", "."]
  ) {
    assert.notEqual(whyUnsafe(name), null, JSON.stringify(name));
  }
  assert.notEqual(whyUnsafe("a".repeat(256)), null);
  assert.ok(isBlobName("a".repeat(64)) && isBlobName("abc-12"));
  for (const tag of ["", ".", "..", "a/b", "a..b", "x.incomplete", "-a", "a\0"]) {
    assert.ok(!isBlobName(tag), tag);
  }
  assert.equal(shown("a\x1b[2J\x9b"), '"a\\u001b[2J?"');
});
