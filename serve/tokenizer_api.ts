/** /tokenize, /detokenize and /tokenizer_info, as vLLM has them. */
import { badRequest } from "./api_error.ts";
import { type Fields, isRecord } from "./fields.ts";
import type { ServedModel } from "./model_host.ts";
import { tokenNames } from "./logprobs_json.ts";
import { chatTokens, type Limits, MAX_CHARACTERS_PER_TOKEN } from "./prompt_tokens.ts";

/** All requests wait while a text is split, about a second for so many characters. */
const MAX_CHARACTERS = 2 ** 20;

export function tokenize(fields: Fields, { loaded }: ServedModel, limits: Limits) {
  const { tokenizer } = loaded, prompt = fields.string("prompt");
  const addSpecialTokens = fields.boolean("add_special_tokens", true);
  const tokens = prompt === undefined
    ? chatTokens(fields, tokenizer, limits)
    : tokenizer.encode(checkLength(prompt, limits), { addSpecialTokens });
  return {
    tokens,
    count: tokens.length,
    max_model_len: limits.maxModelLength,
    ...(fields.boolean("return_token_strs", false)
      ? { token_strs: tokens.map(tokenNames(tokenizer, false)) }
      : {}),
  };
}

/**
 * A text may have many more tokens than the context: evaluations score long ones in windows.
 * @throws ApiError for one that would take too long
 */
function checkLength(text: string, { maxModelLength }: Limits): string {
  const most = Math.max(MAX_CHARACTERS, maxModelLength * MAX_CHARACTERS_PER_TOKEN);
  if (text.length <= most) return text;
  const message = `the prompt has ${text.length} characters, at most ${most} are split at once`;
  throw badRequest(message, "prompt");
}

export function detokenize(fields: Fields, { loaded: { tokenizer, model } }: ServedModel) {
  if (!fields.has("tokens")) throw fields.wrong("tokens", "a list of token ids");
  const tokens = fields.ids("tokens", model.vocabSize);
  return { prompt: tokenizer.decode(tokens, { skipSpecialTokens: false }) };
}

/** Names of tokens that a tokenizer may have. */
const TOKENS = ["bos_token", "eos_token", "pad_token", "unk_token"];

/** What tokenizer_config.json says; tokens as texts, null where there is none. */
export function tokenizerInfo({ loaded: { tokenizer, eosIds } }: ServedModel) {
  const files = tokenizer.files();
  const config: unknown = JSON.parse(files.get("tokenizer_config.json") ?? "{}");
  const values = isRecord(config) ? config : {};
  const special = Object.fromEntries(TOKENS.map((name) => [name, textOf(values[name])]));
  const [eos] = eosIds;
  return {
    tokenizer_class: values["tokenizer_class"] ?? null,
    chat_template: files.get("chat_template.jinja") ?? values["chat_template"] ?? null,
    add_bos_token: values["add_bos_token"] ?? null,
    add_eos_token: values["add_eos_token"] ?? null,
    ...special,
    eos_token: special["eos_token"] ??
      (eos === undefined ? null : tokenizer.decode([eos], { skipSpecialTokens: false })),
  };
}

/** A token is a text, or an object with its text. */
function textOf(token: unknown): string | null {
  const text = isRecord(token) ? token["content"] : token;
  return typeof text === "string" ? text : null;
}
