/**
 * What a benchmark shows while it runs, on stderr: a line that redraws itself on a terminal, else a line every
 * half minute; of every worker how far it is and how long it will take.
 */
import type { BenchEvent } from "../bench/types.ts";
import { shortName } from "./bench_table.ts";
import { clip, columns, isInteractive, log, logRaw, paint, wrap } from "./terminal.ts";

const REDRAW_MS = 200, PLAIN_MS = 30_000;
/** Columns of the sparkline, one a second. */
const SPARKS = 16;
const BARS = "▁▂▃▄▅▆▇█";

interface WorkerState {
  model: string;
  done: number;
  total: number;
  started: number;
}

export class BenchProgress {
  readonly #workers = new Map<number, WorkerState>();
  readonly #interactive = isInteractive();
  readonly #speeds: number[] = [];
  #second = 0;
  #inSecond = 0;
  #last = performance.now();
  #drawn = false;

  constructor(private readonly quiet: boolean) {}

  on(event: BenchEvent): void {
    switch (event.type) {
      case "plan":
        return this.#say(
          `${count(event.models.length, "model")} × ${count(event.tasks.length, "task")}, ` +
            `${count(event.samples, "sample")}: ` +
            `${event.models.map(shortName).join(", ")} on ${event.tasks.join(", ")}`,
        );
      case "resumed":
        return this.#say(`${event.samples} samples are known already`);
      case "loading": {
        const known = this.#workers.get(event.worker);
        const state = known ?? { done: 0, total: 0, started: performance.now() };
        this.#workers.set(event.worker, { ...state, model: event.model });
        return;
      }
      case "progress":
        return this.#progress(event);
      case "failed":
        return this.warn(`${shortName(event.model)} on ${event.task} failed: ${event.error}`);
      case "warning":
        return this.warn(event.message);
    }
  }

  warn(message: string): void {
    this.#clear();
    log(`${paint("yellow", "warning:")} ${message}`);
  }

  close(): void {
    this.#clear();
  }

  #progress({ worker, model, done, total }: BenchEvent & { type: "progress" }): void {
    const now = performance.now();
    const started = this.#workers.get(worker)?.started ?? now;
    this.#workers.set(worker, { model, done, total, started });
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#speeds.push(this.#inSecond);
      if (this.#speeds.length > SPARKS) this.#speeds.shift();
      this.#second = second;
      this.#inSecond = 0;
    }
    this.#inSecond++;
    if (this.quiet || now - this.#last < (this.#interactive ? REDRAW_MS : PLAIN_MS)) return;
    this.#last = now;
    const states = [...this.#workers].sort(([a], [b]) => a - b)
      .map(([number, state]) => workerText(number, state, now, this.#workers.size));
    if (!this.#interactive) return states.forEach((text) => log(text));
    logRaw(`\r\x1b[K${clip(`${sparkline(this.#speeds)} ${states.join(" · ")}`, columns() - 1)}`);
    this.#drawn = true;
  }

  #say(text: string): void {
    if (this.quiet) return;
    for (const line of this.#interactive ? wrap(text, columns()) : [text]) log(line);
  }

  #clear(): void {
    if (this.#drawn) logRaw("\r\x1b[K");
    this.#drawn = false;
  }
}

function workerText(
  number: number,
  { model, done, total, started }: WorkerState,
  now: number,
  workers: number,
): string {
  const left = done === 0
    ? ""
    : `, ${clock(((now - started) / done) * (total - done) / 1000)} left`;
  const who = workers > 1 ? `worker ${number}: ` : "";
  return `${who}${done}/${total}${left} (${shortName(model)})`;
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

function clock(seconds: number): string {
  const s = Math.round(seconds), two = (n: number) => String(n).padStart(2, "0");
  const hours = Math.floor(s / 3600), minutes = Math.floor(s / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(s % 60)}` : `${minutes}:${two(s % 60)}`;
}

/** Samples a second, the newest last. */
function sparkline(values: readonly number[]): string {
  const most = Math.max(1, ...values);
  return values.map((value) => BARS[Math.round((value / most) * (BARS.length - 1))]).join("");
}
