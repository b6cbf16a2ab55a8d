import assert from "node:assert/strict";
import { sha256Hex } from "../../core/checksums.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";
import {
  bytesOf,
  type FakeHub,
  noise,
  PYTHON,
  refused,
  runPython,
  settingsFor,
  TOKEN,
  withHub,
} from "../testing.ts";
import type { UploadFile } from "./files.ts";
import { type Acceptance, acceptUploads, type Received } from "./testing.ts";
import { upload, type UploadOptions } from "./upload.ts";

const WEIGHTS = noise(300_000);
const FILES: UploadFile[] = [
  { path: "README.md", source: bytesOf("# A model\n") },
  { path: "config.json", source: bytesOf('{"model_type": "llama"}\n') },
  { path: "model.safetensors", source: WEIGHTS },
  { path: "checkpoint-4/model.safetensors", source: WEIGHTS },
];

async function withUploads(
  test: (
    send: (files?: UploadFile[], more?: Partial<UploadOptions>, name?: string) => ReturnType<
      typeof upload
    >,
    received: Received,
    hub: FakeHub,
  ) => Promise<void>,
  options: Acceptance = {},
): Promise<void> {
  await withHub(async (hub) => {
    const received = acceptUploads(hub, options);
    const settings = settingsFor(hub, { token: TOKEN });
    await test(
      (files = FILES, more = {}, name = "org/new") =>
        upload(name, files, { settings, summary: "a test", firstDelay: 1, ...more }),
      received,
      hub,
    );
  });
}

function check(hub: FakeHub, files: readonly UploadFile[] = FILES, name = "org/new"): void {
  const there = hub.repositories.get(`models/${name}`)!.files;
  assert.deepEqual(there.map((file) => file.name).sort(), files.map(({ path }) => path).sort());
  for (const { path, source } of files) {
    const found = there.find((file) => file.name === path)!;
    assert.equal(sha256Hex(found.bytes), sha256Hex(source as Uint8Array), path);
  }
}

Deno.test("an upload makes the repository, sends large files once, and commits once", () =>
  withUploads(async (send, received, hub) => {
    const done = await send(FILES, { private: true, description: "more" });
    check(hub);
    assert.deepEqual(received.created, [
      { name: "new", organization: "org", type: "model", private: true },
    ]);
    assert.deepEqual(received.sent, [sha256Hex(WEIGHTS)]);
    assert.equal(received.commits.length, 1);
    const { summary, description } = received.commits[0]!;
    assert.deepEqual([summary, description], ["a test", "more"]);
    assert.deepEqual([done.url, done.unchanged], [`${hub.url}/org/new`, 0]);
    assert.match(done.commit!, /^[0-9a-f]{40}$/);
    // The same files again change nothing.
    const again = await send();
    assert.deepEqual([again.commit, again.unchanged, received.commits.length], [null, 4, 1]);
  }));

Deno.test("large files are sent in parts where the server wants parts", () =>
  withUploads(async (send, received, hub) => {
    const progress: number[] = [];
    await send(FILES, {
      onEvent: (event) => event.type === "progress" && progress.push(event.sent),
    });
    check(hub);
    assert.equal(received.sent.length, 5);
    assert.deepEqual(progress, [64_000, 128_000, 192_000, 256_000, 300_000]);
  }, { chunk: 64_000 }));

Deno.test("an upload that was cut goes on: what arrived is not sent again", () =>
  withUploads(async (send, received, hub) => {
    const files = [...FILES, { path: "optimizer.safetensors", source: noise(200_000, 9) }];
    hub.misbehave = ({ path }, count) =>
      path.startsWith("/store/") && received.sent.length === 1 && count < 9
        ? refused(503, "", "down")
        : null;
    await assert.rejects(send(files, { attempts: 2 }), /answers 503/);
    assert.equal(received.commits.length, 0);
    hub.misbehave = () => null;
    const kept: string[] = [];
    await send(files, { onEvent: (event) => event.type === "kept" && kept.push(event.path) });
    check(hub, files);
    assert.deepEqual(kept.length, 1);
    assert.equal(received.sent.length, 2);
  }));

Deno.test("a broken connection is tried again", () =>
  withUploads(async (send, _, hub) => {
    hub.misbehave = ({ method }, count) =>
      (method === "PUT" || method === "POST") && count === 1 ? refused(502, "", "") : null;
    await send();
    check(hub);
  }));

Deno.test("a name without a user is one of the token's user; a branch is made", () =>
  withUploads(async (send, received, hub) => {
    const { repository, url } = await send(FILES, { revision: "v2" }, "mine");
    assert.deepEqual([repository, url], ["somebody/mine", `${hub.url}/somebody/mine/tree/v2`]);
    assert.deepEqual([received.branches, received.commits[0]!.revision], [["v2"], "v2"]);
    await send([{ path: "a", source: bytesOf("b") }], { revision: "v2" }, "mine");
    assert.equal(received.branches.length, 1);
  }));

