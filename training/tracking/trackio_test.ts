import assert from "node:assert/strict";
import { namesIn } from "../../core/testing.ts";
import { POINT, withTracked } from "./testing.ts";
import { TrackioTracker } from "./trackio.ts";

Deno.test("the inbox gets complete files, the configuration once, and stable ids", () =>
  withTracked((run, folder) => {
    const lines = [1, 2].map(() => {
      const tracker = new TrackioTracker(run, { HF_HOME: folder });
      tracker.log(POINT);
      tracker.log({ ...POINT, step: 4 });
      tracker.alert({ step: 4, time: POINT.time, title: "t", text: "x" });
      tracker.close();
      assert.equal(tracker.place.replace(/[0-9a-f]{16}$/, "W"), `${folder}/trackio/inbox/W`);
      const names = namesIn(tracker.place);
      assert.deepEqual(names, ["00000000.jsonl", "00000001.jsonl", "00000002.jsonl"]);
      return names.map((name) => JSON.parse(Deno.readTextFileSync(`${tracker.place}/${name}`)));
    });
    const [{ log_id, ...first }, second, { alert_id: _, ...alert }] = lines[0]!;
    const about = { v: 1, project: "my project", run: "run one", run_id: run.id };
    const metric = { ...about, kind: "metric", step: 3, metrics: POINT.metrics };
    const timestamp = "2026-03-04T05:07:00.000Z";
    assert.deepEqual(first, { ...metric, timestamp, config: run.config });
    assert.deepEqual([second.step, second.config], [4, null]);
    const warning = { kind: "alert", step: 4, timestamp, title: "t", text: "x", level: "WARN" };
    assert.deepEqual(alert, { ...about, ...warning });
    assert.deepEqual(lines[1]!.map((line) => line.log_id), lines[0]!.map((line) => line.log_id));
    assert.notEqual(log_id, second.log_id);
  }));
