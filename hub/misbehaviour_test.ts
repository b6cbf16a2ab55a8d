/** A Hub, a network and a disk that misbehave: what is continued, what is refused, what the error says. */
import assert from "node:assert/strict";
import { RgxError } from "../core/errors.ts";
import { RandomStream } from "../core/philox.ts";
import { pull, type PullEvent, type PullOptions } from "./pull.ts";
import type { Repository } from "./repository.ts";
import {
  bytesOf,
  COMMIT,
  content,
  cut,
  type FakeHub,
  modelFiles,
  noise,
  refused,
  type Seen,
  settingsFor,
  tagOf,
  TOKEN,
  withHub,
} from "./testing.ts";

const MODEL: Repository = { kind: "model", name: "org/tiny" };
const WEIGHTS = noise(300_000);
const TAG = tagOf({ name: "model.safetensors", bytes: WEIGHTS, lfs: true });

function get(hub: FakeHub, cache: string, more: PullOptions = {}) {
  return pull(MODEL, { settings: settingsFor(hub, cache), firstDelay: 1, ...more });
}

/** The message and the advice of a pull that fails, as a user sees them. */
async function failure(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof RgxError, String((error as Error).stack));
    return `${error.exitCode} ${error.message}\n${error.advice ?? ""}`;
  }
  assert.fail("it did not fail");
}

const places = (cache: string) => {
  const folder = `${cache}/models--org--tiny`;
  return {
    blob: `${folder}/blobs/${TAG}`,
    incomplete: `${folder}/blobs/${TAG}.incomplete`,
    wrong: `${folder}/blobs/${TAG}.wrong`,
    weights: `${folder}/snapshots/${COMMIT}/model.safetensors`,
    ref: `${folder}/refs/main`,
  };
};

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

const isContent = ({ server, method }: Seen) => server === "content" && method === "GET";

Deno.test("a connection that is cut again and again goes on where it was cut", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    hub.misbehave = (seen, count) =>
      isContent(seen) && count <= 9 ? cut(seen, WEIGHTS, 30_000) : null;
    const notices: string[] = [];
    const onEvent = (event: PullEvent) => {
      if (event.type === "notice") notices.push(event.message);
    };
    const pulled = await get(hub, cache, { attempts: 2, onEvent });
    assert.deepEqual(await Deno.readFile(places(cache).weights), WEIGHTS);
    const ranges = hub.seen.filter(isContent).map(({ range }) => range);
    assert.equal(ranges[0], null);
    assert.equal(ranges[3], "bytes=90000-");
    assert.equal(ranges.length, 10);
    assert.equal(pulled.downloaded_bytes, pulled.bytes, "no byte twice");
    assert.match(notices[0]!, /^model\.safetensors: .*cut.*; trying again in 0\.0 s/);
    assert.ok(!notices.join().includes("secret"));
  });
});

Deno.test("what fails for good leaves no half file in the snapshot, and the next pull continues", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const at = places(cache);
    hub.misbehave = (seen, count) =>
      !isContent(seen)
        ? null
        : count === 1
        ? cut(seen, WEIGHTS, 100_000)
        : new Response("busy", { status: 503 });
    const text = await failure(get(hub, cache, { attempts: 3 }));
    assert.match(text, /^1 org\/tiny: model\.safetensors: http.* answers 503 \(\d attempts\)\n/);
    assert.match(text, /models--org--tiny from the cache of a machine that has it into/);
    assert.equal((await Deno.stat(at.incomplete)).size, 100_000);
    assert.deepEqual([await exists(at.weights), await exists(at.ref)], [false, false]);
    hub.misbehave = () => null;
    hub.seen.length = 0;
    const events: PullEvent[] = [];
    await get(hub, cache, { onEvent: (event) => events.push(event) });
    assert.deepEqual(hub.seen.filter(isContent).map(({ range }) => range), ["bytes=100000-"]);
    assert.deepEqual(await Deno.readFile(at.weights), WEIGHTS);
    assert.deepEqual([await exists(at.incomplete), await exists(at.ref)], [false, true]);
    const plan = events[0] as PullEvent & { type: "plan" };
    assert.ok(plan.present >= 100_000, "what was there counts from the start");
  });
});

