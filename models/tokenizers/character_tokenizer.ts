/**
 * Makes a tokenizer with one token for each character of an alphabet, and with special tokens that
 * are recognised inside a text. It is an ordinary Hugging Face tokenizer (BPE without merges), so
 * a model that is trained from scratch is saved and loaded like any other.
 */
import { UsageError } from "../../core/errors.ts";
import { PLAIN_FLAGS } from "./components/added_tokens.ts";
import { tokenizerFromFiles } from "./tokenizer.ts";
import type { Tokenizer } from "./types.ts";

export interface CharacterTokenizerOptions {
  /** Every character (a Unicode code point) once. */
  alphabet: string;
  /** <eos> and <unk> must be among them. They get the first ids, in the given order. */
  special_tokens: readonly string[];
}

/**
 * Tokens that carry no text, and that `skipSpecialTokens` leaves out. All others, such as
 * <answer>, are part of what a model says, and must be in the decoded text for an answer to be
 * found.
 */
const CONTROL_TOKENS: Readonly<Record<string, string>> = {
  "<pad>": "pad_token",
  "<unk>": "unk_token",
  "<bos>": "bos_token",
  "<eos>": "eos_token",
};

/** @throws UsageError when something is given twice, too short, empty, or not at all */
export function createCharacterTokenizer(options: CharacterTokenizerOptions): Tokenizer {
  const tokens = [...options.special_tokens];
  for (const token of tokens) {
    if ([...token].length < 2) {
      throw new UsageError(
        `special_tokens: ${JSON.stringify(token)} is too short, expected two characters or more`,
      );
    }
  }
  for (const needed of ["<eos>", "<unk>"]) {
    if (!tokens.includes(needed)) {
      throw new UsageError(`special_tokens: ${needed} is missing`, {
        advice: `Give at least ["<pad>", "<unk>", "<eos>"].`,
      });
    }
  }
  if (options.alphabet === "") throw new UsageError("alphabet: it is empty");
  const vocab = new Map<string, number>();
  for (const token of [...tokens, ...options.alphabet]) {
    if (vocab.has(token)) {
      throw new UsageError(
        `${tokens.includes(token) ? "special_tokens" : "alphabet"}: ` +
          `${JSON.stringify(token)} is there twice`,
      );
    }
    vocab.set(token, vocab.size);
  }
  return tokenizerFromFiles(tokenizerFiles(vocab, tokens), "character tokenizer");
}

function tokenizerFiles(
  vocab: ReadonlyMap<string, number>,
  specialTokens: readonly string[],
): Map<string, string> {
  const roles: Record<string, string> = {};
  for (const token of specialTokens) {
    const role = CONTROL_TOKENS[token];
    if (role !== undefined) roles[role] = token;
  }
  const flags = (token: string) => ({
    content: token,
    ...PLAIN_FLAGS,
    special: CONTROL_TOKENS[token] !== undefined,
  });
  const tokenizer = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: specialTokens.map((token) => ({ id: vocab.get(token), ...flags(token) })),
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    // Without a decoder, spaces would be put between the tokens.
    decoder: { type: "Fuse" },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: "<unk>",
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(vocab),
      merges: [],
    },
  };
  const config = {
    added_tokens_decoder: Object.fromEntries(
      specialTokens.map((token) => [String(vocab.get(token)), flags(token)]),
    ),
    ...roles,
    clean_up_tokenization_spaces: false,
    tokenizer_class: "PreTrainedTokenizerFast",
  };
  const write = (value: unknown) => JSON.stringify(value, null, 2) + "\n";
  return new Map([
    ["tokenizer.json", write(tokenizer)],
    ["tokenizer_config.json", write(config)],
    ["special_tokens_map.json", write(roles)],
  ]);
}
