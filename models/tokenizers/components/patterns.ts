/** Patterns of components: what they match in a text, as Hugging Face's tokenizers find it. */
import type { Matcher } from "../../linear_pattern.ts";
import { fieldsOf } from "./component.ts";
import { translateExpression } from "./oniguruma.ts";

/** Letters, digits, marks and connectors, as the content of a character class. */
export const WORD_CHARACTERS = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d`;

/**
 * @param pattern a component's pattern: {"String": …} or {"Regex": …}
 * @throws Error when it has neither, or an expression that is not understood
 */
export function patternOf(pattern: unknown, owner: string): Matcher {
  const { String: text, Regex: expression } = fieldsOf(pattern);
  if (typeof text === "string") return new RegExp(RegExp.escape(text), "gv");
  if (typeof expression !== "string") throw new Error(`a ${owner} without a pattern`);
  return translateExpression(expression);
}

/**
 * Calls back for each match in turn. As in Oniguruma's bindings, an empty match directly after
 * another match does not count, and an empty text has no matches.
 */
export function eachMatch(
  text: string,
  pattern: Matcher,
  found: (from: number, to: number) => void,
): void {
  if (text === "") return;
  let last = -1;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const from = match.index, to = from + match[0].length;
    if (from === to) pattern.lastIndex += text.codePointAt(to)! > 0xffff ? 2 : 1;
    if (from < to || from !== last && !isInsidePair(text, from)) found(from, last = to);
  }
}

/** Between the two halves of a character, where JavaScript also tries expressions without one. */
function isInsidePair(text: string, at: number): boolean {
  return at > 0 && text.codePointAt(at - 1)! > 0xffff;
}

/** @param json component with a pattern, and a content that is put in place of each match */
export function replacer(json: unknown, owner: string): (text: string) => string {
  const { pattern, content } = fieldsOf(json);
  const by = typeof content === "string" ? content : "";
  const { String: literal } = fieldsOf(pattern);
  if (typeof literal === "string" && literal !== "") {
    const escaped = by.replaceAll("$", "$$$$");
    return (text) => text.replaceAll(literal, escaped);
  }
  const compiled = patternOf(pattern, owner);
  return (text) => {
    let out = "", done = 0;
    eachMatch(text, compiled, (from, to) => {
      out += text.slice(done, from) + by;
      done = to;
    });
    return out + text.slice(done);
  };
}
