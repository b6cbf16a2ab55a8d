/** Pulls from the Hub of the tests: where files are put, what is fetched, who gets the token. */
import assert from "node:assert/strict";
import { UsageError } from "../core/errors.ts";
import { findSnapshot } from "./cache.ts";
import { EVERYTHING_NEEDED } from "./choose_files.ts";
import type { PullEvent, PullOptions } from "./pull.ts";
import type { Repository } from "./repository.ts";
import {
  bytesOf,
  COMMIT,
  get,
  MODEL,
  modelFiles,
  noise,
  settingsFor,
  tagOf,
  test,
  TOKEN,
  WEIGHTS,
} from "./testing.ts";

const DATA: Repository = { kind: "dataset", name: "org/sums" };

async function tree(folder: string, prefix = ""): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`, name = prefix + entry.name;
    if (entry.isDirectory) names.push(...await tree(path, `${name}/`));
    else names.push(entry.isSymlink ? `${name} -> ${await Deno.readLink(path)}` : name);
  }
  return names.sort();
}

test.inHub("the needed files of a model are fetched into huggingface_hub's layout", async (hub) => {
  const { files } = hub.add("models/org/tiny", modelFiles());
  const pulled = await get(hub);
  const wanted = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"];
  const tag = (name: string) => tagOf(files.find((file) => file.name === name)!);
  assert.deepEqual(
    await tree(`${hub.cache}/models--org--tiny`),
    [
      ...wanted.map((name) => `blobs/${tag(name)}`),
      "refs/main",
      ...wanted.map((name) => `snapshots/${COMMIT}/${name} -> ../../blobs/${tag(name)}`),
    ].sort(),
  );
  assert.equal(await Deno.readTextFile(`${hub.cache}/models--org--tiny/refs/main`), COMMIT);
  assert.deepEqual(await Deno.readFile(`${pulled.path}/model.safetensors`), WEIGHTS);
  assert.deepEqual((await tree(`${hub.cache}/.locks/models--org--tiny`)).length, 4);
  assert.deepEqual(pulled.files.map(({ name }) => name).sort(), wanted);
  assert.equal(pulled.downloaded_bytes, pulled.bytes);
  assert.ok(pulled.files.every(({ cached }) => !cached));
  const found = await findSnapshot(hub.cache, MODEL, null);
  assert.deepEqual(found, { commit: COMMIT, path: pulled.path });
});

test.inHub("existing files are not fetched again, nor unchanged ones of a new commit", async (hub) => {
  const repository = hub.add("models/org/tiny", modelFiles());
  await get(hub);
  hub.seen.length = 0;
  const again = await get(hub);
  assert.equal(again.downloaded_bytes, 0);
  assert.ok(again.files.every(({ cached }) => cached));
  assert.ok(hub.seen.every(({ method, path }) => method === "HEAD" || path.startsWith("/api/")));

  repository.commit = "f".repeat(40);
  repository.files.find(({ name }) => name === "config.json")!.bytes = bytesOf('{"a": 1}');
  const newer = await get(hub);
  assert.equal(newer.downloaded_bytes, 8);
  assert.equal((await findSnapshot(hub.cache, MODEL, null))?.commit, "f".repeat(40));
  assert.deepEqual(await Deno.readFile(`${newer.path}/model.safetensors`), WEIGHTS);
  assert.equal(
    (await findSnapshot(hub.cache, MODEL, COMMIT))?.commit,
    COMMIT,
    "the old one stays",
  );
});

test.inHub("folders, equal files, empty files and names with spaces are pulled", async (hub) => {
  const same = noise(100);
  hub.add("datasets/org/sums", [
    { name: "main/train-00000-of-00001.parquet", bytes: same, lfs: true },
    { name: "main/deep/er/test.parquet", bytes: same, lfs: true },
    { name: "a b #1?.jsonl", bytes: bytesOf(""), lfs: false },
    { name: "README.md", bytes: bytesOf("x"), lfs: false },
  ]);
  const pulled = await get(hub, {}, DATA);
  assert.equal(pulled.downloaded_bytes, 101, "one content, one download");
  assert.deepEqual(await tree(pulled.path), [
    `README.md -> ../../blobs/${tagOf({ name: "", bytes: bytesOf("x"), lfs: false })}`,
    "a b #1?.jsonl -> ../../blobs/e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    `main/deep/er/test.parquet -> ../../../../../blobs/${
      tagOf({ name: "", bytes: same, lfs: true })
    }`,
    `main/train-00000-of-00001.parquet -> ../../../blobs/${
      tagOf({ name: "", bytes: same, lfs: true })
    }`,
  ]);
  assert.deepEqual(await Deno.readFile(`${pulled.path}/main/deep/er/test.parquet`), same);
  assert.match(pulled.path, /\/datasets--org--sums\/snapshots\//);
});

test.inHub("branches, tags and commits can be pulled, also a branch with a slash", async (hub) => {
  hub.add("models/org/tiny", modelFiles(), { revisions: ["main", "refs/convert/parquet"] });
  const byBranch = await get(hub, { revision: "refs/convert/parquet" });
  const ref = `${hub.cache}/models--org--tiny/refs/refs/convert/parquet`;
  assert.equal(await Deno.readTextFile(ref), byBranch.commit);
  const byCommit = await get(hub, { revision: COMMIT });
  assert.deepEqual([byCommit.path, byCommit.downloaded_bytes], [byBranch.path, 0]);
  await assert.rejects(
    get(hub, { revision: "v9" }),
    /org\/tiny: there is no revision "v9" \(404\)/,
  );
});

test.withTiny("files are chosen by name or pattern; an unknown one gets a suggestion", async (hub) => {
  const selection = (files: string[], include: string[] = [], exclude: string[] = []) => ({
    selection: { files, include, exclude },
  });
  const names = async (options: PullOptions) =>
    (await get(hub, { ...options, dryRun: true })).files.map(({ name }) => name);
  assert.deepEqual(await names(selection(["README.md"])), ["README.md"]);
  assert.deepEqual(await names(selection(["pytorch_model.bin", "*.md"])), [
    "README.md",
    "pytorch_model.bin",
  ]);
  assert.deepEqual(await names(selection([], ["*.safetensors"], ["onnx/*"])), [
    "model.safetensors",
  ]);
  assert.deepEqual(await names(selection([], [], ["*.safetensors"])), [
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
  ]);
  assert.deepEqual(await names(selection([], ["onnx/"])), ["onnx/model.safetensors"]);
  await assert.rejects(
    names(selection(["model.safetensor"])),
    /no file "model\.safetensor", did you mean model\.safetensors\?/,
  );
  await assert.rejects(names(selection([], ["*.gguf"])), /no file "\*\.gguf"/);
  await assert.rejects(names(selection([], [], ["*"])), /--exclude leaves no file/);
  await assert.rejects(Deno.stat(hub.cache), Deno.errors.NotFound, "a dry run writes nothing");
});

test.inHub("errors for GGUF files, pickles and missing weights say how to continue", async (hub) => {
  const file = (name: string) => ({ name, bytes: noise(10), lfs: false });
  const advice = async (files: string[], repository = MODEL) => {
    hub.add(`${repository.kind}s/${repository.name}`, files.map(file));
    try {
      await get(hub, {}, repository);
    } catch (error) {
      const { message, advice, exitCode } = error as Error & { advice: string; exitCode: number };
      assert.equal(exitCode, 2);
      return `${message}\n${advice}`;
    }
    assert.fail("it was pulled");
  };
  assert.match(
    await advice(["tiny.Q4_0.gguf", "tiny.Q8_0.gguf"]),
    /the one to fetch\n.*pull org\/tiny tiny\.Q4_0\.gguf\. There are .*Q8_0\.gguf \(10 B\)/,
  );
  assert.match(
    await advice(["config.json", "pytorch_model.bin"]),
    /pickles\n.*rgx pull org\/tiny config\.json pytorch_model\.bin/,
  );
  assert.match(await advice(["train.parquet"]), /no weights in it\n.*--dataset/);
  assert.match(await advice([]), /\nIt is empty/);
  assert.match(
    await advice(["README.md", "data.txt"], DATA),
    /no \.parquet, \.jsonl and \.csv files\n.*data\.txt.*--dataset org\/sums@refs\/convert\/parquet/,
  );
});

test.inHub("the token is sent to the Hub only", async (hub) => {
  hub.add("models/org/tiny", modelFiles(), { gated: true });
  await get(hub, { settings: settingsFor(hub, { token: TOKEN }) });
  const tokens = (server: string) =>
    new Set(hub.seen.filter((seen) => seen.server === server).map(({ token }) => token));
  assert.deepEqual([...tokens("hub")], [`Bearer ${TOKEN}`]);
  assert.deepEqual([...tokens("content")], [null]);
});

test.withTiny("events report a plan, a growing number of bytes, and every file once", async (hub) => {
  const events: PullEvent[] = [];
  const { bytes } = await get(hub, { onEvent: (event) => events.push(event) });
  assert.deepEqual(events[0], { type: "plan", files: 4, cached: 0, bytes, present: 0 });
  const present = events.flatMap((event) => event.type === "progress" ? [event.present] : []);
  assert.deepEqual(present, [...present].sort((a, b) => a - b));
  assert.equal(present.at(-1), bytes);
  const files = events.filter((event) => event.type === "file");
  assert.deepEqual(files.map(({ done }) => done), [1, 2, 3, 4]);
});

test.inHub("at most maxWorkers downloads run in parallel", async (hub) => {
  const files = Array.from({ length: 9 }, (_, i) => ({
    name: `${i}.jsonl`,
    bytes: noise(50, i + 1),
    lfs: true,
  }));
  hub.add("datasets/org/sums", files);
  let now = 0, max = 0;
  hub.misbehave = (seen) => {
    if (seen.server === "content") {
      max = Math.max(max, ++now);
      return new Promise((resolve) =>
        setTimeout(() => {
          now--;
          const { bytes } = files.find((file) => tagOf(file) === seen.path.slice(1))!;
          resolve(new Response(bytes));
        }, 60)
      );
    }
    return null;
  };
  const pulled = await get(hub, { maxWorkers: 3 }, DATA);
  assert.ok(max > 1 && max <= 3, String(max));
  assert.equal(pulled.files.length, 9);
});

test.withTiny("without links, the snapshot contains the files themselves", async (hub) => {
  const settings = settingsFor(hub, { symlinks: false });
  const pulled = await get(hub, { settings });
  for (const { path, size } of pulled.files) {
    const info = await Deno.lstat(path);
    assert.deepEqual([info.isFile, info.size], [true, size]);
  }
  assert.equal((await get(hub, { settings })).downloaded_bytes, 0);
});

test.withTiny("a model that is not accepted is refused before its weights are fetched", async (hub) => {
  const asked: unknown[] = [];
  const accept = (config: unknown, bytes: number) => {
    asked.push([config, bytes]);
    throw new UsageError("not understood");
  };
  await assert.rejects(get(hub, { accept }), /not understood/);
  assert.deepEqual(asked, [[{ model_type: "llama" }, 300_000]]);
  assert.ok(!hub.seen.some(({ server }) => server === "content"), "weights were fetched");
  // Files that are named are for the user to judge.
  const selection = { ...EVERYTHING_NEEDED, include: ["*.safetensors", "config.json"] };
  const { files } = await get(hub, { accept, selection });
  assert.ok(files.some(({ name }) => name === "model.safetensors"));
  // Nobody is asked about weights that are there.
  assert.ok(await get(hub, { accept }));
  assert.equal(asked.length, 1);
});
