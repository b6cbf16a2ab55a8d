/**
 * Lines about what goes on. On a terminal they are redrawn in place until they are removed;
 * elsewhere they are printed now and then.
 */
import { duration } from "../../core/duration.ts";
import { clip, columns, isInteractive, log, logRaw, withoutControl } from "./terminal.ts";

export class RedrawnLines {
  #lines: readonly string[] = [];
  /** When something was shown. */
  #last = performance.now();

  /** @param plainMs milliseconds without output until lines are printed, where they stay */
  constructor(
    private readonly plainMs = 30_000,
    private readonly redrawMs = 200,
    private readonly isLive = isInteractive(),
  ) {}

  /** Begins the time until lines are shown. */
  begin(): void {
    this.#last = performance.now();
  }

  /** Shows lines if it is time. @param isDue whether it is in any case */
  show(lines: () => readonly string[], isDue = false): void {
    const pause = this.isLive ? this.redrawMs : this.plainMs;
    if (!isDue && performance.now() - this.#last < pause) return;
    this.begin();
    if (this.isLive) this.draw(...lines());
    else lines().forEach(log);
  }

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
    if (!this.isLive) this.begin();
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

const SILENT_MS = 2_000, PLAIN_MS = 10_000;

/**
 * The progress of loading a large model, or of drawing many problems. A short load shows nothing;
 * another one says at the end how long it took.
 */
export class LoadProgress {
  #start = 0;
  readonly #line = new RedrawnLines(PLAIN_MS);

  /** @param text the text that is shown before the seconds since the load began */
  constructor(
    private readonly quiet = false,
    private readonly text: (done: number, total: number, seconds: number) => string = loadText,
  ) {}

  /** Called with the loaded share of a model, from 0 on. Another model may follow. */
  readonly on = (done: number, total: number): void => {
    if (done === 0) {
      this.#start = performance.now();
      this.#line.begin();
    }
    const ms = performance.now() - this.#start, text = () => this.text(done, total, ms / 1000);
    if (this.quiet || ms < SILENT_MS) return;
    if (done < total) return this.#line.show(() => [text()]);
    this.close();
    log(text());
  };

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
