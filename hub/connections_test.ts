/** Downloads over failing connections are continued, and incomplete files are never used. */
import assert from "node:assert/strict";
import { RgxError } from "../core/errors.ts";
import { exists } from "../core/paths.ts";
import { RandomStream } from "../core/philox.ts";
import type { PullEvent } from "./pull.ts";
import {
  content,
  cut,
  failure,
  get,
  isContent,
  modelFiles,
  noise,
  places,
  refused,
  type Seen,
  settingsFor,
  test,
  WEIGHTS,
  withHub,
} from "./testing.ts";

test.withTiny("a download continues where it stopped after a broken connection", async (hub) => {
  hub.misbehave = (seen, count) =>
    isContent(seen) && count <= 9 ? cut(seen, WEIGHTS, 30_000) : null;
  const notices: string[] = [];
  const onEvent = (event: PullEvent) => {
    if (event.type === "notice") notices.push(event.message);
  };
  const pulled = await get(hub, { attempts: 2, onEvent });
  assert.deepEqual(await Deno.readFile(places(hub).weights), WEIGHTS);
  const ranges = hub.seen.filter(isContent).map(({ range }) => range);
  assert.equal(ranges[0], null);
  assert.equal(ranges[3], "bytes=90000-");
  assert.equal(ranges.length, 10);
  assert.equal(pulled.downloaded_bytes, pulled.bytes, "no byte twice");
  assert.match(notices[0]!, /^model\.safetensors: .*cut.*; trying again in 0\.0 s/);
  assert.ok(!notices.join().includes("secret"));
});

test.withTiny("a download of some bytes a second fails as a silent one does", async (hub) => {
  hub.misbehave = (seen) => {
    if (!isContent(seen)) return null;
    const from = Number(/\d+/.exec(seen.range ?? "0")![0]),
      { status, headers } = content(
        seen,
        WEIGHTS,
        {},
      );
    let sent = from;
    const body = new ReadableStream<Uint8Array>({
      async pull(stream) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        stream.enqueue(WEIGHTS.subarray(sent, ++sent));
      },
    });
    return new Response(body, { status, headers });
  };
  const settings = settingsFor(hub, { downloadTimeout: 300 });
  const text = await failure(get(hub, { settings, attempts: 2 }));
  assert.match(text, /model\.safetensors: .*only \d+ bytes in 0\.3 s \(2 attempts\)/);
  const ranges = hub.seen.filter(isContent).map(({ range }) => range);
  assert.equal(ranges.length, 2);
  assert.match(ranges[1]!, /^bytes=\d+-$/, "what came is kept");
});

test.withTiny("a pull fails if every attempt must start again, which is no progress", async (hub) => {
  hub.misbehave = (seen) => {
    if (!isContent(seen)) return null;
    if (seen.range === null) return cut(seen, WEIGHTS, 30_000);
    const total = WEIGHTS.length, range = `bytes 0-${total - 1}/${total}`;
    return new Response(WEIGHTS, { status: 206, headers: { "content-range": range } });
  };
  const text = await failure(get(hub, { attempts: 3 }));
  assert.match(text, /the server sends another part than asked for \(\d attempts\)/);
  assert.ok(hub.seen.filter(isContent).length < 9);
});

test.withTiny("a failed pull leaves no partial file; the next one continues", async (hub) => {
  const at = places(hub);
  hub.misbehave = (seen, count) =>
    !isContent(seen)
      ? null
      : count === 1
      ? cut(seen, WEIGHTS, 100_000)
      : new Response("busy", { status: 503 });
  const text = await failure(get(hub, { attempts: 3 }));
  assert.match(text, /^1 org\/tiny: model\.safetensors: http.* answers 503 \(\d attempts\)\n/);
  assert.match(text, /models--org--tiny from the cache of a machine that has it into/);
  assert.equal((await Deno.stat(at.incomplete)).size, 100_000);
  assert.deepEqual([await exists(at.weights), await exists(at.ref)], [false, false]);
  hub.misbehave = () => null;
  hub.seen.length = 0;
  const events: PullEvent[] = [];
  await get(hub, { onEvent: (event) => events.push(event) });
  assert.deepEqual(hub.seen.filter(isContent).map(({ range }) => range), ["bytes=100000-"]);
  assert.deepEqual(await Deno.readFile(at.weights), WEIGHTS);
  assert.deepEqual([await exists(at.incomplete), await exists(at.ref)], [false, true]);
  const plan = events[0] as PullEvent & { type: "plan" };
  assert.ok(plan.present >= 100_000, "what was there counts from the start");
});