Deno.test("a signal stops the pull in the middle; what came is kept and continued", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const control = new AbortController(), at = places(cache);
    hub.misbehave = (seen) => {
      if (!isContent(seen) || seen.range !== null) return null;
      setTimeout(() => control.abort(), 30);
      const body = new ReadableStream<Uint8Array>({
        start: (stream) => stream.enqueue(WEIGHTS.subarray(0, 70_000)),
      });
      return new Response(body, { headers: { "content-length": "300000" } });
    };
    const text = await failure(get(hub, cache, { signal: control.signal }));
    assert.match(text, /^75 stopped early/);
    assert.equal((await Deno.stat(at.incomplete)).size, 70_000);
    await get(hub, cache);
    assert.deepEqual(await Deno.readFile(at.weights), WEIGHTS);
  });
});

Deno.test("servers that know no ranges, or send another part, begin anew", async () => {
  const answers: ((seen: Seen) => Response)[] = [
    (seen) => content({ ...seen, range: null }, WEIGHTS, {}),
    (seen) => content({ ...seen, range: "bytes=5-" }, WEIGHTS, {}),
    () => new Response(null, { status: 416 }),
  ];
  for (const answer of answers) {
    await withHub(async (hub, cache) => {
      hub.add("models/org/tiny", modelFiles(WEIGHTS));
      let spoilt = false;
      hub.misbehave = (seen, count) => {
        if (!isContent(seen)) return null;
        if (count === 1) return cut(seen, WEIGHTS, 1000);
        if (spoilt) return null;
        spoilt = true;
        return answer(seen);
      };
      await get(hub, cache);
      assert.deepEqual(await Deno.readFile(places(cache).weights), WEIGHTS);
    });
  }
});

Deno.test("a wrong checksum is refused and kept aside; nothing of it is used", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const at = places(cache), wrong = noise(300_000, 5);
    hub.misbehave = (seen) => isContent(seen) ? content(seen, wrong, {}) : null;
    const text = await failure(get(hub, cache));
    assert.match(
      text,
      /^1 org\/tiny: model\.safetensors: its checksum is wrong \(sha256: expected/,
    );
    assert.ok(text.includes(`kept as ${at.wrong}`));
    assert.deepEqual(await Deno.readFile(at.wrong), wrong);
    const left = await Promise.all([at.blob, at.incomplete, at.weights, at.ref].map(exists));
    assert.deepEqual(left, [false, false, false, false]);
    hub.misbehave = () => null;
    await get(hub, cache);
    assert.deepEqual(await Deno.readFile(at.weights), WEIGHTS);
  });
});

Deno.test("git's own checksum of a small file is held against it too", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    hub.misbehave = (seen) =>
      seen.method === "GET" && seen.path.endsWith("/config.json")
        ? content(seen, bytesOf('{"model_type": "LLAMA"}\n'), { etag: '"x"' })
        : null;
    assert.match(await failure(get(hub, cache)), /config\.json: its checksum is wrong \(git-sha1/);
  });
});

Deno.test("bytes of another program that are wrong cost one more download, not the pull", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const at = places(cache);
    await Deno.mkdir(at.incomplete.replace(/[^/]+$/, ""), { recursive: true });
    await Deno.writeFile(at.incomplete, noise(50_000, 99));
    await get(hub, cache);
    assert.deepEqual(await Deno.readFile(at.weights), WEIGHTS);
    // Longer than the file can be: of no use at all.
    await Deno.remove(at.blob);
    await Deno.writeFile(at.incomplete, noise(400_000, 99));
    await get(hub, cache);
    assert.deepEqual(await Deno.readFile(at.weights), WEIGHTS);
    // A blob that was cut short by a crash of the machine.
    await Deno.truncate(at.blob, 1000);
    await get(hub, cache);
    assert.deepEqual(await Deno.readFile(at.weights), WEIGHTS);
  });
});

