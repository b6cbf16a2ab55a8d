/**
 * The progress of loading a large model, or of drawing many problems, on stderr. A short load shows
 * nothing. Then there is one line that is redrawn on a terminal, or a line now and then elsewhere,
 * and at the end how long it took.
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

  /** @param text the text that is shown before the seconds since the load began */
  constructor(
    private readonly quiet = false,
    private readonly text: (done: number, total: number, seconds: number) => string = loadText,
  ) {}

  /** Called with the loaded share of a model, from 0 on. Another model may follow. */
  readonly on = (done: number, total: number): void => {
    const now = performance.now();
    if (done === 0) this.#start = this.#last = now;
    const ms = now - this.#start;
    if (this.quiet || ms < SILENT_MS) return;
    if (done >= total) {
      this.close();
      return log(this.text(done, total, ms / 1000));
    }
    if (now - this.#last < (this.#live ? REDRAW_MS : PLAIN_MS)) return;
    this.#last = now;
    const text = this.text(done, total, ms / 1000);
    if (!this.#live) return log(text);
    this.#line.draw(text);
  };

  /** Removes the line. */
  close(): void {
    this.#line.clear();
  }
}

/** @param seconds time since the load began */
export function loadText(done: number, total: number, seconds: number): string {
  const count = (values: number) =>
    values < 1e9 ? `${(values / 1e6).toFixed(0)} M` : `${(values / 1e9).toFixed(2)} B`;
  if (done >= total) return `loaded ${count(total)} weights in ${duration(seconds)}`;
  const left = duration(seconds * (total - done) / Math.max(1, done));
  return `loading: ${Math.floor(100 * done / total)} % of ${count(total)} weights, ${left} left`;
}

/** The text while the held-out problems of a run are drawn. */
export function drawText(found: number, wanted: number): string {
  return `drawing held-out problems: ${found} different ones of ${wanted}`;
}
