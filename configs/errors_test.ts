/** The exact text of every error: position, key, what was found, what is allowed. */
import assert from "node:assert/strict";
import { assertErrors, assertErrorsMatch, assertLoads, errorsOf, MINIMAL } from "./testing.ts";

/** YAML after MINIMAL, and deeper its errors. */
const CASES = String.raw`
training:\n  learnig_rate: 1
  f.yaml:5:3: training.learnig_rate: unknown key, did you mean learning_rate?
num_genrations: 8
  f.yaml:4:1: num_genrations: unknown key, did you mean num_generations?
trainig: {lr: 1}
  f.yaml:4:1: trainig: unknown key, did you mean training?
hidden_size: 8
  f.yaml:4:1: hidden_size: unknown key, did you mean model.init.hidden_size?
zzzzz: 1
  f.yaml:4:1: zzzzz: unknown key
data: {learning_rate: 1}
  f.yaml:4:8: data.learning_rate: wrong section: write it as training.learning_rate
learning_rate: 1\ntraining:\n  lr: 2
  f.yaml:6:3: training.lr: the same key as learning_rate at f.yaml:4:1
learning_rate: fast
  f.yaml:4:16: training.learning_rate: expected a number ≥ 0, found text "fast"
num_generations: '8'
  f.yaml:4:18: training.num_generations: expected an integer ≥ 2, found text "8"
save_total_limit: 0.5
  f.yaml:4:19: training.save_total_limit: expected an integer ≥ 1 or null, found 0.5
beta: .inf
  f.yaml:4:7: training.beta: expected a number ≥ 0, found Infinity
shuffle_dataset: yes
  f.yaml:4:18: training.shuffle_dataset: expected true or false, found text "yes"
run_name: 2024
  f.yaml:4:11: logging.run_name: expected text, found 2024; put it in quotes
beta: null
  f.yaml:4:7: training.beta: expected a number ≥ 0, found null
beta: [1]
  f.yaml:4:7: training.beta: expected a number ≥ 0, found a list
training: 5
  f.yaml:4:11: training: expected a map of keys, found 5
beta: -0.1
  f.yaml:4:7: training.beta: expected a number ≥ 0, found -0.1
top_k: -2
  f.yaml:4:8: training.top_k: expected an integer ≥ 0, found -2
top_p: 0
  f.yaml:4:8: training.top_p: expected a number > 0 and ≤ 1, found 0
min_p: 2
  f.yaml:4:8: training.min_p: expected a number ≥ 0 and ≤ 1 or null, found 2
temperature: 0
  f.yaml:4:14: training.temperature: expected a number > 0, found 0
max_steps: 0
  f.yaml:4:12: training.max_steps: expected an integer ≥ 1, or -1: num_train_epochs decides;
    found 0
warmup_steps: 1.5
  f.yaml:4:15: training.warmup_steps: expected a ratio < 1 or whole steps
warmup_ratio: 3
  f.yaml:4:15: warmup_ratio: expected a ratio < 1, found 3
lr_scheduler_type: cosin
  f.yaml:4:20: training.lr_scheduler_type: expected linear, cosine, constant,
    constant_with_warmup, cosine_with_min_lr, cosine_warmup_with_min_lr, cosine_with_restarts,
    polynomial, inverse_sqrt or warmup_stable_decay, found text "cosin", did you mean cosine?
lr_scheduler_type: reduce_lr_on_plateau
  f.yaml:4:20: training.lr_scheduler_type: reduce_lr_on_plateau is not supported yet by this
    version, available: linear, cosine, constant, constant_with_warmup, cosine_with_min_lr,
    cosine_warmup_with_min_lr, cosine_with_restarts, polynomial, inverse_sqrt or
    warmup_stable_decay
loss_type: gspo
  f.yaml:4:12: training.loss_type: expected grpo, dapo, dr_grpo, bnpo, cispo, sapo, luspo or
    vespo, found text "gspo", did you mean grpo?
auto_find_batch_size: true
  f.yaml:4:1: auto_find_batch_size: not supported yet by this version (only false); it would
    break groups; rgx train CONFIG --dry-run says what fits
slurm: {memory: 320, time: 4h, gpus: -1, nodes: two, partition: a b, requeue: 1, gpu: 1}
  f.yaml:4:17: slurm.memory: 320: has no unit, expected for example 320G. SLURM would read a
    bare number as megabytes. Write 320G or 320M.
  f.yaml:4:28: slurm.time: 4h: is no time, expected HH:MM:SS or D-HH:MM:SS. For example 04:00:00
    or 1-12:00:00. (A bare number is minutes.)
  f.yaml:4:38: slurm.gpus: expected an integer ≥ 0 and ≤ 1024 or null, found -1
  f.yaml:4:49: slurm.nodes: expected an integer ≥ 1 and ≤ 4096 or null, found text "two"
  f.yaml:4:65: slurm.partition: "a b": cannot be such a name (it has a space). Partitions of the
    cluster: sinfo -s
  f.yaml:4:79: slurm.requeue: expected true or false, found 1
  f.yaml:4:82: slurm.gpu: unknown key, did you mean gpus?
training: {generation_config: {do_sample: false}}
  f.yaml:4:32: training.generation_config.do_sample: not supported yet by this version (only
    true); completions of one prompt must differ to be compared; set temperature
lora: {target_modules: [q_prj]}
  f.yaml:4:25: lora.target_modules.0: expected q_proj, k_proj, v_proj, o_proj, gate_proj,
    up_proj, down_proj, c_attn, c_proj, c_fc, qkv_proj, gate_up_proj, input_linear,
    output_linear, in_proj, out_proj, w1, w2, w3, in_proj_qkv, in_proj_z, in_proj_b, in_proj_a,
    lm_head, embed_tokens or wte, found text "q_prj", did you mean q_proj?
lora: {target_modules: q_proj}
  f.yaml:4:24: lora.target_modules: expected a list of q_proj, k_proj, v_proj, o_proj,
    gate_proj, up_proj, down_proj, c_attn, c_proj, c_fc, qkv_proj, gate_up_proj, input_linear,
    output_linear, in_proj, out_proj, w1, w2, w3, in_proj_qkv, in_proj_z, in_proj_b, in_proj_a,
    lm_head, embed_tokens, wte, or all-linear or a regular expression for the whole path or
    null, found text "q_proj"
lora: {target_modules: q_proj v_proj}
  f.yaml:4:24: lora.target_modules: a text is one regular expression; of several modules:
    [q_proj, v_proj]
lora: {target_modules: ".*(q_proj"}
  f.yaml:4:24: lora.target_modules: ".*(q_proj" is no valid regular expression
lora: {rank_pattern: {q_proj: 1.5}}
  f.yaml:4:31: lora.rank_pattern.q_proj: expected an integer ≥ 1, found 1.5
lora: {modules_to_save: lm_head}
  f.yaml:4:25: lora.modules_to_save: expected a list of module names, found text "lm_head"
lora: {target_modules: []}
  f.yaml:4:24: lora.target_modules: expected at least one module
training: {_delete_: 1}
  f.yaml:4:22: training._delete_: expected true or false, found 1
per_device_train_batch_size: 6\ngradient_accumulation_steps: 2
  f.yaml:4:30: training.num_generations: 8 does not divide the 12 completions of a step
    (per_device_train_batch_size 6 × gradient_accumulation_steps 2); works with num_generations
    6 or 12, or per_device_train_batch_size 4 or 8
max_seq_length: 512
  f.yaml:4:17: model.max_seq_length: 512 leaves no room for a prompt in addition to
    max_completion_length 512
dataset_name: f.yaml
  f.yaml:4:15: data.dataset_name: the problems come either from a task (task_name) or from a
    file (dataset_name), not both: data.task_name=null takes the task away
data:\n  task_config:\n    min_trms: 2
  f.yaml:6:5: data.task_config.min_trms: unknown field of task chain_sum, did you mean
    min_terms? (its fields: min_terms, max_terms, min_digits, max_digits, allow_negation)
data: {task_config: {min_terms: two}}
  f.yaml:4:33: data.task_config.min_terms: must be an integer, found "two"
data: {task_config: {min_terms: 5, max_terms: 2}}
  f.yaml:4:33: data.task_config.min_terms: must be ≤ max_terms, found min_terms = 5 and
    max_terms = 2
data: {task_config: {seed: 5}}
  f.yaml:4:22: data.task_config.seed: write it as data.seed
reward_weights: [1, 2]
  f.yaml:3:10: training.reward_weights: 2 weights for 1 rewards
sft: {learning_rate: 1}
  f.yaml:4:6: sft.max_steps: missing, expected an integer ≥ 0: supervised steps before GRPO; 0 =
    none
`;

