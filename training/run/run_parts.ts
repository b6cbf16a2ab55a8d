/** What the warm start, the steps' records and the evaluations all take of a run. */
import type { PromptEncoder } from "../../bench/evaluation/prompt_encoder.ts";
import type { RunState } from "../checkpoint/run_state.ts";
import type { PhaseClock } from "../metrics/phase_clock.ts";
import type { RunReport } from "./run_report.ts";
import type { RunSizes } from "./run_sizes.ts";
import type { StopRequests } from "./stop_requests.ts";
import type { TrainerOptions } from "./trainer_options.ts";
import type { WeightUpdates } from "./weight_updates.ts";

export interface RunParts {
  options: TrainerOptions;
  sizes: RunSizes;
  state: RunState;
  prompts: PromptEncoder;
  clock: PhaseClock;
  report: RunReport;
  /** With the ranks of the run. */
  stop: StopRequests;
  updates: WeightUpdates;
}
