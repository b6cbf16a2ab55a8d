/** Makes the model that a `tokenizer.json` describes. */
import type { Json } from "../components/component.ts";
import { Bpe } from "./bpe.ts";
import type { SubwordModel } from "./subword_model.ts";
import { Unigram } from "./unigram.ts";
import { type Vocabulary, vocabularyOf } from "./vocabulary.ts";
import { WordLevel } from "./word_level.ts";
import { WordPiece } from "./word_piece.ts";

const MODELS: Readonly<Record<string, new (json: Json, vocabulary: Vocabulary) => SubwordModel>> = {
  BPE: Bpe,
  Unigram,
  WordPiece,
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
 * @param json the model of a `tokenizer.json`
 * @throws Error for an unknown kind, or a model that is not as it should be; Damaged and
 *   NotSupported as the models do
 */
export function readModel(json: Json): { model: SubwordModel; vocabulary: Vocabulary } {
  const kind = kindOf(json);
  if (typeof kind !== "string" || !Object.hasOwn(MODELS, kind)) {
    throw new Error(`Unknown TokenizerModel type: ${String(kind)}`);
  }
  const vocabulary = vocabularyOf(json["vocab"]);
  return { model: new MODELS[kind]!(json, vocabulary), vocabulary };
}
