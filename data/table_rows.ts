/**
 * Tables in plain text (CSV, TSV) as RFC 4180 has them: a line of names, then a row a line; a field
 * with a comma, a quote or a line break stands in quotes, and a quote in it is doubled. As with
 * `datasets`, empty lines are left out and an empty field is null. A column is of numbers if each
 * of its fields is written as JavaScript writes that number, so that no answer changes its digits.
 */
import { UsageError } from "../core/errors.ts";
import { listText } from "../hub/data_files.ts";

/** A row, and the line that it begins in, counted from 1. */
export interface TableRow {
  columns: Record<string, unknown>;
  line: number;
}

/** A line of a table before its fields have names. */
interface TableLine {
  fields: string[];
  line: number;
}

/**
 * The rows of a table.
 * @param path the file, for messages
 * @throws UsageError naming the line that is no line of a table, or not one of this table
 */
export function parseTable(text: string, path: string, delimiter: "," | "\t"): TableRow[] {
  const [header, ...lines] = linesOfTable(text, path, delimiter);
  if (header === undefined) return [];
  // pandas writes the numbers of rows into a column without a name, and calls it so.
  const names = header.fields.map((name, i) => name === "" ? `Unnamed: ${i}` : name);
  const known = new Set<string>();
  const twice = names.find((name) => known.size === known.add(name).size);
  if (twice !== undefined) {
    throw new UsageError(`${path}:${header.line}: two columns have the name ${twice}`);
  }
  for (const { fields, line } of lines) {
    if (fields.length === names.length) continue;
    throw new UsageError(
      `${path}:${line}: ${fields.length} field${fields.length === 1 ? "" : "s"}, expected ` +
        `${names.length}: ${listText(names)}`,
      { advice: 'A field with a comma or a line break in it stands in quotes: "a, b".' },
    );
  }
  const isNumber = names.map((_, i) => lines.every(({ fields }) => isNumberOrEmpty(fields[i]!)));
  return lines.map(({ fields, line }) => ({
    line,
    columns: Object.fromEntries(names.map((name, i) => {
      const field = fields[i]!;
      return [name, field === "" ? null : isNumber[i] ? Number(field) : field];
    })),
  }));
}

function isNumberOrEmpty(field: string): boolean {
  const value = Number(field);
  return field === "" || (Number.isFinite(value) && String(value) === field);
}

function linesOfTable(text: string, path: string, delimiter: string): TableLine[] {
  const found: TableLine[] = [];
  let at = 0, line = 1;
  const fail = (what: string, advice: string): never => {
    throw new UsageError(`${path}:${line}: ${what}`, { advice });
  };
  /** A field in quotes; `at` is then behind it. */
  const quoted = (): string => {
    const start = at + 1;
    let end = text.indexOf('"', start);
    while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
    if (end < 0) fail("a quote is not closed", "Is the file whole? A quote in a text is doubled.");
    const field = text.slice(start, end);
    at = end + 1;
    if (at < text.length && text[at] !== delimiter && !atLineEnd(text, at)) {
      fail(
        `${JSON.stringify(text[at])} follows a field in quotes`,
        'A quote in such a field is doubled: "say ""yes""".',
      );
    }
    line += field.split("\n").length - 1;
    return field.replaceAll('""', '"');
  };
  const plain = (): string => {
    const start = at;
    while (at < text.length && text[at] !== delimiter && !atLineEnd(text, at)) {
      if (text[at] === '"') {
        fail(
          "a quote within a field that is not in quotes",
          'Put the field in quotes, and double the quote: "5"" pipe".',
        );
      }
      at++;
    }
    return text.slice(start, at);
  };
  while (at < text.length) {
    const fields: string[] = [], begun = line, start = at;
    while (true) {
      fields.push(text[at] === '"' ? quoted() : plain());
      if (text[at] !== delimiter) break;
      at++;
    }
    if (at > start) found.push({ fields, line: begun });
    at += text[at] === "\r" ? 2 : 1;
    line++;
  }
  return found;
}

function atLineEnd(text: string, at: number): boolean {
  return text[at] === "\n" || (text[at] === "\r" && text[at + 1] === "\n");
}
