import assert from "node:assert/strict";
import { parse } from "yaml";
import { MlflowTracker } from "./mlflow.ts";
import { openTracker } from "../run/run_tracking.ts";
import { POINT, RUN_ID, withTracked } from "./testing.ts";

const read = (path: string) => Deno.readTextFileSync(path);

Deno.test("a run of MLflow's file store has meta data, metrics, parameters and tags", () =>
  withTracked((run, folder) => {
    const config = {
      training: { learning_rate: 1e-6, lr_scheduler_kwargs: {}, "odd key!": "x".repeat(7000) },
      rewards: [{ name: "correctness" }],
      note: null,
    };
    const tracker = openTracker("mlflow", { ...run, config }, { USER: "me" })!;
    const running = parse(read(`${tracker.place}/meta.yaml`));
    assert.equal(running.status, 1);
    tracker.log(POINT);
    tracker.log({ ...POINT, step: 4, metrics: { "train/loss": 0.125 } });
    tracker.alert({ step: 4, time: POINT.time, title: "advice", text: "try something" });
    tracker.close(true);
    tracker.close(false);
    const [, experiment] = /\/out\/mlruns\/(\d{18})\/[0-9a-f]{32}$/.exec(tracker.place) ?? [];
    assert.ok(experiment !== undefined, tracker.place);
    const { start_time, end_time, ...meta } = parse(read(`${tracker.place}/meta.yaml`));
    assert.deepEqual(meta, {
      artifact_uri: `file://${tracker.place}/artifacts`,
      entry_point_name: "",
      experiment_id: experiment,
      lifecycle_stage: "active",
      run_id: RUN_ID,
      run_name: "run one",
      source_name: "rgx",
      source_type: 4,
      source_version: "",
      status: 3,
      tags: [],
      user_id: "me",
    });
    assert.equal(start_time, run.start.getTime());
    assert.ok(end_time > start_time);
    const at = POINT.time.getTime();
    assert.equal(read(`${tracker.place}/metrics/train/loss`), `${at} 0.5 3\n${at} 0.125 4\n`);
    assert.equal(read(`${tracker.place}/metrics/eval/accuracy`), `${at} 0.25 3\n`);
    assert.equal(read(`${tracker.place}/params/training.learning_rate`), "0.000001");
    assert.equal(read(`${tracker.place}/params/rewards`), '[{"name":"correctness"}]');
    assert.equal(read(`${tracker.place}/params/training.odd key_`).length, 6000);
    assert.equal(read(`${tracker.place}/params/note`), "null");
    assert.equal(
      read(`${tracker.place}/tags/mlflow.note.content`),
      "- step 4, advice: try something",
    );
    const about = parse(read(`${folder}/out/mlruns/${experiment}/meta.yaml`));
    assert.deepEqual([about.name, about.experiment_id], ["my project", experiment]);
  }));

Deno.test("a resumed run goes on in its files, without later steps; a stopped one is killed", () =>
  withTracked((run, folder) => {
    const env = { MLFLOW_TRACKING_URI: `file://${folder}/store` };
    const first = new MlflowTracker(run, env);
    for (const step of [1, 2, 3]) {
      first.log({ ...POINT, step, metrics: { "train/loss": step, [`train/only/${step}`]: 1 } });
    }
    first.close(false);
    assert.equal(parse(read(`${first.place}/meta.yaml`)).status, 5);
    const later = new Date(run.start.getTime() + 60_000);
    const second = new MlflowTracker({ ...run, resumedFrom: 2, start: later }, env);
    assert.equal(second.place, first.place);
    second.log({ ...POINT, step: 3, metrics: { "train/loss": 9 } });
    second.close(true);
    const steps = read(`${second.place}/metrics/train/loss`).trimEnd().split("\n")
      .map((line) => line.split(" ").slice(1).join(" "));
    assert.deepEqual(steps, ["1 1", "2 2", "9 3"]);
    assert.throws(() => Deno.statSync(`${second.place}/metrics/train/only/3`));
    assert.equal(parse(read(`${second.place}/meta.yaml`)).start_time, run.start.getTime());
  }));

Deno.test("an experiment of the same name is used; odd names and servers do no harm", () =>
  withTracked((run, folder) => {
    const store = `${folder}/store`, env = { MLFLOW_TRACKING_URI: store };
    Deno.mkdirSync(`${store}/7`, { recursive: true });
    Deno.writeTextFileSync(
      `${store}/7/meta.yaml`,
      "experiment_id: '7'\nlifecycle_stage: active\nname: theirs\n",
    );
    const tracker = new MlflowTracker(run, { ...env, MLFLOW_EXPERIMENT_NAME: "theirs" });
    assert.equal(tracker.place, `${store}/7/${RUN_ID}`);
    const values = { "train/a": 1, "train/a/b": 2, "../../x": 3, "": 4, "train/ä:": 5 };
    tracker.log({ ...POINT, metrics: values });
    tracker.close(true);
    const names = [...walk(`${tracker.place}/metrics`)].sort();
    assert.deepEqual(names, ["_.value", "_/_/x", "train.a.b", "train/__", "train/a"]);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["store"]);
    for (const uri of ["http://user:pass@host:5000", "sqlite:///mlflow.db", "databricks://x"]) {
      assert.throws(
        () => new MlflowTracker(run, { MLFLOW_TRACKING_URI: uri }),
        (error: Error) =>
          /is not a folder: rgx writes/.test(error.message) &&
          !error.message.includes("pass"),
      );
    }
  }));

function* walk(folder: string, before = ""): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* walk(`${folder}/${name}`, `${before}${name}/`);
    else yield `${before}${name}`;
  }
}
