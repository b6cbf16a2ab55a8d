/**
 * The text of a completion while its tokens arrive. What `push` and `end` return, put together, is
 * the whole text. A part is held back while it may be the beginning of a stop string or the bytes
 * of a character that is not complete. The text ends before the first stop string.
 */

export class StopText {
  #text = "";
  #sent = 0;
  /** The stop string that the text has reached. */
  stop: string | null = null;

  /**
   * @param stops texts that are not empty
   * @param keeps whether the text ends behind the stop string, not before it
   */
  constructor(private readonly stops: readonly string[], private readonly keeps = false) {}

  /** The text that has been returned so far. */
  get sent(): string {
    return this.#text.slice(0, this.#sent);
  }

  /**
   * @param text the whole text so far, without stop tokens
   * @param from number of characters that a stop string must go beyond
   * @returns what is new and can no longer change
   */
  push(text: string, from = 0): string {
    this.#take(text, from);
    return this.#send(this.stop !== null ? this.#text.length : this.#safeEnd());
  }

  /** @param text the whole text at the end @returns the rest */
  end(text: string, from = 0): string {
    this.#take(text, from);
    return this.#send(this.#text.length);
  }

  #take(text: string, from: number): void {
    let first = Infinity;
    for (const stop of this.stops) {
      const begin = Math.max(0, this.#sent - stop.length, from - stop.length + 1);
      const at = text.indexOf(stop, begin);
      if (at >= 0 && at < first) {
        first = at;
        this.stop = stop;
      }
    }
    const end = this.keeps ? first + (this.stop ?? "").length : first;
    this.#text = text.slice(0, Math.min(end, text.length));
  }

  #send(end: number): string {
    const part = this.#text.slice(this.#sent, end);
    this.#sent = Math.max(this.#sent, end);
    return part;
  }

  /** End of what no later token can change. */
  #safeEnd(): number {
    const text = this.#text.replace(/\uFFFD+$/, "");
    let held = 0;
    for (const stop of this.stops) {
      for (let n = Math.min(stop.length - 1, text.length); n > held; n--) {
        if (text.endsWith(stop.slice(0, n))) held = n;
      }
    }
    const end = text.length - held, last = text.charCodeAt(end - 1);
    // Not between the two halves of a surrogate pair.
    return last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
  }
}
