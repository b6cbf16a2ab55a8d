/** Files of Axolotl: which keys are known, what they mean together, and what is refused. */
import assert from "node:assert/strict";
import { readGoldenJson } from "../../../tests/golden.ts";
import { meaningOf } from "../../reading/key_names.ts";
import { assertErrorsMatch, assertLoads, assertValues, errorsOf, load } from "../../testing.ts";

const DATA = { "d.jsonl": '{"problem": "1 + 1 =", "solution": "$2$"}\n' };
const START = `base_model: m
rl: grpo
datasets: [{path: d.jsonl}]
micro_batch_size: 8
trl: {reward_funcs: [trl.rewards.accuracy_reward]}
`;

const loaded = async (yaml: string) => await load(START + yaml, {}, DATA);
const refusals = async (yaml: string) => (await errorsOf(yaml, {}, DATA)).join("\n");

Deno.test("every key of Axolotl's files is a key, or is in a list", () => {
  const { keys } = readGoldenJson<{ keys: string[] }>("axolotl_keys.json");
  assert.ok(keys.length > 400);
  assert.deepEqual(
    keys.filter((key) =>
      [key, `axolotl.${key}`].every((path) => meaningOf(path).kind === "unknown")
    ),
    [],
  );
  // Elsewhere such a key is a typo.
  assert.equal(meaningOf("device").kind, "unknown");
});

Deno.test("what is not written has Axolotl's defaults, and a note names them", async () => {
  const { config, notes } = await loaded("");
  assertValues(
    config,
    `model.model_name_or_path: m, lora: null, training.gradient_accumulation_steps: 1,
    training.lr_scheduler_type: cosine, training.warmup_steps: 0.03,
    training.save_strategy: epoch, training.save_total_limit: 4`,
  );
  assert.equal(notes.length, 1);
  assert.match(
    notes[0]!,
    /^f\.yaml:1:13: base_model: what is not written has Axolotl's defaults: gradient_acc/,
  );
});

