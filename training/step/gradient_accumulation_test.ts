import type { Tensor } from "../../kernels/tensor.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import assert from "node:assert/strict";
import { defaultsOf } from "../../configs/types/key_spec.ts";
import { LOSS_TYPES } from "../../configs/schema/loss_types.ts";
import { TRAINING } from "../../configs/schema/schema.ts";
import { assertWithin } from "../../kernels/testing.ts";
import { parseSafetensors } from "../../models/formats/safetensors/safetensors.ts";
import { encodeSafetensors } from "../../models/formats/safetensors/safetensors_writer.ts";
import type { TrainableArena } from "../../models/network/types.ts";
import { gradients, randomModel, tinyConfig, withReference } from "../../models/testing.ts";
import type { LossSettings } from "../loss/loss.ts";
import { frozenReference } from "./reference_policy.ts";
import {
  accumulateGradients,
  type AccumulationOptions,
  policyLogp,
  type TrainingRow,
} from "./gradient_accumulation.ts";
import { test } from "./optimizer_testing.ts";

const SETTINGS: LossSettings = defaultsOf(TRAINING);

/** Three groups of four; the middle one has no advantages. */
const ROWS: TrainingRow[] = Array.from({ length: 12 }, (_, i) => ({
  group: Math.floor(i / 4),
  promptId: 20 + Math.floor(i / 4),
  branch: i % 4,
  promptIds: [1, 2, 3, 4 + Math.floor(i / 4)],
  ids: Array.from({ length: 1 + (i * 5) % 7 }, (_, t) => (i + 3 * t) % 19),
  advantage: i >= 4 && i < 8 ? 0 : Math.cos(2 * i),
  oldLogp: null,
}));
const OPTIONS: AccumulationOptions = {
  microBatchSize: 12,
  temperature: 0.9,
  settings: SETTINGS,
  maxCompletionLength: 8,
  reference: null,
};
const LORA = { r: 2, alpha: 4, targetModules: "all-linear" };

function assertClose(a: Map<string, Float64Array>, b: Map<string, Float64Array>): void {
  assert.deepEqual([...a.keys()], [...b.keys()]);
  for (const [name, values] of a) {
    const largest = Math.max(...values.map(Math.abs));
    assert.ok(largest > 0, `${name} has no gradient`);
    for (const [i, x] of values.entries()) {
      assert.ok(Math.abs(x - b.get(name)![i]!) <= 1e-12 * Math.max(1, largest), `${name} ${i}`);
    }
  }
}

/**
 * The loss types that are normalised by the whole step; bnpo is by the micro-batch, by definition.
 */
const TYPES = LOSS_TYPES.filter((type) => type !== "bnpo");

/** All trained values in one tensor. */
function arenaOf({ trainableArenas: [arena] }: CausalLM): { value: Tensor; length: number } {
  return { value: arena!.value!, length: arena!.length };
}

test.withModel("the gradient does not depend on how a step is cut, even through groups", async ({ model, device }) => {
  const reference = await frozenReference(device, model, null);
  // The old log-probabilities and the reference come from other policies than the trained one.
  const { value, length: n } = arenaOf(model);
  device.run("add", { a: value, b: value, out: value, n, scale: -0.1 });
  const old = await policyLogp(model, ROWS, OPTIONS);
  device.run("add", { a: value, b: value, out: value, n, scale: 0.15 });
  const offPolicy = ROWS.map((row, i) => ({ ...row, oldLogp: old[i]! }));
  const extras: Partial<LossSettings> = {
    beta: 0.04,
    entropy_coef: 0.02,
    top_entropy_quantile: 0.4,
    off_policy_mask_threshold: 0.01,
    delta: 1.2,
  };
  for (const loss_type of TYPES) {
    for (const importance_sampling_level of ["token", "sequence"] as const) {
      for (const [rows, more] of [[ROWS, {}], [offPolicy, extras]] as const) {
        const settings = { ...SETTINGS, loss_type, importance_sampling_level, ...more };
        const options = { ...OPTIONS, settings, reference };
        const whole = await accumulateGradients(model, rows, options);
        const expected = await gradients(model);
        for (const microBatchSize of [5, 1]) {
          const cut = await accumulateGradients(model, rows, { ...options, microBatchSize });
          const what = `${loss_type} ${importance_sampling_level} ${microBatchSize}`;
          assert.ok(Math.abs(cut.loss - whole.loss) < 1e-13, what);
          assert.ok(Math.abs(cut.entropy - whole.entropy) < 1e-13, what);
          assert.equal(cut.tokens, whole.tokens);
          assertClose(expected, await gradients(model));
        }
      }
    }
  }
  reference.dispose();
});

