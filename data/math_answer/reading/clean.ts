/**
 * Normalizes an answer as it was written (LaTeX, Markdown or plain text) for the parser. Spacing,
 * wrappers, units and a leading `x =` are dropped; spellings with the same meaning become one.
 */
import { strip } from "../../../tasks/python/text.ts";
import { dropUnits, TEXT, worded } from "./units.ts";

const WRAPPERS = [
  ["$$", "$$"],
  ["$", "$"],
  ["\\(", "\\)"],
  ["\\[", "\\]"],
  ["**", "**"],
  ["*", "*"],
  ["`", "`"],
  ['"', '"'],
  ["'", "'"],
] as const;

/** Bold type around the whole answer, which may have braces of one level. */
const BOLD = /^\\(?:mathbf|boldsymbol|bm|underline)\s*\{((?:[^{}\\]|\\[^]|\{[^{}]*\})*)\}$/;

/** A block of code around the whole answer: ```latex … ``` */
const FENCED = /^```[a-z]*\s([^`]*)```$/;

/** Stands for LaTeX's end of a matrix row, `\\`, which looks like the start of a command. */
export const ROW_END = "⏎";

/** Stands for a wide gap, which separates two values. */
const GAP = "␣";

/** Words that LaTeX writes as commands; in plain text they stand without the backslash. */
const FUNCTIONS =
  "arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|lg|ln|exp|min|max";
const COMMANDS = "sqrt|pi|infty|arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|csc|log|ln|exp";
const THREE = "(?=\\d{3}(?!\\d))";

/** A degree sign, and the temperature scale that may follow it. */
const DEGREES = String.raw`(?:\^\s*\{?\s*\\circ\s*\}?|\\degree(?![A-Za-z])|[°º])`;
const SCALE = String.raw`(?:\\(?:text|mathrm)\s*\{\s*[CF]\s*\}|[CF](?![A-Za-z]))`;

/** Spellings with the same meaning. */
const SPELLINGS: readonly (readonly [RegExp, string])[] = [
  [/^(?:the )?(?:final )?answer(?: is ?:?| ?[:=])/gi, ""],
  [new RegExp(`^${TEXT}\\s*\\{\\s*([-+]?\\d[^{}]*)\\}$`, "g"), "$1"],
  [/^\\text\s*\{\s*(?:the )?(?:final )?answer(?: is)?\s*:?\s*\}\s*[:=]?/gi, ""],
  // Data that was escaped twice: \\frac. This is not the end of a matrix row, since no command
  // follows such an end.
  [
    /(?<!\\)\\\\(?=(?:[dt]?frac|sqrt|left|right|text|pi|cdot|infty|pm|leq?|geq?|in|cup)(?![A-Za-z]))/g,
    "\\",
  ],
  [/\\\\(?:\s*\[[^\]]*\])?|\\cr(?![A-Za-z])/g, ROW_END],
  [
    new RegExp(`\\\\(?:operatorname|mathrm|text)\\*?\\s*\\{\\s*(${FUNCTIONS})\\s*\\}`, "g"),
    "\\$1 ",
  ],
  // Size, weight and colour.
  [/\\(?:boldsymbol|bm|pmb|underline)\s*(?=\{)/g, ""],
  [/\\math(?:bf\s*(?=\d|\{(?![A-Za-z\s().]*\}))|(?:rm|it|sf)\s*(?=\d|\{\s*[-+\d\\]))/g, ""],
  [/\\(?:bf|rm|tiny|small|large|Large|LARGE|huge|Huge|textstyle|boldmath)(?![A-Za-z])/g, ""],
  [/\\(?:text)?color\s*\{[A-Za-z]+\}/g, ""],
  [/\\(?:left|right|displaystyle|limits|[bB]igg?[lr]?)(?![A-Za-z])/g, ""],
  // Thousands: 1{,}000 and 1,\!000 and 1\,000.
  [new RegExp(`(\\d)(?:\\s*\\{\\s*,\\s*\\}|\\s*,\\s*\\\\!|\\\\[,!])\\s*${THREE}`, "g"), "$1"],
  [/(?<=[,;=])\s*(?:\\q?quad\s*)+|(?:\\q?quad\s*)+$/g, " "],
  [/(?:\\q?quad\s*)+(?=\\text\s*\{\s*(?:and|or|if|for)\s*\}|[,;=])/g, " "],
  [/(?<=\\text\s*\{\s*(?:and|or|if|for)\s*\}\s*)(?:\\q?quad\s*)+/g, " "],
  [/\\q?quad/g, GAP],
  [/\\[,!;: ]|~|\\hspace\*?\s*\{[^{}]*\}/g, " "],
  [/\s+/g, " "],
  [/\\(?:dfrac|tfrac|cfrac|nicefrac|sfrac)(?![A-Za-z])/g, "\\frac"],
  [/\\[dt]binom(?![A-Za-z])/g, "\\binom"],
  [/\{([^{}]*)\\over(?![A-Za-z])([^{}]*)\}/g, "\\frac{$1}{$2}"],
  [/\{([^{}]*)\\choose(?![A-Za-z])([^{}]*)\}/g, "\\binom{$1}{$2}"],
  [/\\(?:cdot|times|ast)(?![A-Za-z])|[×·⋅∗]/g, "*"],
  [/(\d)\s*[xX]\s*(?=10\s*\^)/g, "$1*"],
  // A power in Python's notation.
  [/(?<=[\w)])\*\*(?=[\w(-])/g, "^"],
  [/\\div(?![A-Za-z])|[÷⁄∕]/g, "/"],
  [/[‐‑‒–—−﹣-]/g, "-"],
  [/\\pm(?![A-Za-z])|\+\/-/g, "±"],
  [/\\mp(?![A-Za-z])/g, "∓"],
  [new RegExp(`(?<![\\\\A-Za-z])(?=(?:${COMMANDS})(?![A-Za-z]))`, "g"), "\\"],
  [/(?<![\\A-Za-z])inf(?:inity)?(?![A-Za-z])|(?<![\\A-Za-z\d])oo(?![A-Za-z])/g, "∞"],
  [/\\pi(?![A-Za-z])/g, "π"],
  [/\\infty(?![A-Za-z])/g, "∞"],
  [/\\cup(?![A-Za-z])|(?<=[)\]}]\s*)U(?=\s*[([{\\])/g, "∪"],
  [/\\mathbb\s*(?:\{\s*R\s*\}|R)|ℝ/g, "(-∞,∞)"],
  [/^(?:\\text\s*\{\s*)?all real (?:numbers|values)(?:\s*\})?$/gi, "(-∞,∞)"],
  [/^(?:\\text\s*\{\s*)?no solutions?(?:\s*\})?$/gi, "\\{\\}"],
  [/\\(?:leqslant|leq|le)(?![A-Za-z])|<=/g, "≤"],
  [/\\(?:geqslant|geq|ge)(?![A-Za-z])|>=/g, "≥"],
  [/\\neq?(?![A-Za-z])|\\not\s*=|!=/g, "≠"],
  [/\\lt(?![A-Za-z])/g, "<"],
  [/\\gt(?![A-Za-z])/g, ">"],
  [/\\lbrace(?![A-Za-z])/g, "\\{"],
  [/\\rbrace(?![A-Za-z])/g, "\\}"],
  [/^\{([^{}]*,[^{}]*)\}$/g, "\\{$1\\}"],
  [/\\langle(?![A-Za-z])/g, "("],
  [/\\rangle(?![A-Za-z])/g, ")"],
  [/\\(?:[lr]?vert|mid)(?![A-Za-z])/g, "|"],
  [/\\(?:emptyset|varnothing)(?![A-Za-z])|∅/g, "\\{\\}"],
  [/^\\?\{\s*[A-Za-z]\s*[|:]\s*(.*[<>≤≥≠].*?)\\?\}$/g, "$1"],
  [/\\prime(?![A-Za-z])/g, "'"],
  [/(?<=\d)\s*\^\s*(?:o|\{\s*o\s*\})(?![A-Za-z])/g, "°"],
  [new RegExp(`${DEGREES}(?:\\s*${SCALE})?`, "g"), "°"],
  [/\\%/g, "%"],
  [/\\\$|[$€£¥₹¢]/g, ""],
  // The removals leave runs of spaces, on which patterns with optional spaces would take cubic
  // time.
  [/ {2,}/g, " "],
];

const FRACTION_SIGN = /[¼-¾⅐-⅞]/g;
/** Full-width digits and signs, and characters without a width. */
const WIDE = /[！-～]/g, INVISIBLE = /[\u200B-\u200D\u2060\uFEFF]/g;
const RAISED = /[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+/g;

const TEXT_CONTENT = new RegExp(`${TEXT}\\s*\\{([^{}]*)\\}`, "g");
const LETTER = "(?:[A-Za-z]|\\\\(?:alpha|beta|gamma|theta|phi|omega|lambda|mu|rho|sigma))";
const NAME = `${LETTER}'*(?:_(?:\\w|\\{\\w+\\}))?`;
/** The name before an answer, with its sign: x =, x_1 =, f(x) =, (a, b) =, AB =, ∠ABC =, x ∈. */
const VARIABLE = new RegExp(
  `^(?:(?:${NAME}(?:\\^\\{?-1\\}?(?=\\s*\\())?|[A-Z]\\^\\{?-1\\}?)` +
    `(?:\\s*\\((?:${NAME}|-?\\d+)(?:\\s*,\\s*(?:${NAME}|-?\\d+))*\\))?|` +
    `\\(\\s*${NAME}(?:\\s*,\\s*${NAME})+\\s*\\)|` +
    "(?:\\|[A-Z]{2}\\||\\\\frac\\s*\\{[A-Z]{2,3}\\}\\s*\\{[A-Z]{2,3}\\})|" +
    "(?:m\\s*(?=\\\\angle))?" +
    "(?:\\\\(?:angle|triangle|overline|mathbf|mathrm|text|vec)(?![A-Za-z])\\s*)*" +
    "\\{?(?:[A-Z]{1,3}|[a-z])\\}?)" +
    "\\s*(?:=(?!.*=)|\\\\in(?![A-Za-z]))\\s*",
);
/** A name after an answer: 3 = x. */
const AFTER = /^((?:[^=A-Za-z\\]|\\[A-Za-z]+)+)=\s*[A-Za-z]\s*$/;
const LIST_ITEM = new RegExp(`(?:^|[,;])\\s*(${NAME})\\s*=`, "g");