Deno.test("a file of Axolotl remains one where another model is typed", async () => {
  const typed = { overrides: ["model_name_or_path=other"] };
  const { config: { training, model, lora }, notes } = await load(
    START + "lora_r: 4\n",
    typed,
    DATA,
  );
  assert.equal(model.model_name_or_path, "other");
  assert.deepEqual([training.lr_scheduler_type, training.save_total_limit], ["cosine", 4]);
  assert.equal(lora, null);
  assert.match(notes.join("\n"), /f\.yaml:1:13: .*without adapter: lora, all weights/);
  const supervised = START.replace("rl: grpo\n", "");
  assert.match(
    (await errorsOf(supervised, typed, DATA)).join("\n"),
    /base_model: without rl: grpo/,
  );
  // In another file its keys are unknown, with one exception: the name of the model.
  const elsewhere = await errorsOf(START, { overrides: ["sequence_len=9"] }, DATA);
  assert.match(elsewhere[0]!, /^command line: sequence_len: unknown key; Axolotl's keys are known/);
  const plain = "model: m\ndataset_name: d.jsonl\nrewards: [correctness]\n";
  const other = await load(plain, { overrides: ["base_model=other", "rl=gdpo"] }, DATA);
  assert.equal(other.config.model.model_name_or_path, "other");
  assert.equal(other.config.training.lr_scheduler_type, "linear");
  assert.equal(other.config.training.multi_objective_aggregation, "normalize_then_sum");
});

Deno.test("adapters, splits and counts per epoch are those of Axolotl", async () => {
  await assertLoads(
    String.raw`
adapter: lora\nlora_r: 4
  lora.r: 4
adapter: lora\nlora_target_linear: true\nlora_target_modules: [q_proj]
  lora.target_modules: all-linear
adapter:\nlora_r: 4\nlora_alpha:
  lora: null
adapter: qlora
  model.load_in_4bit: true
num_epochs: 2\nsaves_per_epoch: 4\nevals_per_epoch: 1\nval_set_size: 0.25
  training.save_strategy: steps, training.save_steps: 0.125, training.eval_strategy: steps,
    training.eval_steps: 0.5, data.train_ratio: 0.75
`,
    START,
    DATA,
  );
  for (const split of ["train[:9]", "train"]) {
    const { config } = await load(START.replace("{path", `{split: '${split}', path`), {}, DATA);
    assert.equal(config.data.dataset_train_split, split);
  }
  const unheard = "lr_scheduler: linear\ncosine_min_lr_ratio: 0.1\ndpo_foo: 1\n";
  const notes = (await loaded("evals_per_epoch: 1\n" + unheard)).notes.join("\n");
  assert.match(notes, /evals_per_epoch: accepted, has no effect .*val_set_size/);
  assert.match(notes, /cosine_min_lr_ratio: accepted, has no effect .*cosine alone/);
  assert.match(notes, /of Axolotl, no effect in rgx \(other values of rl\): dpo_foo/);
});

Deno.test("schedule, optimizer, types, trackers and the Hub are translated", async () => {
  const { config, notes } = await loaded(
    "lr_scheduler: cosine\ncosine_min_lr_ratio: 0.1\noptimizer: adamw_bnb_8bit\nbf16: auto\n" +
      "gradient_checkpointing: offload\nwandb_project: p\nwandb_name: n\nuse_mlflow: true\n" +
      "hub_model_id: me/x\nchat_template: jinja\nchat_template_jinja: '{{ messages }}'\n" +
      "sample_packing: true\nflash_attention: true\nliger_rope: true\ntf32: auto\n" +
      "deepspeed: zero1.json\nspecial_tokens: {pad_token: x}\nplugins: [axolotl.integrations.liger.LigerPlugin]\n",
  );
  assertValues(
    config,
    `training.lr_scheduler_type: cosine_with_min_lr, training.optim: adamw_8bit,
    training.lr_scheduler_kwargs: {min_lr_rate: 0.1}, training.compute_dtype: bfloat16,
    training.push_to_hub: true, training.hub_private_repo: true, logging.run_name: n,
    logging.report_to: [wandb, mlflow], model.chat_template: "{{ messages }}"`,
  );
  const text = notes.join("\n");
  assert.match(text, /of Axolotl, no effect in rgx \(.*\): flash_attention/);
  assert.match(text, /bf16: auto is true/);
  assert.match(text, /deepspeed: accepted, has no effect.*not divided over cards/);
  assert.doesNotMatch(text, /sample_packing/);
});

Deno.test("a vLLM server is asked where its address is written", async () => {
  const trl = "trl: {use_vllm: true, reward_funcs: [accuracy_reward]}\n";
  const start = START.replace(/trl: .*\n/, trl);
  const served = await load(start + "adapter: lora\nvllm: {host: h, port: 81}\n", {}, DATA);
  assert.equal(served.config.generation.backend, "openai");
  assert.deepEqual(served.config.generation.base_url, ["http://h:81"]);
  const { config } = await load(start, {}, DATA);
  assert.equal(config.generation.backend, "in_process");
  const gdpo = await load(START.replace("grpo", "gdpo"), {}, DATA);
  assert.equal(gdpo.config.training.multi_objective_aggregation, "normalize_then_sum");
});

Deno.test("what Axolotl does and rgx does not is refused with its line", async () => {
  const refused: readonly [yaml: string, expected: RegExp][] = [
    ["batch_size: 8", /f\.yaml:6:1: batch_size: .*micro_batch_size/],
    ["bf16: ful", /bf16: expected true, false, auto or full, found text "ful"/],
    ["fp8: true", /fp8: .*\(only false\); bf16: true/],
    ["chat_template: chatml", /f\.yaml:6:16: chat_template: chatml: .*chat_template_jinja/],
    [
      "special_tokens: {eos_token: x}",
      /f\.yaml:6:18: special_tokens\.eos_token: .*tokenizer's folder/,
    ],
    ["plugins: [mine.Plugin]", /plugins: .*rgx runs no Python/],
    ["early_stopping_patience: 3", /early_stopping_patience: .*load_best_model_at_end/],
    ["reward_model: true", /reward_model: .*rewards are functions/],
    ["optimizer: lion_8bit", /training\.optim: expected adamw_torch_fused/],
    ["lora_qkv_kernl: true", /lora_qkv_kernl: unknown key, did you mean lora_qkv_kernel\?/],
  ];
  await assertErrorsMatch(refused, START, DATA);
  const changed = (from: string | RegExp, to: string) => refusals(START.replace(from, to));
  assert.match(await changed("rl: grpo\n", ""), /^f\.yaml:1:13: base_model: without rl: grpo/);
  assert.match(await changed("grpo", "dpo"), /:2:5: axolotl\.rl: dpo is not supported yet/);
  assert.match(
    await changed("{path: d.jsonl}", "{path: d.jsonl, type: mine.transform}"),
    /:3:34: datasets\.0\.type: Python is not run/,
  );
  assert.match(await changed("[{path", "[{path: e.jsonl}, {path"), /2 entries, expected one/);
  assert.match(await changed("{reward", "{async_prefetch: true, reward"), /max_staleness/);
  assert.match(await changed("trl.rewards.acc", "mine.acc"), /rewards\.0: .*--allow-python/);
});