Deno.test("more bytes than promised are refused before they fill the disk", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    hub.misbehave = (seen) => isContent(seen) ? new Response(noise(2_000_000)) : null;
    assert.match(await failure(get(hub, cache)), /more than 300000 bytes came: it is not used/);
  });
});

Deno.test("busy servers are asked again when they say so; silence ends", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const headers = { "retry-after": "0" };
    hub.misbehave = (seen, count) =>
      count === 1
        ? new Response("", { status: seen.method === "HEAD" ? 500 : 429, headers })
        : null;
    await get(hub, cache);
    hub.misbehave = () => new Response("", { status: 429, headers: { "retry-after": "86400" } });
    assert.match(await failure(get(hub, cache)), /answers 429\n/, "a day is too long to wait");
    const held: (() => void)[] = [];
    hub.misbehave = () => new Promise((resolve) => held.push(() => resolve(refused(500, "", ""))));
    const settings = settingsFor(hub, cache, { metadataTimeout: 30 });
    const text = await failure(get(hub, cache, { settings, attempts: 2 }));
    assert.match(text, /cannot be reached: no sign of life for 0\.03 s \(2 attempts\)/);
    held.forEach((release) => release());
  });
});

Deno.test("a download that falls silent is continued by a new connection", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    hub.misbehave = (seen, count) => {
      if (!isContent(seen) || count > 1) return null;
      const body = new ReadableStream<Uint8Array>({
        start: (stream) => stream.enqueue(WEIGHTS.subarray(0, 10_000)),
      });
      return new Response(body, { headers: { "content-length": "300000" } });
    };
    const settings = settingsFor(hub, cache, { downloadTimeout: 200 });
    await get(hub, cache, { settings });
    assert.deepEqual(hub.seen.filter(isContent).map(({ range }) => range), [null, "bytes=10000-"]);
    assert.deepEqual(await Deno.readFile(places(cache).weights), WEIGHTS);
  });
});

