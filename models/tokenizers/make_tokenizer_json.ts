/**
 * Makes a `tokenizer.json` from forms that say less: byte-level BPE from GGUF metadata or from
 * `vocab.json` and `merges.txt`, and SentencePiece vocabularies. These forms do not say how a text
 * is cut into words, or only name the rule. The regular expressions here are those of the models'
 * published tokenizers. An unknown name is refused.
 */
import { RgxError, UsageError } from "../../core/errors.ts";
import { type AddedToken, PLAIN_FLAGS } from "./components/added_tokens.ts";

export interface TokenizerParts {
  /** Token → id, without a prototype, because any text can be a token. */
  vocab: Readonly<Record<string, number>>;
  /** Pairs of tokens. Pairs that come earlier are merged earlier. */
  merges: readonly (readonly [left: string, right: string])[];
  added: readonly AddedToken[];
  /** Ids that are put before and after every text. */
  before: readonly number[];
  after: readonly number[];
  unknown: string | null;
}

const ENGLISH_ENDINGS = "'(?:[sdmt]|ll|ve|re)";
const GPT2 = String.raw`${ENGLISH_ENDINGS}| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const DIGIT = String.raw`\p{N}`;
const DIGITS = String.raw`\p{N}{1,3}`;
const ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
/** @param marks whether combining marks belong to words, as in Qwen 3.5 */
const modern = (digits: string, marks = "") =>
  String.raw`${ENDINGS}|[^\r\n\p{L}\p{N}]?${marks ? `[\\p{L}${marks}]` : String.raw`\p{L}`}+` +
  String.raw`|${digits}| ?[^\s\p{L}${marks}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
/** Words end where a small letter is followed by a capital one. @param endings may follow them */
function byCase(digits: string, endings: string): string {
  const first = String.raw`[^\r\n\p{L}\p{N}]?`;
  const capital = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
  const small = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
  return `${first}${capital}*${small}+${endings}|${first}${capital}+${small}*${endings}|${digits}` +
    String.raw`| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
}

interface Splitting {
  /** Applied in turn. Each match is a piece, and so is what lies between two matches. */
  patterns: readonly string[];
  normalizer: Record<string, unknown> | null;
  /** Whether a piece that is a token already is not merged from its bytes. */
  ignoreMerges: boolean;
}

const plain = (...patterns: string[]): Splitting => ({
  patterns,
  normalizer: null,
  ignoreMerges: false,
});
const composed = (pattern: string) => ({ ...plain(pattern), normalizer: { type: "NFC" } });
const whole = (pattern: string) => ({ ...plain(pattern), ignoreMerges: true });

/** llama.cpp's names. The first one of a rule is written into files. */
const SPLITTINGS: Readonly<Record<string, Splitting>> = {
  "gpt-2": plain(GPT2),
  "smollm": plain(DIGIT, GPT2),
  "starcoder": plain(DIGIT, GPT2),
  "refact": plain(DIGIT, GPT2), // Granite 3
  "qwen2": composed(modern(DIGIT)),
  "qwen35": composed(modern(DIGIT, String.raw`\p{M}`)),
  "llama-bpe": whole(modern(DIGITS)),
  "lfm2": whole(modern(DIGITS)),
  "dbrx": plain(modern(DIGITS)), // cl100k: OLMo 2, Granite 4
  "smaug-bpe": plain(modern(DIGITS)), // SmolLM3
  "tekken": whole(byCase(DIGIT, "")), // Mistral Nemo, Ministral 3
  "gpt-4o": plain(byCase(DIGITS, `${ENDINGS}?`)), // o200k: Phi-4-mini
};

/** The rules whose texts begin with a special token, if the file says nothing of it. */
export const BEGINNING: ReadonlySet<string> = new Set(["llama-bpe", "lfm2", "tekken"]);

/**
 * The name of the rule by which a byte-level `tokenizer.json` cuts text, or null when the rule has
 * no name. The pre-tokenizers of such a file are ByteLevel, Split by an expression, and Digits.
 */
export function splittingName(json: Readonly<Record<string, unknown>>): string | null {
  const parts = flatten(json["pre_tokenizer"], "pretokenizers");
  const bytes = parts.pop();
  if (bytes?.["type"] !== "ByteLevel" || bytes["add_prefix_space"] === true) return null;
  const patterns = parts.map((part) => {
    if (part["type"] === "Digits" && part["individual_digits"] === true) return DIGIT;
    // The patterns match everything, so removing what they do not match changes nothing.
    const cut = part["type"] === "Split" &&
      part["behavior"] === (part["invert"] === true ? "Removed" : "Isolated");
    return cut ? (part["pattern"] as { Regex?: unknown } | null)?.Regex : undefined;
  });
  if (bytes["use_regex"] !== false) patterns.push(GPT2);
  const [normalizer, ...more] = flatten(json["normalizer"], "normalizers");
  if (more.length > 0) return null;
  const ignoreMerges =
    (json["model"] as { ignore_merges?: unknown } | null)?.ignore_merges === true;
  const found = Object.entries(SPLITTINGS).find(([, rule]) =>
    rule.patterns.length === patterns.length &&
    rule.patterns.every((pattern, i) => pattern === patterns[i]) &&
    rule.normalizer?.["type"] === normalizer?.["type"] && rule.ignoreMerges === ignoreMerges
  );
  return found?.[0] ?? null;
}

function flatten(part: unknown, key: string): Record<string, unknown>[] {
  if (part === null || typeof part !== "object") return [];
  const inner = (part as Record<string, unknown>)[key];
  return Array.isArray(inner)
    ? inner.flatMap((item) => flatten(item, key))
    : [part as Record<string, unknown>];
}

/**
 * @param splitting name of the rule that cuts text, as `tokenizer.ggml.pre` has it
 * @throws UsageError for an unknown name, RgxError when there are no merges
 */
export function byteLevelBpe(
  parts: TokenizerParts,
  splitting: string,
  where: string,
): Record<string, unknown> {
  const rule = Object.hasOwn(SPLITTINGS, splitting) ? SPLITTINGS[splitting] : undefined;
  if (rule === undefined) {
    throw new UsageError(
      `${where}: the tokenizer's splitting rule is ${JSON.stringify(splitting)}, which is not ` +
        `known (only ${Object.keys(SPLITTINGS).join(", ")})`,
      { advice: "Use the model's tokenizer.json, which holds the rule itself." },
    );
  }
  checkMerges(parts, where);
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true };
  return {
    ...common(parts),
    normalizer: rule.normalizer,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        ...rule.patterns.map((pattern) => ({
          type: "Split",
          pattern: { Regex: pattern },
          behavior: "Isolated",
          invert: false,
        })),
        { ...byteLevel, use_regex: false },
      ],
    },
    decoder: { ...byteLevel, use_regex: true },
    model: { ...bpe(parts), byte_fallback: false, ignore_merges: rule.ignoreMerges },
  };
}

