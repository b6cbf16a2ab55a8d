/**
 * Reads a `metrics.jsonl` that may be growing. New bytes are read from where the last reading
 * ended. The run may also cut the file back when it resumes; then it is read again from the
 * beginning. A long file is first looked at in few places, so that its curves can be drawn at
 * once, and then read as a whole in the background. Damaged lines are counted and left out.
 */
import { setTimeout as delay } from "node:timers/promises";
import { isRecord } from "../../../core/json_file.ts";
import { readPart } from "../../../core/text_file.ts";
import { eachMeasurement, type Point } from "../../charts/run_metrics.ts";
import { plainFile } from "./plain_file.ts";
import type { Accuracy } from "../../../bench/evaluation/accuracy.ts";

/** Files up to this size are read at once. */
const SMALL_BYTES = 1 << 20;
/** How many places of a long file are looked at first, and how many bytes in each. */
const LOOKS = 200, LOOK_BYTES = 8192;
/** Bytes that are parsed before other work gets its turn. */
const PIECE_BYTES = 1 << 19;
/** Maximum length of a line. A longer line is no line of metrics: nothing after it is read. */
const MAX_LINE_BYTES = 1 << 24;
/**
 * Number of bytes before the end of the last reading that are compared, to notice that a file was
 * cut back.
 */
const MARK_BYTES = 256;
/** The end of the file that the list of runs reads. */
const TAIL_BYTES = 24_576;

export type Row = Readonly<Record<string, unknown>>;

/** What was read of a file. */
class Contents {
  /** Metrics of all lines that were read. */
  readonly series = new Map<string, Series>();
  /** Seconds since the first step; supervised steps are not counted. */
  readonly clock = new Series();
  begin: number | null = null;
  /** false: only some lines were read. */
  complete = false;
  /** Number of lines that are not JSON objects, and the number of the first of them. */
  damaged = 0;
  firstDamaged = 0;
  /** Bytes and lines that were read, and the last of these bytes. */
  at = 0;
  lines = 0;
  mark = new Uint8Array(0);

  add(row: Row): void {
    eachMeasurement(row, (name, step, value, ci95) => {
      let one = this.series.get(name);
      if (one === undefined) this.series.set(name, one = new Series());
      one.add(step, value, ci95);
    });
    const { step, split, time } = row, at = Date.parse(String(time)) / 1000;
    if (split !== "train" || typeof step !== "number" || !(at > 0)) return;
    this.begin ??= at;
    this.clock.add(step, at - this.begin);
  }

  /**
   * Reads whole lines from the last position to `size`.
   * @param turn waits between two pieces until other work has had its turn
   */
  async readTo(file: Deno.FsFile, size: number, turn: () => Promise<void>): Promise<void> {
    let length = PIECE_BYTES;
    while (this.at < size) {
      const bytes = await readPart(file, this.at, Math.min(length, size - this.at));
      const end = bytes.lastIndexOf(0x0a) + 1;
      if (end === 0) {
        // A line that is still being written, or one that is longer than a piece.
        if (bytes.length < length || length > MAX_LINE_BYTES) break;
        length *= 2;
        continue;
      }
      for (const line of new TextDecoder().decode(bytes.subarray(0, end - 1)).split("\n")) {
        this.lines++;
        if (line.trim() === "") continue;
        const row = rowOf(line);
        if (row !== null) this.add(row);
        else if (this.damaged++ === 0) this.firstDamaged = this.lines;
      }
      this.at += end;
      this.mark = bytes.slice(Math.max(0, end - MARK_BYTES), end);
      await turn();
    }
    this.complete = true;
  }
}

/** Correct answers to held-out problems. */
export type AccuracyInfo = Pick<Accuracy, "accuracy" | "ci95" | "total">;

export type SparkAccuracy = NonNullable<ReturnType<MetricsFile["evaluation"]>>;

/** What the list shows of a run's metrics. */
export type Spark = ReturnType<MetricsFile["spark"]>;

export class MetricsFile {
  #found = new Contents();
  #isReading = false;
  /** Updates run one after the other: two at once would count lines twice. */
  #last: Promise<void> = Promise.resolve();

  constructor(readonly path: string) {}

  get series(): ReadonlyMap<string, Series> {
    return this.#found.series;
  }

  get clock(): Series {
    return this.#found.clock;
  }

  get complete(): boolean {
    return this.#found.complete;
  }

  /** A sentence about the problem of the file; null if there is none. */
  get problem(): string | null {
    const { damaged, firstDamaged: first } = this.#found;
    if (damaged === 0) return null;
    const more = damaged === 1 ? "" : ` (${damaged} lines in all)`;
    return `${this.path}: line ${first} is damaged (cut, or not JSON); it was left out${more}`;
  }

  /**
   * Brings the metrics up to date. If a long file was not read before, only some of its lines are
   * read now; `complete` is then false, and `readRest` reads the others.
   */
  update(): Promise<void> {
    return this.#last = this.#last.catch(() => {}).then(() => this.#update());
  }

