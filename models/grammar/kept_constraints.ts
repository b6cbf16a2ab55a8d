/** Keeps the tables of the forms that were used last: they take longer to make than a text. */
import type { Tokenizer } from "../tokenizers/types.ts";
import { type Form, TokenConstraint } from "./token_constraint.ts";

/** Number of forms of each tokenizer. */
const MAX_KEPT = 8;

const kept = new WeakMap<Tokenizer, Map<string, TokenConstraint>>();

/**
 * The constraint of a form, which may have been made before.
 * @param vocabSize number of the model's tokens
 * @throws UsageError for a form that is wrong or not supported
 */
export function keptConstraint(
  form: Form,
  tokenizer: Tokenizer,
  vocabSize: number,
): TokenConstraint {
  const key = `${vocabSize} ${JSON.stringify(form)}`, known = kept.get(tokenizer) ?? new Map();
  kept.set(tokenizer, known);
  const constraint = known.get(key) ?? new TokenConstraint(form, tokenizer, vocabSize);
  known.delete(key);
  known.set(key, constraint);
  if (known.size > MAX_KEPT) known.delete(known.keys().next().value!);
  return constraint;
}
