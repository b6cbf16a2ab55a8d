/**
 * Output: results go to stdout, everything else to stderr. Colour, width and progress follow
 * NO_COLOR, FORCE_COLOR, TERM and CI. Also plain text tables.
 */

const encoder = new TextEncoder();

/**
 * Thrown when the reader of stdout has closed it (`rgx … | head`). It is no error: the program
 * ends.
 */
export class OutputClosed extends Error {}

/** Writes everything to a stream synchronously, so that nothing is lost at exit. */
function writeAll(
  stream: { writeSync(data: Uint8Array): number },
  data: string | Uint8Array,
): void {
  let bytes = typeof data === "string" ? encoder.encode(data) : data;
  try {
    while (bytes.length > 0) bytes = bytes.subarray(stream.writeSync(bytes));
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) throw new OutputClosed();
    throw error;
  }
}

/** Control characters, but for tab and line break; and the colours of `paint`. */
// deno-lint-ignore no-control-regex
const CONTROL = /\x1b\[(?:0|1|2|3[1236])m|[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * A text in which control characters of files, models and rewards are shown as `\x1b`, so that they
 * do not steer the terminal.
 */
export function withoutControl(text: string, colored = false): string {
  return text.replace(
    CONTROL,
    (found) =>
      colored && found.length > 1
        ? found
        : [...found].map((character) =>
          character < " " || character > "~"
            ? `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`
            : character
        ).join(""),
  );
}

/** A text for stdout, without colours. In a file or a pipe, control characters are kept. */
function forStdout(text: string): string {
  return Deno.stdout.isTerminal() ? withoutControl(text) : text;
}

/** Prints a result on stdout: one line or several. */
export function print(text: string): void {
  writeAll(Deno.stdout, forStdout(text) + "\n");
}

/** Writes a part of a result to stdout: a text that appears while it is made. */
export function write(text: string): void {
  writeAll(Deno.stdout, forStdout(text));
}

/** Writes a result to stdout as bytes, in whole lines. */
export function writeResult(bytes: Uint8Array): void {
  writeAll(Deno.stdout, bytes);
}

/** Writes many lines of a result to stdout in large pieces. */
export class LineWriter {
  #text = "";

  write(line: string): void {
    this.#text += line + "\n";
    if (this.#text.length >= 1 << 16) this.flush();
  }

  flush(): void {
    if (this.#text !== "") writeAll(Deno.stdout, forStdout(this.#text));
    this.#text = "";
  }
}

/**
 * Prints a line on stderr, for the person who watches. If stderr is closed, nobody does. Colours
 * pass, so a text of a model, a reward or a file goes through `withoutControl` before.
 */
export function log(text: string): void {
  try {
    writeAll(Deno.stderr, withoutControl(text, useColor()) + "\n");
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error;
  }
}

/** Writes raw text to stderr, for a progress line that is redrawn. */
export function logRaw(text: string): void {
  writeAll(Deno.stderr, text);
}

/** Whether stderr is a terminal on which a line may be redrawn. */
export function isInteractive(): boolean {
  return Deno.stderr.isTerminal() && !Deno.env.get("CI") && Deno.env.get("TERM") !== "dumb";
}

/** Whether stderr may carry colour: NO_COLOR, then FORCE_COLOR, then the terminal. */
function useColor(): boolean {
  if (Deno.env.get("NO_COLOR")) return false;
  const force = Deno.env.get("FORCE_COLOR");
  if (force !== undefined && force !== "") return force !== "0";
  return Deno.stderr.isTerminal() && Deno.env.get("TERM") !== "dumb";
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

/** `text` in a colour where colour is allowed. */
export function paint(style: keyof typeof CODES, text: string): string {
  return useColor() ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
}

/** A word in a colour before a message, which may quote a model, a reward or a file. */
export function labelled(style: keyof typeof CODES, label: string, message: string): string {
  return `${paint(style, label)} ${withoutControl(message)}`;
}

/**
 * Columns of the terminal: COLUMNS, the terminal itself, else 80. Used for lines that are cut, and
 * for help. Other text is broken at `breakWidth`.
 */
export function columns(): number {
  const env = Number(Deno.env.get("COLUMNS"));
  if (Number.isInteger(env) && env > 0) return env;
  try {
    // The terminals that launchers of MPI make for their processes have no width.
    return Deno.consoleSize().columns || 80;
  } catch {
    return 80; // not a terminal
  }
}

/** To cut between words, at most this many further characters are removed. */
const WHOLE_WORDS = 20;

/** Cuts the end of a text off, with an ellipsis; between two words where one is near. */
export function clip(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  const kept = beginning(text, width - 1), at = kept.lastIndexOf(" ");
  const isBetween = text[kept.length] === " " || at < kept.length - WHOLE_WORDS || at <= 0;
  return `${(isBetween ? kept : kept.slice(0, at)).trimEnd()}…`;
}

/** Cuts the beginning of a text off, with an ellipsis; between two words where one is near. */
export function clipStart(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  const characters = [...text].reverse().join("");
  const kept = [...beginning(characters, width - 1)].reverse().join(""), at = kept.indexOf(" ");
  return `…${at >= 0 && at <= WHOLE_WORDS ? kept.slice(at + 1) : kept}`;
}

/** Spaces, except those between a number and its unit. */
const BREAKS = /(?<!\d) | (?!(?:[kMGT]?B|[KMG]|s|min|h|%)(?!\w))/;

/**
 * The width at which text for a stream is broken: that of the terminal, but at most `most`. In a
 * pipe or a file nothing is broken, so that a paragraph is one line that can be searched.
 */
export function breakWidth(stream: "stdout" | "stderr", most = Infinity): number {
  return Deno[stream].isTerminal() ? Math.min(columns(), most) : Infinity;
}

export function broken(stream: "stdout" | "stderr", text: string): string[] {
  return wrap(text, breakWidth(stream));
}

export function paragraph(text: string): string {
  return broken("stdout", text).join("\n");
}

/** Breaks a text at spaces into lines of at most `width` columns. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    if (textWidth(paragraph) <= width) {
      lines.push(paragraph); // unchanged, with indentation and columns
      continue;
    }
    let line = "";
    for (const word of paragraph.split(BREAKS)) {
      if (line !== "" && textWidth(line) + 1 + textWidth(word) > width) {
        lines.push(line);
        line = word;
      } else line = line === "" ? word : `${line} ${word}`;
    }
    lines.push(line);
  }
  return lines;
}

/** Rows as aligned columns, two spaces apart. Numbers are aligned to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => widths[i] = Math.max(widths[i] ?? 0, textWidth(cell)));
  }
  const numeric = (cell: string | undefined) => /^[-+]?\d[\d.]* ?%?$/.test(cell ?? "");
  return rows.map((row) =>
    row.map((cell, i) => {
      const right = numeric(cell) || (cell === "–" && rows.some((other) => numeric(other[i])));
      const space = " ".repeat(widths[i]! - textWidth(cell));
      return right ? space + cell : cell + space;
    }).join("  ").trimEnd()
  ).join("\n");
}

/**
 * The lines of a table. The texts of the last column are wrapped, so that it fits into `width`.
 * @param cells the rows without their last column
 * @param texts the last column, one text per row
 */
export function describedTable(cells: string[][], texts: string[], width: number): string[] {
  const rows = table(cells).split("\n");
  const indent = Math.max(...rows.map((row) => row.length)) + 2;
  return rows.flatMap((row, i) =>
    wrap(texts[i]!, Math.max(20, width - indent)).map((line, part) =>
      (part === 0 ? row : "").padEnd(indent) + line
    )
  );
}

/**
 * The number of columns that a text takes on a terminal. Ideographs, kana, hangul and emoji take
 * two; combining marks take none. Sequences that join several emoji into one are not handled:
 * terminals disagree about them.
 */
const WIDE_SCRIPTS =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff]/u;
const WIDE_FORMS = /[\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const EMOJI = /\p{Emoji_Presentation}/u;
const NONE = /\p{Mn}|\p{Me}|\p{Cf}/u;

export function textWidth(text: string): number {
  if (isPlain(text)) return text.length;
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

/** The longest beginning of a text that takes at most `width` columns. */
export function beginning(text: string, width: number): string {
  if (isPlain(text)) return text.slice(0, Math.max(0, width));
  let taken = 0, end = 0;
  for (const character of text) {
    taken += widthOf(character);
    if (taken > width) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Whether each character takes one column. */
function isPlain(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}

function widthOf(character: string): number {
  if (WIDE_SCRIPTS.test(character) || WIDE_FORMS.test(character)) return 2;
  if (EMOJI.test(character)) return 2;
  return NONE.test(character) ? 0 : 1;
}
