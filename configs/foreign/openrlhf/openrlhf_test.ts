/** Command lines of OpenRLHF: every flag is known, and what they mean together. */
import assert from "node:assert/strict";
import { readGoldenJson } from "../../../tests/golden.ts";
import { withDefaults } from "../config_arguments.ts";
import { type Override, parseOverrides } from "../../reading/overrides.ts";
import { meaningOf } from "../../reading/key_names.ts";
import { loadConfig } from "../../load.ts";
import { assertValues, withFiles } from "../../testing.ts";
import { refusal } from "../../../core/testing.ts";
import { withOpenRlhfKeys } from "../openrlhf_flags.ts";

const golden = readGoldenJson<Record<"old" | "new", Record<string, "switch" | "value" | "list">>>(
  "openrlhf_flags.json",
);

const BASE = ("--pretrain m --prompt_data d.jsonl --input_key problem --n_samples_per_prompt 4 " +
  "--advantage_estimator group_norm --init_kl_coef 0 rewards=[accuracy_reward]").split(" ");

async function loaded(line: string) {
  return await withFiles({ "d.jsonl": '{"problem": "1 + 1 =", "answer": "2"}\n' }, async (cwd) => {
    const args = [...BASE, ...line.split(" ").filter((word) => word !== "")];
    const [config, overrides] = await withDefaults(args[0]!, args.slice(1));
    return await loadConfig(config, { overrides, cwd });
  });
}

Deno.test("every flag of OpenRLHF is known, with what follows it", () => {
  const values = { switch: [], value: ["1"], list: ["1", "2"] };
  for (const flags of [golden.old, golden.new]) {
    assert.ok(Object.keys(flags).length > 120);
    for (const [flag, kind] of Object.entries(flags)) {
      const args = withOpenRlhfKeys([`--${flag}`, ...values[kind], "training.max_steps=3"]);
      const [{ key, value }, ...more] = parseOverrides(args) as [Override, ...Override[]];
      assert.equal(more.length, 1, flag);
      assert.match(key, /^openrlhf\./, flag);
      assert.notEqual(meaningOf(key).kind, "unknown", flag);
      assert.equal(value, { switch: "true", value: "1", list: "[1, 2]" }[kind], flag);
    }
  }
});

Deno.test("a command line begins with OpenRLHF's defaults", async () => {
  const { config } = await loaded("");
  assertValues(
    config,
    `training.num_generations: 4, training.generation_batch_size: 4096, lora: null,
    training.per_device_train_batch_size: 4, training.gradient_accumulation_steps: 32,
    training.lr_scheduler_type: cosine_with_min_lr, training.warmup_steps: 0.03,
    training.adam_beta2: 0.95, training.beta: 0, training.loss_type: dapo,
    training.save_strategy: "no", data.prompt_format: plain, data.dataset_prompt_column: problem,
    rewards.length: 1, rewards.0.name: accuracy_reward`,
  );
});

Deno.test("flags of both generations and of rgx stand beside each other", async () => {
  const old = await loaded(
    "--apply_chat_template --train_batch_size 64 --rollout_batch_size 16 --eps_clip_low_high 0.2 " +
      "0.28 --lora_rank 8 --target_modules q_proj v_proj --use_kl_loss --kl_estimator k3 " +
      "--init_kl_coef 1e-3 --policy_loss_type gspo --overlong_buffer_len 64 --bf16 --max_len 1500 " +
      "--save_steps 20 --use_wandb KEY --zero_stage 3 --packing_samples --logging_steps 2",
  );
  assertValues(
    old.config,
    `training.epsilon: 0.2, training.epsilon_high: 0.28, training.beta: 1e-3,
    training.use_bias_correction_kl: false, training.importance_sampling_level: sequence,
    training.loss_type: grpo, training.max_prompt_length: 476, training.compute_dtype: bfloat16,
    training.generation_batch_size: 64, training.save_steps: 20, lora.r: 8, lora.lora_alpha: 16,
    lora.target_modules: [q_proj, v_proj], data.prompt_format: chat, logging.report_to: [wandb],
    rewards.1.params: {max_completion_len: 1024, soft_punish_cache: 64}`,
  );
  assert.match(
    old.notes.join("\n"),
    /of OpenRLHF, no effect .*: openrlhf\.zero_stage, openrlhf\.pack/,
  );
  const other = await loaded(
    "--rollout.max_new_tokens 256 --actor.adam.lr 3e-6 --train.batch_size 64 " +
      "--rollout.batch_size=16 --ds.param_dtype bf16 --critic.adam.lr 1 --weight_decay 0.5",
  );
  assertValues(
    other.config.training,
    `max_completion_length: 256, learning_rate: 3e-6, compute_dtype: bfloat16, weight_decay: 0.5`,
  );
});

Deno.test("what OpenRLHF does and rgx does not is refused with advice", async () => {
  const refused: readonly [line: string, expected: RegExp][] = [
    ["--remote_rm_url reward.py", /openrlhf\.remote_rm_url: .*; rewards=.*--allow-python/],
    ["--advantage_estimator gae", /advantage_estimator: gae is not supported yet/],
    ["--init_kl_coef 0.01", /init_kl_coef: KL is no part of the reward: write --use_kl_loss/],
    ["--init_kl_coef 0.01 --use_kl_loss", /kl_estimator: k1: .*write --kl_estimator k3/],
    ["--label_key gold", /label_key: gold: .*rename it/],
    ["--prompt_data a,b", /prompt_data: a,b: one set of prompts/],
    ["--micro_train_batch_size 3", /micro_train_batch_size: must divide train_batch_size/],
    ["--rollout_batch_size 9", /rollout_batch_size: a generation of 9 prompts has 36 completions/],
    ["--max_len 512", /max_len: leaves no room/],
    ["--reward_clip_range -1 1", /reward_clip_range: .*own function/],
    ["--async_train", /async_train: .*max_staleness/],
    ["--eval_dataset x", /eval_dataset: .*test_examples/],
    ["--actor.optim muon", /openrlhf\.optim: .*AdamW/],
    ["--pretrain", /--pretrain: expected a value/],
    ["--prompt_dta x", /--prompt_dta: unknown option/],
  ];
  for (const [line, expected] of refused) {
    const isRefusal = refusal(expected);
    await assert.rejects(loaded(line), isRefusal, line);
  }
});
