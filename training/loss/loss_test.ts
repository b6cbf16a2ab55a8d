import assert from "node:assert/strict";
import { grpoLoss, type LossInput, type LossSettings, type StepTotals } from "./loss.ts";
import { type ImportanceKeys, importanceRatio } from "./importance_ratio.ts";
import { LOSS_TYPES, type LossType } from "../../configs/schema/loss_types.ts";
import { defaultsOf } from "../../configs/types/key_spec.ts";
import { TRAINING } from "../../configs/schema/schema.ts";
import golden from "../../tests/golden/grpo-golden.json" with { type: "json" };

const { B, V, lengths, ids } = golden.inputs;
const SCORES = {
  logits: (b: number, t: number, v: number) =>
    2 * Math.sin(.7 * b + 1.3 * t + .9 * v + .1 * b * t * v),
  old: (b: number, t: number, v: number): number =>
    SCORES.logits(b, t, v) + .3 * Math.cos(1.1 * b + .5 * t + .8 * v),
  ref: (b: number, t: number, v: number): number =>
    SCORES.logits(b, t, v) + .2 * Math.sin(.4 * b - .6 * t + 1.7 * v),
  sampler: (b: number, t: number, v: number): number =>
    SCORES.old(b, t, v) + .05 * Math.sin(2.3 * b + 1.9 * t + .3 * v),
};

/** The golden batch as ragged rows: only the unmasked tokens exist. */
const offsets = [0];
const cells: { b: number; t: number }[] = [];
for (let b = 0; b < B; b++) {
  for (let t = 0; t < lengths[b]!; t++) cells.push({ b, t });
  offsets.push(cells.length);
}

function distribution(kind: keyof typeof SCORES, b: number, t: number, temperature: number) {
  const z = Array.from({ length: V }, (_, v) => SCORES[kind](b, t, v) / temperature);
  const top = Math.max(...z);
  const logSum = top + Math.log(z.reduce((a, x) => a + Math.exp(x - top), 0));
  const logp = z.map((x) => x - logSum);
  const p = logp.map(Math.exp);
  return { logp, p, entropy: -p.reduce((a, x, v) => a + x * logp[v]!, 0) };
}
const logpOf = (kind: keyof typeof SCORES, temperature: number) =>
  Float64Array.from(
    cells,
    ({ b, t }) => distribution(kind, b, t, temperature).logp[ids[b]![t]!]!,
  );
const entropyOf = (temperature: number) =>
  Float64Array.from(cells, ({ b, t }) => distribution("logits", b, t, temperature).entropy);

interface Case {
  settings?: Partial<LossSettings>;
  totals?: Partial<StepTotals>;
  advantages?: keyof typeof golden.advantages;
  temperature?: number;
  onPolicy?: boolean;
  sampler?: boolean;
  importance?: ImportanceKeys["vllm_importance_sampling_mode"];
  mask?: Uint8Array;
}
function build(name: LossType, options: Case) {
  const temperature = options.temperature ?? 1;
  const oldLogp = options.onPolicy ? null : logpOf("old", temperature);
  const samplerLogp = options.sampler || options.importance ? logpOf("sampler", 1) : null;
  const input: LossInput = {
    offsets,
    advantages: golden.advantages[options.advantages ?? "group"].advantages,
    logp: logpOf("logits", temperature),
    entropy: entropyOf(temperature),
    oldLogp,
    refLogp: logpOf("ref", temperature),
    mask: options.mask ?? null,
    samplerLogp: options.sampler ? samplerLogp : null,
    importance: options.importance
      ? importanceRatio(offsets, oldLogp!, samplerLogp!, {
        vllm_importance_sampling_mode: options.importance,
        vllm_importance_sampling_clip_min: null,
        vllm_importance_sampling_clip_max: golden.inputs.is_ratio_clip_max,
      })
      : null,
  };
  const settings: LossSettings = {
    ...defaultsOf(TRAINING),
    loss_type: name,
    use_bias_correction_kl: false,
    ...options.settings,
  };
  const totals = {
    tokens: 20,
    rows: B,
    microBatches: 1,
    maxCompletionLength: 8,
    ...options.totals,
  };
  return { input, settings, totals };
}

/**
 * The gradient with respect to the logits, through the softmax: ∂loss/∂logits of every cell.
 * [cells][V]
 */
function throughLogits(
  result: { dlogp: Float64Array; dentropy: Float64Array | null },
  temperature: number,
): number[][] {
  return cells.map(({ b, t }, i) => {
    const d = distribution("logits", b, t, temperature);
    return d.p.map((p, v) => {
      const chosen = v === ids[b]![t]! ? 1 : 0;
      const entropy = result.dentropy === null
        ? 0
        : -result.dentropy[i]! * p * (d.logp[v]! + d.entropy);
      return (result.dlogp[i]! * (chosen - p) + entropy) / temperature;
    });
  });
}

