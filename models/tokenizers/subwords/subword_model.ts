/** What all kinds of models of a tokenizer have in common: words in, ids out. */

export interface SubwordModel {
  /**
   * Appends the ids of a word to a list.
   * @throws MissingToken when something in it has no token, not even an unknown one
   */
  encode(word: string, ids: number[]): void;
}

/** A text holds something that has no token, and the tokenizer has no unknown token. */
export class MissingToken extends Error {}

/** Words of more code units are seldom met again. */
const MAX_LENGTH = 256;
/** Maximum number of words that are remembered. A full memory forgets everything. */
const MAX_WORDS = 1 << 15;

/** A model that remembers the ids of the words that it has seen. */
export function remembering(model: SubwordModel): SubwordModel {
  const known = new Map<string, readonly number[]>();
  return {
    encode(word, ids) {
      if (word.length > MAX_LENGTH) return model.encode(word, ids);
      let found = known.get(word);
      if (found === undefined) {
        const made: number[] = [];
        model.encode(word, made);
        found = made;
        if (known.size === MAX_WORDS) known.clear();
        known.set(flat(word), found);
      }
      for (const id of found) ids.push(id);
    },
  };
}

/** A copy of a short string. A part of a string would keep the whole of it in memory. */
export function flat(text: string): string {
  return text.length < 13 ? text : Array.from(text).join("");
}
