/**
 * `rgx pull` with a small Hub on this machine: what is printed, what a killed download leaves, and
 * how other commands use what was pulled.
 */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import {
  COMMIT,
  type FakeHub,
  isContent,
  modelFiles,
  TOKEN,
  WEIGHTS,
  withHub,
} from "../../hub/testing.ts";
import { argv } from "../command_line.ts";
import { goldenPath } from "../golden.ts";
import { lines, namesIn, refuses, rgx, startRgx, succeeds, tinyConfig } from "../support.ts";

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

/** A test with a Hub of its own, a home folder, and the variables that name both. */
function hubTest(
  name: string,
  work: (hub: FakeHub, home: string, env: Record<string, string>) => Promise<void>,
): void {
  Deno.test(
    name,
    () => withHub((hub) => withFolder((home) => work(hub, home, environment(hub, home)))),
  );
}

hubTest(
  "pull prints the folder, --json everything, and --dry-run what it would do",
  async (hub, home, env) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const dry = await rgx(["pull", "org/tiny", "--dry-run"], { env });
    assert.match(
      dry.out,
      /^config\.json +24 B +to download\n[^]*model\.safetensors +300 kB +to down/,
    );
    assert.deepEqual(namesIn(home), []);

    const first = await succeeds(["pull", "org/tiny"], { env });
    const folder = `${home}/hub/models--org--tiny/snapshots/${COMMIT}`;
    assert.deepEqual(lines(first.out), [folder]);
    assert.match(first.err, /^4 files, 300 kB\n4 files, 300 kB: 300 kB downloaded in \d+ s$/m);
    assert.ok(!first.err.includes("\r") && !first.err.includes("\x1b"));
    assert.ok(lines(first.err).every((line) => line.length < 80));
    assert.deepEqual(await Deno.readFile(`${folder}/model.safetensors`), WEIGHTS);

    const json = await rgx(["pull", "org/tiny@main", "--json", "--quiet"], { env });
    assert.equal(json.err, "");
    const { commit, path, files, downloaded_bytes } = JSON.parse(json.out);
    assert.deepEqual([commit, path, downloaded_bytes], [COMMIT, folder, 0]);
    assert.ok(files.every(({ cached }: { cached: boolean }) => cached));

    const offline = await rgx(["pull", "org/tiny"], { env: { ...env, HF_HUB_OFFLINE: "1" } });
    assert.deepEqual([offline.code, lines(offline.out)], [0, [folder]]);
  },
);

hubTest(
  "a killed pull leaves no partial file in the snapshot, and the next one continues",
  async (hub, home, env) => {
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
      const session = startRgx(["pull", "org/tiny"], { env });
      size += 90_000;
      await session.reaches("some bytes", async () => await incomplete() >= size);
      const { code: found, err } = await session.ends(signal);
      assert.equal(found, code, err);
      if (code === 75) {
        assert.match(err, /SIGINT: stopped; the downloaded part is kept\n.*continues/);
      }
    }
    const snapshot = namesIn(`${folder}/snapshots/${COMMIT}`);
    assert.ok(!snapshot.includes("model.safetensors"));
    hub.misbehave = () => null;
    hub.seen.length = 0;
    await succeeds(["pull", "org/tiny"], { env });
    assert.deepEqual(hub.seen.filter(isContent).map(({ range }) => range), ["bytes=180000-"]);
    const weights = await Deno.readFile(`${folder}/snapshots/${COMMIT}/model.safetensors`);
    assert.deepEqual(weights, WEIGHTS);
  },
);

hubTest(
  "a token is read from the file, and the error for a gated model says where to get one",
  async (hub, home, env) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS), { gated: true });
    const pull = ["pull", "org/tiny"];
    const conditions = /^help: Accept the conditions on http.*\/org\/tiny\. .*HF_TOKEN/m;
    await refuses([[pull, conditions]], { env, code: 1 });
    await Deno.writeTextFile(`${home}/token`, `${TOKEN}\n`);
    await succeeds(pull, { env });
  },
);

hubTest(
  "a configuration can name a pulled data set, and the error names one that is not pulled",
  async (hub, home, env) => {
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
    const missing = /data\.dataset_name: org\/sums is not here \(looked in .*datasets--org/;
    await refuses([[args, missing, /\n {2}rgx pull --dataset org\/sums\n$/]], { env, cwd: home });
    await succeeds(["pull", "--dataset", "org/sums"], { env });
    const after = await succeeds(args, { env, cwd: home });
    assert.match(after.err, /org\/sums/);
  },
);

hubTest(
  "training, generation and benchmarks say how to pull a model that is missing",
  async (hub, home, env) => {
    const config = await tinyConfig(home, "");
    const says = [
      /^error: .*org\/tiny: .*models--org--tiny\/snapshots\/main/m,
      "If it is on the Hub: rgx pull org/tiny fetches it.",
    ];
    const train = ["train", config, "model.init=null"];
    await refuses([
      [[...train, "model.model_name_or_path=org/tiny"], ...says],
      [["generate", "--model", "org/tiny", "--prompt", "x"], ...says],
      [["bench", "--models", "org/tiny", "--tasks", "chain_sum"], ...says],
      [["export", "org/tiny", "--to", "hf", "--output", "out"], ...says],
      [
        [...train, "model.model_name_or_path=.", "model.tokenizer_name_or_path=org/tiny"],
        /model\.model_name_or_path: \. has no weights$/m,
        /model\.tokenizer_name_or_path: org\/tiny is not here/,
        /check the path of model\.model_name_or_path[^]*rgx pull org\/tiny\n$/,
      ],
    ], { env, cwd: home });
    assert.equal(hub.seen.length, 0, "no request is sent");
  },
);

hubTest("a pulled model is found by its name, online and offline", async (hub, _, env) => {
  const folder = goldenPath("models/stories260k");
  const files = [];
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (!isFile) continue;
    const bytes = await Deno.readFile(`${folder}/${name}`);
    files.push({ name, bytes, lfs: name.endsWith(".safetensors") });
  }
  hub.add("models/somebody/stories260k", files);
  await succeeds(["pull", "somebody/stories260k"], { env });
  hub.seen.length = 0;
  const say = async (model: string, more: Record<string, string> = {}) => {
    const args = ["--model", model, "--prompt", "Once", "--temperature", "0"];
    const { out } = await succeeds(argv`generate ${args} --max-new-tokens 8 --device reference`, {
      env: { ...env, ...more },
    });
    return out;
  };
  const wanted = await say(folder);
  assert.equal(await say("somebody/stories260k"), wanted);
  assert.equal(await say(`somebody/stories260k@${COMMIT}`, { HF_HUB_OFFLINE: "1" }), wanted);
  assert.equal(hub.seen.length, 0);
});