const INCOMPLETE = "The file is incomplete: fetch the tokenizer again.";

/** @param merges as files write them: "left right". @throws RgxError for one of another form */
export function splitMerges(
  merges: readonly string[],
  where: string,
): [left: string, right: string][] {
  return merges.map((merge, i) => {
    const [left, right, ...more] = merge.split(" ");
    if (!left || !right || more.length > 0) {
      throw new RgxError(
        `${where}: the tokenizer's merge ${i} is ${JSON.stringify(merge)}, expected two tokens`,
        { advice: INCOMPLETE },
      );
    }
    return [left, right];
  });
}

function checkMerges({ vocab, merges }: TokenizerParts, where: string): void {
  if (merges.length === 0) {
    throw new RgxError(`${where}: the tokenizer has no merges`, { advice: INCOMPLETE });
  }
  for (const [left, right] of merges) {
    const missing = [left, right, left + right].find((token) => vocab[token] === undefined);
    if (missing !== undefined) {
      throw new RgxError(
        `${where}: the merge of ${JSON.stringify(left)} and ${JSON.stringify(right)} needs the ` +
          `token ${JSON.stringify(missing)}, which is not in the vocabulary`,
        { advice: "Vocabulary and merges belong to different tokenizers." },
      );
    }
  }
}

/** @param prefix whether a blank is put before the text, as most SentencePiece models want it */
export function sentencePieceBpe(
  parts: TokenizerParts,
  prefix: boolean,
): Record<string, unknown> {
  const replace = (from: string, to: string) => ({
    type: "Replace",
    pattern: { String: from },
    content: to,
  });
  return {
    ...common(parts),
    normalizer: {
      type: "Sequence",
      normalizers: [...prefix ? [{ type: "Prepend", prepend: "▁" }] : [], replace(" ", "▁")],
    },
    pre_tokenizer: null,
    decoder: {
      type: "Sequence",
      decoders: [
        replace("▁", " "),
        { type: "ByteFallback" },
        { type: "Fuse" },
        ...prefix ? [{ type: "Strip", content: " ", start: 1, stop: 0 }] : [],
      ],
    },
    model: { ...bpe(parts), byte_fallback: true, ignore_merges: false },
  };
}

function bpe({ vocab, merges, unknown }: TokenizerParts): Record<string, unknown> {
  return { type: "BPE", dropout: null, unk_token: unknown, fuse_unk: true, vocab, merges };
}

function common({ vocab, added, before, after }: TokenizerParts): Record<string, unknown> {
  const names = new Map(Object.entries(vocab).map(([token, id]) => [id, token]));
  for (const { id, content } of added) names.set(id, content);
  const special = (id: number) => ({ SpecialToken: { id: names.get(id)!, type_id: 0 } });
  const sequence = { Sequence: { id: "A", type_id: 0 } };
  const single = [...before.map(special), sequence, ...after.map(special)];
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: added.map((token) => ({ ...token, ...PLAIN_FLAGS })),
    post_processor: single.length === 1 ? null : {
      type: "TemplateProcessing",
      single,
      pair: single,
      special_tokens: Object.fromEntries(
        [...before, ...after].map((id) => {
          const token = names.get(id)!;
          return [token, { id: token, ids: [id], tokens: [token] }];
        }),
      ),
    },
  };
}
