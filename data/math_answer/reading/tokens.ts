/** The tokens of a cleaned answer: numbers, names of unknowns, functions and signs. */

export type Token = { kind: "number" | "name" | "function" | "sign"; text: string };

/** Thrown for texts outside of the grammar. */
export class Unreadable extends Error {}

const MAX_TOKENS = 400;

const GREEK = "alpha|beta|gamma|delta|epsilon|theta|lambda|mu|rho|sigma|tau|phi|psi|omega";
const NUMBER = "\\d{1,3}(?:,\\d{3})+(?![\\d,])(?:\\.\\d+)?|" +
  "(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:[eE][+-]?\\d{1,3}(?!\\d))?";
const NAME = `(?:[A-Za-z]|\\\\(?:${GREEK})(?![A-Za-z]))'*(?:_(?:\\w|\\{\\w+\\}))?`;
const FUNCTION =
  "\\\\(?:arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|lg|ln|exp|" +
  "min|max)(?![A-Za-z])";
const SIGN = "\\\\frac|\\\\sqrt|\\\\binom|\\\\[lr]floor|\\\\[lr]ceil|\\\\\\{|\\\\\\}|" +
  "[-+*/^%(),{}\\[\\]±∓π∞√;!|_°]";
const TOKEN = new RegExp(`\\s*(?:(${NUMBER})|(${FUNCTION})|(${NAME})|(${SIGN}))`, "y");
const PLAIN = /\s*(?:\d+(?:\.\d*)?|\.\d+)/y;

/** A word; shorter runs of letters are products of unknowns. */
const WORD = /(?<![\\A-Za-z])(?:[A-Za-z]{4,}|(?:and|or|not|but)(?![A-Za-z]))/;

/** @throws Unreadable */
export function tokenize(text: string): Token[] {
  if (WORD.test(text)) throw new Unreadable();
  const tokens: Token[] = [];
  let depth = 0;
  for (let at = 0; at < text.length;) {
    TOKEN.lastIndex = at;
    let match = TOKEN.exec(text);
    if (match === null) throw new Unreadable();
    const [, number, func, name] = match;
    if (depth > 0 && number?.includes(",")) {
      // Inside brackets a comma separates items: (1,234) is a pair.
      PLAIN.lastIndex = at;
      match = PLAIN.exec(text)!;
    }
    at += match[0].length;
    const token = match[0].trim();
    if (token === "(" || token === "[" || token === "\\{") depth++;
    if (token === ")" || token === "]" || token === "\\}") depth--;
    if (number !== undefined) tokens.push({ kind: "number", text: token });
    else if (func !== undefined) tokens.push({ kind: "function", text: token.slice(1) });
    else if (name !== undefined) tokens.push({ kind: "name", text: token.replace(/[{}]/g, "") });
    else tokens.push({ kind: "sign", text: token });
    if (tokens.length > MAX_TOKENS) throw new Unreadable();
  }
  return tokens;
}

/** Letters that mostly stand for functions. */
const FUNCTION_NAME = /^[fghFGH]'*(?:_\w+)?$/;

/**
 * The names that stand for functions: f, g or h that are followed by a bracket wherever they occur
 * in these texts. In h(a + b) = ha + hb the letter is a factor.
 */
export function functionNames(...texts: readonly string[]): Set<string> {
  const found = new Set<string>(), factors = new Set<string>();
  for (const text of texts) {
    let tokens: Token[];
    try {
      tokens = tokenize(text);
    } catch (error) {
      if (error instanceof Unreadable) continue;
      throw error;
    }
    tokens.forEach(({ kind, text }, i) => {
      if (kind !== "name" || !FUNCTION_NAME.test(text)) return;
      const next = tokens[i + 1]?.text;
      (next === "(" || next === "^" ? found : factors).add(text);
    });
  }
  return new Set([...found].filter((name) => !factors.has(name)));
}
