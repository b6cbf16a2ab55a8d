import assert from "node:assert/strict";
import {
  ConsistentAdvice,
  Diagnosis,
  type Finding,
  SupervisedDiagnosis,
  TAGGED,
} from "./diagnosis.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { type ConfigChanges, tinyRunConfig } from "../testing.ts";

const HEALTHY: Metrics = {
  reward: 0.5,
  "rewards/correctness/mean": 0.5,
  frac_reward_zero_std: 0.3,
  "completions/clipped_ratio": 0.1,
  "clip_ratio/region_mean": 0.01,
  grad_norm: 1,
  learning_rate: 1e-5,
  entropy: 1,
  kl: 0.1,
};

/** Findings of a run of 50 steps (windows of 10 steps), with the step of each. */
function diagnose(
  at: (step: number) => Metrics,
  changes: ConfigChanges = {},
  steps = 50,
  totalSteps = 50,
): { step: number; finding: Finding; text: string; tries: string[] }[] {
  const diagnosis = new Diagnosis(tinyRunConfig("out", changes), totalSteps);
  return Array.from({ length: steps }, (_, i) => i + 1).flatMap((step) =>
    diagnosis.observe(step, { ...HEALTHY, ...at(step) }).map((advice) => ({ step, ...advice }))
  );
}

const noise = (step: number) => 0.05 * Math.sin(17 * step);

Deno.test("a healthy run gets no advice, and neither does one whose reward rises", () => {
  assert.deepEqual(diagnose((step) => ({ reward: 0.5 + noise(step) })), []);
  const rising = (step: number) => ({ reward: step / 50 + noise(step), frac_reward_zero_std: 1 });
  assert.deepEqual(diagnose(rising), []);
});

Deno.test("a run whose rewards are all null is told so, and nothing else", () => {
  const unscored: Metrics = { reward: null, "rewards/correctness/mean": null, grad_norm: 0 };
  const found = diagnose(() => ({ ...unscored, "completions/clipped_ratio": 1 }));
  assert.deepEqual([...new Set(found.map(({ finding }) => finding))], ["no_reward"]);
  assert.match(found[0]!.text, /No reward applied to any completion in the .* steps/);
  assert.deepEqual(diagnose((step) => step % 2 === 0 ? {} : unscored), []);
});

Deno.test("groups without signal are reported with the rewards' means, from time to time", () => {
  const found = diagnose(
    (step) => ({ reward: noise(step), "rewards/correctness/mean": 0, frac_reward_zero_std: 1 }),
    {},
    70,
  );
  assert.deepEqual(found.map(({ step, finding }) => [step, finding]), [
    [10, "no_signal"],
    [60, "no_signal"],
  ]);
  assert.match(found[0]!.text, /100 % of the groups had no signal.*correctness 0\b/);
  assert.equal(found[0]!.tries[0], "sft.max_steps=12", "a longer warm start: nothing is right yet");
  assert.ok(found[0]!.tries.some((key) => key.startsWith("training.num_generations=")));
});

Deno.test("what holds in every step is reported after three steps", () => {
  const nothing = () => ({ reward: -2, frac_reward_zero_std: 1 });
  const when = (at: () => Metrics, steps: number, totalSteps: number) =>
    diagnose(at, {}, steps, totalSteps).map(({ step, finding }) => `${finding} ${step}`);
  assert.deepEqual(when(nothing, 20, 50), ["no_signal 3"]);
  assert.deepEqual(when(nothing, 2, 2), ["no_signal 2"]);
  assert.match(diagnose(nothing, {}, 1, 1)[0]!.text, /no signal in the last step:/);
  assert.deepEqual(when(() => ({ "completions/clipped_ratio": 1 }), 20, 50), ["truncated 3"]);
  // Not in every step: that needs a full window.
  assert.deepEqual(when(() => ({ reward: -2, frac_reward_zero_std: 0.98 }), 20, 50), [
    "no_signal 10",
  ]);
});

Deno.test("a warm start is advised if no completion ever has the format", () => {
  const at = () => ({
    reward: -2,
    frac_reward_zero_std: 1,
    "rewards/match_format_exactly/mean": 0,
  });
  const lora = tinyRunConfig("out", { lora: {} }).lora;
  const [cold, ...more] = diagnose(at, { sft: null, lora });
  assert.deepEqual(more, []);
  assert.equal(cold!.finding, "format");
  assert.match(
    cold!.text,
    /match_format_exactly is 0\), and all completions .* got the same reward/,
  );
  assert.match(cold!.text, /shown the format first, by a warm start/);
  assert.equal(
    cold!.tries[0],
    "sft.max_steps=20 sft.per_device_train_batch_size=16 sft.learning_rate=2e-4",
  );
  const [warm] = diagnose(at, { sft: { max_steps: 6 } });
  assert.match(warm!.text, /The warm start was too short/);
  assert.equal(warm!.tries[0], "sft.max_steps=12");
});

