/**
 * `rgx pull` with a small Hub on this machine: what is printed, what a killed download leaves, and
 * how other commands use what was pulled.
 */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import {
  COMMIT,
  type FakeHub,
  modelFiles,
  noise,
  type Seen,
  TOKEN,
  withHub,
} from "../../hub/testing.ts";
import { argv } from "../command_line.ts";
import { goldenPath } from "../golden.ts";
import { assertClean, lines, rgx, spawnRgx, tinyConfig, waitFor } from "../support.ts";

const WEIGHTS = noise(300_000);
const TOKENIZER = "model.tokenizer_name_or_path";

/**
 * Environment variables that replace the settings of this machine and name the Hub of the test.
 */
function environment(hub: FakeHub, home: string): Record<string, string> {
  const unset = ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE", "HF_TOKEN"];
  unset.push("HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE");
  unset.push("HF_DATASETS_OFFLINE", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy");
  return {
    ...Object.fromEntries(unset.map((name) => [name, ""])),
    HF_HOME: home,
    HF_ENDPOINT: hub.url,
  };
}

async function withHome(
  work: (hub: FakeHub, home: string, env: Record<string, string>) => Promise<void>,
): Promise<void> {
  await withHub((hub) => withFolder(async (home) => await work(hub, home, environment(hub, home))));
}

const isContent = ({ server, method }: Seen) => server === "content" && method === "GET";

Deno.test("pull prints the folder, --json everything, and --dry-run what it would do", async () => {
  await withHome(async (hub, home, env) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const dry = await rgx(["pull", "org/tiny", "--dry-run"], "", env);
    assert.match(
      dry.out,
      /^config\.json +24 B +to download\n[^]*model\.safetensors +300 kB +to down/,
    );
    assert.deepEqual([...Deno.readDirSync(home)], []);

    const first = await rgx(["pull", "org/tiny"], "", env);
    assert.equal(first.code, 0, first.err);
    const folder = `${home}/hub/models--org--tiny/snapshots/${COMMIT}`;
    assert.deepEqual(lines(first.out), [folder]);
    assert.match(first.err, /^4 files, 300 kB\n4 files, 300 kB: 300 kB downloaded in \d+ s$/m);
    assert.ok(!first.err.includes("\r") && !first.err.includes("\x1b"));
    assert.ok(lines(first.err).every((line) => line.length < 80));
    assert.deepEqual(await Deno.readFile(`${folder}/model.safetensors`), WEIGHTS);

    const json = await rgx(["pull", "org/tiny@main", "--json", "--quiet"], "", env);
    assert.equal(json.err, "");
    const { commit, path, files, downloaded_bytes } = JSON.parse(json.out);
    assert.deepEqual([commit, path, downloaded_bytes], [COMMIT, folder, 0]);
    assert.ok(files.every(({ cached }: { cached: boolean }) => cached));

    const offline = await rgx(["pull", "org/tiny"], "", { ...env, HF_HUB_OFFLINE: "1" });
    assert.deepEqual([offline.code, lines(offline.out)], [0, [folder]]);
  });
});

