import assert from "node:assert/strict";
import { readGoldenJson } from "../../../tests/golden.ts";
import { meaningOf } from "../../reading/key_names.ts";
import {
  assertErrorsMatch,
  assertLoads,
  assertValues,
  errorsOf,
  load,
  MINIMAL,
} from "../../testing.ts";
import type { Json } from "../../documents/node.ts";
import { stringify } from "yaml";
import { VERL } from "./verl.ts";

interface VerlKeys {
  /** Every key of verl's complete configuration with FSDP → its default. */
  defaults: Record<string, Json>;
  /** Engine → keys that have another default with it. */
  defaults_of_other_engines: Record<string, Record<string, Json>>;
  older: { keys: string[] };
}

const golden = readGoldenJson<VerlKeys>("verl_keys.json");
const LISTS = ["obeyed", "translated", "listed"] as const;

Deno.test("every key of verl's complete configuration is in exactly one list", () => {
  const aliases = Object.values(VERL.translated).flatMap((spec) => spec.aliases);
  const names = [...Object.keys(golden.defaults), ...golden.older.keys];
  assert.ok(names.length > 1400, `only ${names.length} keys are recorded`);
  const missing: string[] = [], twice: string[] = [];
  for (const name of names) {
    const lists: string[] = LISTS.filter((list) => Object.hasOwn(VERL[list] ?? {}, name));
    if (aliases.includes(name)) lists.push("aliases");
    if (lists.length > 1) twice.push(`${name}: ${lists.join(", ")}`);
    // data.seed is also rgx's; what stands in a map of another engine is judged with the map.
    const isKnown = name === "data.seed" || meaningOf(name).kind === "notObeyed";
    if (lists.length === 0 && !isKnown) missing.push(name);
  }
  assert.deepEqual(missing, [], "these are in no list");
  assert.deepEqual(twice, [], "these are in several lists");
});

/** verl's whole configuration, as it prints it when it starts, with these keys changed. */
function dumped(changes: Record<string, Json>): string {
  const root: Record<string, Json> = {};
  const all = { ...golden.defaults, "actor_rollout_ref.rollout.name": "vllm", ...changes };
  for (const [path, value] of Object.entries(all)) {
    const parts = path.split(".");
    let map = root;
    for (const part of parts.slice(0, -1)) map = (map[part] ??= {}) as Record<string, Json>;
    map[parts.at(-1)!] = value;
  }
  // The reward model needs a name only where it is used.
  delete (root["reward"] as { reward_model?: Json }).reward_model;
  return stringify(root);
}

const GRPO: Record<string, Json> = {
  "algorithm.adv_estimator": "grpo",
  "actor_rollout_ref.rollout.n": 8,
  "data.train_files": "train.jsonl",
  "data.val_files": "test.jsonl",
  "data.train_batch_size": 256,
};
const FILES = {
  "train.jsonl": '{"question": "1+1", "answer": "2"}\n',
  "test.jsonl": '{"question": "1+2", "answer": "3"}\n',
};

const ACTOR = "actor_rollout_ref.actor";

/** A command line of verl: its defaults, GRPO, and these keys. */
const typed = (...more: string[]) => {
  const grpo = Object.entries(GRPO).map(([key, value]) => `${key}=${value}`);
  const overrides = [...grpo, "actor_rollout_ref.model.path=m", "rewards=[correctness]", ...more];
  return load("_base_: rgx:verl/ppo_trainer.yaml\n", { overrides }, FILES);
};

Deno.test("verl's whole configuration loads with its defaults, which become rgx's keys", async () => {
  const yaml = dumped(GRPO) + "rewards: [correctness]\n";
  const { config, notes } = await load(yaml, {}, FILES);
  assert.equal(config.lora, null);
  assertValues(
    config.training,
    `learning_rate: 1e-6, weight_decay: 0.01, adam_beta2: 0.999, max_grad_norm: 1,
    lr_scheduler_type: constant_with_warmup, loss_type: dapo, epsilon: 0.2, delta: 3,
    num_train_epochs: 30, max_steps: -1, save_strategy: "no", generation_batch_size: 2048`,
  );
  assert.ok(notes.length < 20, notes.join("\n"));
  assert.ok(
    notes.some((note) => note.includes("no effect in rgx (a critic; GRPO has none): critic.")),
  );
  for (const [engine, others] of Object.entries(golden.defaults_of_other_engines)) {
    const yaml = dumped({ ...GRPO, ...others }) + "rewards: [correctness]\n";
    const other = await load(yaml, {}, FILES);
    assert.equal(other.config.training.learning_rate, 1e-6, engine);
  }
});

