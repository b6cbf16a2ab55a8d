/** Numbers as they are written. */
import type { Expr } from "../formulas/expression.ts";
import { fraction } from "../numbers/rational.ts";
import { Unreadable } from "./tokens.ts";

const MAX_DIGITS = 500;

/** @throws Unreadable for a number that is too long */
export function literal(text: string): Extract<Expr, { kind: "number" }> {
  const [, digits, exponent = "0"] = /^([^e]*)(?:e(.*))?$/i.exec(text.replaceAll(",", ""))!;
  if (digits!.length > MAX_DIGITS) throw new Unreadable();
  const [whole, part] = digits!.split(".");
  const shift = Number(exponent) - (part ?? "").length;
  const all = BigInt(`${whole}${part ?? ""}` || "0");
  const value = shift >= 0
    ? fraction(all * 10n ** BigInt(shift))
    : fraction(all, 10n ** BigInt(-shift));
  if (part === undefined) return { kind: "number", value };
  return { kind: "number", value, digits: { after: -shift, significant: String(all).length } };
}
