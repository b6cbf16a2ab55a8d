/**
 * Writes entries as JSON text. JavaScript writes whole numbers below 1e21 with all digits, but
 * readers without big integers (pandas) refuse numbers beyond 64 bits. Such numbers are written
 * with an exponent instead.
 */

/** Matches a number with at least 19 digits, or a text that looks like one. */
const MANY_DIGITS = /[:,[]-?[0-9]{19}/;
const LARGEST = 2 ** 63;

// V8 has `JSON.rawJSON`, but TypeScript's library does not declare it.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** `JSON.stringify` for an entry or any value that contains entries. */
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
