/** WordLevel models: each word is a token, or the unknown one. */
import type { Json } from "../components/component.ts";
import { MissingToken, type SubwordModel } from "./subword_model.ts";
import { unknownId, type Vocabulary } from "./vocabulary.ts";

export class WordLevel implements SubwordModel {
  readonly #ids: ReadonlyMap<string, number>;
  readonly #unknownId: number | undefined;

  /** @param json the model of a `tokenizer.json` */
  constructor(json: Json, { ids }: Vocabulary) {
    this.#ids = ids;
    this.#unknownId = unknownId(json, ids);
  }

  encode(word: string, ids: number[]): void {
    const id = this.#ids.get(word) ?? this.#unknownId;
    if (id === undefined) throw new MissingToken();
    ids.push(id);
  }
}
