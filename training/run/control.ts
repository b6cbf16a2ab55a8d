/** How a run is stopped from outside: asked between a device's operations, as often as a million times a run. */
export interface TrainControl {
  /** "save": end what is under way before weights move, save a checkpoint, end as "stopped". */
  stopRequested(): "no" | "save";
  /** Why, in a word or two, once a stop was requested: "SIGUSR2", "the time limit". */
  readonly reason?: string | null;
  /** Told when a checkpoint's write begins and ends: it should not be cut off lightly. */
  saving?(now: boolean): void;
}
