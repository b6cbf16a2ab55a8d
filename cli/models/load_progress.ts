/**
 * What the loading of a large model shows, on stderr: nothing while it is short; then one line that redraws itself on a
 * terminal, elsewhere a line now and then, and at the end how long it took.
 */
import { duration } from "../../core/duration.ts";
import { RedrawnLines } from "../terminal/redrawn_lines.ts";
import { isInteractive, log } from "../terminal/terminal.ts";

const SILENT_MS = 2_000, REDRAW_MS = 200, PLAIN_MS = 10_000;

export class LoadProgress {
  readonly #live = isInteractive();
  #start = 0;
  #last = 0;
  readonly #line = new RedrawnLines();

  constructor(private readonly quiet = false) {}

  /** Told how far a model is, from 0 on; the next one may follow. */
  readonly on = (done: number, total: number): void => {
    const now = performance.now();
    if (done === 0) this.#start = this.#last = now;
    const ms = now - this.#start;
    if (this.quiet || ms < SILENT_MS) return;
    if (done >= total) {
      this.close();
      return log(loadText(done, total, ms / 1000));
    }
    if (now - this.#last < (this.#live ? REDRAW_MS : PLAIN_MS)) return;
    this.#last = now;
    const text = loadText(done, total, ms / 1000);
    if (!this.#live) return log(text);
    this.#line.draw(text);
  };

  /** Takes the line away. */
  close(): void {
    this.#line.clear();
  }
}

/** @param seconds since it began */
export function loadText(done: number, total: number, seconds: number): string {
  const count = (values: number) =>
    values < 1e9 ? `${(values / 1e6).toFixed(0)} M` : `${(values / 1e9).toFixed(2)} B`;
  if (done >= total) return `loaded ${count(total)} weights in ${duration(seconds)}`;
  const left = duration(seconds * (total - done) / Math.max(1, done));
  return `loading: ${Math.floor(100 * done / total)} % of ${count(total)} weights, ${left} left`;
}
