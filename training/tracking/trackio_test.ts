import assert from "node:assert/strict";
import { namesIn } from "../../core/testing.ts";
import { DatabaseSync } from "node:sqlite";
import { isOnNetwork } from "./trackio.ts";
import { POINT, RUN_ID, withTracked } from "./testing.ts";
import { projectFile, trackioFolder, TrackioTracker } from "./trackio.ts";

function rows(path: string, query: string): Record<string, unknown>[] {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return database.prepare(query).all().map((row) => ({ ...row }));
  } finally {
    database.close();
  }
}

Deno.test("metrics, configuration and warnings are written to the project's database", () =>
  withTracked((run, folder) => {
    const tracker = new TrackioTracker(run, { TRACKIO_DIR: folder });
    tracker.log(POINT);
    tracker.log({ ...POINT, step: 4 });
    tracker.log({ ...POINT, step: 4 });
    tracker.alert({ step: 4, time: POINT.time, title: "warning", text: "slow" });
    tracker.close();
    tracker.close();
    assert.equal(tracker.place, `${folder}/myproject.db`);
    const found = rows(tracker.place, "SELECT * FROM metrics ORDER BY step");
    assert.deepEqual(found.map(({ step, run_name, run_id }) => [step, run_name, run_id]), [
      [3, "run one", RUN_ID],
      [4, "run one", RUN_ID],
    ]);
    assert.deepEqual(JSON.parse(String(found[0]!.metrics)), POINT.metrics);
    assert.equal(found[0]!.timestamp, "2026-03-04T05:07:00.000Z");
    const [config] = rows(tracker.place, "SELECT * FROM configs");
    assert.deepEqual(JSON.parse(String(config!.config)), run.config);
    const [alert] = rows(tracker.place, "SELECT * FROM alerts");
    assert.deepEqual([alert!.title, alert!.text, alert!.level], ["warning", "slow", "warn"]);
  }));

Deno.test("a resumed run deletes its own points after its checkpoint, and no other run's", () =>
  withTracked((run, folder) => {
    const env = { TRACKIO_DIR: folder };
    const other = new TrackioTracker({ ...run, id: "f".repeat(32) }, env);
    const first = new TrackioTracker(run, env);
    for (const step of [1, 2, 3]) {
      first.log({ ...POINT, step });
      other.log({ ...POINT, step });
    }
    first.close();
    other.close();
    const second = new TrackioTracker({ ...run, resumedFrom: 1 }, env);
    second.log({ ...POINT, step: 2 });
    second.close();
    const steps = rows(second.place, "SELECT run_id, step FROM metrics ORDER BY run_id, step");
    assert.deepEqual(
      steps.map(({ run_id, step }) => `${String(run_id)[0]}${step}`),
      ["01", "02", "f1", "f2", "f3"],
    );
    assert.equal(rows(second.place, "SELECT * FROM configs").length, 2);
  }));

Deno.test("the inbox gets complete files, the configuration once, and stable ids", () =>
  withTracked((run, folder) => {
    const env = { TRACKIO_DIR: folder, TRACKIO_STORAGE_MODE: "jsonl" };
    const lines = [1, 2].map(() => {
      const tracker = new TrackioTracker(run, env);
      tracker.log(POINT);
      tracker.log({ ...POINT, step: 4 });
      tracker.alert({ step: 4, time: POINT.time, title: "t", text: "x" });
      tracker.close();
      const names = namesIn(tracker.place);
      assert.deepEqual(names, ["00000000.jsonl", "00000001.jsonl", "00000002.jsonl"]);
      return names.map((name) => JSON.parse(Deno.readTextFileSync(`${tracker.place}/${name}`)));
    });
    const [first, second, alert] = lines[0]!;
    assert.deepEqual(first.config, run.config);
    assert.equal(second.config, null);
    assert.deepEqual([first.v, first.kind, first.project, first.step], [
      1,
      "metric",
      "my project",
      3,
    ]);
    assert.deepEqual([alert.kind, alert.level, alert.title], ["alert", "WARN", "t"]);
    assert.deepEqual(lines[1]!.map((line) => line.log_id), lines[0]!.map((line) => line.log_id));
    assert.notEqual(first.log_id, second.log_id);
  }));

Deno.test("a file that is no database of trackio is left alone, and the inbox is used", () =>
  withTracked((run, folder) => {
    Deno.writeTextFileSync(`${folder}/myproject.db`, "something else".repeat(100));
    const tracker = new TrackioTracker(run, { TRACKIO_DIR: folder });
    tracker.log(POINT);
    tracker.close();
    assert.match(tracker.place, /inbox\/[0-9a-f]{16}$/);
    assert.match(Deno.readTextFileSync(`${folder}/myproject.db`), /^something else/);
    assert.throws(() =>
      new TrackioTracker(run, { TRACKIO_DIR: folder, TRACKIO_STORAGE_MODE: "sqlite" })
    );
  }));

Deno.test("trackio's folder and a project's file are named as in trackio", () => {
  assert.equal(trackioFolder({ TRACKIO_DIR: "/t", HF_HOME: "/h" }), "/t");
  assert.equal(trackioFolder({ HF_HOME: "/h" }), "/h/trackio");
  assert.equal(trackioFolder({ XDG_CACHE_HOME: "/c" }), "/c/huggingface/trackio");
  assert.equal(projectFile("GRPO-Mathematical-Reasoning"), "GRPO-Mathematical-Reasoning");
  assert.equal(projectFile("a b/../é_1"), "abé_1");
  assert.equal(projectFile("../../"), "default");
});

Deno.test("a folder is on a network when its mount is a network file system", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const real = Deno.realPathSync(folder);
    const table = (point: string, type: string) =>
      `/dev/vda / ext4 rw 0 0\nserver:/x ${point} ${type} rw 0 0\n`;
    assert.equal(isOnNetwork(folder, table(real, "nfs4")), true);
    assert.equal(isOnNetwork(folder, table(real, "fuse.sshfs")), true);
    assert.equal(isOnNetwork(folder, table(real, "ext4")), false);
    assert.equal(isOnNetwork(folder, table(`${real}x`, "nfs4")), false);
    assert.equal(isOnNetwork(folder, ""), false);
  } finally {
    await Deno.remove(folder);
  }
});
