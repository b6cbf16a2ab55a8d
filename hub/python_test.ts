/**
 * Opt-in: Python's huggingface_hub and rgx use each other's downloads in one cache. RGX_TEST_PYTHON
 * names a Python with that package (pip install huggingface_hub).
 */
import assert from "node:assert/strict";
import { sha256Hex } from "../core/checksums.ts";
import { pull } from "./pull.ts";
import type { Repository } from "./repository.ts";
import { COMMIT, modelFiles, noise, settingsFor, withHub } from "./testing.ts";
import { NEEDED, needs } from "../tests/skipped.ts";

const python = Deno.env.get("RGX_TEST_PYTHON");
const MODEL: Repository = { kind: "model", name: "org/tiny" };
const DATA: Repository = { kind: "dataset", name: "org/sums" };
const WANTED = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"];

/** Runs Python code that uses huggingface_hub. @returns the JSON of the last printed line */
async function run(code: string, env: Record<string, string>): Promise<unknown> {
  const { success, stdout, stderr } = await new Deno.Command(python!, {
    args: ["-c", `import json\nfrom huggingface_hub import *\n${code}`],
    env: { HF_HUB_DISABLE_TELEMETRY: "1", HF_HUB_DISABLE_XET: "1", ...env },
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

async function hasPackage(): Promise<boolean> {
  if (python === undefined) return false;
  const args = ["-c", "import huggingface_hub"];
  return (await new Deno.Command(python, { args, stderr: "null" }).output()).success;
}

const hasPython = await hasPackage();
const reason = python === undefined ? NEEDED.python : `${python} has no huggingface_hub`;

Deno.test({
  name: "huggingface_hub finds what rgx pulled, without a connection",
  ignore: needs(hasPython, reason),
  fn: () =>
    withHub(async (hub) => {
      hub.add("models/org/tiny", modelFiles());
      hub.add("datasets/org/sums", [{ name: "a/train.parquet", bytes: noise(9), lfs: true }]);
      const settings = settingsFor(hub);
      const pulled = await pull(MODEL, { settings });
      const data = await pull(DATA, { settings });
      hub.seen.length = 0;
      const env = { HF_HUB_CACHE: hub.cache, HF_ENDPOINT: hub.url, HF_HUB_OFFLINE: "1" };
      const found = await run(
        `import hashlib
cache = scan_cache_dir()
weights = hf_hub_download("org/tiny", "model.safetensors", revision="${COMMIT}")
print(json.dumps({
  "snapshot": snapshot_download("org/tiny"),
  "data": snapshot_download("org/sums", repo_type="dataset"),
  "file": hf_hub_download("org/tiny", "config.json"),
  "weights": hashlib.sha256(open(weights, "rb").read()).hexdigest(),
  "warnings": [str(w) for w in cache.warnings],
  "files": sorted(f.file_name for r in cache.repos for v in r.revisions for f in v.files),
  "refs": sorted(ref for r in cache.repos for ref in r.refs),
}))`,
        env,
      );
      assert.deepEqual(found, {
        snapshot: pulled.path,
        data: data.path,
        file: `${pulled.path}/config.json`,
        weights: sha256Hex(noise(300_000)),
        warnings: [],
        files: [...WANTED, "train.parquet"].sort(),
        refs: ["main", "main"],
      });
      assert.equal(hub.seen.length, 0);
      // With a connection it sends requests, but fetches no content again.
      await run(`print(json.dumps(hf_hub_download("org/tiny", "model.safetensors")))`, {
        ...env,
        HF_HUB_OFFLINE: "0",
      });
      assert.ok(hub.seen.some(({ method }) => method === "HEAD"));
      assert.ok(!hub.seen.some(({ method, path }) => method === "GET" && path.includes("resolve")));
      assert.ok(!hub.seen.some(({ server }) => server === "content"));
    }),
});

Deno.test({
  name: "rgx does not fetch again what huggingface_hub has fetched, online and offline",
  ignore: needs(hasPython, reason),
  fn: () =>
    withHub(async (hub) => {
      hub.add("models/org/tiny", modelFiles());
      const env = { HF_HUB_CACHE: hub.cache, HF_ENDPOINT: hub.url };
      const snapshot = await run(
        `print(json.dumps(snapshot_download("org/tiny", allow_patterns=${
          JSON.stringify(WANTED)
        })))`,
        env,
      );
      const settings = settingsFor(hub);
      const online = await pull(MODEL, { settings });
      assert.deepEqual([online.path, online.downloaded_bytes], [snapshot, 0]);
      hub.seen.length = 0;
      const offline = await pull(MODEL, { settings: { ...settings, offline: "HF_HUB_OFFLINE" } });
      assert.deepEqual([offline.path, offline.bytes], [snapshot, online.bytes]);
      assert.equal(hub.seen.length, 0);
    }),
});

Deno.test({
  name: "both programs pull at the same time, also with files in place of links",
  ignore: needs(hasPython, reason),
  fn: () =>
    withHub(async (hub) => {
      hub.add("models/org/tiny", modelFiles(noise(2_000_000)));
      const env = { HF_HUB_CACHE: hub.cache, HF_ENDPOINT: hub.url };
      const code = `print(json.dumps(hf_hub_download("org/tiny", "model.safetensors")))`;
      const settings = settingsFor(hub);
      const [path, pulled] = await Promise.all([run(code, env), pull(MODEL, { settings })]);
      assert.equal(path, `${pulled.path}/model.safetensors`);
      assert.deepEqual(await Deno.readFile(path as string), noise(2_000_000));

      await Deno.remove(hub.cache, { recursive: true });
      const copied = await pull(MODEL, { settings: { ...settings, symlinks: false } });
      const offline = { ...env, HF_HUB_OFFLINE: "1", HF_HUB_DISABLE_SYMLINKS: "1" };
      assert.equal(await run(code, offline), `${copied.path}/model.safetensors`);
    }),
});
