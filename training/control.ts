/** How a run is stopped from outside: asked between steps and, while sampling, between tokens. */
export interface TrainControl {
  /** "save": finish what must not be cut, save a checkpoint, end as "stopped". */
  stopRequested(): "no" | "save";
  /** Told when a checkpoint's write begins and ends: it should not be cut off lightly. */
  saving?(now: boolean): void;
}
