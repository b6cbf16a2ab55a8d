import assert from "node:assert/strict";
import { openTracker } from "../run/run_tracking.ts";
import { POINT, withTracked } from "./testing.ts";
import { WandbTracker } from "./wandb.ts";

/** The records of a log, joined from the pieces in its blocks. */
function records(bytes: Uint8Array): Uint8Array[] {
  const found: Uint8Array[] = [];
  let parts: Uint8Array[] = [];
  for (let at = 7; at < bytes.length;) {
    const room = 32_768 - at % 32_768;
    if (room < 7) {
      assert.ok(bytes.subarray(at, at + room).every((byte) => byte === 0));
      at += room;
      continue;
    }
    const view = new DataView(bytes.buffer, at),
      length = view.getUint16(4, true),
      kind = bytes[at + 6]!;
    assert.ok(length <= room - 7, "a piece leaves its block");
    assert.equal(parts.length === 0, kind === 1 || kind === 2, "pieces are out of order");
    parts.push(bytes.subarray(at + 7, at + 7 + length));
    if (kind === 1 || kind === 4) {
      found.push(Uint8Array.from(parts.flatMap((part) => [...part])));
      parts = [];
    }
    at += 7 + length;
  }
  assert.deepEqual(parts, []);
  return found;
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

Deno.test("an offline run holds header, run, history, summary and exit, in this order", () =>
  withTracked((run) => {
    const env = { WANDB_ENTITY: "me", WANDB_TAGS: "a, b" };
    const tracker = new WandbTracker(run, env);
    tracker.log(POINT);
    tracker.log({ ...POINT, step: 4, metrics: { "train/loss": 0.125 } });
    tracker.close(true);
    tracker.close(true);
    assert.match(tracker.place, /\/out\/wandb\/offline-run-20260304_050607-[0-9a-z]{8}$/);
    const id = tracker.place.slice(-8);
    const bytes = Deno.readFileSync(`${tracker.place}/run-${id}.wandb`);
    assert.equal(text(bytes.subarray(0, 4)), ":W&B");
    const found = records(bytes);
    assert.equal(found.length, 6);
    found.forEach((record, i) => assert.deepEqual([...record.subarray(0, 2)], [8, i + 1]));
    assert.match(text(found[1]!), new RegExp(`${id}.*me.*my project.*learning_rate.*run one`, "s"));
    assert.match(text(found[3]!), /train\/loss.*0\.125.*_step.*4/s);
    assert.match(text(found[4]!), /train\/loss.*0\.125.*eval\/accuracy.*0\.25/s);
  }));

Deno.test("records of any size can be read back from their blocks", () =>
  withTracked((run) => {
    // From 32,377 on records are cut; from 32,389 and 32,633 on zeros fill up to 6 bytes.
    for (const [size, sizes] of [[32_365, 40], [32_605, 40], [70_000, 1]] as const) {
      for (let more = 0; more < sizes; more++) {
        const config = { filling: "x".repeat(size + more) };
        const tracker = new WandbTracker({
          ...run,
          config,
          start: new Date(size * 1e6 + more * 1e3),
        }, {});
        tracker.log(POINT);
        tracker.close(false);
        const id = tracker.place.slice(-8);
        const found = records(Deno.readFileSync(`${tracker.place}/run-${id}.wandb`));
        assert.equal(found.length, 5);
        assert.ok(text(found[1]!).includes(config.filling));
      }
    }
  }));

Deno.test("two sessions in one second have separate folders; the environment switches it off", () =>
  withTracked((run) => {
    const places = [1, 2].map(() => {
      const tracker = new WandbTracker(run, {});
      tracker.close(true);
      return tracker.place;
    });
    assert.notEqual(places[0], places[1]);
    assert.equal(openTracker("wandb", run, { WANDB_MODE: "disabled" }), null);
    assert.equal(openTracker("wandb", run, { WANDB_DISABLED: "true" }), null);
  }));
