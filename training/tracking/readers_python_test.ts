/**
 * Opt-in: the Python packages of the trackers read our files. RGX_TEST_TRACKERS_PYTHON names a
 * Python with these packages (pip install trackio tensorboard "wandb<0.20"; later versions of wandb
 * contain no reader). MLflow's files are read where it has mlflow or mlflow-skinny.
 */
import assert from "node:assert/strict";
import { openTracker } from "../run/run_tracking.ts";
import { POINT, withTracked } from "./testing.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { TRACKERS } from "../../core/tracker_names.ts";

const python = Deno.env.get("RGX_TEST_TRACKERS_PYTHON");

/** Prints the points that each tracker's reader finds, as JSON. */
const READER = `
import glob, importlib.util, json, os, sys
folder = sys.argv[1]
os.environ["TRACKIO_DIR"] = folder
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
out = {}
if importlib.util.find_spec("mlflow"):
    from mlflow.tracking import MlflowClient
    client = MlflowClient(folder + "/out/mlruns")
    experiment = client.get_experiment_by_name("my project")
    [run] = client.search_runs([experiment.experiment_id])
    assert run.info.run_name == "run one" and run.info.status == "FINISHED", run.info
    assert run.data.params["training.learning_rate"] == "0.000001", run.data.params
    assert run.data.metrics == {"train/loss": 0.125, "eval/accuracy": 0.25}, run.data.metrics
    history = client.get_metric_history(run.info.run_id, "train/loss")
    out["mlflow"] = [[m.step, m.value] for m in history]
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(folder + "/out/runs/run one"); events.Reload()
out["tensorboard"] = [[e.step, e.value] for e in events.Scalars("train/loss")]
from trackio import fragments
from trackio.sqlite_storage import SQLiteStorage
fragments.import_inbox_dir()
logs = SQLiteStorage.get_logs("my project", "run one")
out["trackio"] = [[l["step"], l["train/loss"]] for l in logs]
from wandb.sdk.internal import datastore
from wandb.proto import wandb_internal_pb2 as pb
store = datastore.DataStore()
store.open_for_scan(glob.glob(folder + "/out/wandb/*/*.wandb")[0])
out["wandb"] = []
while (data := store.scan_data()) is not None:
    record = pb.Record(); record.ParseFromString(data)
    if record.WhichOneof("record_type") == "history":
        items = {i.key: json.loads(i.value_json) for i in record.history.item}
        out["wandb"].append([record.history.step.num, items["train/loss"]])
print(json.dumps(out))
`;

Deno.test({
  name: "TensorBoard, trackio, wandb and MLflow read the points that were written for them",
  ignore: needs(python !== undefined, NEEDED.python),
  fn: () =>
    withTracked(async (run, folder) => {
      for (const name of TRACKERS) {
        const tracker = openTracker(name, run, { TRACKIO_DIR: folder })!;
        tracker.log(POINT);
        tracker.log({ ...POINT, step: 4, metrics: { "train/loss": 0.125 } });
        tracker.close(true);
      }
      const { success, stdout, stderr } = await new Deno.Command(python!, {
        args: ["-c", READER, folder],
      }).output();
      assert.ok(success, new TextDecoder().decode(stderr));
      const points = [[3, 0.5], [4, 0.125]];
      const found = JSON.parse(new TextDecoder().decode(stdout).trim().split("\n").at(-1)!);
      const { mlflow = points, ...others } = found;
      assert.deepEqual(others, { tensorboard: points, trackio: points, wandb: points });
      assert.deepEqual(mlflow, points);
    }),
});
