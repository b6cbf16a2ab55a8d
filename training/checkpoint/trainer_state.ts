/** transformers' `trainer_state.json`: the log history and the run's settings, for other tools. */
import type { BestEvaluation } from "./run_state.ts";

export interface TrainerStateInput {
  step: number;
  maxSteps: number;
  epoch: number;
  numTokens: number;
  loggingSteps: number;
  /** Number of steps between two evaluations; null where they are not made by steps. */
  evalSteps: number | null;
  saveSteps: number;
  /** The configured number of epochs; null where `max_steps` decides. */
  epochs: number | null;
  batchSize: number;
  best: BestEvaluation | null;
  /** Path of the checkpoint of `best`, or null if that step was not saved. */
  bestCheckpoint: string | null;
  /** One object for each log, with `epoch` and `step`. */
  logHistory: readonly Record<string, unknown>[];
}

/** The text of the file, as transformers formats it: indent 2, keys sorted. */
export function encodeTrainerState(input: TrainerStateInput): string {
  return JSON.stringify(
    {
      best_global_step: input.best?.step ?? null,
      best_metric: input.best?.metric ?? null,
      best_model_checkpoint: input.bestCheckpoint,
      epoch: input.epoch,
      eval_steps: input.evalSteps,
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
      num_train_epochs: input.epochs ?? Math.max(1, Math.ceil(input.epoch)),
      save_steps: input.saveSteps,
      stateful_callbacks: {},
      total_flos: 0,
      train_batch_size: input.batchSize,
      trial_name: null,
      trial_params: null,
    },
    null,
    2,
  ) + "\n";
}