  async #update(): Promise<void> {
    if (this.#isReading) return;
    const file = await openIfThere(this.path);
    if (file === null) return void (this.#found = new Contents());
    try {
      const { size } = await file.stat();
      if (this.#found.at > 0 && !await this.#isSame(file, size)) this.#found = new Contents();
      if (this.#found.at > 0 || size <= SMALL_BYTES) {
        await this.#found.readTo(file, size, () => delay(0));
      } else if (this.series.size === 0) this.#look(file, size);
    } finally {
      file.close();
    }
  }

  /**
   * Reads the lines that `update` has left out. Until then, curves show the few lines.
   * @param turn called between two pieces
   */
  async readRest(turn: () => Promise<void> = () => delay(0)): Promise<void> {
    if (this.complete) return;
    const file = await openIfThere(this.path);
    if (file === null) return;
    this.#isReading = true;
    try {
      const all = new Contents();
      await all.readTo(file, (await file.stat()).size, turn);
      this.#found = all;
    } catch {
      // The file was removed, or its server does not answer. The next request looks at it again.
    } finally {
      this.#isReading = false;
      file.close();
    }
  }

  /** Whether the file still begins with the bytes that were read. */
  async #isSame(file: Deno.FsFile, size: number): Promise<boolean> {
    const { at, mark } = this.#found;
    if (size < at) return false;
    const found = await readPart(file, at - mark.length, mark.length);
    return found.length === mark.length && found.every((byte, i) => byte === mark[i]);
  }

  /** Reads some lines of the whole file, at once: to wait 200 times takes longer than to read. */
  #look(file: Deno.FsFile, size: number): void {
    let last = -1;
    const buffer = new Uint8Array(LOOK_BYTES);
    for (let i = 0; i < LOOKS; i++) {
      const at = Math.floor((size - LOOK_BYTES) * i / (LOOKS - 1));
      file.seekSync(at, Deno.SeekMode.Start);
      const bytes = buffer.subarray(0, file.readSync(buffer) ?? 0);
      const start = at === 0 ? 0 : bytes.indexOf(0x0a) + 1, end = bytes.indexOf(0x0a, start);
      if (end < 0 || at + start <= last) continue;
      last = at + start;
      const row = rowOf(new TextDecoder().decode(bytes.subarray(start, end)));
      if (row !== null) this.#found.add(row);
    }
  }

  /** The first or the newest evaluation while training; null: there is none. */
  evaluation(which: "first" | "last"): AccuracyInfo & { step: number } | null {
    const [at, total] = ["eval_accuracy", "eval_total"].map((name) =>
      this.series.get(name)?.[which]
    );
    if (!at?.ci95 || !total?.value) return null;
    return { accuracy: rounded(at.value), ci95: [...at.ci95], total: total.value, step: at.step };
  }

  /** What a list of runs shows. @param points the most rewards */
  spark(points: number) {
    const first = this.evaluation("first"), last = this.evaluation("last");
    return {
      /** Some rewards, in the order of the steps. */
      reward: (this.series.get("reward") ?? this.series.get("sft/loss"))
        ?.curve(points, 0.5).smooth ?? [],
      /** The first and the newest evaluation while training. */
      first,
      now: last?.step === first?.step ? null : last,
    };
  }
}

/** The newest lines of a file, the oldest first, for the list of runs. */
export async function newestRows(path: string): Promise<Row[]> {
  const file = await openIfThere(path);
  if (file === null) return [];
  try {
    const { size } = await file.stat(), at = Math.max(0, size - TAIL_BYTES);
    const lines = new TextDecoder().decode(await readPart(file, at, size - at)).split("\n");
    // The first line may lack its beginning, and the last one its end.
    const whole = lines.slice(at === 0 ? 0 : 1, -1);
    return whole.map(rowOf).filter((row): row is Row => row !== null);
  } finally {
    file.close();
  }
}

function rowOf(line: string): Row | null {
  try {
    const row: unknown = JSON.parse(line);
    return isRecord(row) ? row : null;
  } catch {
    return null;
  }
}

async function openIfThere(path: string): Promise<Deno.FsFile | null> {
  try {
    return await plainFile(path, Infinity) === null ? null : await Deno.open(path);
  } catch {
    return null; // not yet there, removed, or no plain file
  }
}

/*
 * The values of one metric, in little memory, and curves from them: smoothed over all steps, and
 * then thinned to a number of points without losing a peak.
 */

/** A curve, thinned: the lowest and the highest value of each part of the steps. */
export interface Curve {
  steps: number[];
  values: (number | null)[];
  /** The smoothed values at the same steps; absent without smoothing. */
  smooth?: number[];
  /** The 95 % interval at each step, for accuracies. */
  low?: (number | null)[];
  high?: (number | null)[];
}