const totals4 = { rows: 4 * B, microBatches: 4, tokens: 80 };
const totals2 = { rows: 2 * B, microBatches: 2, tokens: 40 };
const CASES: Record<string, [LossType, Case]> = {
  "grpo": ["grpo", {}],
  "bnpo": ["bnpo", {}],
  "dr_grpo": ["dr_grpo", {}],
  "dapo": ["dapo", {}],
  "sapo": ["sapo", {}],
  "vespo": ["vespo", {}],
  "cispo eps_high=1.1": ["cispo", { settings: { epsilon_high: 1.1 } }],
  "grpo sequence (GSPO eps 3e-4/4e-4)": ["grpo", {
    settings: { importance_sampling_level: "sequence", epsilon: 3e-4, epsilon_high: 4e-4 },
  }],
  "luspo sequence eps .2": ["luspo", { settings: { importance_sampling_level: "sequence" } }],
  "dapo on-policy (no old)": ["dapo", { onPolicy: true }],
  "grpo on-policy (no old)": ["grpo", { onPolicy: true }],
  "dapo beta .04": ["dapo", { settings: { beta: .04 } }],
  "grpo beta .04 ga 4": ["grpo", { settings: { beta: .04 }, totals: totals4 }],
  "dapo beta .04 bias-corrected kl": ["dapo", {
    settings: { beta: .04, use_bias_correction_kl: true },
  }],
  "dapo eps .05 eps_high .1": ["dapo", { settings: { epsilon: .05, epsilon_high: .1 } }],
  "dapo delta 1.05 eps .05/.1": ["dapo", {
    settings: { epsilon: .05, epsilon_high: .1, delta: 1.05 },
  }],
  "dapo temperature .7": ["dapo", { temperature: .7 }],
  "dapo scale none (Dr.GRPO adv)": ["dapo", { advantages: "none" }],
  "dr_grpo scale none": ["dr_grpo", { advantages: "none" }],
  "dapo top_entropy_quantile .2": ["dapo", { settings: { top_entropy_quantile: .2 } }],
  "dapo entropy_coef .01": ["dapo", { settings: { entropy_coef: .01 } }],
  "grpo entropy_coef .01 ga 2": ["grpo", { settings: { entropy_coef: .01 }, totals: totals2 }],
  "dapo off_policy_mask .02": ["dapo", {
    settings: { off_policy_mask_threshold: .02 },
    sampler: true,
  }],
  "dapo vllm IS token_truncate": ["dapo", { importance: "token_truncate" }],
  "dapo vllm IS token_mask": ["dapo", { importance: "token_mask" }],
  "dapo vllm IS sequence_truncate": ["dapo", { importance: "sequence_truncate" }],
  "dapo vllm IS sequence_mask": ["dapo", { importance: "sequence_mask" }],
  "vespo token_truncate": ["vespo", { importance: "token_truncate" }],
};

Deno.test("log-probabilities and entropies of the golden batch equal the recorded ones", () => {
  const logp = logpOf("logits", 1), entropy = entropyOf(1);
  for (const [i, { b, t }] of cells.entries()) {
    assert.ok(Math.abs(logp[i]! - golden.logps_temp1[b]![t]!) < 1e-14);
    assert.ok(Math.abs(entropy[i]! - golden.entropy_temp1[b]![t]!) < 1e-14);
  }
});

for (const expected of golden.cases) {
  Deno.test(`the loss, its gradient and its metrics equal TRL's: ${expected.name}`, () => {
    const entry = CASES[expected.name];
    assert.ok(entry, "the test does not know this case");
    const [type, options] = entry;
    const { input, settings, totals } = build(type, options);
    const result = grpoLoss(input, settings, totals);
    const gradient = throughLogits(result, options.temperature ?? 1);
    assert.ok(Math.abs(result.loss - expected.loss) < 1e-12, `loss ${result.loss}`);
    const total = gradient.flat().reduce((a, g) => a + Math.abs(g), 0);
    assert.ok(Math.abs(total - expected.grad_abs_sum) < 1e-12, `Σ|grad| ${total}`);
    for (const [b, t, values] of [[0, 0, expected.grad_0_0], [4, 3, expected.grad_4_3]] as const) {
      const row = gradient[cells.findIndex((cell) => cell.b === b && cell.t === t)]!;
      for (let v = 0; v < V; v++) assert.ok(Math.abs(row[v]! - values[v]!) < 1e-12);
    }
    const recorded = Object.entries(expected.metrics);
    assert.deepEqual(
      Object.keys(result.metrics).sort(),
      recorded.map(([name]) => name).sort(),
    );
    for (const [name, value] of recorded) {
      assert.ok(Math.abs(result.metrics[name]! - value!) < 1e-6, `${name} ${result.metrics[name]}`);
    }
  });
}

