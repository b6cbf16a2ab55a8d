/** How the steps of a run change its weights: passes that a stop request ends, then the update. */
import type { RunState } from "../checkpoint/run_state.ts";
import type { PhaseClock } from "../metrics/phase_clock.ts";
import { grown, type Passes, withLossScale } from "../step/loss_scale.ts";
import type { AdamW } from "../step/optimizer.ts";
import type { StopRequests } from "./stop_requests.ts";

export class WeightUpdates {
  /** False from the change of the weights until the step is counted and recorded. */
  isWholeStep = true;
  lastNorm = 0;

  constructor(
    private readonly state: Pick<RunState, "lossScale" | "skippedSteps">,
    private readonly clock: PhaseClock,
    private readonly stop: StopRequests,
    private readonly warn: (message: string) => Promise<void>,
  ) {}

  /** Stoppable work of forward and backward passes. @throws Interrupted */
  passes<T>(work: () => Promise<T>): Promise<T> {
    return this.clock.time("forward_backward", () => this.stop.during(work));
  }

  /** The passes of a step, whose loss is scaled where its type needs it. @throws Interrupted */
  gradients<T extends Passes>(passes: (lossScale: number) => Promise<T>): Promise<T> {
    return this.passes(() => withLossScale(this.state, passes));
  }

  /** A step whose gradient is not finite is skipped, counted and reported. */
  async apply(optimizer: AdamW, rate: number, gradNorm: number): Promise<void> {
    this.lastNorm = gradNorm;
    const { state } = this, { lossScale } = state;
    this.isWholeStep = false;
    const applied = await this.clock.time(
      "optimizer",
      () => optimizer.apply(rate, gradNorm, lossScale?.scale),
    );
    if (applied) {
      if (lossScale !== null) state.lossScale = grown(lossScale);
      return;
    }
    state.skippedSteps++;
    await this.warn(
      "the gradient is not finite: this step was left out, the weights are unchanged" +
        (lossScale === null
          ? ""
          : "; compute_dtype float16 holds magnitudes up to 65504: if this goes on, take bfloat16"),
    );
  }
}
