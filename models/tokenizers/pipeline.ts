/**
 * All that a `tokenizer.json` describes, put together: added tokens, normalizer, pre-tokenizer,
 * model, post-processor and decoder, as Hugging Face's tokenizers compute them.
 */
import { type AddedToken, type TokenFinder, tokenFinder } from "./components/added_tokens.ts";
import { componentOf, fieldsOf, type Json, NotSupported } from "./components/component.ts";
import { type Decoder, decoderOf } from "./components/decoders.ts";
import { type Normalizer, normalizerOf } from "./components/normalizers.ts";
import { type PreTokenizer, preTokenizerOf } from "./components/pre_tokenizers.ts";
import { Bpe } from "./subwords/bpe.ts";
import { readModel } from "./subwords/read_model.ts";
import { MissingToken, remembering, type SubwordModel } from "./subwords/subword_model.ts";
import type { Vocabulary } from "./subwords/vocabulary.ts";

/** What finds added tokens: in a text as it is, and in what is left of it, normalized. */
export interface Finders {
  asWritten: TokenFinder;
  normalized: TokenFinder;
}

export class TokenizerPipeline {
  readonly added: readonly AddedToken[];
  /** By id: the tokens of the model, and the added ones. */
  readonly tokens: readonly (string | undefined)[];
  readonly #vocabulary: Vocabulary;
  readonly #addedIds: ReadonlyMap<string, number>;
  readonly #finders: Finders;
  readonly #normalize: Normalizer | null;
  readonly #cut: PreTokenizer;
  readonly #model: SubwordModel;
  readonly #surroundings: Surroundings;
  readonly #decode: Decoder | null;

  /**
   * @throws NotSupported for a component that is not implemented, Damaged or Error for one that
   *   is not as it should be
   */
  constructor(json: Json) {
    this.#normalize = normalizerOf(json["normalizer"]);
    this.#surroundings = surroundingsOf(json["post_processor"]);
    this.#decode = decoderOf(json["decoder"]);
    this.added = (json["added_tokens"] ?? []) as readonly AddedToken[];
    this.#finders = this.finders(this.added);
    this.#addedIds = new Map(this.added.map(({ content, id }) => [content, id]));
    const { model, vocabulary } = readModel(fieldsOf(json["model"]));
    this.#vocabulary = vocabulary;
    const tokens = [...vocabulary.tokens];
    for (const { content, id } of this.added) tokens[id] = content;
    this.tokens = tokens;
    const cut = preTokenizerOf(json["pre_tokenizer"]);
    // Without a pre-tokenizer a text is one word, and words that are met again are remembered.
    const cutsAtWords = cut === null && model instanceof Bpe && model.cutsAtWords;
    this.#cut = cut ?? ((text) => cutsAtWords ? markedWords(text) : [text]);
    this.#model = cut === null && !cutsAtWords ? model : remembering(model);
  }

  tokenId(token: string): number | undefined {
    return this.#addedIds.get(token) ?? this.#vocabulary.ids.get(token);
  }

  finders(added: readonly AddedToken[]): Finders {
    const normal = (text: string) => this.#normalize?.(text) ?? text;
    const find = (isNormalized: boolean, textOf: (content: string) => string) =>
      tokenFinder(
        new Map(
          added.filter((token) => (token.normalized === true) === isNormalized)
            .map((token) => [textOf(token.content), token]),
        ),
      );
    return { asWritten: find(false, (content) => content), normalized: find(true, normal) };
  }

  /**
   * The ids of a text after others.
   * @param finders find the added tokens; default: all of them
   * @throws MissingToken when something in it has no token
   */
  encode(text: string, before: readonly number[] = [], finders = this.#finders): number[] {
    const ids = [...before];
    for (const outer of finders.asWritten(text)) {
      if (outer.token !== null) {
        ids.push(outer.token.id);
        continue;
      }
      const normal = this.#normalize?.(outer.text) ?? outer.text;
      for (const { token, text, at } of finders.normalized(normal)) {
        if (token !== null) ids.push(token.id);
        else {
          const words = this.#cut(text, outer.at === 0 && at === 0);
          for (const word of words) this.#model.encode(word, ids);
        }
      }
    }
    return ids;
  }

  /**
   * The ids that belong before and after a text.
   * @throws MissingToken when one of their tokens is in no vocabulary
   */
  surroundings(): { before: number[]; after: number[] } {
    const ids = (side: Surroundings["before"]) =>
      side.map((one) => {
        const id = typeof one === "number" ? one : this.tokenId(one);
        if (id === undefined) throw new MissingToken(String(one));
        return id;
      });
    return { before: ids(this.#surroundings.before), after: ids(this.#surroundings.after) };
  }

  /** The text of tokens. Without a decoder, spaces stand between them. */
  decode(tokens: readonly string[]): string {
    return this.#decode === null ? tokens.join(" ") : this.#decode(tokens).join("");
  }
}

/** The text, cut before each run of ▁ that follows something else. */
function markedWords(text: string): string[] {
  const words: string[] = [];
  let from = 0;
  for (let at = text.indexOf("▁", 1); at > 0; at = text.indexOf("▁", at + 1)) {
    if (text[at - 1] === "▁") continue;
    words.push(text.slice(from, at));
    from = at;
  }
  words.push(text.slice(from));
  return words;
}

// Post-processors: the tokens that a tokenizer puts before and after the tokens of a text.

/** Ids, or contents of tokens whose ids the file does not repeat. */
interface Surroundings {
  before: readonly (number | string)[];
  after: readonly (number | string)[];
}

const NOTHING: Surroundings = { before: [], after: [] };

/** @throws NotSupported for an unknown kind, Error for one that is not as it should be */
function surroundingsOf(json: unknown): Surroundings {
  const found = componentOf<Surroundings>(json, {
    kinds: {
      TemplateProcessing: (part) => template(part["single"], fieldsOf(part["special_tokens"])),
      ByteLevel: () => NOTHING,
    },
    key: "processors",
    name: "post_processor",
    inTurn(parts) {
      const [first = NOTHING, ...more] = parts
        .filter(({ before, after }) => before.length + after.length > 0);
      if (more.length === 0) return first;
      throw new NotSupported("a Sequence of post_processors of which several add tokens");
    },
  });
  return found ?? NOTHING;
}

/** @param special by names: the ids that a special token of the template stands for */
function template(
  single: unknown,
  special: Readonly<Record<string, unknown>>,
): Surroundings {
  if (!Array.isArray(single)) throw new Error("a TemplateProcessing without a template");
  const before: (number | string)[] = [], after: (number | string)[] = [];
  let texts = 0;
  for (const piece of single) {
    const { SpecialToken: token, Sequence: text } = fieldsOf(piece);
    if (token !== undefined) {
      const name = fieldsOf(token)["id"];
      if (typeof name !== "string") throw new Error("a special token without a name");
      const { ids } = fieldsOf(Object.hasOwn(special, name) ? special[name] : null);
      const side = texts === 0 ? before : after;
      if (Array.isArray(ids) && ids.every(Number.isInteger)) side.push(...ids);
      else side.push(name);
    } else if (fieldsOf(text)["id"] === "A") texts++;
    else throw new Error("a TemplateProcessing with a piece of an unknown kind");
  }
  if (texts !== 1) throw new Error(`a TemplateProcessing that holds the text ${texts} times`);
  return { before, after };
}
