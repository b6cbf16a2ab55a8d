/** Translates the keys of verl that correspond to several keys of rgx, or depend on others. */
import {
  type ConfigNode,
  describeNode,
  type Json,
  nearness,
  toJson,
} from "../../documents/node.ts";
import type { Translation } from "../translation.ts";
import { MEGATRON_MODULES } from "./verl.ts";

const ACTOR = "actor_rollout_ref.actor", ROLLOUT = "actor_rollout_ref.rollout";

/** Sets the keys of rgx that these keys of verl stand for. */
export function translateVerl(keys: Translation): void {
  translateModules(keys);
  translateBatchSizes(keys);
  translateContents(keys);
  translateData(keys);
  translateFrequency(keys);
  translateReward(keys);
  checkSampling(keys);
  noteUnits(keys);
}

/** Sets and checks the keys that depend on the list of rewards, after the list is complete. */
export function translateVerlRewards(keys: Translation): void {
  translateOverlong(keys);
  checkMetric(keys);
}

function translateModules(keys: Translation): void {
  const lora = "actor_rollout_ref.model.lora", modules = keys.given(`${lora}.target_modules`);
  if (modules === undefined || !(keys.count(`${lora}.rank`) > 0)) return;
  const names = toJson(modules);
  const known = (name: Json): readonly Json[] => MEGATRON_MODULES[String(name)] ?? [name];
  keys.set("lora.target_modules", Array.isArray(names) ? names.flatMap(known) : names, modules);
}

/** Completions of a micro-step, and how many they are if no key says it: rgx's default. */
const PER_DEVICE = "training.per_device_train_batch_size", DEFAULT_MICRO = 8;

/**
 * Translates verl's batch sizes. verl counts the prompts of a generation (train) and of an
 * optimizer step (mini), and the completions of a micro-step (micro). rgx counts completions
 * everywhere.
 */
function translateBatchSizes(keys: Translation): void {
  const group = keys.count("training.num_generations", 8);
  const micro = keys.number(`${ACTOR}.ppo_micro_batch_size_per_gpu`);
  const mini = keys.number(`${ACTOR}.ppo_mini_batch_size`);
  const train = keys.number("data.train_batch_size");
  if (mini !== null) {
    const step = mini.value * group, most = micro?.value ?? byTokens(keys) ?? DEFAULT_MICRO;
    const fitting = divisorUpTo(step, most);
    keys.set(PER_DEVICE, fitting, micro?.node ?? mini.node);
    const written = keys.count(PER_DEVICE, fitting);
    const steps = step % written === 0 ? step / written : 1;
    keys.set("training.gradient_accumulation_steps", steps, mini.node);
  }
  if (train === null) return;
  if (mini !== null && train.value % mini.value !== 0) {
    const text = `a generation of ${train.value} prompts has no whole number of updates: write a ` +
      `multiple of ppo_mini_batch_size, which is ${mini.value}`;
    keys.refuse(train.node, text);
  }
  if (keys.number("training.steps_per_generation") !== null) return;
  keys.set("training.generation_batch_size", train.value * group, train.node);
}

/** The largest divisor of `count` up to `limit`; 1 if `count` cannot be the size of a step. */
function divisorUpTo(count: number, limit: number): number {
  if (!Number.isInteger(count) || count > 1e6) return 1;
  let divisor = Math.min(count, Math.floor(limit));
  while (divisor > 1 && count % divisor !== 0) divisor--;
  return Math.max(1, divisor);
}

/** With use_dynamic_bsz: how many of the longest completions have so many tokens. */
function byTokens(keys: Translation): number | null {
  if (!keys.isTrue(`${ACTOR}.use_dynamic_bsz`)) return null;
  const longest = keys.count("training.max_prompt_length") +
    keys.count("training.max_completion_length");
  if (Number.isNaN(longest)) return null;
  return Math.floor(keys.count(`${ACTOR}.ppo_max_token_len_per_gpu`, 16384) / longest);
}

