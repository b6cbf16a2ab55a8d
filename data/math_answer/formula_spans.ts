/** Finds the ends of formulas in a text, and the words after a formula that belong to it. */

const CLOSING: Readonly<Record<string, string>> = {
  "$": "$",
  "$$": "$$",
  "\\(": "\\)",
  "\\[": "\\]",
};
const OPENING = /\$\$?|\\\(|\\\[/y;

interface Span {
  content: string;
  /** After the closing sign. */
  end: number;
}

/**
 * The formula at the last of these positions where one begins and ends, with what follows it: more
 * formulas after "and", "or" or a comma, a percent sign, "million", the rest of a product.
 * @param starts ascending
 */
export function readFormulas(text: string, starts: Iterable<number>): string | null {
  const spanAt = spansOf(text);
  let last: Span | null = null;
  for (const start of starts) last = spanAt(start) ?? last;
  return last === null ? null : last.content + readTail(text, last.end, spansOf(text));
}

/** Finds the formula that begins at a position. Positions must ascend. */
function spansOf(text: string): (start: number) => Span | null {
  const next = nextIn(text);
  return (start) => {
    OPENING.lastIndex = start;
    const opening = OPENING.exec(text)?.[0];
    if (opening === undefined) return null;
    const from = start + opening.length;
    let end = next(CLOSING[opening]!, from);
    while (opening === "$" && text[end - 1] === "\\") end = next("$", end + 1);
    // An inline formula ends on the same line. A digit after "$" makes it a sum of money.
    const inline = opening === "$" || opening === "\\(";
    const limit = inline ? next("\n", from) : text.length;
    const closed = from < end && end <= limit && end < text.length;
    if (!closed || (opening === "$" && /\d/.test(text[end + 1] ?? ""))) return null;
    return { content: text.slice(from, end), end: end + opening.length };
  };
}

/** Words and signs after a formula that belong to its value. */
const SCALE =
  /[ \t]*(?:\\?%|(?:per\s?cent(?:age)?|pct|hundred|thousand|million|billion|trillion|dozen)(?![A-Za-z]))/y;
/** Another formula, or a number, of the same answer. */
const MORE = /\s{0,9}(?:,?\s{0,9}(and|or)\s{1,9}|[,;]\s{0,9})(?=\$|\\[(\[]|[-+−]?\d)/y;
/** A formula straight after another, such as a unit or a second guess. */
const NEXT = /[ \t]+(?=\$|\\[(\[])/y;
/** "(or $6$)", "? Or $6$", ", but it could be $6$", ", no wait, $6$", " hours, or about 6". */
const GUESS =
  /[ \t]{0,9}[,(?—–-]{0,2}[ \t]{0,9}(?:[A-Za-z]{1,12}[ ,]{1,2})?(or|but|maybe|perhaps|possibly|alternatively|otherwise|wait|actually)(?![A-Za-z])([^.\n$\\\d]{0,60}?)(?=\$|\\[(\[]|[-+−]?\d)/iy;
const DOUBT = /(?<![A-Za-z])(?:could|may|might|maybe|perhaps|possibly|also|if|either)(?![A-Za-z])/i;
const REASON = /(?<![A-Za-z])(?:because|since|as|where|when|for|so)(?![A-Za-z])/i;
const ROUNDED = /approx|about|roughly|nearly|around/i, SAME = /equivalent|the same|simpl|just/i;
/** The formula goes on after its closing sign. */
const GOES_ON = /[ \t]*(?:[-+/^<>≤≥±]\s*[\d\\$(]|=\s*\S|\\[A-Za-z]|\d)/y;
const MAX_FORMULAS = 20;

function readTail(text: string, end: number, spanAt: (start: number) => Span | null): string {
  let tail = "";
  for (let count = 1; count < MAX_FORMULAS; count++) {
    const scale = matchAt(SCALE, text, end);
    if (scale !== null) {
      tail += ` ${scale[0].trim()}`;
      end += scale[0].length;
    }
    if (matchAt(GOES_ON, text, end) !== null) {
      return tail + sentenceAt(text, end).replace(/\$/g, " ");
    }
    const more = joint(text, end);
    if (more === null) return tail;
    tail += more.sign;
    end = more.end;
    const span = spanAt(end);
    if (span === null) return tail + sentenceAt(text, end).replace(/\$/g, " ");
    tail += span.content;
    end = span.end;
  }
  return tail;
}

/**
 * The text that joins a formula that ends here to the next one, and where the next one begins;
 * null: nothing joins them.
 */
function joint(text: string, at: number): { sign: string; end: number } | null {
  const more = matchAt(MORE, text, at);
  if (more !== null) {
    return { sign: more[1] === undefined ? ", " : ` ${more[1]} `, end: at + more[0].length };
  }
  const next = matchAt(NEXT, text, at);
  if (next !== null) return { sign: " ", end: at + next[0].length };
  const guess = matchAt(GUESS, text, at);
  if (guess === null) return null;
  const [all, word, between] = guess;
  if (REASON.test(between!) || (/^but$/i.test(word!) && !DOUBT.test(between!))) return null;
  const sign = ROUNDED.test(between!) ? " \\approx " : SAME.test(between!) ? " = " : " or ";
  return { sign, end: at + all.length };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Answers are short: no more than this is read. */
const MAX_SENTENCE = 3000;
const SENTENCE_END =
  /\n|<\/|<\|[a-z_]+\|>|(?<!\b(?:sq|cu))(?:\.(?=\s|$)|\?(?=\s|$)(?!\s{1,3}(?:[Oo]r|[Nn]o|[Ww]ait|[Mm]aybe|[Pp]erhaps)(?![A-Za-z])))|[.?](?=["*_)]+(?:\s|$))|(?<!\\);(?=\s*$|\s+(?!or\s)[A-Za-z]{2,})/g;

/** Reasons and remarks after an answer. Runs of spaces are not tried in all their parts. */
const REMARK =
  /(?:\s{0,3}[,;(—]\s{0,3}|\s{1,3}[-–—]?\s{0,3})(?:because|since|which|so|thus|therefore|hence|where|as|due|given)(?![A-Za-z]).*$|,\s{1,3}(?!(?:and|or)\s|(?:infinity|inf|sqrt|pi|sin|cos|tan|log|exp)(?![A-Za-z]))[a-z]{3,}.*$|\s{1,3}\([A-Za-z]{3,}[A-Za-z ,.’'-]*\)$/;
/** A remark with these words may be a second answer. */
const SECOND_GUESS =
  /(?<![A-Za-z])(?:or|but|maybe|perhaps|possibly|either|otherwise|alternatively|not|hundred|thousand|million|billion|trillion|dozen|percent)(?![A-Za-z])/i;

/** The text from a position to the end of its sentence or line, without a remark at its end. */
export function sentenceAt(text: string, start: number): string {
  const line = text.slice(start, start + MAX_SENTENCE);
  const end = line.search(SENTENCE_END);
  const sentence = end < 0 ? line : line.slice(0, end);
  const remark = REMARK.exec(sentence);
  if (remark === null || SECOND_GUESS.test(remark[0])) return sentence;
  const before = sentence.slice(0, remark.index);
  // After a name, a comma may begin another name.
  return /[\d\\]/.test(before) ? before : sentence;
}

/**
 * Finds the next position of a mark. Results are kept, so calls with ascending positions read the
 * text only once.
 */
function nextIn(text: string): (mark: string, from: number) => number {
  const known = new Map<string, number>();
  return (mark, from) => {
    let at = known.get(mark) ?? -1;
    if (at < from) {
      at = text.indexOf(mark, from);
      if (at < 0) at = text.length;
      known.set(mark, at);
    }
    return at;
  };
}
