/**
 * Entries as JSON text. JavaScript writes whole numbers below 1e21 in full, and the digits of those beyond 64 bits
 * are refused by readers that know no larger integers (pandas); such a number is written with an exponent.
 */

/** A number of so many digits, or a text that looks like one. */
const MANY_DIGITS = /[:,[]-?[0-9]{19}/;
const LARGEST = 2 ** 63;

// Known to V8, not to TypeScript's library.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** `JSON.stringify` of an entry, or of what holds entries. */
export function entryJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!MANY_DIGITS.test(text)) return text;
  return JSON.stringify(
    value,
    (_key, part: unknown) =>
      typeof part === "number" && Number.isFinite(part) && Math.abs(part) >= LARGEST
        ? rawJSON(part.toExponential())
        : part,
  );
}