// Further values that TRL 1.16 gave for the same inputs, with ten digits.
const masked = Uint8Array.from(cells, ({ b }) => b === 3 ? 0 : 1);
const MORE: [string, LossType, Case, number, number][] = [
  ["dapo GA 2 SPG 4", "dapo", { totals: { tokens: 40 } }, -.1344355570, .51944640],
  ["dapo GA 4 SPG 4", "dapo", { totals: { tokens: 80 } }, -.0672177785, .25972320],
  [
    "dapo entropy_coef .01 GA 2",
    "dapo",
    { settings: { entropy_coef: .01 }, totals: totals2 },
    -.1412741374,
    .52048972,
  ],
  ["luspo token", "luspo", {}, -.8962370469, 3.46297601],
  [
    "grpo sequence β .04 bias-corrected",
    "grpo",
    {
      settings: { importance_sampling_level: "sequence", beta: .04, use_bias_correction_kl: true },
    },
    -.0004568394,
    1.32760118,
  ],
  [
    "dapo on-policy β .04",
    "dapo",
    { onPolicy: true, settings: { beta: .04 } },
    -.2916403094,
    1.58792536,
  ],
  [
    "dapo on-policy β .04 bias-corrected",
    "dapo",
    { onPolicy: true, settings: { beta: .04, use_bias_correction_kl: true } },
    -.2916403094,
    1.58800261,
  ],
  ["grpo, row 3 masked", "grpo", { mask: masked }, -.0936350874, .71895907],
  [
    "dapo, row 3 masked",
    "dapo",
    { mask: masked, totals: { tokens: 18 } },
    -.3758836945,
    1.00565006,
  ],
];
Deno.test("the loss equals TRL's in the cases recorded with ten digits", () => {
  for (const [name, type, options, loss, total] of MORE) {
    const { input, settings, totals } = build(type, options);
    const result = grpoLoss(input, settings, totals);
    const sum = throughLogits(result, 1).flat().reduce((a, g) => a + Math.abs(g), 0);
    assert.ok(Math.abs(result.loss - loss) < 1e-10, `${name}: loss ${result.loss}`);
    assert.ok(Math.abs(sum - total) < 1e-8, `${name}: Σ|grad| ${sum}`);
  }
});

const EXTRAS = { beta: .04, use_bias_correction_kl: true, entropy_coef: .01, delta: 1.3 };

Deno.test("∂loss/∂logp and ∂loss/∂entropy equal central differences", () => {
  // The weights of cispo and vespo have no gradient by definition; the golden cases check those
  // two.
  for (const type of LOSS_TYPES.filter((type) => type !== "cispo" && type !== "vespo")) {
    for (const importance_sampling_level of ["token", "sequence"] as const) {
      const { input, settings, totals } = build(type, {
        settings: { ...EXTRAS, importance_sampling_level, epsilon_high: .25 },
        mask: Uint8Array.from(cells, (_, i) => i === 4 ? 0 : 1),
      });
      const result = grpoLoss(input, settings, totals);
      for (const key of ["logp", "entropy"] as const) {
        const gradient = key === "logp" ? result.dlogp : result.dentropy!;
        for (let t = 0; t < gradient.length; t++) {
          const at = (step: number) => {
            const moved = Float64Array.from(input[key]);
            moved[t]! += step;
            return grpoLoss({ ...input, [key]: moved }, settings, totals).loss;
          };
          const numeric = (at(1e-6) - at(-1e-6)) / 2e-6;
          assert.ok(Math.abs(numeric - gradient[t]!) < 1e-8, `${type} ${key} ${t}`);
        }
      }
    }
  }
});

Deno.test("without unmasked tokens there is no NaN in the loss or its gradient", () => {
  const settings: LossSettings = { ...defaultsOf(TRAINING), ...EXTRAS };
  const result = grpoLoss(
    {
      offsets: [0, 0, 2],
      advantages: [1, -1],
      logp: [-1, -2],
      entropy: [1, 1],
      oldLogp: null,
      refLogp: [-1, -1],
      mask: [0, 0],
    },
    settings,
    { tokens: 0, rows: 2, microBatches: 1, maxCompletionLength: 4 },
  );
  assert.equal(Math.abs(result.loss), 0);
  assert.deepEqual([...result.dlogp], [0, 0]);
});

Deno.test("a beta above 0 without a reference is refused", () => {
  const { input, settings, totals } = build("dapo", { settings: { beta: .1 } });
  assert.throws(() => grpoLoss({ ...input, refLogp: null }, settings, totals), RangeError);
});
