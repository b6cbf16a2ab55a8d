/** Lines on a terminal that are drawn again in place, until they are taken away. */
import { clip, columns, log, logRaw } from "./terminal.ts";

export class RedrawnLines {
  #lines: readonly string[] = [];

  /** Whether there are any. */
  get drawn(): boolean {
    return this.#lines.length > 0;
  }

  /** In place of those that stand there, each cut to the terminal's width. */
  draw(...lines: string[]): void {
    // A line that is broken, or ends in the last column, could not be taken away.
    const cut = lines.map((line) => clip(line, columns() - 1));
    logRaw(this.#erased() + cut.join("\n"));
    this.#lines = cut;
  }

  /** A line that stays, above them. */
  say(text: string): void {
    if (this.drawn) logRaw(this.#erased());
    log(text);
    if (this.drawn) logRaw(this.#lines.join("\n"));
  }

  clear(): void {
    if (this.drawn) logRaw(this.#erased());
    this.#lines = [];
  }

  /** What takes them away and leaves the cursor where the first began. */
  #erased(): string {
    return `\r\x1b[K${"\x1b[A\x1b[K".repeat(Math.max(0, this.#lines.length - 1))}`;
  }
}
