/**
 * Comparisons in a row: `a < b < c`. The library's parser reads them as `(a < b) < c`, Python as
 * `a < b and b < c`, so they are refused.
 */

/** A token of the library. */
interface Token {
  readonly type: string;
  readonly value: string;
}

const OPENING = ["OpenParen", "OpenSquareBracket", "OpenCurlyBracket"];
const CLOSING = ["CloseParen", "CloseSquareBracket", "CloseCurlyBracket"];
/** What stands between two comparisons that are none in a row. */
const SEPARATORS = ["Comma", "Colon", "Equals"];
const WORDS = ["and", "or", "if", "elif", "else", "set"];

/** @throws Error for comparisons in a row */
export function refuseChains(tokens: readonly Token[]): void {
  // For each bracket that is open: whether a comparison stands in it.
  let open = [false];
  for (const { type, value } of tokens) {
    const isWord = type === "Identifier";
    if (type === "OpenStatement" || type === "OpenExpression") open = [false];
    else if (OPENING.includes(type)) open.push(false);
    else if (CLOSING.includes(type)) open.pop();
    else if (SEPARATORS.includes(type) || (isWord && WORDS.includes(value))) {
      open[open.length - 1] = false;
    } else if (type === "ComparisonBinaryOperator" || (isWord && value === "in")) {
      if (open.at(-1) === true) {
        throw new Error(`comparisons in a row (… ${value} …) are not supported: write "and"`);
      }
      open[open.length - 1] = true;
    }
  }
}