Deno.test("no network at all: the message names the way without one", async () => {
  await withHub(async (hub, cache) => {
    const closed = Deno.listen({ port: 0, hostname: "127.0.0.1" }), { port } = closed.addr;
    closed.close();
    const settings = { ...settingsFor(hub, cache), endpoint: `http://127.0.0.1:${port}` };
    const text = await failure(get(hub, cache, { settings, attempts: 2 }));
    assert.match(
      text,
      /^1 org\/tiny: http:\/\/127\.0\.0\.1:\d+ cannot be reached: .*refused.*\(2 att/i,
    );
    assert.match(text, /HTTPS_PROXY.*HF_ENDPOINT.*Without the Hub: copy models--org--tiny/);
    assert.doesNotMatch(text, /os error|client error/);
  });
});

Deno.test("no such repository, a private or gated one, a refused token", async () => {
  await withHub(async (hub, cache) => {
    const own = { settings: settingsFor(hub, cache, { token: TOKEN }) };
    const none = await failure(get(hub, cache, own));
    assert.match(
      none,
      /^2 org\/tiny: there is no such model on http.* \(404\)\n.*--dataset org\/tiny/,
    );
    const unknown = await failure(get(hub, cache));
    assert.match(unknown, /^1 org\/tiny: not there, private or gated \(401, no token was sent\)/);
    assert.match(unknown, /\nCheck the name on http.*\/org\/tiny.*HF_TOKEN/);

    hub.add("models/org/tiny", modelFiles(WEIGHTS), { gated: true });
    const gated = await failure(get(hub, cache));
    assert.match(gated, /access is gated.*\(401\), and no token was sent\n/);
    assert.ok(gated.includes(`Accept the conditions on ${hub.url}/org/tiny. Make a token on `));
    assert.match(gated, /set HF_TOKEN to it \(or write it to .*huggingface\/token\)/);
    const other = { settings: settingsFor(hub, cache, { token: "hf_other" }) };
    const notYet = await failure(get(hub, cache, other));
    assert.match(notYet, /access is gated.*\(403\)\n.*The token of HF_TOKEN or .* was sent/);
    assert.ok(!notYet.includes("hf_other"), "a token is never shown");

    hub.misbehave = () => refused(401, "", "Invalid credentials in Authorization header");
    assert.match(await failure(get(hub, cache, other)), /the token is refused \(401\)/);
    assert.equal(await exists(`${cache}/models--org--tiny`), false);
  });
});

Deno.test("names that lead out of the cache are refused before anything is written", async () => {
  const bad = [
    ...["../evil.safetensors", "a/../../evil.safetensors", "/etc/evil.safetensors", "..\\evil"],
    ...[
      "C:/evil.safetensors",
      "a//b",
      "./a",
      "a/./b",
      "x\0.safetensors",
      "\x1b[2J.safetensors",
      "",
    ],
  ];
  for (const name of bad) {
    await withHub(async (hub, cache) => {
      hub.add("models/org/tiny", modelFiles(WEIGHTS));
      hub.listing = ({ commit, files }) => ({
        sha: commit,
        siblings: [...files, { name }].map(({ name }) => ({ rfilename: name })),
      });
      const text = await failure(get(hub, cache));
      assert.match(text, /its list of files holds the name ".*": .*; nothing was downloaded/, name);
      assert.ok(!text.includes("\x1b"));
      assert.equal(await exists(cache), false);
    });
  }
});

Deno.test("a file that is also a folder, a tag that is a path, a link in the snapshot", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", [
      ...modelFiles(WEIGHTS),
      { name: "config.json/x.json", bytes: bytesOf("x"), lfs: false },
    ]);
    assert.match(await failure(get(hub, cache)), /a part of it is a file itself/);
  });
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    for (const etag of ['"../../evil"', '"a/b"', '".."', '"x.incomplete"']) {
      hub.misbehave = ({ method }) =>
        method === "HEAD"
          ? new Response(null, { headers: { etag, "x-repo-commit": COMMIT } })
          : null;
      assert.match(await failure(get(hub, cache)), /the entity tag ".*" is no name for a file/);
    }
    assert.equal(await exists(cache), false);
  });
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const snapshot = `${cache}/models--org--tiny/snapshots/${COMMIT}`, outside = `${cache}-outside`;
    await Deno.mkdir(outside, { recursive: true });
    await Deno.mkdir(snapshot, { recursive: true });
    await Deno.symlink(outside, `${snapshot}/onnx`);
    const selection = { files: ["onnx/model.safetensors"], include: [], exclude: [] };
    assert.match(await failure(get(hub, cache, { selection })), /it is a link, expected a folder/);
    assert.deepEqual([...Deno.readDirSync(outside)], []);
  });
});

Deno.test("answers that are none of a Hub's: a proxy's page, another commit, no checksum", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const pages: [RegExp, (seen: Seen) => Response | null][] = [
      [/no list of a repository's files\nIs it a Hub\?/, () => new Response("<html>Log in</html>")],
      [/no list of a repository's files/, () => Response.json({ sha: "main", siblings: [] })],
      [/holds a file without a name/, () => Response.json({ sha: COMMIT, siblings: [{}] })],
      [
        /has another commit than asked for, or none/,
        ({ method }) => method === "HEAD" ? new Response(null, { headers: { etag: '"a"' } }) : null,
      ],
      [
        /has no entity tag/,
        ({ method }) => method === "HEAD" ? new Response(null) : null,
      ],
      [
        /names two checksums for one file/,
        ({ method, path }) =>
          method === "HEAD" && path.endsWith("model.safetensors")
            ? new Response(null, {
              headers: { etag: `"${"a".repeat(64)}"`, "x-repo-commit": COMMIT },
            })
            : null,
      ],
    ];
    for (const [message, answer] of pages) {
      hub.misbehave = answer;
      assert.match(await failure(get(hub, cache)), message);
    }
  });
});