/** Without the optimizer, a checkpoint is the model alone. */
function translateContents(keys: Translation): void {
  const node = keys.given(`${ACTOR}.checkpoint.save_contents`);
  if (node === undefined) return;
  const known = ["model", "optimizer", "extra", "hf_model"], parts = [toJson(node)].flat();
  if (parts.some((part) => !known.includes(String(part)))) {
    keys.refuse(node, `expected a list of ${known.join(", ")}, found ${describeNode(node)}`);
  } else if (!parts.includes("optimizer")) keys.set("training.save_only_model", true, node);
}

/** Translates the keys of verl's files, of the number of their rows, and of long prompts. */
function translateData(keys: Translation): void {
  translateFiles(keys);
  // In verl, data.seed shuffles the prompts; in rgx, it draws a task's problems.
  const seed = keys.number("data.seed");
  if (keys.node("actor_rollout_ref") !== undefined && seed === null) keys.drop("data.seed");
  if (seed !== null && keys.given("data.train_files") !== undefined) {
    keys.prefer("training.data_seed", seed.value, seed.node);
  }
}

/** A larger number means the same as this one: all rows are held out. */
const ALL = 1_000_000;

/** The file is the data set, unless a task or a data set is named. */
function translateFiles(keys: Translation): void {
  const train = keys.given("data.train_files"), val = keys.given("data.val_files");
  if (train === undefined) return;
  const file = oneFile(train, keys), held = val === undefined ? null : oneFile(val, keys);
  const named = keys.problemKey();
  if (named !== undefined && nearness(train, keys.given(named)!) <= 0) {
    return keys.note(train, `is not read: problems are of ${named}`);
  }
  if (file === null) return;
  keys.set("data.dataset_name", file, train);
  if (val === undefined || held === null) return;
  const wanted = keys.number("data.val_max_samples"),
    isLimited = wanted !== null && wanted.value > 0;
  const isAsked = isLimited || keys.isTrue("trainer.val_before_train") ||
    ["eval.num_examples", "data.test_examples", "trainer.test_freq"]
      .some((path) => keys.count(path) > 0);
  if (!isAsked) return keys.note(val, "is not read: no evaluation is asked for");
  keys.set("data.eval_dataset_name", held, val);
  if (isLimited) keys.prefer("eval.num_examples", wanted.value, wanted.node);
  else keys.fill("eval.num_examples", ALL, val);
}

function oneFile(node: ConfigNode, keys: Translation): string | null {
  const one = node.kind === "list" && node.items.length === 1 ? node.items[0]! : node;
  if (one.kind === "scalar" && typeof one.value === "string") return one.value;
  const text = node.kind === "list"
    ? `${node.items.length} files: join them into one`
    : `expected a file, found ${describeNode(node)}`;
  keys.refuse(node, text);
  // So it is not reported, too, that no data set is named.
  keys.problems.incomplete = true;
  return null;
}

/** verl's validation: how often, where problems are held out. */
function translateFrequency(keys: Translation): void {
  const start = keys.node("trainer.val_before_train"), test = keys.number("trainer.test_freq");
  const isTested = test !== null && test.value > 0;
  const isHeldOut = ["eval.num_examples", "data.test_examples", "data.validation_examples"]
    .some((key) => keys.count(key) > 0);
  if (!isHeldOut) {
    if (!isTested) return;
    return keys.note(test.node, "has no effect without held-out problems: eval.num_examples");
  }
  if (isTested) {
    keys.set("training.eval_steps", test.value, test.node);
    keys.set("training.eval_strategy", "steps", test.node);
  }
  if (start !== undefined && keys.isTrue("trainer.val_before_train")) {
    keys.set("training.eval_on_start", true, start);
  }
}

