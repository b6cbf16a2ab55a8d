/** Byte-pair encoding: characters, or the bytes of unknown ones, merged pair by pair. */
import { Damaged, type Json, NotSupported } from "../components/component.ts";
import { ByteTokens, type Vocabulary } from "./vocabulary.ts";
import { MergeTable } from "./merge_table.ts";
import { MissingToken, type SubwordModel } from "./subword_model.ts";

/** ▁ stands for a blank in SentencePiece's vocabularies, which have mostly tokens of one word. */
const INNER_WORD = /[^▁]▁/u;

export class Bpe implements SubwordModel {
  /** Whether a text can be cut before each run of ▁ that follows something else. */
  readonly cutsAtWords: boolean;
  readonly #table: MergeTable;
  readonly #ids: ReadonlyMap<string, number>;
  /** Ids of characters, by code point. */
  readonly #characters = new Map<number, number>();
  readonly #unknownToken: string | null;
  readonly #fusesUnknown: boolean;
  /** Null without byte fallback. */
  readonly #bytes: ByteTokens | null;
  readonly #ignoresMerges: boolean;

  /**
   * @throws Damaged for merges that do not fit the vocabulary, NotSupported for dropout and for
   *   marks in front of or behind the characters of a word
   */
  constructor(json: Json, { ids }: Vocabulary) {
    if (typeof json["dropout"] === "number" && json["dropout"] > 0) {
      throw new NotSupported("a BPE with dropout");
    }
    for (const name of ["continuing_subword_prefix", "end_of_word_suffix"]) {
      if (textOf(json[name])) throw new NotSupported(`a BPE with ${name}`);
    }
    this.#ids = ids;
    this.#unknownToken = textOf(json["unk_token"]);
    this.#fusesUnknown = json["fuse_unk"] === true;
    this.#ignoresMerges = json["ignore_merges"] === true;
    this.#bytes = json["byte_fallback"] === true ? new ByteTokens(ids) : null;
    const merges = readMerges(json["merges"], ids);
    this.#table = new MergeTable(merges);
    const joinsWords = [...ids].some(([token, id]) =>
      INNER_WORD.test(token) && merges.includes(id)
    );
    this.cutsAtWords = !joinsWords && ids.has("▁") && !this.#ignoresMerges;
    for (const [token, id] of ids) {
      const code = token.codePointAt(0);
      if (code !== undefined && token.length === (code > 0xffff ? 2 : 1)) {
        this.#characters.set(code, id);
      }
    }
  }

  encode(word: string, ids: number[]): void {
    const whole = this.#ignoresMerges ? this.#ids.get(word) : undefined;
    if (whole !== undefined) ids.push(whole);
    else this.#table.merge(this.#symbols(word), ids);
  }

  #symbols(word: string): number[] {
    const ids: number[] = [];
    /** Unknown characters that are not in `ids` yet: their token. */
    let pending: number | null = null;
    for (let at = 0; at < word.length;) {
      const code = word.codePointAt(at)!, size = code > 0xffff ? 2 : 1;
      const id = this.#characters.get(code);
      if (id !== undefined) {
        if (pending !== null) ids.push(pending);
        pending = null;
        ids.push(id);
      } else if (this.#bytes?.push(word.slice(at, at + size), ids) !== true) {
        // Without an unknown token the character goes lost.
        if (pending !== null && !this.#fusesUnknown) ids.push(pending);
        if (this.#unknownToken !== null) pending ??= this.#unknownId();
      }
      at += size;
    }
    if (pending !== null) ids.push(pending);
    return ids;
  }

  #unknownId(): number {
    const id = this.#ids.get(this.#unknownToken!);
    if (id === undefined) throw new MissingToken();
    return id;
  }
}

function readMerges(merges: unknown, ids: ReadonlyMap<string, number>): Int32Array {
  if (!Array.isArray(merges)) {
    throw new Damaged(
      `its model is a BPE, and its "merges" are ${show(merges)}, expected a list of pairs`,
    );
  }
  const read = new Int32Array(3 * merges.length);
  let place = 0;
  for (const [i, merge] of merges.entries()) {
    const pair: unknown = typeof merge === "string" ? splitMerge(merge) : merge;
    const isPair = Array.isArray(pair) && pair.length === 2 &&
      typeof pair[0] === "string" && typeof pair[1] === "string";
    if (!isPair) throw new Damaged(`merge ${i} is ${show(merge)}, expected a pair of tokens`);
    const [left, right] = pair as [string, string];
    for (const token of [left, right, left + right]) {
      const id = ids.get(token);
      if (id === undefined) {
        throw new Damaged(
          `merge ${i} is ${show(merge)}, but ${show(token)} is no token of its vocabulary`,
        );
      }
      read[place++] = id;
    }
  }
  return read;
}

/** The two tokens of "a b". The first one may begin with a blank. */
function splitMerge(merge: string): string[] {
  const at = merge.indexOf(" ", 1);
  return at < 0 ? [merge] : [merge.slice(0, at), merge.slice(at + 1)];
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 60) ?? "missing";
}
