/**
 * What must hold of a `tokenizer.json` before its components are made: tokens are texts, and ids
 * are small integers.
 */
import { RgxError } from "../../core/errors.ts";
import { DAMAGED_ADVICE } from "../../core/json_file.ts";
import type { Json } from "./components/component.ts";

/** More than any vocabulary has. Ids are the indices of arrays. */
const MAX_ID = 2 ** 24;

/** @throws RgxError that names the first thing that is wrong */
export function checkTokenizerJson(json: Json, where: string): void {
  const bad = (message: string) =>
    new RgxError(`${where}/tokenizer.json: ${message}`, { advice: DAMAGED_ADVICE });
  const { model, added_tokens: added = [] } = json;
  if (!isObject(model)) throw bad(`no "model" in it, expected a Hugging Face tokenizer`);
  const { vocab } = model;
  if (Array.isArray(vocab)) {
    vocab.forEach((piece, i) => {
      if (Array.isArray(piece) && typeof piece[0] === "string" && typeof piece[1] === "number") {
        return;
      }
      throw bad(`piece ${i} of its vocabulary is ${show(piece)}, expected [text, score]`);
    });
  } else if (isObject(vocab)) {
    for (const [token, id] of Object.entries(vocab)) {
      if (!isId(id)) throw bad(`token ${show(token)} has the id ${show(id)}`);
    }
  }
  if (added === null) return;
  if (!Array.isArray(added)) throw bad(`added_tokens is ${show(added)}, expected a list`);
  added.forEach((token, i) => {
    if (isObject(token) && typeof token["content"] === "string" && isId(token["id"])) return;
    throw bad(`added token ${i} is ${show(token)}, expected one with an id and a content`);
  });
}

function isObject(value: unknown): value is Json {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function isId(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < MAX_ID;
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 60) ?? "missing";
}
