/** LaTeX as written → the notation that the parser reads: spacing, wrappers, units and `x =` dropped. */
import { strip } from "../../tasks/python_text.ts";

const WRAPPERS = [["$$", "$$"], ["$", "$"], ["\\(", "\\)"], ["\\[", "\\]"]] as const;

/** Spellings with the same meaning. */
const SPELLINGS: readonly (readonly [RegExp, string])[] = [
  [/\\(?:left|right|displaystyle|[bB]igg?[lr]?)(?![A-Za-z])/g, ""],
  [/(\d)(?:\{,\}|\\[,!])(?=\d)/g, "$1"],
  [/\\[,!;: ]|\\q?quad(?![A-Za-z])|~/g, " "],
  [/\\(?:dfrac|tfrac|cfrac)(?![A-Za-z])/g, "\\frac"],
  [/\\(?:cdot|times)(?![A-Za-z])|[×·⋅]/g, "*"],
  [/\\div(?![A-Za-z])|÷/g, "/"],
  [/[−–]/g, "-"],
  [/\\pm(?![A-Za-z])/g, "±"],
  [/\\pi(?![A-Za-z])/g, "π"],
  [/\\infty(?![A-Za-z])/g, "∞"],
  [/\^\s*\{?\s*\\circ\s*\}?|\\degree(?![A-Za-z])|°/g, ""],
  [/\\%/g, "%"],
  [/\\\$|[$€£]/g, ""],
];

const TEXT = "\\\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mbox|operatorname)";
const TEXT_CONTENT = new RegExp(`${TEXT}\\s*\\{([^{}]*)\\}`, "g");

const WORDS = "(?:[kcmn]m|km/h|mph|kg|mg|g|m|s|ms|cm|feet|foot|ft|inch(?:es)?|mi|miles?|yards?|" +
  "met(?:er|re)s?|seconds?|minutes?|hours?|days?|weeks?|months?|years?|degrees?|dollars?|cents?|" +
  "percent|units?|people|points?)";
const EXPONENT = "(?:\\s*\\^\\s*\\{?\\s*\\d\\s*\\}?|[²³])?";
/** A unit behind a number: text of any kind in LaTeX's text commands, else a well-known word. */
const UNITS = [
  new RegExp(`([\\d)}%!π])\\s*${TEXT}\\s*\\{\\s*[^\\d{}]*\\}${EXPONENT}$`),
  new RegExp(`([\\d)}])\\s+(?:square\\s+|cubic\\s+)?${WORDS}${EXPONENT}$`),
  new RegExp(`(\\d)(?:[kcm]m|kg|mg)${EXPONENT}$`),
];

const VARIABLE = /^[A-Za-z](?:_(?:\w|\{\w+\}))?\s*(?:=|\\in(?![A-Za-z]))\s*/;

export function cleanMath(text: string): string {
  let t = strip(text);
  for (const [open, close] of WRAPPERS) {
    if (t.startsWith(open) && t.endsWith(close) && t.length >= open.length + close.length) {
      t = strip(t.slice(open.length, t.length - close.length));
    }
  }
  for (const [pattern, replacement] of SPELLINGS) t = t.replace(pattern, replacement);
  t = strip(t).replace(/(?<=[^.])\.$/, "").replace(VARIABLE, "");
  for (const unit of UNITS) t = t.replace(unit, "$1");
  return strip(t.replace(TEXT_CONTENT, "$1"));
}
