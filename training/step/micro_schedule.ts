/**
 * Which slice of which generation batch every micro-batch trains on, as pure functions of the step's number
 * (TRL's `_prepare_inputs` and `steps_per_generation`): a generation batch is cut into SPG slices and gone
 * through μ times; GA micro-batches make an optimizer step, fewer at the end of an epoch. Nothing has to be
 * saved to know where a run stands.
 */

export interface MicroScheduleOptions {
  /** GA */
  accumulation: number;
  /** SPG */
  stepsPerGeneration: number;
  /** μ */
  iterations: number;
  /** Generation batches of an epoch. */
  generationsPerEpoch: number;
}

/** A micro-batch: slice `slice` (0 … SPG − 1) of generation batch `generation` (0, 1, … in the run). */
export interface MicroBatch {
  generation: number;
  slice: number;
}

export class MicroSchedule {
  /** Micro-batches that a generation batch serves. */
  readonly perGeneration: number;
  readonly perEpoch: number;
  readonly stepsPerEpoch: number;
  /**
   * Whether the policy can have moved between a batch's generation and its use, so that log-probabilities
   * at the time of the generation are needed.
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
  window(k: number): MicroBatch[] {
    const { accumulation, stepsPerGeneration, generationsPerEpoch } = this.options;
    const epoch = Math.floor(k / this.stepsPerEpoch);
    const begin = (k % this.stepsPerEpoch) * accumulation;
    const end = Math.min(begin + accumulation, this.perEpoch);
    return Array.from({ length: end - begin }, (_, i) => ({
      generation: epoch * generationsPerEpoch + Math.floor((begin + i) / this.perGeneration),
      slice: (begin + i) % stepsPerGeneration,
    }));
  }

  /** Micro-batches trained on after `steps` optimizer steps. */
  microSteps(steps: number): number {
    const within = (steps % this.stepsPerEpoch) * this.options.accumulation;
    return Math.floor(steps / this.stepsPerEpoch) * this.perEpoch + within;
  }

  /** Epochs done after `steps` optimizer steps, fractional. */
  epoch(steps: number): number {
    return this.microSteps(steps) / this.perEpoch;
  }

  /** The generation batch that is begun but not used up after `steps` optimizer steps, or null. */
  inFlight(steps: number): { generation: number; position: number } | null {
    const done = this.microSteps(steps);
    const position = done % this.perGeneration;
    return position === 0 ? null : { generation: Math.floor(done / this.perGeneration), position };
  }
}
