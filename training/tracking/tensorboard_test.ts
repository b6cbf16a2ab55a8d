import assert from "node:assert/strict";
import { namesIn } from "../../core/testing.ts";
import { crc32, crc32c } from "./binary_log.ts";
import { frame, masked, TensorboardTracker } from "./tensorboard.ts";
import { POINT, withTracked } from "./testing.ts";

const ascii = (text: string) => new TextEncoder().encode(text);

Deno.test("checksums have their published check values, also of data in parts", () => {
  assert.equal(crc32c(ascii("123456789")), 0xe3069283);
  assert.equal(crc32c(ascii("1234"), ascii("56789")), 0xe3069283);
  assert.equal(crc32(ascii("123456789")), 0xcbf43926);
  assert.equal(masked(0xe3069283), 0xc78ab0e5);
});

/** The events of a file; every frame is checked. */
function events(bytes: Uint8Array): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0, true);
    const data = bytes.slice(at + 12, at + 12 + length);
    assert.deepEqual(bytes.slice(at, at + 16 + length), frame(data));
    found.push(data);
    at += 16 + length;
  }
  return found;
}

const hex = (bytes: Uint8Array) => [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");

Deno.test("an event file begins with its version and holds every value with its step", () =>
  withTracked((run) => {
    const tracker = new TensorboardTracker(run);
    tracker.log(POINT);
    tracker.log({ ...POINT, step: 300, metrics: {} });
    tracker.close();
    tracker.close();
    assert.equal(tracker.place, `${run.outputDir}/runs/run one`);
    const [file] = [...Deno.readDirSync(tracker.place)];
    assert.equal(file!.name, "events.out.tfevents.1772600767.node1.77.0");
    const [version, config, point, ...rest] = events(
      Deno.readFileSync(`${tracker.place}/${file!.name}`),
    );
    assert.ok(hex(version!).endsWith("1a0d" + hex(ascii("brain.Event:2"))));
    assert.ok(hex(config!).includes(hex(ascii("learning_rate"))));
    // step (field 2) 3; summary (5) with two values: tag (1), simple_value (2).
    assert.ok(hex(point!).includes("1003"));
    assert.ok(hex(point!).includes(hex(ascii("train/loss")) + "15" + "0000003f"));
    assert.ok(hex(point!).includes(hex(ascii("eval/accuracy")) + "15" + "0000803e"));
    assert.deepEqual(rest, []);
  }));

Deno.test("a resumed session starts a new file that voids the steps after its checkpoint", () =>
  withTracked((run) => {
    new TensorboardTracker(run).close();
    const tracker = new TensorboardTracker({ ...run, resumedFrom: 300 });
    tracker.close();
    const names = namesIn(tracker.place);
    assert.equal(names.length, 2);
    const [, session] = events(Deno.readFileSync(`${tracker.place}/${names[1]}`));
    // step 301, session_log (7) {status (1): START}
    assert.ok(hex(session!).endsWith("10ad02" + "3a020801"));
  }));

Deno.test("a run's name becomes one folder, whatever characters it has", () =>
  withTracked((run) => {
    const tracker = new TensorboardTracker(run);
    tracker.close();
    assert.equal(tracker.place, `${run.outputDir}/runs/.._a_b`);
  }, { name: "../a/b" }));