const TYPOS: readonly [typo: string, meant: string][] = [
  ["actor_rollout_ref.actor.kl_los_coef", "kl_loss_coef"],
  ["actor_rollout_ref.actor.optim.weight_deccay", "weight_decay"],
  ["actor_rollout_ref.rollout.temperatur", "temperature"],
  ["algorithm.filter_groups.metrik", "metric"],
  ["trainer.totl_epochs", "total_epochs"],
  ["data.trainfiles", "train_files"],
  ["reward_model.enabel", "enable"],
  ["critic.optim.weight_deccay", "weight_decay"],
  ["critic.model.lora_rnk", "lora_rank"],
  // Two edits, or other separators, beside the keys without effect that no list names.
  ["actor_rollout_ref.rollout.tempratur", "temperature"],
  ["trainer.totl_epoch", "total_epochs"],
  ["actor_rollout_ref.actor.ppominibatchsize", "ppo_mini_batch_size"],
  ["actor_rollout_ref.rolout", "rollout"],
];

Deno.test("an unknown key in a section of verl is a typo: its line and the nearest name", async () => {
  for (const [typo, meant] of TYPOS) {
    const parts = typo.split(".");
    const yaml = parts.map((part, i) => `${"  ".repeat(i)}${part}:`).join("\n") + " 1\n";
    const errors = await errorsOf(MINIMAL + yaml);
    const line = 3 + parts.length;
    assert.equal(
      errors[0],
      `f.yaml:${line}:${2 * parts.length - 1}: ${typo}: unknown key, did you mean ${meant}?`,
    );
    const typed = await errorsOf(MINIMAL, { overrides: [`+${typo}=1`] });
    assert.match(typed[0]!, new RegExp(`unknown key, did you mean ${meant}\\?`));
  }
});

Deno.test("verl's command line: its defaults, +key, ~key, and an override of what is refused", async () => {
  const line = `actor_rollout_ref.rollout.n=4 data.train_batch_size=16
    ${ACTOR}.ppo_mini_batch_size=8 ${ACTOR}.use_dynamic_bsz=True
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 trainer.test_freq=5
    +actor_rollout_ref.rollout.multi_turn.enable=True`.split(/\s+/);
  const load2 = (...more: string[]) => typed(...line, ...more);
  await assert.rejects(() => load2(), /command line: .*multi_turn\.enable: dialogues need/);
  const off = "actor_rollout_ref.rollout.multi_turn.enable";
  const { config, origins, notes } = await load2(`${off}=False`);
  assert.equal((await load2(`~${off}`)).yaml, (await load2(`${off}=False`)).yaml);
  await assert.rejects(
    () => load2("+actor_rollout_ref.actr.optim.lr=1"),
    /did you mean actor_rollout_ref\.actor\.optim\.lr\?/,
  );
  await assert.rejects(
    () => load2("~trainer.test_freqq"),
    /nothing to del.* mean trainer\.test_freq\?/,
  );
  await assert.rejects(
    () => load2("~actor_rollout_ref.rollout.tensor_modl_parallel_size"),
    /did you mean actor_rollout_ref\.rollout\.tensor_model_parallel_size\?/,
  );
  assert.deepEqual([config.training.generation_batch_size, config.eval.temperature], [64, 0]);
  // 16384 tokens at once hold 16 completions of 512 + 512.
  assert.equal(config.training.per_device_train_batch_size, 16);
  assert.equal(
    origins.get("training.num_generations"),
    "command line (actor_rollout_ref.rollout.n)",
  );
  assert.match(
    origins.get("training.weight_decay")!,
    /^rgx:verl\/ppo_trainer\.yaml:\d+ \(.*decay\)$/,
  );
  assert.ok(notes.every((note) => !note.includes("defaults of rgx")), notes.join("\n"));
});

Deno.test("a document of verl without its defaults is told how to get them", async () => {
  const yaml = MINIMAL + "actor_rollout_ref: {rollout: {n: 4}}\n";
  assert.deepEqual((await load(yaml)).notes, [
    "f.yaml:4:1: actor_rollout_ref: keys that are not written have the defaults of rgx; those of " +
    "verl come with defaults: [ppo_trainer, _self_]",
  ]);
});

Deno.test("verl's names for the schedule are one key, and cosine ends at its ratio", async () => {
  await assertLoads(String.raw`
actor_rollout_ref.actor.optim: {warmup_style: cosine}
  training.lr_scheduler_type: cosine, training.lr_scheduler_kwargs: {}
actor_rollout_ref: {actor: {optim: {lr_scheduler_type: null, lr_decay_style: linear}}}
  training.lr_scheduler_type: linear
actor_rollout_ref: {actor: {optim: {lr_decay_style: cosine, min_lr_ratio: 0.1}}}
  training.lr_scheduler_type: cosine_with_min_lr, training.lr_scheduler_kwargs.min_lr_rate: 0.1
`);
});