Deno.test("a download starts again if a server ignores ranges or sends a wrong one", async () => {
  const answers: ((seen: Seen) => Response)[] = [
    (seen) => content({ ...seen, range: null }, WEIGHTS, {}),
    (seen) => content({ ...seen, range: "bytes=5-" }, WEIGHTS, {}),
    () => new Response(null, { status: 416 }),
  ];
  for (const answer of answers) {
    await withHub(async (hub) => {
      hub.add("models/org/tiny", modelFiles(WEIGHTS));
      let spoilt = false;
      hub.misbehave = (seen, count) => {
        if (!isContent(seen)) return null;
        if (count === 1) return cut(seen, WEIGHTS, 1000);
        if (spoilt) return null;
        spoilt = true;
        return answer(seen);
      };
      await get(hub);
      assert.deepEqual(await Deno.readFile(places(hub).weights), WEIGHTS);
    });
  }
});

test.withTiny("a busy server is asked again after its delay; a silent one times out", async (hub) => {
  const headers = { "retry-after": "0" };
  hub.misbehave = (seen, count) =>
    count === 1 ? new Response("", { status: seen.method === "HEAD" ? 500 : 429, headers }) : null;
  await get(hub);
  hub.misbehave = () => new Response("", { status: 429, headers: { "retry-after": "86400" } });
  assert.match(await failure(get(hub)), /answers 429\n/, "a day is too long to wait");
  const held: (() => void)[] = [];
  hub.misbehave = () => new Promise((resolve) => held.push(() => resolve(refused(500, "", ""))));
  const settings = settingsFor(hub, { metadataTimeout: 30 });
  const text = await failure(get(hub, { settings, attempts: 2 }));
  assert.match(text, /cannot be reached: no sign of life for 0\.03 s \(2 attempts\)/);
  held.forEach((release) => release());
});

test.withTiny("a download without new bytes is continued by a new connection", async (hub) => {
  hub.misbehave = (seen, count) => {
    if (!isContent(seen) || count > 1) return null;
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => stream.enqueue(WEIGHTS.subarray(0, 10_000)),
    });
    return new Response(body, { headers: { "content-length": "300000" } });
  };
  const settings = settingsFor(hub, { downloadTimeout: 200 });
  await get(hub, { settings });
  assert.deepEqual(hub.seen.filter(isContent).map(({ range }) => range), [null, "bytes=10000-"]);
  assert.deepEqual(await Deno.readFile(places(hub).weights), WEIGHTS);
});

test.withTiny("two pulls at the same time succeed, and only one downloads", async (hub) => {
  const both = await Promise.all([get(hub), get(hub)]);
  assert.equal(hub.seen.filter(isContent).length, 1);
  assert.equal(both[0]!.downloaded_bytes + both[1]!.downloaded_bytes, both[0]!.bytes);
  assert.deepEqual(await Deno.readFile(places(hub).weights), WEIGHTS);
});

Deno.test("with random failures, a file appears only when its bytes are right", async () => {
  for (let seed = 1; seed <= 5; seed++) {
    await withHub(async (hub) => {
      hub.add("models/org/tiny", modelFiles(WEIGHTS));
      const random = RandomStream.forPurpose(seed, "sample", "hub");
      const at = places(hub);
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
          await get(hub, { attempts: 3 });
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
