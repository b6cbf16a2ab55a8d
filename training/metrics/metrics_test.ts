import assert from "node:assert/strict";
import { averageMetrics, finiteOrNull, MetricAverager, unfiltered } from "./metrics.ts";

Deno.test("values are averaged, totals have their last value, no valid value is null", () => {
  const averager = new MetricAverager();
  averager.add({ loss: 1, num_tokens: 10, kl: NaN, epoch: 0.1 });
  averager.add({ loss: 3, num_tokens: 30, kl: null, epoch: 0.2, extra: Infinity });
  assert.deepEqual(averager.means(), {
    loss: 2,
    num_tokens: 30,
    kl: null,
    epoch: 0.2,
    extra: null,
  });
  averager.reset();
  assert.deepEqual(averager.means(), {});
});

Deno.test("without the filter, a loss that is not finite makes its mean NaN, also when restored", () => {
  const kept = unfiltered({ logging_nan_inf_filter: false });
  const averager = new MetricAverager({}, kept);
  averager.add({ loss: 1, kl: NaN });
  averager.add({ loss: NaN, kl: 2 });
  const saved = JSON.parse(JSON.stringify(averager.state()));
  const restored = new MetricAverager(saved, kept);
  for (const one of [averager, restored]) one.add({ loss: 3, kl: 4 });
  assert.deepEqual([averager.means(), restored.means()], [{ loss: NaN, kl: 3 }, {
    loss: NaN,
    kl: 3,
  }]);
  const filtered = new MetricAverager({}, unfiltered({ logging_nan_inf_filter: true }));
  filtered.add({ loss: 1 });
  filtered.add({ loss: NaN });
  assert.deepEqual(filtered.means(), { loss: 1 });
});

Deno.test("records of micro-batches are averaged, and non-finite values become null", () => {
  assert.deepEqual(averageMetrics([{ a: 1 }, { a: 2 }, { a: NaN }]), { a: 1.5 });
  assert.deepEqual(finiteOrNull({ a: NaN, b: -Infinity, c: 0, d: null }), {
    a: null,
    b: null,
    c: 0,
    d: null,
  });
});