Deno.test("LoRA of verl: with verl's own defaults, and Megatron's modules by their names", async () => {
  await assertLoads(String.raw`
actor_rollout_ref: {model: {lora_rank: 0, lora_alpha: 32}}
  lora: null
actor_rollout_ref: {model: {lora_rank: 64, exclude_modules: [lm_head]}}
  lora.r: 64, lora.lora_alpha: 16, lora.target_modules: all-linear, lora.exclude_modules: [lm_head]
actor_rollout_ref: {model: {lora_rank: 8, lora_alpha: 4, target_modules: [q_proj, v_proj]}}
  lora.lora_alpha: 4, lora.target_modules: [q_proj, v_proj]
actor_rollout_ref: {model: {lora: {rank: 8, target_modules: [linear_qkv, linear_fc2]}}}
  lora.lora_alpha: 32, lora.target_modules: [q_proj, k_proj, v_proj, down_proj]
`);
});

Deno.test("the loss of verl: GSPO, SAPO, dual clipping, the KL term, another policy", async () => {
  await assertLoads(String.raw`
actor_rollout_ref.actor: {policy_loss: {loss_mode: gspo}, clip_ratio_low: 0.0003,
    clip_ratio_high: 0.0004, clip_ratio_c: 10}
  training.importance_sampling_level: sequence, training.loss_type: grpo
  training.epsilon: 0.0003, training.epsilon_high: 0.0004, training.delta: null
actor_rollout_ref: {actor: {policy_loss: {loss_mode: sapo}, tau_pos: 1.1, tau_neg: 1.2}}
  training.loss_type: sapo
  training.sapo_temperature_pos: 1.1, training.sapo_temperature_neg: 1.2
actor_rollout_ref.actor: {clip_ratio: 0.3, clip_ratio_high: 0.4, clip_ratio_c: 10,
    use_kl_loss: true, kl_loss_coef: 0.01, kl_loss_type: k3}
  training.epsilon: 0.3, training.epsilon_high: 0.4, training.delta: 10
  training.beta: 0.01, training.use_bias_correction_kl: false
`);
  const refused: [actor: string, expected: RegExp][] = [
    ["policy_loss: {loss_mode: clip_cov}", /clip_cov is not supported yet/],
    ["kl_loss_type: k2, use_kl_loss: true", /k2 is not supported yet/],
    ["loss_agg_mode: seq-mean-token-sum", /-sum is not supported yet/],
    [
      "loss_agg_mode: seq-mean-token-sum-norm, loss_scale_factor: 100",
      /loss_scale_factor: .*; dr_grpo divides by the longest completion/,
    ],
  ];
  await assertErrorsMatch(
    refused.map(([actor, says]) => [`actor_rollout_ref: {actor: {${actor}}}`, says]),
  );
});

Deno.test("the optimizer, the checkpoints and the resume of verl", async () => {
  const optim = "optimizer: AdamW8bit, optimizer_impl: bitsandbytes.optim, betas: [0.9, 0.95], " +
    "weight_decay: 0.1, lr_warmup_steps: 10, lr_warmup_steps_ratio: 0.2, " +
    "lr_scheduler_type: cosine, min_lr_ratio: 0.1";
  const { config } = await load(
    `${MINIMAL}actor_rollout_ref: {actor: {optim: {${optim}}, checkpoint: {save_contents: ` +
      "[hf_model]}}}\ntrainer: {resume_mode: resume_path, resume_from_path: c/global_step_3}\n",
  );
  assertValues(
    config.training,
    `optim: adamw_8bit, adam_beta2: 0.95, weight_decay: 0.1, warmup_steps: 10,
    lr_scheduler_type: cosine_with_min_lr, lr_scheduler_kwargs: {min_lr_rate: 0.1},
    save_only_model: true, resume_from_checkpoint: c/global_step_3`,
  );
  await assertErrorsMatch([
    [
      "actor_rollout_ref: {actor: {optim: {betas: 0.9}}}",
      /betas: expected a list of two numbers or null, found 0\.9/,
    ],
    [
      "actor_rollout_ref: {actor: {optim: {optimizer: SGD}}}",
      /optimizer: SGD is not supported yet by this version, available: AdamW/,
    ],
    [
      "actor_rollout_ref: {actor: {checkpoint: {save_contents: [model, optimzer]}}}",
      /save_contents: expected a list of model, optimizer, extra, hf_model, found a list/,
    ],
    ["trainer: {resume_mode: resume_path}", /resume_mode: resume_path needs resume_from_path/],
  ]);
});

