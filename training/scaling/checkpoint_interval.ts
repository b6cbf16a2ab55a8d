/**
 * How often a run should save: checkpoints cost time, and a failure costs what was done since the
 * last one. Failures are assumed to come independently of one another, at a constant rate.
 *
 * Sources: J. W. Young, A first order approximation to the optimum checkpoint interval (CACM 1974);
 * J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps (Future
 * Generation Computer Systems 22, 2006), equations 13, 20 and 37.
 */

/** The times that the choice depends on, in seconds. */
export interface SaveTimes {
  /** Mean time between failures of the whole job. */
  betweenFailures: number;
  /** To write a checkpoint. */
  checkpoint: number;
  /** From a failure to the first new work. */
  restart: number;
}

/** Young's interval of work between two checkpoints, in seconds. */
export function youngInterval({ betweenFailures, checkpoint }: SaveTimes): number {
  return Math.sqrt(2 * checkpoint * betweenFailures);
}

/** Daly's interval of work between two checkpoints, in seconds. */
export function dalyInterval({ betweenFailures: m, checkpoint: c }: SaveTimes): number {
  if (c >= 2 * m) return m;
  const x = c / (2 * m);
  return Math.sqrt(2 * c * m) * (1 + Math.sqrt(x) / 3 + x / 9) - c;
}

/**
 * Daly's expected time of a run, as a multiple of the time of its work alone.
 * @param interval seconds of work between two checkpoints
 */
export function expectedSlowdown(interval: number, times: SaveTimes): number {
  const { betweenFailures: m, checkpoint, restart } = times;
  return m * Math.exp(restart / m) * Math.expm1((interval + checkpoint) / m) / interval;
}
