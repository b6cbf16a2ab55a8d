/**
 * The interval between two events of a run in whole steps, as in transformers' TrainingArguments.
 */

/**
 * `logging_steps`, `eval_steps` or `save_steps` in whole steps.
 * @param value steps; a value < 1 is a share of all steps
 */
export function stepInterval(value: number, totalSteps: number): number {
  return value < 1 ? Math.max(1, Math.ceil(value * totalSteps)) : value;
}
