/**
 * Opt-in: Python's huggingface_hub and rgx use each other's downloads in one cache. RGX_TEST_PYTHON
 * names a Python with that package (pip install huggingface_hub).
 */
import assert from "node:assert/strict";
import { sha256Hex } from "../core/checksums.ts";
import { pull } from "./pull.ts";
import type { Repository } from "./repository.ts";
import {
  COMMIT,
  type FakeHub,
  modelFiles,
  noise,
  PYTHON,
  runPython,
  settingsFor,
  withHub,
} from "./testing.ts";
import { NEEDED, needs } from "../tests/skipped.ts";

const MODEL: Repository = { kind: "model", name: "org/tiny" };
const DATA: Repository = { kind: "dataset", name: "org/sums" };
const WANTED = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"];

const test = (name: string, work: (hub: FakeHub) => Promise<void>) =>
  Deno.test({
    name,
    ignore: needs(PYTHON !== undefined, NEEDED.python),
    fn: () => withHub(work),
  });

test("huggingface_hub finds what rgx pulled, without a connection", async (hub) => {
  hub.add("models/org/tiny", modelFiles());
  hub.add("datasets/org/sums", [{ name: "a/train.parquet", bytes: noise(9), lfs: true }]);
  const settings = settingsFor(hub), copies = `${hub.cache}-copies`;
  const pulled = await pull(MODEL, { settings });
  const data = await pull(DATA, { settings });
  const copied = await pull(MODEL, { settings: { ...settings, cache: copies, symlinks: false } });
  hub.seen.length = 0;
  const env = { HF_HUB_CACHE: hub.cache, HF_ENDPOINT: hub.url, HF_HUB_OFFLINE: "1" };
  const found = await runPython(
    `import hashlib
cache = scan_cache_dir()
weights = hf_hub_download("org/tiny", "model.safetensors", revision="${COMMIT}")
print(json.dumps({
  "snapshot": snapshot_download("org/tiny"),
  "data": snapshot_download("org/sums", repo_type="dataset"),
  "file": hf_hub_download("org/tiny", "config.json"),
  "copy": hf_hub_download("org/tiny", "model.safetensors", cache_dir="${copies}"),
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
    copy: `${copied.path}/model.safetensors`,
    weights: sha256Hex(noise(300_000)),
    warnings: [],
    files: [...WANTED, "train.parquet"].sort(),
    refs: ["main", "main"],
  });
  assert.equal(hub.seen.length, 0);
});

test("with a connection, neither program fetches again what the other has fetched", async (hub) => {
  hub.add("models/org/tiny", modelFiles());
  const name = "org/other", other: Repository = { kind: "model", name };
  const settings = settingsFor(hub);
  await pull(MODEL, { settings });
  hub.add(`models/${name}`, modelFiles());
  hub.seen.length = 0;
  const patterns = JSON.stringify(WANTED);
  const snapshot = await runPython(
    `hf_hub_download("org/tiny", "model.safetensors")
print(json.dumps(snapshot_download("${name}", allow_patterns=${patterns})))`,
    { HF_HUB_CACHE: hub.cache, HF_ENDPOINT: hub.url },
  );
  const asked = hub.seen.filter(({ path }) => path.startsWith("/org/tiny/resolve/"));
  assert.deepEqual([...new Set(asked.map(({ method }) => method))], ["HEAD"]);
  assert.equal(hub.seen.filter(({ server }) => server === "content").length, 1);
  const online = await pull(other, { settings });
  assert.deepEqual([online.path, online.downloaded_bytes], [snapshot, 0]);
  hub.seen.length = 0;
  const offline = await pull(other, { settings: { ...settings, offline: "HF_HUB_OFFLINE" } });
  assert.deepEqual([offline.path, offline.bytes], [snapshot, online.bytes]);
  assert.equal(hub.seen.length, 0);
});

test("both programs pull at the same time", async (hub) => {
  hub.add("models/org/tiny", modelFiles(noise(2_000_000)));
  const env = { HF_HUB_CACHE: hub.cache, HF_ENDPOINT: hub.url };
  const code = `print(json.dumps(hf_hub_download("org/tiny", "model.safetensors")))`;
  const settings = settingsFor(hub);
  const [path, pulled] = await Promise.all([runPython(code, env), pull(MODEL, { settings })]);
  assert.equal(path, `${pulled.path}/model.safetensors`);
  assert.deepEqual(await Deno.readFile(path as string), noise(2_000_000));
});