Deno.test("a mirror that answers GET alone, and one that does not say the commit", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    hub.misbehave = ({ method }) => method === "HEAD" ? new Response(null, { status: 405 }) : null;
    await get(hub, cache);
    assert.deepEqual(await Deno.readFile(places(cache).weights), WEIGHTS);
    await Deno.remove(cache, { recursive: true });
    hub.misbehave = ({ method, path }) =>
      method === "HEAD" && path.endsWith("model.safetensors")
        ? new Response(null, { headers: { etag: `W/"${TAG}"`, "content-length": "300000" } })
        : null;
    await get(hub, cache);
    assert.deepEqual(await Deno.readFile(places(cache).weights), WEIGHTS);
  });
});

Deno.test("redirects: in circles, to a file, to plain http", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const to = (location: string) => () =>
      new Response(null, { status: 302, headers: { location } });
    hub.misbehave = ({ path }) => to(path)();
    assert.match(await failure(get(hub, cache)), /redirects without end/);
    hub.misbehave = to("file:///etc/passwd");
    assert.match(await failure(get(hub, cache)), /redirects to file:, which is not followed/);
    // A repository that was renamed answers from its new address.
    hub.misbehave = ({ path }) =>
      path.includes("org/tiny") ? to(path.replace("org/tiny", "new/tiny"))() : null;
    hub.add("models/new/tiny", modelFiles(WEIGHTS));
    await get(hub, cache);
    assert.deepEqual(await Deno.readFile(places(cache).weights), WEIGHTS);
  });
});

Deno.test("what does not fit is refused before, and a disk that fills up keeps what came", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const small = await failure(get(hub, cache, { freeBytes: () => Promise.resolve(1e6) }));
    assert.match(small, /300 kB are to be downloaded, and .* has 1\.00 MB free; nothing was down/);
    assert.match(small, /HF_HUB_CACHE/);
    assert.equal(await exists(cache), false);

    let room = 120_000;
    const write = async (file: Deno.FsFile, bytes: Uint8Array) => {
      if ((room -= bytes.length) < 0) {
        throw Object.assign(new Error("No space left on device"), { code: "ENOSPC" });
      }
      await file.write(bytes);
    };
    const full = await failure(get(hub, cache, { write }));
    assert.match(
      full,
      /^1 org\/tiny: model\.safetensors: the disk is full: .*\n.*pull again: what came/,
    );
    assert.equal(await exists(places(cache).weights), false);
    const kept = (await Deno.stat(places(cache).incomplete)).size;
    assert.ok(kept <= 120_000);
    await get(hub, cache);
    assert.deepEqual(await Deno.readFile(places(cache).weights), WEIGHTS);
  });
});

Deno.test("two pulls at once: both end well, and one of them downloads", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const both = await Promise.all([get(hub, cache), get(hub, cache)]);
    assert.equal(hub.seen.filter(isContent).length, 1);
    assert.equal(both[0]!.downloaded_bytes + both[1]!.downloaded_bytes, both[0]!.bytes);
    assert.deepEqual(await Deno.readFile(places(cache).weights), WEIGHTS);
  });
});

