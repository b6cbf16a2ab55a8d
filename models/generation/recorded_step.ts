/**
 * Operations that are the same in step after step, but for what stands in their tensors: when they have come some
 * times in a row they are recorded, and from then on replayed, which spares making and checking them anew and,
 * on several threads, most of the waiting between them. On devices without recordings they are just run.
 */
import type { Device, Recording } from "../../kernels/device.ts";

/** Times that a step is just run: one that ends soon is not worth the objects that a recording leaves to be collected. */
export const RUNS_BEFORE_RECORDING = 8;

export class RecordedStep<Result> {
  #key: readonly unknown[] = [];
  #recording: Recording | null = null;
  #canRecord: boolean;
  #result: Result | undefined;
  /** Times that it has been run since the key is this one. */
  #runs = 0;

  constructor(private readonly device: Device) {
    this.#canRecord = device.record !== undefined;
  }

  /**
   * Runs the operations of `work`, which is a function of the key's parts (compared with `===`) and of nothing else,
   * and whose result is the same as long as they are.
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

  /** Drops the recording: something else that the operations depend on has changed. */
  forget(): void {
    this.#recording?.free();
    this.#recording = null;
    this.#key = [];
    this.#result = undefined;
    this.#runs = 0;
  }
}

/** Steps of different kinds, by a number; the recordings of those that came last are kept. */
export class RecordedSteps<Result> {
  /** The one that came last is the last. */
  readonly #steps = new Map<number, RecordedStep<Result>>();

  /** @param most steps whose recordings are kept: hundreds of operations take some hundred kilobytes */
  constructor(private readonly device: Device, private readonly maxRecordings: number) {}

  /** As `run` of {@link RecordedStep}, of the step with that number. */
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
