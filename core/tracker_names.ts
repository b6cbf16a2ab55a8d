/** The programs for which a run's metrics are also written (tracking/); metrics.jsonl is always there. */

export const TRACKERS = ["tensorboard", "trackio", "wandb"] as const;

export type TrackerName = typeof TRACKERS[number];
