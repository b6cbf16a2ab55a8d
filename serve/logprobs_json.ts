/** Log-probabilities of tokens in three modes, and in the two forms of the OpenAI API. */
import { keptWeights } from "../kernels/ops/sample/reference.ts";
import type { ConstrainedText, TokenConstraint } from "../models/grammar/token_constraint.ts";
import type { SequenceLogprobs } from "../models/inspect/logprobs.ts";
import { largest, logSumExp, type TopToken } from "../models/logits.ts";
import { tokenText } from "../models/tokenizers/following_text.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";

/** JSON has no −∞; vLLM writes this number in its place. */
const LOWEST = -9999;

const finite = (logprob: number) => Math.max(logprob, LOWEST);

/** Names of tokens in an answer. */
export type TokenNames = (id: number) => string;

export function tokenNames(tokenizer: Tokenizer, asIds: boolean): TokenNames {
  return (id) => asIds ? `token_id:${id}` : tokenText(tokenizer, id);
}

/** `logprobs` of a choice of /v1/completions. All lists have an entry for each token. */
export interface CompletionLogprobs {
  tokens: string[];
  token_logprobs: (number | null)[];
  top_logprobs: (Record<string, number> | null)[];
  text_offset: number[];
}

/** The tokens of a prompt; the first has no log-probability. */
export function promptEntries({ ids, logprobs, top }: SequenceLogprobs): (TokenLogprob | number)[] {
  return ids.map((id, i) =>
    logprobs[i] === null ? id : { id, logprob: logprobs[i]!, top: top[i]! }
  );
}

/**
 * @param entries tokens with their log-probabilities; a number is a token without one
 * @param offset number of characters before the first of them
 */
export function completionLogprobs(
  entries: readonly (TokenLogprob | number)[],
  name: TokenNames,
  offset: number,
): CompletionLogprobs {
  const out: CompletionLogprobs = {
    tokens: [],
    token_logprobs: [],
    top_logprobs: [],
    text_offset: [],
  };
  for (const entry of entries) {
    const token = name(typeof entry === "number" ? entry : entry.id);
    out.tokens.push(token);
    out.text_offset.push(offset);
    offset += token.length;
    out.token_logprobs.push(typeof entry === "number" ? null : finite(entry.logprob));
    out.top_logprobs.push(typeof entry === "number" ? null : byName(entry, name));
  }
  return out;
}

/** The likeliest tokens and the chosen one. Of two ids with one name, the likelier one. */
function byName({ id, logprob, top }: TokenLogprob, name: TokenNames): Record<string, number> {
  const out: Record<string, number> = {};
  for (const one of withChosen({ id, logprob }, top)) {
    const key = name(one.id);
    out[key] = Math.max(out[key] ?? -Infinity, finite(one.logprob));
  }
  return out;
}

function withChosen(chosen: TopToken, top: readonly TopToken[]): readonly TopToken[] {
  return top.some(({ id }) => id === chosen.id) ? top : [...top, chosen];
}

interface ChatToken {
  token: string;
  logprob: number;
  /** Those of the token itself, which may be a part of a character. */
  bytes: number[];
}

/** An entry of `logprobs.content` of a choice of /v1/chat/completions. */
export type ChatLogprob = ChatToken & { top_logprobs: ChatToken[] };

export function chatLogprob(
  { id, logprob, top }: TokenLogprob,
  name: TokenNames,
  tokenizer: Tokenizer,
): ChatLogprob {
  const token = (one: TopToken): ChatToken => ({
    token: name(one.id),
    logprob: finite(one.logprob),
    bytes: [
      ...tokenizer.tokenBytes(one.id) ??
        new TextEncoder().encode(tokenText(tokenizer, one.id)),
    ],
  });
  return { ...token({ id, logprob }), top_logprobs: top.map(token) };
}

/** `prompt_logprobs` as vLLM writes them: by id, the token of each place and the likeliest. */
export function promptLogprobs(scored: SequenceLogprobs, name: TokenNames) {
  return promptEntries(scored).map((entry, place) =>
    typeof entry === "number" ? null : Object.fromEntries(
      withChosen(entry, entry.top).map(({ id, logprob }, i) => {
        const rank = id === entry.id ? scored.ranks[place]! : i + 1;
        return [String(id), { logprob: finite(logprob), rank, decoded_token: name(id) }] as const;
      }),
    )
  );
}

