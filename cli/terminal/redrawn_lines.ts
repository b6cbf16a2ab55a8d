/** Lines on a terminal that are redrawn in place until they are removed. */
import { clip, columns, log, logRaw, withoutControl } from "./terminal.ts";

export class RedrawnLines {
  #lines: readonly string[] = [];

  /** Whether lines are drawn at present. */
  get drawn(): boolean {
    return this.#lines.length > 0;
  }

  /** Draws lines in place of the present ones. Each is cut to the width of the terminal. */
  draw(...lines: string[]): void {
    // A line that wraps, or ends in the last column, could not be removed later.
    const cut = lines.map((line) => clip(withoutControl(line, true), columns() - 1));
    logRaw(this.#erased() + cut.join("\n"));
    this.#lines = cut;
  }

  /** Prints a permanent line above them. */
  say(text: string): void {
    if (this.drawn) logRaw(this.#erased());
    log(text);
    if (this.drawn) logRaw(this.#lines.join("\n"));
  }

  clear(): void {
    if (this.drawn) logRaw(this.#erased());
    this.#lines = [];
  }

  /** The control sequence that removes the lines and puts the cursor where the first line began. */
  #erased(): string {
    return `\r\x1b[K${"\x1b[A\x1b[K".repeat(Math.max(0, this.#lines.length - 1))}`;
  }
}