Deno.test("if all answers are right, harder problems are advised", () => {
  const [advice] = diagnose(() => ({
    reward: 1,
    "rewards/correctness/mean": 1,
    frac_reward_zero_std: 1,
  }));
  assert.equal(advice!.finding, "solved");
  // A single reward counts as the correctness, whatever its name.
  const { "rewards/correctness/mean": _, ...metrics } = HEALTHY;
  const diagnosis = new Diagnosis(tinyRunConfig("out"), 2);
  const seen = { ...metrics, "rewards/format_answer/mean": 0.99, frac_reward_zero_std: 1 };
  diagnosis.observe(1, seen);
  assert.equal(diagnosis.observe(2, seen)[0]!.finding, "solved");
});

Deno.test("solved: rewards with another maximum; data sets without harder problems", () => {
  const config = tinyRunConfig("out", { data: { task_name: "gsm8k" } });
  const adviceFor = (value: number) => {
    const diagnosis = new Diagnosis(config, 50),
      { "rewards/correctness/mean": _, ...metrics } = HEALTHY;
    const seen = { ...metrics, frac_reward_zero_std: 1 };
    return Array.from(
      { length: 10 },
      (_, i) =>
        diagnosis.observe(i + 1, { ...seen, "rewards/check_answer_correctness/mean": value }),
    ).flat();
  };
  assert.deepEqual([1.5, 3].map((value) => adviceFor(value)[0]!.finding), ["no_signal", "solved"]);
  assert.match(adviceFor(3)[0]!.text, /held-out accuracy is low, they are memorised/);
  const tries = [1.5, 3].flatMap((value) => adviceFor(value)[0]!.tries);
  assert.deepEqual(tries.filter((key) => /curriculum|task_config/.test(key)), []);
});

Deno.test("truncated completions are reported before other findings", () => {
  const found = diagnose(() => ({ "completions/clipped_ratio": 0.97, frac_reward_zero_std: 1 }));
  assert.deepEqual(found.map(({ finding }) => finding), ["truncated"]);
  assert.match(found[0]!.text, /97 %.*max_completion_length/);
  assert.match(found[0]!.tries[0]!, /^training\.max_completion_length=\d+$/);
});

Deno.test("answers of a dialogue are cut off at the limit of one turn", () => {
  const [found] = diagnose(() => ({ "completions/clipped_ratio": 0.97 }), {
    training: { max_completion_length: 64 },
    multi_turn: { max_turn_tokens: 8 },
  });
  assert.match(found!.text, /97 % .*at max_turn_tokens \(8 tokens\)/);
  assert.equal(found!.tries[0], "multi_turn.max_turn_tokens=16");
});

Deno.test("a collapsed policy is distinguished from one that has not learned yet", () => {
  const lost = (share: number) => (step: number) =>
    step <= 4
      ? { reward: 0.4 + noise(step), frac_reward_zero_std: share }
      : { reward: 0, frac_reward_zero_std: 1, "completions/clipped_ratio": 1 };
  const found = diagnose(lost(0.5), { training: { learning_rate: 1e-3, max_grad_norm: 1 } }, 30);
  assert.deepEqual(found.map(({ step, finding }) => [step, finding]), [[13, "collapsed"]]);
  assert.match(found[0]!.text, /fell from 0\.4\d+ \(step \d\) to 0\.0\d+, and 95 % of the groups/);
  assert.deepEqual(found[0]!.tries.slice(0, 2), [
    "training.learning_rate=0.0001",
    "training.max_grad_norm=0.2",
  ]);
  // One group of ten with a signal, once, may be chance.
  assert.ok(!diagnose(lost(0.9), {}, 30).some(({ finding }) => finding === "collapsed"));
});

Deno.test("a format that no completion has is reported", () => {
  const found = diagnose(() => ({ "rewards/format_answer/mean": 0 }));
  assert.deepEqual(found.map(({ finding }) => finding), ["format"]);
  assert.match(found[0]!.text, /format_answer is 0/);
  const sometimes = (step: number) => ({ "rewards/format_answer/mean": step % 7 === 0 ? 0.1 : 0 });
  assert.deepEqual(diagnose(sometimes), []);
});

Deno.test("clipping, a large KL and NaN gradients are reported in any case", () => {
  const reward = (step: number) => ({ reward: step });
  const clipped = diagnose((step) => ({ ...reward(step), "clip_ratio/region_mean": 0.5 }));
  assert.deepEqual(clipped.map(({ finding }) => finding), ["clipped"]);
  const kl = diagnose((step) => ({ ...reward(step), kl: 0.01 * 1.3 ** step }), {
    training: { beta: 0.04 },
  });
  assert.deepEqual(kl.map(({ finding }) => finding), ["kl"]);
  assert.match(kl[0]!.tries[1]!, /^training\.beta=0\.12$/);
  const gradient = diagnose((step) => ({ ...reward(step), grad_norm: step % 3 === 0 ? NaN : 1 }));
  assert.deepEqual(gradient.map(({ finding }) => finding), ["gradient"]);
});

