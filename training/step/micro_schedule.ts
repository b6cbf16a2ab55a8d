/**
 * Which slice of which generation batch each micro-batch trains on (TRL's `_prepare_inputs` and
 * `steps_per_generation`). A generation batch is cut into SPG slices, which are all trained on μ
 * times. An optimizer step takes GA micro-batches, the last one of an epoch perhaps fewer.
 * Everything is a pure function of the step's number, so a checkpoint needs no state of it.
 */

export interface MicroScheduleOptions {
  /** GA, `gradient_accumulation_steps` */
  accumulation: number;
  /** SPG, `steps_per_generation` */
  stepsPerGeneration: number;
  /** μ, `num_iterations` */
  iterations: number;
  generationsPerEpoch: number;
}

/** A slice (0 … SPG − 1) of a generation batch (0, 1, … in the run). */
export interface MicroBatch {
  generation: number;
  slice: number;
}

export class MicroSchedule {
  /** Micro-batches that train on one generation batch. */
  readonly perGeneration: number;
  readonly perEpoch: number;
  readonly stepsPerEpoch: number;
  /**
   * Whether the policy can change between the generation of a batch and the last step that trains
   * on it. Then the log-probabilities at the time of the generation are needed.
   */
  readonly needsOldLogp: boolean;

  constructor(readonly options: MicroScheduleOptions) {
    const { accumulation, stepsPerGeneration, iterations, generationsPerEpoch } = options;
    this.perGeneration = stepsPerGeneration * iterations;
    this.perEpoch = generationsPerEpoch * this.perGeneration;
    this.stepsPerEpoch = Math.ceil(this.perEpoch / accumulation);
    this.needsOldLogp = accumulation % this.perGeneration !== 0;
  }

  /** The micro-batches of optimizer step k = 0, 1, 2, …, in order. */
  microBatches(k: number): MicroBatch[] {
    const { accumulation, stepsPerGeneration, generationsPerEpoch } = this.options;
    const epoch = Math.floor(k / this.stepsPerEpoch);
    const begin = (k % this.stepsPerEpoch) * accumulation;
    const end = Math.min(begin + accumulation, this.perEpoch);
    return Array.from({ length: end - begin }, (_, i) => ({
      generation: epoch * generationsPerEpoch + Math.floor((begin + i) / this.perGeneration),
      slice: (begin + i) % stepsPerGeneration,
    }));
  }

  /** Micro-batches done after `steps` optimizer steps. */
  microSteps(steps: number): number {
    const within = (steps % this.stepsPerEpoch) * this.options.accumulation;
    return Math.floor(steps / this.stepsPerEpoch) * this.perEpoch + within;
  }

  /** Epochs done after `steps` optimizer steps, fractional. */
  epoch(steps: number): number {
    return this.microSteps(steps) / this.perEpoch;
  }

  /**
   * The batch that is only partly trained on, and how many of its micro-batches are done; or null.
   */
  inFlight(steps: number): { generation: number; position: number } | null {
    const done = this.microSteps(steps);
    const position = done % this.perGeneration;
    return position === 0 ? null : { generation: Math.floor(done / this.perGeneration), position };
  }
}
