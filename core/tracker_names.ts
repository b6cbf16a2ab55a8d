/** The values of `report_to`: programs that get the metrics in addition to metrics.jsonl. */

export const TRACKERS = ["tensorboard", "trackio", "wandb", "mlflow"] as const;

/** The name of a tracker, as `report_to` has it. */
export type TrackerName = typeof TRACKERS[number];
