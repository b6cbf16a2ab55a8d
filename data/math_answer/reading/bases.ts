/** The base of a number in words: 4210 (base 5), 4210_{\text{five}}. */
import { TEXT } from "./units.ts";

const NAMES = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|" +
  "fifteen|sixteen";
const BASES = ["", "", ...NAMES.split("|")];
const WRITTEN = new RegExp(
  `^([-+]?[\\dA-F]+)\\s*(_|(?=[\\s(\\\\{]{0,3}(?:${TEXT})?[\\s({]{0,3}base))(.*)$`,
);
const COMMAND = new RegExp(TEXT, "g");

/** Writes the base as an index in digits: (101)_2 and 101_{\text{two}} are 101_2. */
export function based(answer: string): string {
  const text = answer.replace(/^\(([\dA-F]+)\)(?=\s*_)/, "$1");
  const [, digits, index, words] = WRITTEN.exec(text) ?? [];
  if (digits === undefined || /^\s*\{?\w?\d?\}?\s*$/.test(words!)) return text;
  const bare = words!.replace(COMMAND, "").replace(/[{}()\s-]/g, "");
  const [, named, base] = /^(base)?(\d{1,2}|[a-z]+)$/.exec(bare) ?? [];
  if (base === undefined || (index === "" && named === undefined)) return text;
  const value = /\d/.test(base) ? Number(base) : BASES.indexOf(base);
  return value < 2 ? text : `${digits}_{${value}}`;
}
