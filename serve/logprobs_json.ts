/** Log-probabilities in the two forms of the OpenAI API. */
import type { SequenceLogprobs } from "../models/inspect/logprobs.ts";
import type { TopToken } from "../models/logits.ts";
import { tokenText } from "../models/tokenizers/following_text.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";
import type { TokenLogprob } from "./token_logprobs.ts";

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
