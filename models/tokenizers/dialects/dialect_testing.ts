/** Tokenizers with the chat templates of families, for tests. */
import { readGoldenJson, readGoldenText } from "../../../tests/golden.ts";
import { tokenizerFromFiles } from "../tokenizer.ts";
import type { Tokenizer } from "../types.ts";

interface Bridges {
  families: Record<string, RecordedBridges>;
}

interface RecordedBridges {
  template: string;
  tokens: string[];
  cases: {
    messages: { role: string; content: string; name?: string }[];
    variables: Record<string, unknown>;
    /** The text between the end of the answer and the next one. */
    next: string;
  }[];
}

export const bridges: Bridges = readGoldenJson("dialects/bridges.json");

/**
 * A tokenizer of single bytes with Qwen's special tokens.
 * @param template a chat template @param tokens further special tokens; the first one ends a text
 * @param config further keys of tokenizer_config.json
 */
export function byteTokenizer(
  template: string | null,
  tokens: readonly string[] = ["<|im_end|>"],
  config: Record<string, unknown> = {},
): Tokenizer {
  const json = JSON.parse(readGoldenText("dialects/bytes-qwen3/tokenizer.json"));
  const known = json.added_tokens.map(({ content }: { content: string }) => content);
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  for (const content of tokens.filter((token) => !known.includes(token))) {
    const ids = [...Object.values<number>(json.model.vocab), ...json.added_tokens.map(idOf)];
    json.added_tokens.push({ id: Math.max(...ids) + 1, content, ...flags, special: true });
  }
  return tokenizerFromFiles(
    new Map([
      ["tokenizer.json", JSON.stringify(json)],
      [
        "tokenizer_config.json",
        JSON.stringify({ eos_token: tokens[0], bos_token: "<s>", ...config }),
      ],
      ...template === null ? [] : [["chat_template.jinja", template] as const],
    ]),
    "bytes",
  );
}

const idOf = ({ id }: { id: number }) => id;

/** The tokenizer of a family of bridges.json. */
export function familyTokenizer(name: string): Tokenizer {
  const { template, tokens } = bridges.families[name]!;
  return byteTokenizer(template, ["<s>", ...tokens].slice(1));
}
