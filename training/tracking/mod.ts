/** Trackers write a run's metrics where TensorBoard, trackio, W&B or MLflow reads them. */
import type { TrackerName } from "../../core/tracker_names.ts";
import { MlflowTracker } from "./mlflow.ts";
import { TensorboardTracker } from "./tensorboard.ts";
import type { TrackedRun, Tracker } from "./tracker.ts";
import { TrackioTracker } from "./trackio.ts";
import { WandbTracker } from "./wandb.ts";

export {
  type TrackedAlert,
  trackedMetrics,
  type TrackedPoint,
  type TrackedRun,
  type Tracker,
} from "./tracker.ts";
export { trackedRunId } from "./tracker.ts";

type Env = Readonly<Record<string, string>>;

/**
 * Opens a tracker for one session of a run.
 * @returns null when the environment switches it off (WANDB_MODE=disabled, WANDB_DISABLED)
 * @throws Error when its files cannot be created
 */
export function openTracker(name: TrackerName, run: TrackedRun, env: Env): Tracker | null {
  switch (name) {
    case "tensorboard":
      return new TensorboardTracker(run);
    case "trackio":
      return new TrackioTracker(run, env);
    case "mlflow":
      return new MlflowTracker(run, env);
    case "wandb":
      return isWandbOff(env) ? null : new WandbTracker(run, env);
  }
}

function isWandbOff(env: Env): boolean {
  return env.WANDB_MODE === "disabled" || /^(1|true|on|yes)$/i.test(env.WANDB_DISABLED ?? "");
}
