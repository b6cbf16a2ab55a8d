/** Lines of text over a pipe between the program and a process that it started. */

/**
 * Yields the complete lines of each piece that arrives, without their newlines.
 * @param rest whether a last line without a newline counts too; else it is dropped
 * @param longest characters of a line
 * @param fatal whether bytes that are no UTF-8 are an error
 * @throws RangeError for a longer line; TypeError for other bytes, if they are an error
 */
export async function* readLines(
  stream: ReadableStream<Uint8Array>,
  { longest = Infinity, fatal = false, rest = false } = {},
): AsyncGenerator<string[]> {
  const decoder = new TextDecoder("utf-8", { fatal });
  let begun: string[] = [], length = 0;
  for await (const bytes of stream) {
    const [first, ...more] = decoder.decode(bytes, { stream: true }).split("\n");
    begun.push(first!);
    length += first!.length;
    if (length > longest) throw new RangeError(`a line of more than ${longest} characters`);
    if (more.length === 0) continue;
    const last = more.pop()!;
    yield [begun.join(""), ...more];
    begun = [last];
    length = last.length;
  }
  if (rest && length > 0) yield [begun.join("")];
}

/** Writes lines. Lines that are added during a write are sent together by the next write. */
export class LineWriter {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #encoder = new TextEncoder();
  #waiting: string[] = [];
  #writing = false;
  #flushed: Promise<void> = Promise.resolve();

  /** @param gone called when the other end is closed */
  constructor(stream: WritableStream<Uint8Array>, private readonly gone: () => void) {
    this.#writer = stream.getWriter();
  }

  write(line: string): void {
    this.#waiting.push(line);
    if (!this.#writing) this.#flushed = this.#flush();
  }

  async #flush(): Promise<void> {
    this.#writing = true;
    try {
      while (this.#waiting.length > 0) {
        const text = this.#waiting.join("\n") + "\n";
        this.#waiting = [];
        await this.#writer.write(this.#encoder.encode(text));
      }
    } catch {
      this.gone();
    } finally {
      this.#writing = false;
    }
  }

  /** Closes the pipe after all lines are written; does not fail if the other end is closed. */
  async close(): Promise<void> {
    await this.#flushed;
    await this.#writer.close().catch(() => {});
  }
}