/**
 * In which distribution the log-probabilities of an answer are:
 *   raw_logprobs: log-softmax of the model's logits (temperature 1);
 *   policy_logprobs: at the sampling temperature, before penalties and filters, as training needs;
 *   processed_logprobs: after penalties, temperature, top-k, top-p and min-p.
 */
export const LOGPROBS_MODES = ["raw_logprobs", "policy_logprobs", "processed_logprobs"] as const;
export type LogprobsMode = typeof LOGPROBS_MODES[number];

/** A token with its log-probability, and the likeliest ones at its place. */
export interface TokenLogprob extends TopToken {
  top: readonly TopToken[];
}

/** The sampling parameters that a distribution depends on. */
export interface Distribution {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  repetitionPenalty: number;
  adjust: ((ids: readonly number[], logits: Float32Array | Float64Array) => void) | null;
  /** What the completion is held to; null = nothing. */
  constraint: TokenConstraint | null;
}

type Logits = Float32Array | Float64Array;

/**
 * Whether the engine's own log-probabilities are those of a mode. They are at the sampling
 * temperature (1 when greedy), before penalties and filters.
 */
export function engineHas(mode: LogprobsMode, distribution: Distribution): boolean {
  const { temperature, topK, topP, minP, repetitionPenalty, adjust, constraint } = distribution;
  if (mode === "policy_logprobs") return true;
  if (mode === "raw_logprobs") return temperature === 0 || temperature === 1;
  return temperature > 0 && topK === 0 && topP === 1 && minP === 0 && repetitionPenalty === 1 &&
    adjust === null && constraint === null;
}

/**
 * Log-probabilities from the model's logits [vocabSize].
 * @param context the prompt and the completion before the token
 * @param completion the completion before the token
 * @param count number of likeliest tokens
 * @param form the completion before the token, if it is held to a form
 * @param known the token's log-probability if the engine has computed it. It differs in the last
 *   digits; all others are moved by the same amount, so that equal ones stay equal.
 */
export function tokenLogprob(
  token: number,
  logits: Logits,
  mode: LogprobsMode,
  distribution: Distribution,
  context: Iterable<number>,
  completion: readonly number[],
  count: number,
  form: ConstrainedText | null,
  known: number | null,
): TokenLogprob {
  const { temperature } = distribution;
  let values: Logits = logits;
  if (mode === "processed_logprobs") {
    values = processed(logits, distribution, context, completion, form);
  } else if (mode === "policy_logprobs" && temperature > 0 && temperature !== 1) {
    values = logits.map((x) => x / temperature);
  }
  const lse = logSumExp(values);
  const own = values[token]! - lse, moved = known === null ? 0 : known - own;
  const top = largest(values, count).map((id) => ({ id, logprob: values[id]! - lse + moved }));
  return { id: token, logprob: own + moved, top };
}

/** log e^z of the tokens that sampling can draw, −∞ for the others. */
function processed(
  logits: Logits,
  distribution: Distribution,
  context: Iterable<number>,
  completion: readonly number[],
  form: ConstrainedText | null,
): Float64Array {
  const { temperature, repetitionPenalty: penalty, adjust } = distribution;
  const z = Float64Array.from(logits);
  adjust?.(completion, z);
  if (penalty !== 1) {
    for (const id of new Set(context)) z[id] = z[id]! > 0 ? z[id]! / penalty : z[id]! * penalty;
  }
  if (form !== null) {
    const { allowed } = form;
    for (let id = 0; id < z.length; id++) {
      if ((allowed[id >>> 5]! >>> (id & 31) & 1) === 0) z[id] = -Infinity;
    }
  }
  const max = z.reduce((a, b) => Math.max(a, b), -Infinity);
  if (temperature === 0) {
    const best = z.indexOf(max);
    return z.fill(-Infinity).fill(0, best, best + 1);
  }
  const scaled = z.map((x) => x / temperature);
  return keptWeights(scaled, max / temperature, distribution).map(Math.log);
}