test.withModel("tokens that the mask leaves out are context and nothing else", async ({ model, device }) => {
  const { value, length: n } = arenaOf(model);
  const reference = await frozenReference(device, model, null);
  device.run("add", { a: value, b: value, out: value, n, scale: -0.1 });
  const settings = { ...SETTINGS, beta: 0.04, entropy_coef: 0.02, top_entropy_quantile: 0.4 };
  const extras = { settings, reference, otherSampler: { correction: null }, microBatchSize: 5 };
  const options = { ...OPTIONS, ...extras };
  const rowsOf = (ids: (row: TrainingRow) => number[], mask: (row: TrainingRow) => number[]) =>
    ROWS.map((row) => {
      const values = ids(row).map((id) => -1 - id / 10);
      return { ...row, ids: ids(row), mask: mask(row), oldLogp: values, samplerLogp: values };
    });
  // What follows the last counted token changes nothing.
  const ones = (row: TrainingRow) => row.ids.map(() => 1);
  const short = rowsOf((row) => [...row.ids], ones);
  const long = rowsOf((row) => [...row.ids, 7, 8], (row) => [...ones(row), 0, 0]);
  const expected = await accumulateGradients(model, short, options);
  const gradient = await gradients(model),
    found = await accumulateGradients(model, long, options);
  assert.equal(found.tokens, expected.tokens);
  assert.ok(Math.abs(found.loss - expected.loss) < 1e-13);
  for (const [name, metric] of Object.entries(expected.metrics)) {
    assert.ok(Math.abs(found.metrics[name]! - metric!) < 1e-9, name);
  }
  assertClose(gradient, await gradients(model));
  // Before a counted token, they are what it was sampled after.
  const after = rowsOf((row) => [7, ...row.ids], (row) => [0, ...ones(row)]);
  const third = await accumulateGradients(model, after, options);
  assert.equal(third.tokens, expected.tokens);
  assert.ok(Math.abs(third.loss - expected.loss) > 1e-6);
  reference.dispose();
});

Deno.test("with dropout too, the gradient does not depend on how a step is cut", async () => {
  await withReference(async (device) => {
    const lora = { ...LORA, dropout: 0.2 };
    const model = await randomModel(device, tinyConfig(true), { trainable: "lora", lora });
    const options = { ...OPTIONS, dropout: { seed: 3, pass: 1 } };
    await accumulateGradients(model, ROWS, options);
    const expected = await gradients(model);
    for (const microBatchSize of [5, 1]) {
      await accumulateGradients(model, ROWS, { ...options, microBatchSize });
      assertClose(expected, await gradients(model));
    }
    const moved = ROWS.map((row) => ({ ...row, promptId: row.promptId + 3 }));
    await accumulateGradients(model, moved, options);
    assert.notDeepEqual(await gradients(model), expected);
    model.dispose();
  });
});

test.withModel("skipping the backward pass of groups without advantages is exact", async ({ model }) => {
  const short = await accumulateGradients(model, ROWS, OPTIONS);
  const found = await gradients(model);
  // An entropy bonus far below rounding gives every row a gradient without changing a digit.
  const settings = { ...SETTINGS, entropy_coef: 1e-300 };
  const long = await accumulateGradients(model, ROWS, { ...OPTIONS, settings });
  assertClose(await gradients(model), found);
  assert.ok(Math.abs(long.metrics.entropy! - short.metrics.entropy!) < 1e-14);
  // No advantages at all: the gradient is 0.
  await accumulateGradients(model, ROWS.map((row) => ({ ...row, advantage: 0 })), OPTIONS);
  for (const values of (await gradients(model)).values()) assert.ok(values.every((x) => x === 0));
});

Deno.test("the reference of an earlier version's checkpoint, one tensor of all values, is read", async () => {
  await withReference(async (device) => {
    for (const options of [{ trainable: "full" }, { trainable: "lora", lora: LORA }] as const) {
      const model = await randomModel(device, tinyConfig(false), options);
      const groups = [{ promptIds: [1, 2], branches: [[3, 4, 5], [6]] }];
      const start = (await model.forward(groups, { temperature: 1, train: false })).logp;
      const [{ value, length }] = model.trainableArenas as [TrainableArena];
      const data = await device.read(value!) as Float64Array;
      const file = (values: Float64Array) =>
        parseSafetensors(encodeSafetensors([
          { name: "values", dtype: "F64", shape: [values.length], data: values },
        ]));
      const old = await file(data), other = await file(data.subarray(1));
      for (const { name } of model.trainable) {
        model.writeParameter(name, (await model.readParameter(name)).map((x) => 0.5 * x));
      }
      const reference = await frozenReference(device, model, old);
      assert.deepEqual(await reference.logp(groups, 1), start);
      await assert.rejects(
        frozenReference(device, model, other),
        new RegExp(`"values" has shape \\[${length - 1}\\], this run trains ${length} values`),
      );
      reference.dispose();
      model.dispose();
    }
  });
});

Deno.test("the sampler's log-probabilities are compared with the training pass", () =>
  withReference(async (device) => {
    const model = await randomModel(device, tinyConfig(true), { trainable: "full" });
    const logp = await policyLogp(model, ROWS, OPTIONS);
    const name = "sampling/sampling_logp_difference";
    // A token in row 1 and one in row 6, which has no advantage; row 2 has no sampler's
    // log-probabilities.
    const moved = ROWS.map((row, i) => {
      const samplerLogp = logp[i]!.slice();
      if (i === 1) samplerLogp[0]! += 0.5;
      if (i === 6) samplerLogp[2]! -= 0.25;
      return i === 2 ? row : { ...row, samplerLogp };
    });
    const tokens = ROWS.reduce((sum, { ids }, i) => sum + (i === 2 ? 0 : ids.length), 0);
    for (const microBatchSize of [12, 5]) {
      const { metrics } = await accumulateGradients(model, moved, { ...OPTIONS, microBatchSize });
      assertWithin(
        [metrics[`${name}/max`]!, metrics[`${name}/mean`]!],
        [0.5, 0.75 / tokens],
        1e-12,
        "differences",
      );
    }
    const { metrics } = await accumulateGradients(model, ROWS, OPTIONS);
    assert.ok(!(`${name}/max` in metrics));
  }));
