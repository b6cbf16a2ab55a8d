/** WordPiece models (BERT): a word is cut greedily, the longest known piece first. */
import type { Json } from "../components/component.ts";
import { MissingToken, type SubwordModel } from "./subword_model.ts";
import { unknownId, type Vocabulary } from "./vocabulary.ts";

export class WordPiece implements SubwordModel {
  readonly #ids: ReadonlyMap<string, number>;
  /** Put before every piece but the first of a word. */
  readonly #prefix: string;
  readonly #maxCharacters: number;
  readonly #unknownId: number | undefined;
  /** Code units of the longest token. */
  readonly #longest: number;

  /** @param json the model of a `tokenizer.json` */
  constructor(json: Json, { ids }: Vocabulary) {
    const prefix = json["continuing_subword_prefix"], max = json["max_input_chars_per_word"];
    this.#ids = ids;
    this.#prefix = typeof prefix === "string" ? prefix : "##";
    this.#maxCharacters = typeof max === "number" ? max : 100;
    this.#unknownId = unknownId(json, ids);
    this.#longest = [...ids.keys()].reduce((most, token) => Math.max(most, token.length), 0);
  }

  encode(word: string, ids: number[]): void {
    const start = ids.length;
    if (Array.from(word).length <= this.#maxCharacters && this.#pushPieces(word, ids)) return;
    if (this.#unknownId === undefined) throw new MissingToken();
    ids.length = start;
    ids.push(this.#unknownId);
  }

  /** @returns false when some part of the word has no piece */
  #pushPieces(word: string, ids: number[]): boolean {
    let from = 0;
    while (from < word.length) {
      let to = Math.min(word.length, from + this.#longest), id = this.#idOf(word, from, to);
      while (id === undefined && to > from + 1) id = this.#idOf(word, from, --to);
      if (id === undefined) return false;
      ids.push(id);
      from = to;
    }
    return true;
  }

  #idOf(word: string, from: number, to: number): number | undefined {
    const piece = word.slice(from, to);
    return this.#ids.get(from > 0 ? this.#prefix + piece : piece);
  }
}
