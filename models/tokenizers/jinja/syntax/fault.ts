/** A template that cannot be parsed, with the place of the fault. */

export class TemplateFault extends Error {
  /** @param at offset in the template's text */
  constructor(readonly at: number, message: string) {
    super(message);
  }
}

/** `line 3, column 5` of an offset. */
export function position(source: string, at: number): string {
  const before = source.slice(0, at).split("\n");
  return `line ${before.length}, column ${before.at(-1)!.length + 1}`;
}

/** What a tag begins with → what it ends with. */
const ENDS: Readonly<Record<string, string>> = { "{{": "}}", "{%": "%}", "{#": "#}" };

/**
 * A tag as a message shows it: in one line, long ones cut.
 * @param start offset of `{{`, `{%` or `{#`
 * @param from where its end is looked for
 */
export function shownTag(source: string, start: number, from = start): string {
  const end = source.indexOf(ENDS[source.slice(start, start + 2)]!, Math.max(from, start + 2));
  const line = source.slice(start, end < 0 ? source.length : end + 2).replaceAll(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
}