export class Series {
  #steps = new Uint32Array(16);
  #values = new Float32Array(16);
  /** Intervals of accuracies, by position. */
  readonly #intervals = new Map<number, readonly [low: number, high: number]>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get first(): Point | null {
    return this.#point(0);
  }

  get last(): Point | null {
    return this.#point(this.#length - 1);
  }

  #point(at: number): Point | null {
    const ci95 = this.#intervals.get(at);
    if (at < 0 || at >= this.#length) return null;
    return { step: this.#steps[at]!, value: this.#values[at]!, ...(ci95 && { ci95 }) };
  }

  add(step: number, value: number, ci95?: readonly [low: number, high: number]): void {
    // Of two values at a step, such as of two evaluations, the later one counts.
    if (this.last?.step === step) this.#length--;
    const at = this.#length++;
    this.#intervals.delete(at);
    if (at === this.#steps.length) {
      this.#steps = grown(this.#steps, new Uint32Array(2 * at));
      this.#values = grown(this.#values, new Float32Array(2 * at));
    }
    this.#steps[at] = step;
    this.#values[at] = value;
    if (ci95 !== undefined) this.#intervals.set(at, ci95);
  }

  /**
   * @param points maximum number of points, at least 6
   * @param smoothing weight of the past in the running mean, from 0 (none) to below 1
   * @param range first and last step
   * @param isShared whether points that are thinned stand at steps that all runs share, at most
   *   two points away: many runs are then drawn from one short table
   */
  curve(
    points: number,
    smoothing: number,
    range: readonly [first: number, last: number] = [0, Infinity],
    isShared = false,
  ): Curve {
    const values = this.#values;
    const { chosen, places } = this.#thinned(points, range, isShared);
    const curve: Curve = {
      steps: places,
      values: chosen.map((i) => rounded(values[i]!)),
    };
    if (this.#intervals.size > 0) {
      curve.low = chosen.map((i) => this.#intervals.get(i)?.[0] ?? null);
      curve.high = chosen.map((i) => this.#intervals.get(i)?.[1] ?? null);
    }
    if (smoothing > 0) curve.smooth = smoothed(values, smoothing, chosen).map(rounded);
    return curve;
  }

  /**
   * Positions of the first and the last value, and of the lowest and the highest one of each part
   * of the steps, with the steps at which they are drawn. Parts are 2ⁿ steps wide and begin at a
   * multiple of that, in every run and at every time: a curve that grows stays as it was.
   * @param isShared see {@link curve}: both values of a part stand at its begin and its middle
   */
  #thinned(
    points: number,
    [from, to]: readonly [number, number],
    isShared: boolean,
  ): { chosen: number[]; places: number[] } {
    const steps = this.#steps.subarray(0, this.#length), values = this.#values;
    const begin = firstAt(steps, from), end = firstAt(steps, Math.floor(to) + 1);
    const chosen: number[] = [], places: number[] = [];
    const add = (i: number, place = steps[i]!) => {
      if (i === chosen.at(-1)) return;
      if (place <= places.at(-1)!) [chosen, places].forEach((list) => list.pop());
      chosen.push(i);
      places.push(place);
    };
    if (end - begin <= points) {
      for (let i = begin; i < end; i++) add(i);
      return { chosen, places };
    }
    const span = steps[end - 1]! - steps[begin]! + 1;
    const width = 2 ** Math.ceil(Math.log2(2 * span / (points - 4)));
    add(begin);
    for (let start = begin, i = begin; start < end; start = i) {
      const part = Math.floor(steps[start]! / width) * width;
      let low = start, high = start;
      for (; i < end && steps[i]! < part + width; i++) {
        if (values[i]! < values[low]!) low = i;
        if (values[i]! > values[high]!) high = i;
      }
      add(Math.min(low, high), isShared ? part : undefined);
      add(Math.max(low, high), isShared ? part + width / 2 : undefined);
    }
    add(end - 1);
    return { chosen, places };
  }
}

/** The first position of a step that is at least `wanted`. @param steps ascending */
function firstAt(steps: Uint32Array, wanted: number): number {
  let low = 0, high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The exponential running mean at some positions; its beginning is corrected, so that it does not
 * start from 0 (the rule of TensorBoard).
 */
function smoothed(values: Float32Array, weight: number, chosen: readonly number[]): number[] {
  const means: number[] = [], last = chosen.at(-1) ?? -1;
  let sum = 0, weights = 0;
  for (let i = 0; i <= last; i++) {
    sum = weight * sum + (1 - weight) * values[i]!;
    weights = weight * weights + (1 - weight);
    if (i === chosen[means.length]) means.push(sum / weights);
  }
  return means;
}

/** Six digits, which is more than a chart shows. */
function rounded(value: number): number {
  const size = Math.abs(value);
  // Powers of ten are exact up to 22; `toPrecision` is much slower.
  if (!(size > 1e-15 && size < 1e20)) return Number(value.toPrecision(6));
  const digits = 5 - Math.floor(Math.log10(size)), scale = 10 ** Math.abs(digits);
  return digits < 0 ? Math.round(value / scale) * scale : Math.round(value * scale) / scale;
}

function grown<T extends Uint32Array | Float32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
