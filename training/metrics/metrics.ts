/**
 * Means of metrics between two log calls, by TRL's rules: non-finite values are dropped, a name
 * without a valid value becomes null, and running totals (`num_tokens`, `epoch`, levels, …) keep
 * their last value.
 */

export type Metrics = Record<string, number | null>;

/** Values that are not averaged. */
const LAST: ReadonlySet<string> = new Set(["num_tokens", "epoch", "learning_rate", "grad_norm"]);

/** JSON-serialisable, so that a resumed run averages over the same steps. */
export type AveragerState = Record<string, { sum: number; count: number }>;

export class MetricAverager {
  #entries: AveragerState;

  constructor(state: AveragerState = {}) {
    this.#entries = structuredClone(state);
  }

  add(metrics: Readonly<Metrics>): void {
    for (const [name, value] of Object.entries(metrics)) {
      const entry = this.#entries[name] ??= { sum: 0, count: 0 };
      if (value === null || !Number.isFinite(value)) continue;
      if (LAST.has(name) || name.startsWith("curriculum/")) entry.count = entry.sum = 0;
      entry.sum += value;
      entry.count++;
    }
  }

  /** The means, in the order in which the names came. */
  means(): Metrics {
    return Object.fromEntries(
      Object.entries(this.#entries).map(([name, { sum, count }]) => [
        name,
        count === 0 ? null : sum / count,
      ]),
    );
  }

  reset(): void {
    this.#entries = {};
  }

  state(): AveragerState {
    return structuredClone(this.#entries);
  }
}

/** The mean of each name over several records (the micro-batches of a step). */
export function averageMetrics(records: readonly Readonly<Metrics>[]): Metrics {
  const averager = new MetricAverager();
  for (const record of records) averager.add(record);
  return averager.means();
}

/** NaN and infinities as null, which is how JSON can hold them. */
export function finiteOrNull(metrics: Readonly<Metrics>): Metrics {
  return Object.fromEntries(
    Object.entries(metrics).map(([name, value]) => [
      name,
      value !== null && Number.isFinite(value) ? value : null,
    ]),
  );
}
