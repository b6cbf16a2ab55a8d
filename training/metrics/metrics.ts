/**
 * Means of metrics between two logs, by TRL's rules: non-finite values are dropped (but for a loss
 * without logging_nan_inf_filter), a metric without a valid value is null, and running totals
 * (`num_tokens`, `epoch`, levels of the curriculum, …) have their last value instead of a mean.
 */

export type Metrics = Record<string, number | null>;

const LAST_VALUE: ReadonlySet<string> = new Set([
  "num_tokens",
  "epoch",
  "learning_rate",
  "grad_norm",
]);

const isTotal = (name: string) =>
  LAST_VALUE.has(name) || name.startsWith("curriculum/") || /^rewards\/.*\/total_/.test(name);

/** For checkpoints: JSON, in which a NaN comes back as null. */
export type AveragerState = Record<string, { sum: number | null; count: number }>;

/** The metrics whose non-finite values count, so that their means are NaN. */
export function unfiltered(training: { logging_nan_inf_filter: boolean }): readonly string[] {
  return training.logging_nan_inf_filter ? [] : ["loss"];
}

export class MetricAverager {
  #entries: AveragerState;

  /** @param kept metrics whose non-finite values count */
  constructor(state: AveragerState = {}, private readonly kept: readonly string[] = []) {
    this.#entries = structuredClone(state);
  }

  add(metrics: Readonly<Metrics>): void {
    for (const [name, value] of Object.entries(metrics)) {
      const entry = this.#entries[name] ??= { sum: 0, count: 0 };
      if (value === null) continue;
      if (!Number.isFinite(value) && !this.kept.includes(name)) continue;
      if (isTotal(name)) entry.count = entry.sum = 0;
      entry.sum = (entry.sum ?? NaN) + value;
      entry.count++;
    }
  }

  /** The means, in the order in which the names were added. */
  means(): Metrics {
    return Object.fromEntries(
      Object.entries(this.#entries).map(([name, { sum, count }]) => [
        name,
        count === 0 ? null : (sum ?? NaN) / count,
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

export function addUp(
  records: readonly Readonly<Record<string, number>>[],
): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, amount] of records.flatMap((record) => Object.entries(record))) {
    sums[name] = (sums[name] ?? 0) + amount;
  }
  return sums;
}

export function averageMetrics(records: readonly Readonly<Metrics>[]): Metrics {
  const averager = new MetricAverager();
  for (const record of records) averager.add(record);
  return averager.means();
}

/** NaN and infinities as null, since JSON cannot hold them. */
export function finiteOrNull(metrics: Readonly<Metrics>): Metrics {
  const entries = Object.entries(metrics).map(([name, value]) => {
    return [name, value !== null && Number.isFinite(value) ? value : null];
  });
  return Object.fromEntries(entries);
}

/** The metrics of an evaluation while training, under TRL's names. */
export function evalNames(metrics: Readonly<Metrics>): Metrics {
  return Object.fromEntries(
    Object.entries(metrics).map(([name, value]) => [`eval_${name}`, value]),
  );
}