Deno.test("a killed pull leaves no partial file in the snapshot, and the next one continues", async () => {
  await withHome(async (hub, home, env) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const folder = `${home}/hub/models--org--tiny`;
    /** Bytes of the largest file that is not complete; a small one may be complete meanwhile. */
    const incomplete = async () => {
      const blobs = await Array.fromAsync(Deno.readDir(`${folder}/blobs`)).catch(() => []);
      const sizes = blobs.filter(({ name }) => name.endsWith(".incomplete")).map(({ name }) =>
        Deno.stat(`${folder}/blobs/${name}`).then(({ size }) => size, () => 0)
      );
      return Math.max(0, ...await Promise.all(sizes));
    };
    hub.misbehave = (seen) => {
      if (!isContent(seen)) return null;
      const from = Number(/\d+/.exec(seen.range ?? "0")![0]);
      const body = new ReadableStream<Uint8Array>({
        start: (stream) => stream.enqueue(WEIGHTS.subarray(from, from + 90_000)),
      });
      const range = { "content-range": `bytes ${from}-299999/300000` };
      return new Response(body, {
        status: from === 0 ? 200 : 206,
        headers: { "content-length": String(300_000 - from), ...(from > 0 && range) },
      });
    };
    let size = 0;
    for (const [signal, code] of [["SIGKILL", 137], ["SIGINT", 75]] as const) {
      const child = spawnRgx(["pull", "org/tiny"], { env });
      size += 90_000;
      await waitFor(child, async () => await incomplete() >= size);
      child.kill(signal);
      const { code: found, stderr } = await child.output();
      const err = new TextDecoder().decode(stderr);
      assert.equal(found, code, err);
      if (code === 75) {
        assert.match(err, /SIGINT: stopped; the downloaded part is kept\n.*continues/);
      }
    }
    const snapshot = [...Deno.readDirSync(`${folder}/snapshots/${COMMIT}`)].map(({ name }) => name);
    assert.ok(!snapshot.includes("model.safetensors"));
    hub.misbehave = () => null;
    hub.seen.length = 0;
    const { code, err } = await rgx(["pull", "org/tiny"], "", env);
    assert.equal(code, 0, err);
    assert.deepEqual(hub.seen.filter(isContent).map(({ range }) => range), ["bytes=180000-"]);
    const weights = await Deno.readFile(`${folder}/snapshots/${COMMIT}/model.safetensors`);
    assert.deepEqual(weights, WEIGHTS);
  });
});

Deno.test("a token is read from the variable or the file, and the error for a gated model says so", async () => {
  await withHome(async (hub, home, env) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS), { gated: true });
    const none = await rgx(["pull", "org/tiny"], "", env);
    assert.deepEqual([none.code, none.out], [1, ""]);
    assert.match(none.err, /^help: Accept the conditions on http.*\/org\/tiny\. .*HF_TOKEN/m);
    assertClean(none);
    await Deno.writeTextFile(`${home}/token`, `${TOKEN}\n`);
    assert.equal((await rgx(["pull", "org/tiny"], "", env)).code, 0);
    await Deno.remove(`${home}/hub`, { recursive: true });
    const wrong = await rgx(["pull", "org/tiny"], "", { ...env, HF_TOKEN: "hf_other" });
    assert.equal(wrong.code, 1, "the variable wins over the file");
    const right = { ...env, HF_TOKEN: TOKEN };
    assert.equal((await rgx(["pull", "org/tiny"], "", right)).code, 0);
    await Deno.remove(`${home}/hub`, { recursive: true });
    const implicit = { ...right, HF_HUB_DISABLE_IMPLICIT_TOKEN: "1" };
    assert.equal((await rgx(["pull", "org/tiny"], "", implicit)).code, 1);
  });
});

Deno.test("wrong arguments are refused before any request", async () => {
  await withHome(async (hub, _, env) => {
    const cases: [string[], RegExp, Record<string, string>?][] = [
      [["org//name"], /org\/\/name: not the name of a repository[^]*Expected ORG\/NAME/],
      [["../name"], /not the name of a repository/],
      [["org/name@a b"], /not the name of a repository/],
      [["org/name", "--revision", "../x"], /--revision \.\.\/x: not the name of a branch/],
      [["org/name@a", "--revision", "b"], /two revisions are named: a and b/],
      [["org/name", "--max-workers", "0"], /an integer from 1 to 64/],
      [["org/name"], /HF_ENDPOINT: "nowhere" is no address/, { HF_ENDPOINT: "nowhere" }],
      [["org/name"], /HF_TOKEN: holds no token/, { HF_TOKEN: "a b" }],
      [["org/name"], /HF_HUB_ETAG_TIMEOUT: expected a number/, { HF_HUB_ETAG_TIMEOUT: "soon" }],
    ];
    for (const [args, message, more] of cases) {
      const result = await rgx(["pull", ...args], "", { ...env, ...more });
      assert.deepEqual([result.code, result.out], [2, ""], result.err);
      assert.match(result.err, message);
      assertClean(result);
    }
    assert.equal(hub.seen.length, 0);
  });
});

