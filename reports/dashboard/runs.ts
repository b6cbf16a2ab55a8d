/**
 * The runs and benchmarks that a dashboard shows, with the contents of their files. `refresh` looks
 * for new ones, and a watcher says which files have changed since it last looked. Files are looked
 * at again and again instead of being watched, since network file systems report no changes.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Benchmarks } from "./reading/benchmarks.ts";
import { findRuns, type Found, type FoundBenchmark, type FoundRun } from "./reading/find_runs.ts";
import { MetricsFile } from "./reading/metrics_file.ts";
import { versionOf } from "./reading/plain_file.ts";

/** The next piece of a long file waits for this many milliseconds after a request. */
const QUIET_MS = 100;

/** An event of the stream: ids of runs whose files changed, and whether the list changed. */
export interface Changes {
  runs: string[];
  list: boolean;
}

export class Runs {
  readonly benchmarks = new Benchmarks();
  #found: Found = { runs: [], benchmarks: [] };
  readonly #metrics = new Map<string, MetricsFile>();
  /** How often a run's metrics were read to the end in the background. */
  readonly #readings = new Map<string, number>();
  /** Long files of which only some lines were read. */
  readonly #waiting = new Map<string, MetricsFile>();
  #background: Promise<void> | null = null;
  /** When somebody last asked for metrics. */
  #asked = 0;
  #isEnding = false;

  constructor(readonly folders: readonly string[]) {}

  get found(): Found {
    return this.#found;
  }

  /** Looks for runs and results. */
  async refresh(): Promise<void> {
    this.#found = await findRuns(this.folders);
  }

  run(id: string): FoundRun | undefined {
    return this.#found.runs.find((run) => run.id === id);
  }

  benchmark(id: string): FoundBenchmark | undefined {
    return this.#found.benchmarks.find((benchmark) => benchmark.id === id);
  }

  /**
   * The metrics of a run, brought up to date.
   * @param isWhole a long file is read to its end in the background
   */
  async metrics({ id, folder }: FoundRun, isWhole = true): Promise<MetricsFile> {
    let file = this.#metrics.get(id);
    if (file === undefined) {
      this.#metrics.set(id, file = new MetricsFile(`${folder}/metrics.jsonl`));
    }
    this.#asked = performance.now();
    await file.update();
    this.#asked = performance.now();
    if (isWhole && !file.complete) {
      this.#waiting.set(id, file);
      this.#background ??= this.#readWaiting().finally(() => this.#background = null);
    }
    return file;
  }

  /** Looks at the metrics of all runs, so that a page that opens later need not wait for it. */
  async look(): Promise<void> {
    for (const run of this.#found.runs) {
      if (this.#isEnding) return;
      await this.metrics(run, false).catch(() => {}); // a request says what is wrong
    }
  }

  /**
   * Reads the rest of long files, one after the other, and slowly while somebody waits for answers:
   * a page that opens asks for many runs at once.
   */
  async #readWaiting(): Promise<void> {
    const turn = () => delay(performance.now() - this.#asked < QUIET_MS ? QUIET_MS : 0);
    for (const [id, file] of this.#waiting) {
      await turn();
      if (this.#isEnding) return;
      this.#waiting.delete(id);
      await file.readRest(turn);
      this.#readings.set(id, (this.#readings.get(id) ?? 0) + 1);
    }
  }

  /** Watches the files for one reader of the events. */
  watcher(): Watcher {
    return new Watcher(this, (id) => this.#readings.get(id) ?? 0);
  }

  /** Ends the reading in the background. */
  async close(): Promise<void> {
    this.#isEnding = true;
    await this.#background;
  }
}

/** Remembers sizes and times of the files at the last look. */
class Watcher {
  readonly #looks = new Map<string, string>();
  #list: string | null = null;

  constructor(
    private readonly runs: Runs,
    private readonly readings: (id: string) => number,
  ) {}

  /** The changes since the last call; the first call returns none. */
  async changes(): Promise<Changes> {
    const names = JSON.stringify(this.runs.found);
    const changes: Changes = { runs: [], list: this.#list !== null && this.#list !== names };
    this.#list = names;
    await Promise.all(this.runs.found.runs.map(async ({ id, folder }) => {
      const versions = await Promise.all(WATCHED.map((name) => versionOf(`${folder}/${name}`)));
      const look = `${versions} ${this.readings(id)}`, before = this.#looks.get(id);
      this.#looks.set(id, look);
      if (before !== undefined && look !== before) changes.runs.push(id);
    }));
    return changes;
  }
}

const WATCHED = ["metrics.jsonl", "run.json", "completions"];
