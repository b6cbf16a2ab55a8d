/**
 * The special tokens that `tokenizer_config.json` (or `special_tokens_map.json`) names: by their
 * roles, and as added tokens. As in transformers, a token that has a role is special even where
 * `tokenizer.json` only lists it in its vocabulary.
 * Left out: tokens that are in no vocabulary. A model has no embedding for them.
 */
import { PLAIN_FLAGS } from "./components/added_tokens.ts";
import type { Json } from "./components/component.ts";

const ROLES = [
  "bos_token",
  "eos_token",
  "pad_token",
  "unk_token",
  // Only chat templates use these.
  "sep_token",
  "cls_token",
  "mask_token",
];

export interface NamedSpecials {
  /** Role → text of the token. */
  roles: Record<string, string>;
  others: string[];
  all: string[];
}

/**
 * @param config content of `tokenizer_config.json`, which takes precedence
 * @param map content of `special_tokens_map.json`
 */
export function namedSpecials(config: Json, map: Json): NamedSpecials {
  const roles = { ...rolesOf(map), ...rolesOf(config) }, others = othersOf(config);
  return { roles, others, all: [...Object.values(roles), ...others] };
}

function rolesOf(config: Json): Record<string, string> {
  const out: Record<string, string> = {};
  for (const role of ROLES) {
    const text = tokenText(config[role]);
    if (text !== null) out[role] = text;
  }
  return out;
}

function othersOf({ additional_special_tokens: named }: Json): string[] {
  return Array.isArray(named) ? named.map(tokenText).filter((text) => text !== null) : [];
}

/** The text of a token written as "</s>" or as {"content": "</s>", …}. */
export function tokenText(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (value !== null && typeof value === "object" && "content" in value) {
    return typeof value.content === "string" ? value.content : null;
  }
  return null;
}

/** Adds the named special tokens that the vocabulary contains to its added tokens. */
export function withSpecials(json: Json, tokens: Iterable<string>): Json {
  const { added_tokens: listed, model } = json, { vocab } = model as Json;
  const added = (listed ?? []) as readonly Json[];
  const known = new Set(added.map(({ content }) => content));
  const missing = [...new Set(tokens)].filter((token) => !known.has(token) && token !== "")
    .map((content) => ({ ...PLAIN_FLAGS, special: true, content, id: idIn(vocab, content) }))
    .filter(({ id }) => id >= 0);
  return missing.length === 0 ? json : { ...json, added_tokens: [...added, ...missing] };
}

/** @returns −1 when the vocabulary lacks it */
function idIn(vocab: unknown, token: string): number {
  if (Array.isArray(vocab)) return vocab.findIndex(([piece]) => piece === token);
  const ids = (vocab ?? {}) as Readonly<Record<string, number>>;
  return Object.hasOwn(ids, token) ? ids[token]! : -1;
}
