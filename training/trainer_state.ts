/** transformers' `trainer_state.json`: the log history and the run's settings, for tools that read it. */
import type { RunConfig } from "../configs/run_config.ts";

export interface TrainerStateInput {
  step: number;
  maxSteps: number;
  epoch: number;
  numTokens: number;
  loggingSteps: number;
  saveSteps: number;
  training: RunConfig["training"];
  /** One object per log call, with `epoch` and `step`. */
  logHistory: readonly Record<string, unknown>[];
}

/** The text of the file: indent 2, keys sorted. */
export function encodeTrainerState(input: TrainerStateInput): string {
  const { training } = input;
  return JSON.stringify(
    {
      best_global_step: null,
      best_metric: null,
      best_model_checkpoint: null,
      epoch: input.epoch,
      eval_steps: null,
      global_step: input.step,
      is_hyper_param_search: false,
      is_local_process_zero: true,
      is_world_process_zero: true,
      log_history: input.logHistory.map((entry) =>
        Object.fromEntries(Object.entries(entry).sort(([a], [b]) => a < b ? -1 : 1))
      ),
      logging_steps: input.loggingSteps,
      max_steps: input.maxSteps,
      num_input_tokens_seen: input.numTokens,
      num_train_epochs: training.max_steps > 0
        ? Math.max(1, Math.ceil(input.epoch))
        : training.num_train_epochs,
      save_steps: input.saveSteps,
      stateful_callbacks: {},
      total_flos: 0,
      train_batch_size: training.per_device_train_batch_size,
      trial_name: null,
      trial_params: null,
    },
    null,
    2,
  ) + "\n";
}