/** A number whose thousands are separated by spaces or apostrophes. */
const SPACED = /^[+-]?[1-9]\d{0,2}(?:[\s'’]\d{3})+(?:\.\d+)?$/;
/** A mixed number such as 1 1/2. */
const MIXED = /(?<![\w.,}]|[\w/^}]\s)(\d+)\s+(\d+)\s*\/\s*(\d+)(?![\w.]|\s*[/^])/g;
/** The half of the day after a time. */
const HALF = /(?<=\d:\d\d)\s*(?:\\text\s*\{\s*)?([AP])\.?\s?M\.?(?![A-Za-z])(?:\s*\})?/gi;
/** Words before a value that say what it is: \text{Total cost} = 5. */
const TITLE = new RegExp(
  `^${TEXT}\\s*\\{(?:[A-Za-z'’-]+ ){0,4}(?:total|cost|price|area|volume|perimeter|probability|` +
    "distance|speed|time|length|width|height|number|sum|product|average|mean|median|result|value|" +
    "radius|amount|profit|ratio|answer)(?: [A-Za-z'’-]+){0,4}\\s*\\}\\s*=(?!.*=)\\s*",
  "i",
);
const REPEATING =
  /(?<!\d)(\d*)\.(\d*)\s*\\(?:overline|bar|dot(?=\s*\{\s*\d\s*\}))\s*\{\s*(\d+)\s*\}/g;
