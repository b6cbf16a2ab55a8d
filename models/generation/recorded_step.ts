/**
 * Decode steps run the same operations again and again; only the contents of their tensors change.
 * After some runs the operations are recorded, and then replayed. This saves making and checking
 * them each time and, with several threads, most of the waiting between them. Devices that cannot
 * record just run them.
 */
import type { Device, Recording } from "../../kernels/device.ts";

/**
 * Number of runs before a step is recorded. For a generation that ends sooner the recording would
 * only be garbage to collect.
 */
export const RUNS_BEFORE_RECORDING = 8;

export class RecordedStep<Result> {
  #key: readonly unknown[] = [];
  #recording: Recording | null = null;
  #canRecord: boolean;
  #result: Result | undefined;
  /** Number of runs with the present key. */
  #runs = 0;

  constructor(private readonly device: Device) {
    this.#canRecord = device.record !== undefined;
  }

  /**
   * Runs the operations of `work`, or replays their recording. `work` must depend on the parts of
   * the key (compared with `===`) and on nothing else, and must return the same result while they
   * are the same.
   */
  run(key: readonly unknown[], work: () => Result): Result {
    if (!this.#canRecord) return work();
    const same = key.length === this.#key.length && key.every((part, i) => part === this.#key[i]);
    if (!same) {
      this.forget();
      this.#key = key;
    }
    if (this.#runs < RUNS_BEFORE_RECORDING) {
      this.#runs++;
      return this.#result = work();
    }
    if (!this.#recording?.isValid) {
      const { device } = this;
      this.#recording = device.record!(() => {
        this.#result = work();
      });
      this.#canRecord = this.#recording !== null;
    }
    if (this.#recording === null) return work();
    this.#recording.run();
    return this.#result!;
  }

  /** Drops the recording, because something outside the key has changed. */
  forget(): void {
    this.#recording?.free();
    this.#recording = null;
    this.#key = [];
    this.#result = undefined;
    this.#runs = 0;
  }
}

/** Recorded steps of different kinds, by number. Only the most recent recordings are kept. */
export class RecordedSteps<Result> {
  /** In the order of their last use. */
  readonly #steps = new Map<number, RecordedStep<Result>>();

  /**
   * @param maxRecordings number of recordings that are kept; hundreds of operations take some
   *   hundred kilobytes
   */
  constructor(private readonly device: Device, private readonly maxRecordings: number) {}

  /** Runs step `number` as {@link RecordedStep.run} does. */
  run(number: number, key: readonly unknown[], work: () => Result): Result {
    const step = this.#steps.get(number) ?? new RecordedStep<Result>(this.device);
    this.#steps.delete(number);
    this.#steps.set(number, step);
    if (this.#steps.size > this.maxRecordings) {
      const [oldest, dropped] = this.#steps.entries().next().value!;
      dropped.forget();
      this.#steps.delete(oldest);
    }
    return step.run(key, work);
  }

  forget(): void {
    for (const step of this.#steps.values()) step.forget();
    this.#steps.clear();
  }
}
