/** Python's `float(text)`, which accepts the digits of any script. */
import { asciiDigits } from "../tasks/python/decimals.ts";
import { strip } from "../tasks/python/text.ts";

const DIGITS = "[0-9](?:_?[0-9])*";
const NUMBER = new RegExp(
  `^[+-]?(?:${DIGITS}(?:\\.(?:${DIGITS})?)?|\\.${DIGITS})(?:[eE][+-]?${DIGITS})?$`,
);
const SPECIAL = /^([+-]?)(inf(?:inity)?|nan)$/i;

/** The number, also ±Infinity and NaN; null where Python raises ValueError. */
export function pythonFloat(text: string): number | null {
  const stripped = asciiDigits(strip(text));
  if (NUMBER.test(stripped)) return Number(stripped.replaceAll("_", ""));
  const special = SPECIAL.exec(stripped);
  if (special === null) return null;
  if (special[2]!.toLowerCase() === "nan") return NaN;
  return special[1] === "-" ? -Infinity : Infinity;
}