/** 0.1(6) and, with a period that is written three times or more, 0.1666… */
const PERIOD = /(?<=^-?)(\d*)\.(\d*)\((\d+)\)$/;
const DOTS = /(?<!\d)(\d*)\.(\d{0,20}?)(\d{1,6}?)\3{2,40}\s*(?:\.{3}|…|\\[lc]?dots(?![A-Za-z]))$/;
/** A system of equations, one a row. */
const SYSTEM = new RegExp(
  String.raw`^(?:\\\{\s*)?\\begin\s*\{(cases|aligned|array)\}(?:\s*\{[lcr]+\})?` +
    String.raw`((?:(?!\\begin|\\end)[^])*)\\end\s*\{\1\}(?:\s*\.)?$`,
);

/** Longer texts are returned unchanged, so that no pattern takes long: answers are short. */
export const MAX_CHARACTERS = 3000;

/** @param named keep the name of the answer: y = 2x + 3 may also be an equation */
export function cleanMath(text: string, named = false): string {
  let t = lines(strip(text.replace(INVISIBLE, "")).replace(FENCED, "$1")).replace(/\s+/g, " ");
  if (t.length > MAX_CHARACTERS) return t;
  t = unwrap(t);
  t = t.replace(WIDE, (sign) => sign.normalize("NFKC")).replace(FRACTION_SIGN, (sign) => {
    const [above, below] = sign.normalize("NFKC").split("\u2044");
    return `\\frac{${above}}{${below}}`;
  }).replace(RAISED, (raised) => `^{${raised.replace("⁻", "-").normalize("NFKC")}}`);
  for (const [pattern, replacement] of SPELLINGS) t = t.replace(pattern, replacement);
  t = stop(worded(system(t)));
  t = based(t).replace(HALF, (_, half: string) => ` ${half.toLowerCase()}m`);
  t = listed(t).replace(/^=\s*/, "").replace(TITLE, "");
  if (!named) t = unnamed(t);
  t = strip(dropUnits(t).replace(TEXT_CONTENT, "$1"));
  t = stop(t);
  if (SPACED.test(t)) t = t.replace(/[\s'’]/g, "");
  t = t.replace(MIXED, "$1\\frac{$2}{$3}");
  return t.replace(REPEATING, repeating).replace(PERIOD, repeating).replace(DOTS, repeating);
}

/** The equations of a system, with commas between them. */
function system(text: string): string {
  const body = SYSTEM.exec(text)?.[2];
  const rows = body?.split(ROW_END).map(stop).filter((row) => row !== "");
  return rows?.every((row) => /^[^=&]+&?\s*=[^=&]+$/.test(row))
    ? rows.join(", ").replaceAll("&", "")
    : text;
}

/** A new line before a text or a number separates, unless a sign stands before it. */
function lines(text: string): string {
  if (text.length > MAX_CHARACTERS || !text.includes("\n") || text.includes("\\begin")) return text;
  return text.trim().replace(
    /(?<=[^\s,;=+*/&\\(\[{-])[^\S\n]*\n\s*(?=\\text|[A-Za-z]{2}|\d)/g,
    GAP,
  );
}

const MAX_WRAPPERS = 20;

/** Without the signs of a formula, quotation marks or bold type around it. */
export function unwrap(text: string): string {
  let t = strip(text);
  for (let before = "", round = 0; before !== t && round < MAX_WRAPPERS; round++) {
    before = t;
    // The stop after a formula: $5$.
    if (/[$\])*`]\s*[.,;:]$/.test(t)) t = stop(t);
    t = strip(t.replace(BOLD, "$1"));
    for (const [open, close] of WRAPPERS) {
      if (t.startsWith(open) && t.endsWith(close) && t.length >= open.length + close.length) {
        t = strip(t.slice(open.length, t.length - close.length));
      }
    }
  }
  return t;
}

/** Removes the sign that ends a sentence or a line. */
function stop(text: string): string {
  return strip(text).replace(/(?<=[^.])[.;:,⏎]$/, "");
}

/** "1 and 2" and "x = 1 or x = 2" become "1, 2". */
function listed(text: string): string {
  if (/[<>≤≥≠]/.test(text)) return text;
  if (!/\d|π|(?<![A-Za-z\\])[A-Z](?![A-Za-z])/.test(text)) return text;
  const AND = new RegExp(
    `\\s*,?\\s*(?:\\\\text\\s*\\{\\s*(?:and|or)\\s*\\}|\\\\(?:lor|vee)(?![A-Za-z])|∨|` +
      `(?<=[\\d\\s})πi!%°])(?<!\\\\text\\s*\\{[\\s,]*)(?:and|or)` +
      `(?=[\\s\\d\\\\(-]|${NAME}\\s*=))\\s*`,
    "g",
  );
  const t = text.replace(AND, ", ");
  const names = [...t.matchAll(LIST_ITEM)].map((match) => match[1]!);
  if (names.length < 2 || new Set(names).size > 1 || names.length < t.split("=").length - 1) {
    return t;
  }
  return t.replace(LIST_ITEM, (item) => /^[,;]/.test(item) ? ", " : "");
}

function unnamed(text: string): string {
  // If there are several names, they must stay: they distinguish the items.
  return text.split("=").length > 2 ? text : text.replace(VARIABLE, "").replace(AFTER, "$1");
}

/** Writes a repeating decimal such as 0.1\overline{6} or 0.1\bar{6} as a fraction. */
function repeating(_: string, whole: string, fixed: string, period: string): string {
  const all = BigInt(`${whole}${fixed}${period}`), before = BigInt(`${whole}${fixed}` || "0");
  const nines = `${"9".repeat(period.length)}${"0".repeat(fixed.length)}`;
  return `\\frac{${all - before}}{${nines}}`;
}

/** The base of a number in words: 4210 (base 5), 4210_{\text{five}}. */

const NAMES = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|" +
  "fifteen|sixteen";
const BASES = ["", "", ...NAMES.split("|")];
const WRITTEN = new RegExp(
  `^([-+]?[\\dA-F]+)\\s*(_|(?=[\\s(\\\\{]{0,3}(?:${TEXT})?[\\s({]{0,3}base))(.*)$`,
);
const COMMAND = new RegExp(TEXT, "g");

/** Writes the base as an index in digits: (101)_2 and 101_{\text{two}} are 101_2. */
function based(answer: string): string {
  const text = answer.replace(/^\(([\dA-F]+)\)(?=\s*_)/, "$1");
  const [, digits, index, words] = WRITTEN.exec(text) ?? [];
  if (digits === undefined || /^\s*\{?\w?\d?\}?\s*$/.test(words!)) return text;
  const bare = words!.replace(COMMAND, "").replace(/[{}()\s-]/g, "");
  const [, named, base] = /^(base)?(\d{1,2}|[a-z]+)$/.exec(bare) ?? [];
  if (base === undefined || (index === "" && named === undefined)) return text;
  const value = /\d/.test(base) ? Number(base) : BASES.indexOf(base);
  return value < 2 ? text : `${digits}_{${value}}`;
}