Deno.test("each mistake is refused with its exact position, and what is allowed", async () => {
  await assertErrors(CASES);
});

/** The line `rewards`, and deeper its error. */
const LISTS = String.raw`
rewards: 5
  f.yaml:3:10: rewards: expected a list of names or of {name…
rewards: []
  f.yaml:3:10: rewards: missing: expected at least one reward…
rewards: [5]
  f.yaml:3:11: rewards.0: expected a name or {name, weight…
rewards: [{weight: 1}]
  f.yaml:3:11: rewards.0: name is missing
rewards: [{name: 5}]
  f.yaml:3:18: rewards.0.name: expected text, found 5; put it in quotes
rewards: [accuracy, brevity, {name: correctness}]
  f.yaml:3:30: rewards.2: correctness is listed twice (as rewards.0 too); ${"`as`"} gives one
    another name…
rewards: [length]
  f.yaml:3:11: rewards.0: reward "length" has two meanings…
rewards: [{name: brevity, timeout: 0}]
  f.yaml:3:36: rewards.0.timeout: expected a number > 0, found 0
rewards: [{name: brevity, net: [a.org]}]
  f.yaml:3:27: rewards.0.net: unknown field of reward brevity…
rewards: [{name: brevity, weight: much}]
  f.yaml:3:35: rewards.0.weight: expected a number, found text "much"
rewards:\n  - {name: corectness, weight: 1}\n  - name: brevity\n    wieght: 2
  f.yaml:4:12: rewards.0.name: unknown reward "corectness", did you mean correctness?…
  f.yaml:6:5: rewards.1.wieght: unknown field of reward brevity…, did you mean weight?
reward_funcs: [mine.short]
  …unknown reward "mine.short": …{path: …--allow-python…
`;

