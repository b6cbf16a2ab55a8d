/**
 * In which distribution the log-probabilities of an answer are:
 *   raw_logprobs: log-softmax of the model's logits (temperature 1);
 *   policy_logprobs: at the sampling temperature, before penalties and filters, as training needs;
 *   processed_logprobs: after penalties, temperature, top-k, top-p and min-p.
 */
export const LOGPROBS_MODES = ["raw_logprobs", "policy_logprobs", "processed_logprobs"] as const;
export type LogprobsMode = typeof LOGPROBS_MODES[number];
