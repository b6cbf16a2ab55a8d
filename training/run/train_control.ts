/** How a program stops a run from outside. */
export interface TrainControl {
  /**
   * Called between two operations of the device, up to a million times in a run. "save": the run
   * ends the current work before the weights change, saves a checkpoint and ends with status
   * "stopped".
   */
  stopRequested(): "no" | "save";
  /** Why, in a word or two, once a stop was requested: "SIGUSR2", "the time limit". */
  readonly reason?: string | null;
  /**
   * Called when the writing of a checkpoint begins (true) and ends: it should not be interrupted.
   */
  saving?(now: boolean): void;
}