/** The task, and deeper its error. */
const UNKNOWN = String.raw`
task: chain_sm\nrewards: [correctness]
  f.yaml:2:7: data.task_name: unknown task "chain_sm", did you mean chain_sum?
task: gsm8kk\nrewards: [correctness]
  f.yaml:2:7: data.task_name: unknown task "gsm8kk", did you mean gsm8k?
`;

Deno.test("a reward list of a wrong form, an unknown task and an unknown reward are refused", async () => {
  await assertErrors(LISTS, "model: m\ntask: chain_sum\n");
  await assertErrors(UNKNOWN, "model: m\n");
});

Deno.test("what is missing is said, but not where a name was not understood", async () => {
  const missing = [
    "f.yaml:1:1: model.model_name_or_path: missing: name a model folder, or make a model with " +
    "model.init",
    "f.yaml:1:1: data.task_name: missing: name a task, or a file with data.dataset_name",
    "f.yaml:1:1: rewards: missing: expected at least one reward, for example [{name: correctness}]",
  ];
  assert.deepEqual(await errorsOf("beta: 0\n"), missing);
  assert.deepEqual(await errorsOf("beta: 0\n", { overrides: ["max_steps=3"] }), missing);
  const typo = "modle: m\ntask: chain_sum\nrewards: [correctness]\n";
  assert.deepEqual(await errorsOf(typo), ["f.yaml:1:1: modle: unknown key, did you mean model?"]);
});