/** Asserts that an upload fails with this message and advice, which do not show the token. */
const refuses = (work: Promise<unknown>, says: RegExp, advises: RegExp, kind = RgxError) =>
  assert.rejects(work, (error: Error) => {
    assert.ok(error instanceof kind, String(error));
    assert.match(error.message, says);
    assert.match(error.advice ?? "", advises);
    assert.ok(!`${error.message} ${error.advice} ${error.stack}`.includes(TOKEN));
    return true;
  });

Deno.test("what can not be uploaded is told before anything is sent", () =>
  withUploads(async (send, received, hub) => {
    const file = (path: string): UploadFile[] => [{ path, source: bytesOf("x") }];
    const refuse = (work: Promise<unknown>, says: RegExp) =>
      refuses(work, says, /(?:)/, UsageError);
    for (const name of ["datasets/org/x", "spaces/org/x"]) {
      await refuse(send(FILES, {}, name), /a repository of another kind/);
    }
    for (
      const name of ["a/b/c", "org/a--b", "org/-x", "org/x.git", "org/a b", `org/${"x".repeat(99)}`]
    ) {
      await refuse(send(FILES, {}, name), /the Hub forbids this name/);
    }
    await refuse(send(file("a/.git/config")), /the Hub forbids this name/);
    await refuse(send(file("../x")), /it leads out of the folder/);
    await refuse(send([...file("x"), ...file("x")]), /named twice/);
    await refuse(send(FILES, { revision: "a..b" }), /not the name of a branch/);
    const settings = settingsFor(hub);
    await refuse(send(FILES, { settings }), /no token for the Hub/);
    const offline = settingsFor(hub, { token: TOKEN, offline: "HF_HUB_OFFLINE" });
    await refuse(send(FILES, { settings: offline }), /HF_HUB_OFFLINE forbids connections/);
    assert.deepEqual([hub.seen.length, received.created.length], [0, 0]);
  }));

Deno.test("refusals of the server say what to do, and never show the token", () =>
  withUploads(async (send, _, hub) => {
    await refuses(send(FILES, {}, "other/x"), /the token may not write there \(403\)/, /right to/);
    const settings = settingsFor(hub, { token: "hf_wrong" });
    await refuses(send(FILES, { settings }), /the token is refused \(401\)/, /settings\/tokens/);
    hub.add("datasets/org/taken", []);
    await refuses(send(FILES, {}, "org/taken"), /of another kind has this name/, /another name/);
    for (const status of [402, 413, 507]) {
      hub.misbehave = ({ path }) => path.includes("/commit/") ? refused(status, "", "full") : null;
      await refuses(send(FILES, { attempts: 1 }), /over the quota/, /--optimizer-save-mode none/);
    }
    hub.misbehave = ({ path }) =>
      path.includes("/commit/") ? refused(412, "", "A commit has happened since") : null;
    await refuses(send(), /somebody else changed the repository/, /tries again/);
    hub.misbehave = ({ path }) => path.includes("preupload") ? new Response("<html>") : null;
    await refuses(send(), /is no JSON object/, /HF_ENDPOINT/);
    const gone = settingsFor(hub, { token: TOKEN, endpoint: "http://127.0.0.1:9" });
    await refuses(
      send(FILES, { settings: gone, attempts: 1 }),
      /cannot be reached/,
      /goes on from/,
    );
  }));

Deno.test("an object that the server refuses is named", () =>
  withUploads(async (send) => {
    await assert.rejects(send(), /model\.safetensors: the server refuses it \(507\): "no space"/);
  }, { refuse: (size) => size > 1e5 ? { code: 507, message: "no space" } : null }));

Deno.test("a file on the disk is read in parts; one that shrinks is noticed", () =>
  withUploads(async (send, _, hub) => {
    const path = await Deno.makeTempFile();
    try {
      await Deno.writeFile(path, WEIGHTS);
      await send([{ path: "model.safetensors", source: path }]);
      check(hub, [{ path: "model.safetensors", source: WEIGHTS }]);
      hub.misbehave = ({ path: asked }) => {
        if (asked.includes("preupload")) Deno.truncateSync(path, 10);
        return null;
      };
      await Deno.writeFile(path, noise(150_000, 3));
      await assert.rejects(
        send([{ path: "model.safetensors", source: path }]),
        /the file was changed during the upload/,
      );
    } finally {
      await Deno.remove(path);
    }
  }, { chunk: 100_000 }));

Deno.test({
  name: "huggingface_hub downloads what was uploaded, byte for byte",
  ignore: needs(PYTHON !== undefined, NEEDED.python),
  fn: () =>
    withUploads(async (send, _, hub) => {
      await send(FILES, { private: true });
      const code = `import hashlib, os
root = snapshot_download("org/new")
print(json.dumps({os.path.relpath(os.path.join(d, f), root):
  hashlib.sha256(open(os.path.join(d, f), "rb").read()).hexdigest()
  for d, _, fs in os.walk(root) for f in fs}))`;
      const sums = FILES.map(({ path, source }) => [path, sha256Hex(source as Uint8Array)]);
      assert.deepEqual(await runPython(code, hub.env), Object.fromEntries(sums));
    }, { chunk: 64_000 }),
});
