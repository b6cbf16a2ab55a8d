/** How a run notices that it is asked to stop: between steps, and within work on the device. */
import { Interrupted } from "../../core/errors.ts";
import { ALONE, type Ranks } from "../../cluster/ranks/ranks.ts";
import type { TrainerOptions } from "./trainer_options.ts";

export class StopRequests {
  /** A stop request ends the work that is dealt to them. */
  readonly ranks: Ranks;

  /** @param keepAlive called before each operation of work that is dealt to the ranks */
  constructor(
    private readonly options: Pick<TrainerOptions, "control" | "device" | "ranks">,
    private readonly keepAlive: () => void,
  ) {
    this.ranks = (options.ranks ?? ALONE).guardedBy((work) => this.#watched(work, true));
  }

  requested(): boolean {
    return this.options.control?.stopRequested() === "save";
  }

  /** Ends the run here if a stop was requested, of any rank. @throws Interrupted */
  async check(): Promise<void> {
    await this.ranks.meet(this.requested());
  }

  /**
   * Does work that a stop request ends at the next operation of the device: a pass over a large
   * batch may take longer than the notice that a job gets. The state must not change before the
   * work is done. With several ranks, only work that is dealt to them ends so, where all learn of
   * it.
   * @throws Interrupted
   */
  async during<T>(work: () => Promise<T>): Promise<T> {
    return await this.#watched(work, this.ranks.size === 1);
  }

  async #watched<T>(work: () => Promise<T>, stops: boolean): Promise<T> {
    const { device } = this.options, outer = device.beforeRun ?? null;
    device.beforeRun = () => {
      this.keepAlive();
      this.ranks.progress.beat();
      if (!stops || !this.requested()) return;
      device.beforeRun = null; // the operations that clean up must still run
      throw new Interrupted();
    };
    try {
      return await work();
    } finally {
      device.beforeRun = outer;
    }
  }
}