Deno.test("all errors of a file come at once, in its order", async () => {
  const yaml = MINIMAL + [
    "training:",
    "  learnig_rate: 1",
    "  beta: -1",
    "  num_generations: 7",
    "  per_device_train_batch_size: 8",
    "lora: {r: 0, rnk: 3}",
    "data: {task_config: {min_terms: 0}}",
  ].join("\n");
  const lines = await errorsOf(yaml);
  assert.deepEqual(lines.map((line) => line.split(": ")[0]), [
    "f.yaml:5:3",
    "f.yaml:6:9",
    "f.yaml:7:20",
    "f.yaml:9:11",
    "f.yaml:9:14",
    "f.yaml:10:33",
  ]);
  assert.match(lines[4]!, /lora\.rnk: unknown key, did you mean rank\?$/);
});

const INIT = "hidden_size: 96, intermediate_size: 256, num_hidden_layers: 2";

Deno.test("the file of an evaluation is no configuration, and its command is named", async () => {
  assert.deepEqual(await errorsOf("model: m\ntemperature: 0\ncategories:\n  - category: x\n"), [
    "f.yaml:3:1: categories: a file with categories is an evaluation: rgx eval --config f.yaml",
  ]);
});

Deno.test("an impossible model of model.init is refused", async () => {
  const heads = `${INIT}, num_attention_heads: 4`;
  const models: [string, RegExp][] = [
    [
      `${INIT}, num_attention_heads: 5`,
      /^f\.yaml:4:29: model\.init\.hidden_size: the width of a head.* 96 \/ 5, must be an even integer$/,
    ],
    [
      `${heads}, num_key_value_heads: 3`,
      /num_key_value_heads: 3 key and value heads do not divide 4 num_attention_heads$/,
    ],
    [INIT, /^f\.yaml:4:15: model\.init\.num_attention_heads: missing, expected an integer ≥ 1/],
    [`${heads}, tokenizer: {alphabet: aba}`, /alphabet: "a" is there twice$/],
    [`${heads}, tokenizer: {alphabet: ""}`, /expected at least one char/],
    [`${heads}, tokenizer: {special_tokens: [<unk>]}`, /special_tokens: <eos> is missing$/],
    [
      `${heads}, tokenizer: {special_tokens: [<unk>, <eos>, <eos>, x]}`,
      /"<eos>" is there twice\n?.*"x" is too short/s,
    ],
    [
      `${heads}, max_position_embeddings: 16`,
      /max_completion_length: 16 leaves no room for a prompt in max_position_embeddings 16$/,
    ],
  ];
  const head = "task: chain_sum\nrewards: [correctness]\nmax_completion_length: 16\n";
  await assertErrorsMatch([
    ...models.map(([model, says]) => [`model: {init: {${model}}}`, says] as const),
    [
      `model: {name: m, init: {${heads}}}`,
      /^f\.yaml:4:15: model\.model_name_or_path: .* not both$/,
    ],
  ], head);
});

Deno.test("a file of problems that is not there is refused, and an empty one is not", async () => {
  const head = "model: m\nrewards: [correctness]\n", yaml = "dataset_name: p.jsonl";
  const missing = /^f\.yaml:3:15: data\.dataset_name: no such file: p\.jsonl \(looked for /;
  await assertErrorsMatch([[yaml, missing]], head);
  await assertLoads(`${yaml}\n  data.dataset_name: p.jsonl`, head, { "p.jsonl": "" });
});

Deno.test("syntax errors, wrong encodings and unreadable files are errors of usage", async () => {
  assert.match((await errorsOf("a: [1\n")).join(), /^f\.yaml:2:1: Flow sequence/);
  const bytes = new Uint8Array([0x61, 0x3a, 0x20, 0xff]);
  assert.match((await errorsOf(bytes)).join(), /^f\.yaml:1:1: not UTF-8/);
});