Deno.test("a configuration can name a pulled data set, and the error names one that is not pulled", async () => {
  await withHome(async (hub, home, env) => {
    const rows = Array.from(
      { length: 256 },
      (_, i) => `{"question": "${i}+1", "answer": "${i + 1}"}`,
    );
    const file = (lines: string[]) => new TextEncoder().encode(lines.join("\n"));
    hub.add("datasets/org/sums", [
      { name: "data/train.jsonl", bytes: file(rows.slice(8)), lfs: true },
      { name: "data/test.jsonl", bytes: file(rows.slice(0, 8)), lfs: false },
    ]);
    const config = await tinyConfig(home, "");
    const args = argv`train ${config} dataset_name=org/sums task_name=null eval.num_examples=4`;
    args.push("sft=null", "--dry-run", "--device", "reference");
    const before = await rgx(args, "", env, home);
    assert.equal(before.code, 2, before.err);
    assert.match(
      before.err,
      /data\.dataset_name: org\/sums is not here \(looked in .*datasets--org/,
    );
    assert.match(before.err, /\n {2}rgx pull --dataset org\/sums\n$/);

    assert.equal((await rgx(["pull", "--dataset", "org/sums"], "", env)).code, 0);
    const after = await rgx(args, "", env, home);
    assert.equal(after.code, 0, after.err);
    assert.match(after.err, /org\/sums/);
  });
});

Deno.test("training, generation and benchmarks say how to pull a model that is missing", async () => {
  await withHome(async (hub, home, env) => {
    const config = await tinyConfig(home, "");
    const commands = [
      ["train", config, "model.init=null", "model.model_name_or_path=org/tiny"],
      ["generate", "--model", "org/tiny", "--prompt", "x"],
      ["bench", "--models", "org/tiny", "--tasks", "chain_sum"],
      ["export", "org/tiny", "--to", "hf", "--output", "out"],
    ];
    for (const args of commands) {
      const result = await rgx(args, "", env, home);
      assert.deepEqual([result.code, result.out], [2, ""], result.err);
      assert.match(result.err, /^error: .*org\/tiny: .*models--org--tiny\/snapshots\/main/m);
      assert.match(result.err, /If it is on the Hub: rgx pull org\/tiny fetches it\./);
      assertClean(result);
    }
    const place = "model.model_name_or_path=.";
    const both = ["train", config, "model.init=null", place, `${TOKENIZER}=org/tiny`];
    const two = await rgx(both, "", env, home);
    assert.deepEqual([two.code, two.out], [2, ""], two.err);
    assert.match(
      two.err,
      /model\.model_name_or_path: \. has no weights$/m,
    );
    assert.match(two.err, /model\.tokenizer_name_or_path: org\/tiny is not here/);
    assert.match(two.err, /check the path of model\.model_name_or_path[^]*rgx pull org\/tiny\n$/);
    assert.equal(hub.seen.length, 0, "no request is sent");
  });
});

Deno.test("a pulled model is found by its name, online and offline", async () => {
  const folder = goldenPath("models/stories260k");
  await withHome(async (hub, _, env) => {
    const files = [];
    for await (const { name, isFile } of Deno.readDir(folder)) {
      if (!isFile) continue;
      const bytes = await Deno.readFile(`${folder}/${name}`);
      files.push({ name, bytes, lfs: name.endsWith(".safetensors") });
    }
    hub.add("models/somebody/stories260k", files);
    const pulled = await rgx(["pull", "somebody/stories260k"], "", env);
    assert.equal(pulled.code, 0, pulled.err);
    hub.seen.length = 0;
    const say = async (model: string, more: Record<string, string> = {}) => {
      const args = ["--model", model, "--prompt", "Once", "--temperature", "0"];
      const { code, out, err } = await rgx(
        ["generate", ...args, "--max-new-tokens", "8", "--device", "reference"],
        "",
        { ...env, ...more },
      );
      assert.equal(code, 0, err);
      return out;
    };
    const wanted = await say(folder);
    assert.equal(await say("somebody/stories260k"), wanted);
    assert.equal(await say(`somebody/stories260k@${COMMIT}`, { HF_HUB_OFFLINE: "1" }), wanted);
    assert.equal(hub.seen.length, 0);
  });
});
