/** Python's `text % values` with `%s`, `%r`, `%d`, `%f` and widths. */
import { PyDict, PyFloat, PyTuple } from "../../../tasks/python/literals.ts";
import { formatFixed } from "../../../tasks/python/repr.ts";
import { codePoints } from "../../../tasks/python/text.ts";
import { numberOf, repr, str, typeName, type Value } from "./values.ts";

/**
 * @param values a tuple of values, or one value
 * @throws Error for too many or too few values, and for directives that are not known here
 */
export function percentFormat(template: string, values: Value): string {
  if (values instanceof PyDict) throw new Error("% of a text with a dict is not supported");
  const given: Value[] = values instanceof PyTuple ? [...values.items] : [values];
  const text = template.replace(
    /%(?:([-0]?)(\d{0,3})(?:\.(\d{1,2}))?([a-zA-Z%])?)/g,
    (whole, flag: string, width: string, digits: string | undefined, type = "") => {
      if (whole === "%%") return "%";
      const value = given.shift();
      if (value === undefined) throw new Error(`no value is left for ${whole} of a text`);
      return padded(directive(whole, type, digits, value), flag, Number(width), type);
    },
  );
  if (given.length > 0) throw new Error("not all values were used by % of a text");
  return text;
}

function directive(whole: string, type: string, digits: string | undefined, value: Value): string {
  if ((type === "s" || type === "r") && digits === undefined) {
    return type === "s" ? str(value) : repr(value);
  }
  const number = numberOf(value);
  if (number === null) throw new Error(`${whole} of ${typeName(value)} is not possible`);
  const float = number instanceof PyFloat ? number.value : Number(number);
  if (type === "d" && digits === undefined && Number.isFinite(float)) {
    return String(number instanceof PyFloat ? BigInt(Math.trunc(float)) : number);
  }
  if (type === "f") return formatFixed(float, Number(digits ?? 6));
  throw new Error(`${whole} of a text is not supported`);
}

function padded(text: string, flag: string, width: number, type: string): string {
  const missing = Math.max(0, width - codePoints(text));
  if (flag === "-") return text + " ".repeat(missing);
  if (flag !== "0" || type === "s" || type === "r") return " ".repeat(missing) + text;
  const sign = text.startsWith("-") ? "-" : "";
  return sign + "0".repeat(missing) + text.slice(sign.length);
}