Deno.test("verl's data and evaluation become keys of rgx", async () => {
  const yaml = (more: string) =>
    "model: m\nrewards: [correctness]\nactor_rollout_ref: {rollout: {n: 4, val_kwargs: " +
    "{do_sample: true, temperature: 0.6, n: 2}}}\n" +
    `data: {train_files: [train.jsonl], seed: 7, ${more}}`;
  const more = "val_files: test.jsonl, val_max_samples: 1, train_max_samples: 1, " +
    "truncation: left, max_prompt_length: 100, val_batch_size: 3";
  assertValues(
    (await load(yaml(more), {}, FILES)).config,
    `data.max_examples: 1, eval.num_examples: 1, eval.temperature: 0.6, eval.batch_size: 3,
    training.truncate_prompts: left, training.data_seed: 7, training.num_generations_eval: 2`,
  );
  const refused: [yaml: string, expected: RegExp][] = [
    [yaml("truncation: middle"), /middle is not supported yet/],
    [yaml("val_files: [test.jsonl, b.jsonl]"), /val_files: 2 files: join them into one/],
    [
      yaml("val_files: other.jsonl") + "\ntrainer: {test_freq: 5}",
      /eval_dataset_name: no such file: other\.jsonl/,
    ],
    [
      yaml("max_prompt_length: 400") + "\ntrainer: {v1: {trainer_mode: separate_async}}",
      /trainer_mode: not supported yet by this version \(only sync\)/,
    ],
  ];
  await assertErrorsMatch(refused, "", FILES);
});

Deno.test("DAPO's punishment of long completions is the reward soft_overlong", async () => {
  const at = "reward_kwargs: {overlong_buffer_cfg: {enable: true, len: 64, penalty_factor: 0.5}, " +
    "max_resp_len: 256}";
  for (const text of [`reward: {${at}}`, `reward_model: {reward_manager: dapo, ${at}}`]) {
    const { config } = await load(MINIMAL + text + "\n");
    const { name, weight, params } = config.rewards[1]!;
    assert.deepEqual([name, weight, params], ["soft_overlong", 0.5, {
      max_completion_len: 256,
      soft_punish_cache: 64,
    }]);
  }
  const off = await load(MINIMAL + "reward_model: {overlong_buffer: {enable: false, len: 9}}\n");
  assert.equal(off.config.rewards.length, 1);
});

Deno.test("where a generation has several updates, a note says how verl's steps are written", async () => {
  const notesOf = async (mini: number) => {
    const { config, notes } = await typed(
      `${ACTOR}.ppo_mini_batch_size=${mini}`,
      `${ACTOR}.optim.lr_warmup_steps=3`,
      "trainer.total_training_steps=10",
      "trainer.save_freq=5",
    );
    assert.deepEqual([config.training.max_steps, config.training.warmup_steps], [10, 3]);
    return notes.filter((note) => note.includes("counts generations"));
  };
  assert.deepEqual(await notesOf(256), []);
  const [note] = await notesOf(64);
  assert.match(
    note!,
    /total_training_steps: .*has 4 here: .*write 4 times the number of each count/,
  );
});

Deno.test("a generation of verl that has no whole number of updates is refused", async () => {
  for (const [train, mini] of [[30, 32], [512, 200]]) {
    const keys = [`data.train_batch_size=${train}`, `${ACTOR}.ppo_mini_batch_size=${mini}`];
    const message =
      `train_batch_size: .* ${train} prompts .* ppo_mini_batch_size, which is ${mini}`;
    await assert.rejects(typed(...keys), new RegExp(message));
  }
});

Deno.test("multi_turn of verl bounds dialogues with an environment or tools of rgx", async () => {
  const line = ["enable=True", "max_assistant_turns=3", "format=qwen3_coder"];
  const files = { ...FILES, "env.ts": "export default { step: () => 'on' };" };
  const limits = async (yaml: string, words: string[]) => {
    const overrides = words.map((word) => `+actor_rollout_ref.rollout.multi_turn.${word}`);
    return (await load(MINIMAL + yaml, { overrides }, files)).config.multi_turn;
  };
  assertValues(
    await limits("environment: env.ts\n", line),
    `max_assistant_turns: 3, max_parallel_calls: 1, max_tool_response_length: 256,
    format: qwen3_xml`,
  );
  // Limits without dialogues, as verl writes out its defaults, do nothing.
  assertValues(await limits("", line.slice(1)), "max_assistant_turns: null");
  const refused: [string, RegExp][] = [
    ["enable=True", /multi_turn\.enable: dialogues need an environment or tools/],
    ["tool_config_path=t.yaml", /multi_turn\.tool_config_path: .*a tool is a file, tools: \[F\.ts/],
    ["interaction_config_path=i.yaml", /multi_turn\.interaction_config_path: .*has removed/],
  ];
  for (const [word, message] of refused) await assert.rejects(limits("", [word]), message);
});
