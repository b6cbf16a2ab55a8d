/**
 * The progress of a benchmark on stderr: lines that are redrawn on a terminal, or new lines every
 * half minute elsewhere. For each worker they show how far it is and how long it will take.
 */
import { counted } from "../../core/counted.ts";
import type { BenchEvent } from "../../bench/benchmark_run.ts";
import { shortName, shownNames } from "../../bench/results/shown_names.ts";
import { RedrawnLines } from "../terminal/redrawn_lines.ts";
import { broken, isInteractive, log, paint } from "../terminal/terminal.ts";

const REDRAW_MS = 200, PLAIN_MS = 30_000;
/** No time is predicted before a worker has worked this long, in milliseconds. */
const MIN_ESTIMATE_MS = 1000;
/** Columns of the sparkline. Each is one second. */
const SPARKS = 16;
const BARS = "▁▂▃▄▅▆▇█";

interface WorkerState {
  model: string;
  /** Share of its weights that are loaded; 0 = not known, or it has answered. */
  loading: number;
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
  /** Number of samples to answer. */
  #samples = 0;
  readonly #lines = new RedrawnLines();

  /** @param verbose shows every answer when it is there */
  constructor(private readonly quiet: boolean, private readonly verbose = false) {}

  on(event: BenchEvent): void {
    switch (event.type) {
      case "plan":
        this.#samples = event.samples;
        return this.#say(
          `${counted(event.models.length, "model")} × ${counted(event.tasks.length, "task")}, ` +
            `${counted(event.samples, "sample")}: ` +
            `${shownNames(event.models).join(", ")} on ${event.tasks.join(", ")}`,
        );
      case "resumed":
        this.#samples -= event.samples;
        return this.#say(`known already: ${counted(event.samples, "sample")}`);
      case "loading": {
        const { worker, model, share: loading } = event, now = performance.now();
        const state = this.#workers.get(worker) ?? { done: 0, total: 0, started: now };
        this.#workers.set(worker, { ...state, model, loading });
        // The line about loading is removed before the first answer.
        return this.#draw(now, loading === 1 && this.#lines.drawn);
      }
      case "progress":
        return this.#progress(event);
      case "sample":
        return this.#sample(event);
      case "failed":
        return this.warn(`${shortName(event.model)} on ${event.task} failed: ${event.error}`);
      case "warning":
        return this.warn(event.message);
    }
  }

  warn(message: string): void {
    this.#lines.clear();
    const [first, ...more] = broken("stderr", `warning: ${message}`);
    log(first!.replace("warning:", paint("yellow", "warning:")));
    for (const line of more) log(line);
  }

  close(): void {
    this.#lines.clear();
  }

  #progress({ worker, model, done, total }: BenchEvent & { type: "progress" }): void {
    const now = performance.now();
    const started = this.#workers.get(worker)?.started ?? now;
    this.#workers.set(worker, { model, loading: 0, done, total, started });
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#speeds.push(this.#inSecond);
      if (this.#speeds.length > SPARKS) this.#speeds.shift();
      this.#second = second;
      this.#inSecond = 0;
    }
    this.#inSecond++;
    this.#draw(now);
  }

  #sample({ model, task, entry, result }: BenchEvent & { type: "sample" }): void {
    if (!this.verbose) return;
    this.#lines.clear();
    const { completion, extracted, score, error } = result;
    log(`[${task}, ${shortName(model)}]`);
    log(`[Prompt]\n${entry.question}`);
    log(`[Response]\n${error ?? completion}`);
    const expected = entry.answer === null ? "many are right" : JSON.stringify(entry.answer);
    log(`[Expected] ${expected}  [Answer] ${JSON.stringify(extracted)}  [Score] ${score}`);
  }

  #draw(now: number, atOnce = false): void {
    const pause = this.#interactive ? REDRAW_MS : PLAIN_MS;
    if (this.quiet || !atOnce && now - this.#last < pause) return;
    this.#last = now;
    const states = [...this.#workers].sort(([a], [b]) => a - b)
      .map(([number, state]) => workerText(number, state, now, this.#workers.size));
    if (!this.#interactive) return states.forEach((text) => log(text));
    const lines = states.length > 1 ? [this.#overall(), ...states] : states;
    lines[0] = `${sparkline(this.#speeds)} ${lines[0]}`.trimStart();
    this.#lines.draw(...lines);
  }

  /** The progress of all workers together. */
  #overall(): string {
    let done = 0;
    for (const worker of this.#workers.values()) done += worker.done;
    return `${done}/${this.#samples}`;
  }

  #say(text: string): void {
    if (this.quiet) return;
    for (const line of broken("stderr", text)) log(line);
  }
}

function workerText(
  number: number,
  { model, loading, done, total, started }: WorkerState,
  now: number,
  workers: number,
): string {
  const left = done === 0 || now - started < MIN_ESTIMATE_MS
    ? ""
    : `, ${clock(((now - started) / done) * (total - done) / 1000)} left`;
  const who = workers > 1 ? `worker ${number}: ` : "";
  if (loading === 1) return `${who}asking ${shortName(model)}`;
  if (loading > 0) return `${who}loading ${shortName(model)}: ${Math.floor(100 * loading)} %`;
  if (total === 0) return `${who}loading ${shortName(model)}`;
  return `${who}${done}/${total}${left} (${shortName(model)})`;
}

function clock(seconds: number): string {
  const s = Math.round(seconds), two = (n: number) => String(n).padStart(2, "0");
  const hours = Math.floor(s / 3600), minutes = Math.floor(s / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(s % 60)}` : `${minutes}:${two(s % 60)}`;
}

/** Samples per second as a sparkline, the newest last. */
function sparkline(values: readonly number[]): string {
  const max = Math.max(1, ...values);
  return values.map((value) => BARS[Math.round((value / max) * (BARS.length - 1))]).join("");
}
