/** Makes the model that a `tokenizer.json` describes. */
import { type Json, NotSupported } from "../components/component.ts";
import { Bpe } from "./bpe.ts";
import { MissingToken, type SubwordModel } from "./subword_model.ts";
import { ByteTokens, unknownId, type Vocabulary, vocabularyOf } from "./vocabulary.ts";

// WordLevel models: each word is a token, or the unknown one.

class WordLevel implements SubwordModel {
  readonly #ids: ReadonlyMap<string, number>;
  readonly #unknownId: number | undefined;

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

// Unigram models (SentencePiece): of all ways to cut a word the one of the highest score.

/** How much lower than that of any piece the score of an unknown character is. */
const UNKNOWN_PENALTY = 10;

class Unigram implements SubwordModel {
  readonly #ids: ReadonlyMap<string, number>;
  readonly #scores: Float64Array;
  /** By first code unit: the length of the longest piece. */
  readonly #longest = new Map<number, number>();
  readonly #unknownId: number | null;
  readonly #unknownScore: number;
  /** Null without byte fallback. */
  readonly #bytes: ByteTokens | null;

  /** @param json the model of a `tokenizer.json`, whose vocabulary has been checked */
  constructor(json: Json, { ids, tokens }: Vocabulary) {
    const pieces = json["vocab"];
    if (!Array.isArray(pieces)) throw new Error("its model is a Unigram without scores");
    this.#ids = ids;
    this.#scores = Float64Array.from(pieces as [string, number][], ([, score]) => score);
    this.#unknownScore = this.#scores.reduce((a, b) => Math.min(a, b), Infinity) - UNKNOWN_PENALTY;
    const unknown = json["unk_id"];
    const isId = Number.isInteger(unknown) && tokens[unknown as number] !== undefined;
    this.#unknownId = isId ? unknown as number : null;
    this.#bytes = json["byte_fallback"] === true ? new ByteTokens(ids) : null;
    for (const piece of ids.keys()) {
      const first = piece.charCodeAt(0);
      if (piece.length > (this.#longest.get(first) ?? 0)) this.#longest.set(first, piece.length);
    }
  }

  encode(word: string, ids: number[]): void {
    const { starts, best } = this.#cut(word);
    const cuts: number[] = [];
    for (let end = word.length; end > 0; end = starts[end]!) cuts.push(end);
    let from = 0;
    while (cuts.length > 0) {
      let to = cuts.pop()!;
      if (best[to] !== this.#unknownId) ids.push(best[to]!);
      else {
        // Unknown pieces side by side are one.
        while (cuts.length > 0 && best[cuts.at(-1)!] === this.#unknownId) to = cuts.pop()!;
        this.#pushUnknown(word.slice(from, to), ids);
      }
      from = to;
    }
  }

  /** By end of a piece: where the best piece that ends there begins, and its id. */
  #cut(word: string): { starts: Int32Array; best: Int32Array } {
    const n = word.length;
    const starts = new Int32Array(n + 1).fill(-1), best = new Int32Array(n + 1);
    const scores = new Float64Array(n + 1);
    const offer = (from: number, to: number, score: number, id: number) => {
      const whole = score + scores[from]!;
      if (starts[to]! >= 0 && whole <= scores[to]!) return;
      starts[to] = from;
      scores[to] = whole;
      best[to] = id;
    };
    for (let at = 0, size = 1; at < n; at += size) {
      size = word.codePointAt(at)! > 0xffff ? 2 : 1;
      const end = Math.min(n, at + (this.#longest.get(word.charCodeAt(at)) ?? 0));
      let isKnown = false;
      for (let to = at + size; to <= end; to++) {
        const id = this.#ids.get(word.slice(at, to));
        if (id === undefined) continue;
        offer(at, to, this.#scores[id]!, id);
        isKnown ||= to === at + size;
      }
      if (isKnown) continue;
      if (this.#unknownId === null) throw new MissingToken();
      offer(at, at + size, this.#unknownScore, this.#unknownId);
    }
    return { starts, best };
  }

  #pushUnknown(text: string, ids: number[]): void {
    const whole = this.#ids.get(text);
    if (whole !== undefined) ids.push(whole);
    else if (this.#bytes?.push(text, ids) !== true) ids.push(this.#unknownId!);
  }
}

const MODELS: Readonly<Record<string, new (json: Json, vocabulary: Vocabulary) => SubwordModel>> = {
  BPE: Bpe,
  Unigram,
  WordLevel,
};

/** The kind of a model. Older files do not say it, but the fields of a model tell. */
function kindOf(json: Json): unknown {
  if (json["type"] !== undefined && json["type"] !== null) return json["type"];
  if (Array.isArray(json["vocab"])) return "Unigram";
  if (Array.isArray(json["merges"])) return "BPE";
  return json["continuing_subword_prefix"] === undefined ? "WordLevel" : "WordPiece";
}

/**
 * @throws NotSupported for another kind, Error for a model that is not as it should be; Damaged and
 *   NotSupported as the models do
 */
export function readModel(json: Json): { model: SubwordModel; vocabulary: Vocabulary } {
  const kind = kindOf(json);
  if (typeof kind !== "string" || !Object.hasOwn(MODELS, kind)) {
    throw new NotSupported(`the model ${JSON.stringify(kind)}`);
  }
  const vocabulary = vocabularyOf(json["vocab"]);
  return { model: new MODELS[kind]!(json, vocabulary), vocabulary };
}
