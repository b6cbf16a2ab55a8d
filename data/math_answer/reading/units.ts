/** Drops the unit after a number: text in LaTeX's text commands, known units, other words. */

/** A pattern for LaTeX's text commands. */
export const TEXT =
  "\\\\(?:text|textbf|textit|textrm|textnormal|mathrm|mathbf|mathit|mathsf|mbox|operatorname)";

const KNOWN = "(?:[kcmn]m|km/h|mph|kg|mg|g|m|s|ms|cm|in|sq|feet|foot|ft|inch(?:es)?|mi|miles?|" +
  "yards?|m?L|oz|lb|hrs?|met(?:er|re)s?|seconds?|minutes?|hours?|days?|weeks?|months?|years?|" +
  "degrees?|radians?|dollars?|cents?|units?|people|points?)";
/** The time of a rate: km/h, m/s, miles per day. */
const TIME = "(?:h|s|hrs?|hours?|min|minutes?|sec|seconds?|days?|weeks?|months?|years?)";
const RATE = `(?:\\s*/\\s*${TIME}|\\s+per\\s+[A-Za-z]+)`;
const SQUARED = "(?:sq(?:uare|\\.)?|cu(?:bic|\\.)?)";
const EXPONENT = "(?:\\s*\\^\\s*\\{?\\s*\\d\\s*\\}?)?";
/** Words that belong to the value, or that make the text something other than a value. */
const MEANT =
  "(?:tens|hundreds?|thousands?|millions?|billions?|trillions?|dozens?|score|and|or|not|mod(?:ulo)?|" +
  "to|times\\s+(?!a\\s)[A-Za-z]|plus|minus|divided|over|of|choose|remainder|am|pm|a\\.m|p\\.m|" +
  "AD|BC|BCE|halves|half|thirds?|fourths?|" +
  "fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?|hundredths?|thousandths?|squared|cubed|" +
  "factorial|root|if|when|for|quadrillions?|lakhs?|crores?|zillions?|googols?|negative|" +
  "(?:below|under)\\s+zero|less\\s+than|more\\s+than|at\\s+(?:least|most)|repeating|recurring|base|basis|infinity|" +
  "inverse|imaginary|(?:st|nd|rd|th)\\s+(?:root|power)|twice|thrice|doubled?|tripled?|halved|fold|maybe|perhaps)" +
  "(?![A-Za-z])";
/** Up to five words, the first of three letters or more: two could be a product of unknowns. */
const WORDS = `(?!${MEANT})[A-Za-z]{3,}(?:[ \\-/]+[A-Za-z]+){0,4}`;

/** Units that are written with a capital letter; other such words are names. */
const CAPITALS = "(?:Newtons?|Joules?|Watts?|Volts?|Amperes?|Ohms?|Hertz|Hz|Pascals?|Pa|Kelvin|" +
  "Celsius|Fahrenheit|Square|Cubic|Dollars?|Degrees?|Units?|USD|MPH|[kM]?[WVANJLKΩ]|mL)(?![A-Za-z])";

const UNITS = [
  new RegExp(
    `([\\d)}%!π°])(?<!\\\\end\\{\\w+\\})\\s*${TEXT}\\s*\\{(?!\\s*\\(?(?:${MEANT}|[a-eijknp-rt-z]\\s*\\}|(?!${CAPITALS})[A-Z]|` +
      `\\(?[A-Z]\\)))(?:[^\\d{}\\\\π∞]|\\\\[ ,])*\\}${EXPONENT}$`,
  ),
  new RegExp(`([\\d)}π])\\s+(?:${SQUARED}\\s+)?${KNOWN}${EXPONENT}(?:${RATE}${EXPONENT})?$`),
  new RegExp(`(\\d)\\s*/\\s*(?!(?:h|s)$)${TIME}$`),
  new RegExp(`(π)\\s+${SQUARED}\\s+[A-Za-z]+$`),
  new RegExp(`(\\d)(?:[kcm]m|kg|mg|mph|km/h|ft|lbs?|hrs?|min)${EXPONENT}$`),
  new RegExp(`(\\d)\\s+${WORDS}${EXPONENT}$`),
  new RegExp(`(\\d)\\s+\\((?:${WORDS}|${KNOWN})\\)$`),
];

/** A word in a text command, which is no number: a text after it is no unit. */
const ONLY_TEXT = new RegExp(`^[\\s(]*(?:${TEXT}\\s*\\{[^{}]*\\}[\\s,)]*)+$`);

export function dropUnits(text: string): string {
  for (const unit of UNITS) {
    const dropped = text.replace(unit, "$1");
    if (!ONLY_TEXT.test(dropped)) text = dropped;
  }
  return text;
}

const spelled = (word: string) =>
  new RegExp(`(?<=[\\d)}π!°])\\s*(?:${TEXT}\\s*\\{\\s*${word}\\s*\\}|${word}(?![A-Za-z]))`, "g");
const SPELLED: readonly (readonly [RegExp, string])[] = [
  [spelled("(?:per\\s?cent(?:age)?|pct\\.?)"), "%"],
  [spelled("degrees?"), "°"],
  [spelled("thousand"), "*10^3"],
  [spelled("million"), "*10^6"],
  [spelled("billion"), "*10^9"],
];

/** "50 percent" becomes "50%", "2 million" becomes "2*10^6". */
export function worded(text: string): string {
  return SPELLED.reduce((t, [word, sign]) => t.replace(word, sign), text);
}