Deno.test("low entropy and the warm-up explain a reward that does not rise", () => {
  for (const share of [0.3, 1]) {
    const entropy = diagnose(() => ({ entropy: 0.001, frac_reward_zero_std: share }));
    assert.deepEqual(entropy.map(({ finding }) => finding), ["entropy"]);
  }
  const warmUp = diagnose((step) => ({ learning_rate: step * 1e-6 }), {
    training: { warmup_steps: 40, learning_rate: 4e-5 },
  }, 15);
  assert.deepEqual(warmUp.map(({ finding }) => finding), ["warm_up"]);
});

Deno.test("missing and non-finite metrics give no advice", () => {
  const nothing = Object.fromEntries(Object.keys(HEALTHY).map((name) => [name, NaN]));
  assert.deepEqual(diagnose(() => ({ ...nothing, grad_norm: 1 })), []);
  const diagnosis = new Diagnosis(tinyRunConfig("out"), 50);
  for (let step = 1; step <= 20; step++) assert.deepEqual(diagnosis.observe(step, {}), []);
});

Deno.test("completions that end at once are reported after three steps, before all else", () => {
  const empty = { "completions/max_length": 1, frac_reward_zero_std: 1, reward: 0 };
  const found = diagnose(() => empty, { sft: null });
  assert.deepEqual([found[0]!.step, found[0]!.finding], [3, "empty"]);
  assert.match(found[0]!.text, /empty or a single token/);
  assert.ok(found[0]!.tries.includes("training.min_new_tokens=2"));
  assert.deepEqual(diagnose((step) => ({ "completions/max_length": step === 4 ? 2 : 9 })), []);
});

Deno.test("where no answer is in tags and no reward asks for them, format_answer is advised", () => {
  const untagged = { [TAGGED]: 0, reward: 0, "rewards/correctness/mean": 0 };
  const [first] = diagnose(() => untagged, {
    rewards: [{ name: "correctness", weight: 1, params: {}, timeout: 5 }],
  });
  assert.equal(first!.finding, "format");
  assert.equal(
    first!.tries[0],
    "rewards='[{name: correctness, weight: 1}, {name: format_answer, weight: 0.2}]'",
  );
  assert.deepEqual(diagnose(() => ({ ...untagged, [TAGGED]: 0.1 })), []);
});

Deno.test("advice within ten steps never sets a key to two values", () => {
  const filter = new ConsistentAdvice();
  const advise = (step: number, finding: Finding, ...tries: string[]) =>
    filter.filter(step, [{ finding, text: finding, tries }]).flatMap((one) => one.tries);
  const rate = "training.learning_rate=";
  assert.deepEqual(advise(3, "kl", `${rate}3e-6`, "training.beta=0.1"), [
    `${rate}3e-6`,
    "training.beta=0.1",
  ]);
  assert.deepEqual(advise(5, "clipped", `${rate}5e-6`), [], "nothing is left of it");
  assert.deepEqual(advise(12, "clipped", `${rate}5e-6`, "training.beta=0.1"), [
    "training.beta=0.1",
  ]);
  assert.deepEqual(advise(13, "clipped", `${rate}5e-6`), [`${rate}5e-6`]);
  assert.deepEqual(advise(14, "format", "sft.max_steps=20 sft.learning_rate=2e-4"), [
    "sft.max_steps=20 sft.learning_rate=2e-4",
  ]);
  assert.deepEqual(advise(15, "format", "sft.max_steps=40", "sft.learning_rate=2e-4"), [
    "sft.learning_rate=2e-4",
  ]);
  assert.deepEqual(advise(16, "entropy", `training.learning_rate lower, from a checkpoint`), []);
});

Deno.test("a supervised loss above that of guessing names the tokenizer, or the learning rate", () => {
  const advice = (losses: readonly number[], model: ConfigChanges["model"], total = 10) => {
    const config = tinyRunConfig("out", { model: { ...model } });
    const diagnosis = new SupervisedDiagnosis(config, 100, total);
    return losses.flatMap((loss, i) => diagnosis.observe(i + 1, loss));
  };
  const loaded = { init: null, model_name_or_path: "./model" };
  const [wrong, ...more] = advice([5, 5, 5, 5, 5], { ...loaded, tokenizer_name_or_path: "./t" });
  assert.match(wrong!.text, /5\.00, above 4\.61.*one of 100 tokens.*another model's/);
  assert.equal(wrong!.tries[0], "~model.tokenizer_name_or_path");
  assert.equal(more.length, 0, "once");
  const [lost] = advice([3, 4, 9, 9], loaded);
  assert.match(lost!.text, /steps were too large/);
  assert.match(lost!.tries.join(), /^sft\.learning_rate=/);
  assert.deepEqual(advice([4, 3, 2], loaded), []);
  assert.deepEqual(advice([5, 5, 5, 5], {}), [], "a model from a seed begins by guessing");
  assert.equal(advice([5, 5, 5, 5], {}, 4).length, 1, "but it does not end so");
});