Deno.test("offline nothing is asked; what is missing is named", async () => {
  await withHub(async (hub, cache) => {
    hub.add("models/org/tiny", modelFiles(WEIGHTS));
    const settings = settingsFor(hub, cache, { offline: "HF_HUB_OFFLINE" });
    const nothing = await failure(get(hub, cache, { settings }));
    assert.match(nothing, /^1 org\/tiny: HF_HUB_OFFLINE is set, and revision main of it is not in/);
    assert.match(nothing, /HF_HUB_OFFLINE=0 rgx pull org\/tiny/);
    assert.equal(hub.seen.length, 0);

    const online = await get(hub, cache);
    hub.seen.length = 0;
    const offline = await get(hub, cache, { settings });
    assert.deepEqual([offline.path, offline.bytes], [online.path, online.bytes]);
    assert.ok(offline.offline);
    const asked = { files: ["README.md"], include: [], exclude: [] };
    const one = await failure(get(hub, cache, { settings, selection: asked }));
    assert.match(one, /a file is not in the cache: README\.md \(looked in/);
    await Deno.remove(places(cache).blob);
    assert.match(await failure(get(hub, cache, { settings })), /in the cache: model\.safetensors/);
    await Deno.remove(places(cache).weights);
    await Deno.writeTextFile(
      `${online.path}/model.safetensors.index.json`,
      JSON.stringify({ weight_map: { a: "m-1-of-2.safetensors", b: "m-2-of-2.safetensors" } }),
    );
    await Deno.writeTextFile(`${online.path}/m-1-of-2.safetensors`, "x");
    assert.match(await failure(get(hub, cache, { settings })), /in the cache: m-2-of-2\.safetens/);
    await Deno.mkdir(`${cache}/models--org--tiny/trees`);
    await Deno.writeTextFile(
      `${cache}/models--org--tiny/trees/${COMMIT}.json`,
      JSON.stringify({ format_version: 1, files: { "merges.txt": {}, "README.md": {} } }),
    );
    assert.match(
      await failure(get(hub, cache, { settings })),
      /files are not .*: merges\.txt, m-2/,
    );
    assert.equal(hub.seen.length, 0);
  });
});

Deno.test("--verify finds a damaged file of the cache and fetches it again", async () => {
  for (const symlinks of [true, false]) {
    await withHub(async (hub, cache) => {
      hub.add("models/org/tiny", modelFiles(WEIGHTS));
      const settings = settingsFor(hub, cache, { symlinks });
      const { path } = await get(hub, cache, { settings });
      const file = await Deno.open(`${path}/model.safetensors`, { write: true });
      await file.write(new Uint8Array([1, 2, 3]));
      file.close();
      assert.equal((await get(hub, cache, { settings })).downloaded_bytes, 0, "nobody looks");
      const again = await get(hub, cache, { settings, verify: true });
      assert.equal(again.downloaded_bytes, 300_000);
      assert.deepEqual(await Deno.readFile(`${path}/model.safetensors`), WEIGHTS);
      assert.equal((await get(hub, cache, { settings, verify: true })).downloaded_bytes, 0);
    });
  }
});

Deno.test("whatever a server does, in the end the bytes are right, and never before", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    await withHub(async (hub, cache) => {
      hub.add("models/org/tiny", modelFiles(WEIGHTS));
      const random = RandomStream.forPurpose(seed, "sample", "hub");
      const at = places(cache);
      let pulls = 0;
      hub.misbehave = (seen) => {
        const dice = random.random();
        if (!isContent(seen)) return dice < 0.05 ? new Response("", { status: 503 }) : null;
        if (dice < 0.5) return cut(seen, WEIGHTS, Math.floor(random.random() * 120_000));
        if (dice < 0.6) return new Response("", { status: 500 });
        if (dice < 0.65) return content({ ...seen, range: null }, WEIGHTS, {});
        if (dice < 0.7) return content({ ...seen, range: "bytes=7-" }, WEIGHTS, {});
        return dice < 0.75 ? content(seen, noise(300_000, seed), {}) : null;
      };
      for (let whole = false; !whole; pulls++) {
        assert.ok(pulls < 60, "it never ends");
        try {
          await get(hub, cache, { attempts: 3 });
          whole = true;
        } catch (error) {
          assert.ok(error instanceof RgxError, (error as Error).stack);
          assert.equal(await exists(at.weights), false);
        }
      }
      assert.deepEqual(await Deno.readFile(at.weights), WEIGHTS);
    });
  }
});
