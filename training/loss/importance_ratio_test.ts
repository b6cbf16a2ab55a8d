import assert from "node:assert/strict";
import { TRAINING } from "../../configs/schema/schema.ts";
import type { ImportanceMode } from "../../configs/schema/run_config.ts";
import type { LossType } from "../../configs/schema/loss_types.ts";
import { defaultsOf } from "../../configs/types/key_spec.ts";
import { readGoldenJson } from "../../tests/golden.ts";
import {
  driftMetrics,
  driftOf,
  importanceMetrics,
  importanceSizes,
  joinedSums,
} from "../metrics/rollout_metrics.ts";
import { importanceRatio } from "./importance_ratio.ts";
import { grpoLoss } from "./loss.ts";

interface Recorded {
  lengths: number[];
  old: number[][];
  policy: number[][];
  sampler: (number | null)[][];
  cases: {
    mode: ImportanceMode;
    clip_min: number | null;
    clip_max: number | null;
    loss_type: LossType;
    beta?: number;
    off_policy_mask_threshold?: number;
    correction?: boolean;
    ratio: number[][] | null;
    advantages: number[];
    metrics: Record<string, number>;
    loss: number;
    gradient: number[][];
  }[];
}

const golden = readGoldenJson<Recorded>("trl-importance-sampling/cases.json");
const offsets = [0];
for (const length of golden.lengths) offsets.push(offsets.at(-1)! + length);
const flat = (rows: (number | null)[][]) =>
  Float64Array.from(rows.flat(), (value) => value ?? Number.NaN);
const old = flat(golden.old), policy = flat(golden.policy), sampler = flat(golden.sampler);
const close = (a: ArrayLike<number>, b: ArrayLike<number>, what: string) => {
  assert.equal(a.length, b.length, what);
  for (let i = 0; i < a.length; i++) assert.ok(Math.abs(a[i]! - b[i]!) < 1e-12, `${what} ${i}`);
};

for (const recorded of golden.cases) {
  const { mode, clip_min, clip_max, loss_type, correction = true } = recorded;
  const bounds = `${clip_min ?? "−∞"} … ${clip_max ?? "∞"}`;
  const more = `${recorded.beta ?? ""}${recorded.off_policy_mask_threshold ?? ""}${correction}`;
  const name = `${loss_type} ${mode} ${bounds} ${more}`;
  Deno.test(`the correction for another sampler equals TRL's: ${name}`, () => {
    const training = {
      ...defaultsOf(TRAINING),
      loss_type,
      beta: recorded.beta ?? 0,
      off_policy_mask_threshold: recorded.off_policy_mask_threshold ?? null,
      vllm_importance_sampling_correction: correction,
      vllm_importance_sampling_mode: mode,
      vllm_importance_sampling_clip_min: clip_min,
      vllm_importance_sampling_clip_max: clip_max,
    };
    assert.equal(correction, recorded.ratio !== null);
    const ratio = correction ? importanceRatio(offsets, old, sampler, training) : null;
    if (ratio !== null) close(ratio, flat(recorded.ratio!), "ratio");

    const metrics = ratio === null ? {} : {
      ...driftMetrics(joinedSums(driftOf(old, sampler))),
      ...importanceMetrics(joinedSums(importanceSizes(ratio, offsets, mode))),
    };
    assert.deepEqual(Object.keys(metrics).sort(), Object.keys(recorded.metrics).sort());
    for (const [key, value] of Object.entries(recorded.metrics)) {
      assert.ok(Math.abs(metrics[key]! - value) < 1e-12, `${key} ${metrics[key]}`);
    }

    const result = grpoLoss(
      {
        offsets,
        advantages: recorded.advantages,
        logp: policy,
        oldLogp: old,
        refLogp: old,
        entropy: new Float64Array(policy.length),
        samplerLogp: sampler,
        importance: ratio,
      },
      training,
      { tokens: policy.length, rows: offsets.length - 1, microBatches: 1, maxCompletionLength: 8 },
    );
    assert.ok(Math.abs(result.loss - recorded.loss) < 1e-12, `loss ${result.loss}`);
    close(result.dlogp, flat(recorded.gradient), "gradient");
  });
}

Deno.test("a completion without tokens counts as the ratio 1, as in TRL", () => {
  const mode = "sequence_mask";
  const two = Math.log(2);
  const ratios = importanceRatio([0, 0, 1], [0], [-two], {
    vllm_importance_sampling_mode: mode,
    vllm_importance_sampling_clip_min: null,
    vllm_importance_sampling_clip_max: 3,
  });
  const sizes = joinedSums(importanceSizes(ratios, [0, 0, 1], mode));
  assert.deepEqual(importanceMetrics(sizes), {
    "sampling/importance_sampling_ratio/min": 1,
    "sampling/importance_sampling_ratio/mean": 1.5,
    "sampling/importance_sampling_ratio/max": 2,
  });
});
