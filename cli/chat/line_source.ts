/**
 * Where the messages of a chat come from: a terminal, with editing and the lines before, or a pipe.
 * A backslash at the end of a line continues the message on the next one.
 */
import { createInterface } from "node:readline";
import process from "node:process";

/** A line; or Ctrl-C at an empty line; or the end of the input. */
export type Typed = { line: string } | "interrupt" | "end";

export interface LineSource {
  /** Whether a person types the lines; only a person gets a prompt. */
  readonly isTerminal: boolean;
  next(prompt: string): Promise<Typed>;
}

/** The next message, of one line or several. */
export async function nextMessage(source: LineSource, prompt: string): Promise<Typed> {
  const lines: string[] = [];
  for (;;) {
    const typed = await source.next(lines.length === 0 ? prompt : "… ");
    if (typed === "interrupt") return typed;
    if (typed === "end") return lines.length === 0 ? typed : { line: lines.join("\n") };
    if (!typed.line.endsWith("\\")) return { line: [...lines, typed.line].join("\n") };
    lines.push(typed.line.slice(0, -1));
  }
}

export function stdinLines(): LineSource {
  return Deno.stdin.isTerminal() ? new TerminalLines() : new PipedLines(Deno.stdin.readable);
}

/** Milliseconds within which lines of a pasted text follow one another. */
const PASTE_MS = 25;

/**
 * Lines of a terminal. A pasted text of several lines is one message. The terminal is in raw mode
 * only while a line is typed, so Ctrl-C is a signal while an answer is computed.
 */
class TerminalLines implements LineSource {
  readonly isTerminal = true;
  /** The lines before, the latest first. */
  #history: string[] = [];

  next(prompt: string): Promise<Typed> {
    const { stdin: input, stdout: output } = process;
    const editor = createInterface({ input, output, prompt, history: this.#history });
    return new Promise((resolve) => {
      let typed: Typed = "end", timer: ReturnType<typeof setTimeout> | undefined;
      const lines: string[] = [];
      editor.on("line", (line) => {
        lines.push(line);
        typed = { line: lines.join("\n").trimEnd() };
        clearTimeout(timer);
        // If the last line of a pasted text is still in the editor, Enter sends the whole text.
        timer = setTimeout(() => editor.line === "" && editor.close(), PASTE_MS);
      });
      editor.on("SIGINT", () => {
        // Ctrl-C clears the line, as in a shell.
        typed = editor.line === "" ? "interrupt" : { line: "" };
        output.write("\n");
        editor.close();
      });
      editor.on("history", (history) => this.#history = history);
      editor.on("close", () => {
        clearTimeout(timer);
        resolve(typed);
      });
      editor.prompt();
    });
  }
}

export class PipedLines implements LineSource {
  readonly isTerminal = false;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = "";
  #ended = false;

  constructor(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  }

  async next(): Promise<Typed> {
    for (;;) {
      const end = this.#text.indexOf("\n");
      if (end >= 0) {
        const line = this.#text.slice(0, end).replace(/\r$/, "");
        this.#text = this.#text.slice(end + 1);
        return { line };
      }
      if (this.#ended) {
        const line = this.#text;
        this.#text = "";
        return line === "" ? "end" : { line };
      }
      const { done, value } = await this.#reader.read();
      if (done) this.#ended = true;
      else this.#text += value;
    }
  }
}