/** verl's validation: how it samples. top_p and top_k must be those of training. */
function checkSampling(keys: Translation): void {
  const at = (name: string) => `${ROLLOUT}.val_kwargs.${name}`;
  const isGreedy = keys.given(at("do_sample")) !== undefined && !keys.isTrue(at("do_sample"));
  if (isGreedy || keys.count(at("temperature")) === 0) return;
  // `off` is verl's value for none.
  for (const [name, none, off] of [["top_p", 1, 1], ["top_k", 0, -1]] as const) {
    const found = keys.number(at(name));
    const meant = (value: number) => value === off ? none : value;
    const value = meant(keys.count(`training.${name}`, none));
    if (found === null || meant(found.value) === value) continue;
    const text = `must be that of training, which is ${value}, or val_kwargs.temperature 0`;
    keys.refuse(found.node, text);
  }
}

/** Keys that verl counts in generations, and rgx in optimizer steps. */
const COUNTED = ["total_training_steps", "save_freq", "test_freq"].map((name) => `trainer.${name}`)
  .concat(`${ACTOR}.optim.lr_warmup_steps`);

/**
 * Advises what to write if a generation has several optimizer steps: a step of verl is a generation
 * with all of its updates. The numbers themselves are not changed.
 */
function noteUnits(keys: Translation): void {
  const train = keys.count("data.train_batch_size", 0);
  const mini = keys.count(`${ACTOR}.ppo_mini_batch_size`, train);
  const updates = Math.ceil(train / mini) * keys.count("training.num_iterations", 1);
  const first = COUNTED.map((path) => keys.number(path)).find((number) =>
    number && number.value > 0
  );
  if (!(updates > 1) || !first) return;
  const text = "verl counts generations and rgx optimizer steps, of which a generation has " +
    `${updates} here: for as much as in verl, write ${updates} times the number of each count`;
  keys.note(first.node, text);
}

/** The function of a Python file that verl names is the reward. */
function translateReward(keys: Translation): void {
  for (const section of ["custom_reward_function", "reward.custom_reward_function"]) {
    const path = keys.text(`${section}.path`), kwargs = keys.given(`${section}.reward_kwargs`);
    if (path === null) continue;
    const reward = {
      path,
      function: keys.text(`${section}.name`) ?? "compute_score",
      ...(kwargs?.kind === "map" && toJson(kwargs) as Record<string, Json>),
    };
    keys.prefer("rewards", [reward], keys.node(`${section}.path`)!);
  }
}

/** The keys with DAPO's punishment in recipes, and beside them the longest completion. */
const OVERLONG: readonly [buffer: string, longest: string][] = [
  ["reward.reward_kwargs.overlong_buffer_cfg", "reward.reward_kwargs.max_resp_len"],
  ["reward_model.reward_kwargs.overlong_buffer_cfg", "reward_model.reward_kwargs.max_resp_len"],
  ["reward_model.overlong_buffer", ""],
];

/** Adds DAPO's punishment of long completions to the rewards if it is switched on. */
function translateOverlong(keys: Translation): void {
  for (const [buffer, longest] of OVERLONG) {
    const enable = keys.node(`${buffer}.enable`), length = keys.number(`${buffer}.len`);
    if (enable === undefined || !keys.isTrue(`${buffer}.enable`)) continue;
    if (length === null) keys.refuse(enable, `needs ${buffer}.len, a number of tokens`);
    else keys.addOverlong(length.value, `${buffer}.penalty_factor`, enable, longest);
  }
}

/** Groups are compared by all rewards together. With one reward, its metric is the same. */
function checkMetric(keys: Translation): void {
  const path = "algorithm.filter_groups.metric", metric = keys.given(path);
  const rewards = keys.node("rewards");
  if (metric === undefined || !keys.isTrue("training.dynamic_sampling")) return;
  if (["seq_reward", "seq_final_reward", "score"].includes(keys.text(path) ?? "")) return;
  if (rewards?.kind !== "list" || rewards.items.length < 2) return;
  const text = "groups are compared by the sum of their rewards: write seq_final_reward, or have " +
    "one reward";
  keys.refuse(metric, text);
}
