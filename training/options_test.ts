/**
 * Options of the algorithm and of the data in whole runs: each has an effect, and its metrics.
 */
import assert from "node:assert/strict";
import { refusal, withFolder } from "../core/testing.ts";
import { UsageError } from "../core/errors.ts";
import type { Device } from "../kernels/device.ts";
import { createDevice } from "../kernels/mod.ts";
import { LOSS_TYPES } from "../configs/schema/loss_types.ts";
import { assemble } from "./assemble.ts";
import { runPrompts } from "../bench/evaluation/prompt_encoder.ts";
import {
  type ConfigChanges,
  metricsWithoutClock,
  tinyRunConfig,
  trainOn,
  varying,
} from "./testing.ts";

type Training = NonNullable<ConfigChanges["training"]>;
type Line = Record<string, number>;

/** The metrics of runs of three steps by default, of which all but the first are off-policy. */
async function withRuns(
  work: (
    run: (training: Training, more?: ConfigChanges) => Promise<Line[]>,
    device: Device,
  ) => Promise<void>,
): Promise<void> {
  using device = await createDevice("wasm", { threads: 1 });
  let count = 0;
  await withFolder((dir) =>
    work(async (training, more = {}) => {
      const path = `${dir}/${count++}`;
      const config = tinyRunConfig(path, {
        sft: null,
        eval: { num_examples: 0 },
        ...more,
        training: { max_steps: 3, learning_rate: 2e-2, num_iterations: 3, ...training },
      });
      await trainOn(device, config, varying);
      return (await metricsWithoutClock(path, "train")) as Line[];
    }, device)
  );
}

Deno.test("every option of the algorithm changes the result", () =>
  withRuns(async (run) => {
    const base: Training = { loss_type: "grpo", epsilon: 0.05, max_steps: 2 };
    const expected = JSON.stringify(await run(base));
    const options: Training[] = [
      { epsilon: 0.01 },
      { epsilon_high: 0.01 },
      { delta: 1.01 },
      { importance_sampling_level: "sequence" },
      { scale_rewards: "batch" },
      { scale_rewards: "none" },
      { multi_objective_aggregation: "normalize_then_sum" },
      { mask_truncated_completions: true },
      { top_entropy_quantile: 0.3 },
      { entropy_coef: 0.1 },
      { use_adaptive_entropy: true, entropy_coef: 0.1 },
      { off_policy_mask_threshold: 1e-4 },
      { beta: 0.5 },
      { beta: 0.5, use_bias_correction_kl: false },
      { beta: 0.5, sync_ref_model: true, ref_model_sync_steps: 1 },
      // Enough tokens for completions of different lengths.
      ...LOSS_TYPES.map((loss_type) => ({ loss_type, max_completion_length: 60 })),
      { loss_type: "sapo" },
      { loss_type: "sapo", sapo_temperature_pos: 3 },
      { loss_type: "sapo", sapo_temperature_neg: 3 },
      { loss_type: "vespo" },
      { loss_type: "vespo", vespo_k_pos: 1 },
      { loss_type: "vespo", vespo_lambda_pos: 1 },
      { loss_type: "vespo", vespo_k_neg: 1 },
      { loss_type: "vespo", vespo_lambda_neg: 1 },
      { max_grad_norm: 0.01 },
      { steps_per_generation: 4 },
      { generation_seed: 9 },
      { data_seed: 9 },
      { shuffle_dataset: false },
      { lr_scheduler_type: "polynomial" },
    ];
    const all = [expected];
    for (const option of options) {
      const text = JSON.stringify(await run({ ...base, ...option }));
      assert.ok(!all.includes(text), `${JSON.stringify(option)} has no effect of its own`);
      all.push(text);
    }
  }));

Deno.test("the entropy bonus logs the policy loss and the current coefficient", () =>
  withRuns(async (run) => {
    const whole = { per_device_train_batch_size: 8, gradient_accumulation_steps: 1 };
    for (const line of await run({ entropy_coef: 0.01, ...whole })) {
      assert.equal(line.entropy_coef, 0.01);
      assert.ok(Math.abs(line.loss! - (line.policy_loss! - 0.01 * line.entropy!)) < 1e-12);
    }
    const adaptive = { ...whole, use_adaptive_entropy: true, entropy_coef: 0.02 };
    const falling = await run({ ...adaptive, entropy_coef_delta: 0.005, entropy_target: 1 });
    assert.ok(falling.every((line) => line.entropy! > 1));
    const coefficients = falling.map((line) => Number(line.entropy_coef!.toFixed(6)));
    assert.deepEqual(coefficients, [.015, .01, .005]);
    // Above the target the bonus is not applied from the second step on.
    assert.equal(falling[1]!.loss, falling[1]!.policy_loss);
  }));

Deno.test("the KL term is 0 at first; the reference may follow the policy", () =>
  withRuns(async (run) => {
    const still = await run({ beta: 0.01 });
    assert.ok(Math.abs(still[0]!.kl!) < 1e-6 && still[2]!.kl! > still[0]!.kl!);
    const moving = await run({
      beta: 0.01,
      sync_ref_model: true,
      ref_model_sync_steps: 1,
      ref_model_mixup_alpha: 1,
    });
    // A reference that equals the policy after every step: the KL term is 0.
    for (const line of moving) assert.ok(Math.abs(line.kl!) < 1e-6, String(line.kl));
  }));

Deno.test("prompts are refused above max_prompt_length, or keep their last tokens", async () => {
  using device = await createDevice("wasm", { threads: 1 });
  await withFolder(async (dir) => {
    const limit = { max_prompt_length: 12, max_steps: 1 };
    const refused = tinyRunConfig(`${dir}/refused`, { sft: null, training: limit });
    await assert.rejects(
      trainOn(device, refused),
      refusal(/more than 12 tokens/, UsageError),
    );
    const config = tinyRunConfig(`${dir}/cut`, {
      sft: null,
      training: { ...limit, truncate_prompts: "left" },
    });
    const { model, tokenizer, eosIds, problems } = await assemble(config, device);
    model.dispose();
    const entry = problems.trainEntry(0);
    const uncut = { ...config, training: { ...config.training, truncate_prompts: null } };
    const whole = runPrompts(tokenizer, uncut, eosIds).prompt(entry);
    const cut = runPrompts(tokenizer, config, eosIds).prompt(entry);
    assert.ok(whole.ids.length > 12);
    assert.deepEqual(cut.ids, whole.ids.slice(-12));
    const { summary } = await trainOn(device, config, varying);
    assert.equal(summary.status, "completed");
    const [line] = await metricsWithoutClock(`${dir}/cut`, "train");
    const tokens = summary.tokens_generated;
    assert.equal(line!.num_tokens, tokens + 8 * 12);
  });
});
