/**
 * The loss types of GRPO (TRL 1.16's `loss_type`): their names, in the order in which messages list
 * them, and for each the default values of the keys that no other loss type reads.
 * What each of them computes is in `training/loss/loss_types.ts`.
 */
export const LOSS_TYPE_PARAMETERS = {
  grpo: {},
  dapo: {},
  dr_grpo: {},
  bnpo: {},
  cispo: {},
  sapo: { sapo_temperature_neg: 1.05, sapo_temperature_pos: 1 },
  luspo: {},
  vespo: { vespo_k_pos: 2, vespo_lambda_pos: 3, vespo_k_neg: 3, vespo_lambda_neg: 2 },
} as const;

/** The name of a loss. */
export type LossType = keyof typeof LOSS_TYPE_PARAMETERS;

/** All names of loss types. */
export const LOSS_TYPES = Object.keys(LOSS_TYPE_PARAMETERS) as LossType[];
