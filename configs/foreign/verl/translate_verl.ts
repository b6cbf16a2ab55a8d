/** Translates the keys of verl that correspond to several keys of rgx, or depend on others. */
import {
  type ConfigNode,
  describeNode,
  type Json,
  nearness,
  toJson,
} from "../../documents/node.ts";
import type { Translation } from "../translation.ts";

const ACTOR = "actor_rollout_ref.actor", ROLLOUT = "actor_rollout_ref.rollout";

/** Sets the keys of rgx that these keys of verl stand for. */
export function translateVerl(translation: Translation): void {
  checkLengths(translation);
  checkFactor(translation);
  translateBatchSizes(translation);
  translateTrainer(translation);
  translateData(translation);
  translateFrequency(translation);
  translateReward(translation);
  translateSampling(translation);
  noteUnits(translation);
}

/** Sets and checks the keys that depend on the list of rewards, after the list is complete. */
export function translateVerlRewards(translation: Translation): void {
  translateOverlong(translation);
  checkMetric(translation);
}

function checkLengths(translation: Translation): void {
  const longest = translation.number(`${ROLLOUT}.max_model_len`);
  const prompt = translation.number("training.max_prompt_length");
  const completion = translation.number("training.max_completion_length");
  if (longest === null || prompt === null || completion === null) return;
  const together = prompt.value + completion.value;
  if (longest.value >= together) return;
  const text = `is less than prompt and completion together, which may have ${together} tokens: ` +
    "make one of them shorter";
  translation.refuse(longest.node, text);
}

/** dr_grpo divides by the longest completion, not by a factor. */
function checkFactor(translation: Translation): void {
  const factor = translation.number(`${ACTOR}.loss_scale_factor`);
  const mode = translation.text(`${ACTOR}.policy_loss.loss_mode`) ?? "vanilla";
  const isDrGrpo = translation.text(`${ACTOR}.loss_agg_mode`) === "seq-mean-token-sum-norm";
  const longest = translation.number("training.max_completion_length")?.value ?? 512;
  if (factor === null || factor.value === longest || mode !== "vanilla" || !isDrGrpo) return;
  const text = `dr_grpo divides by the longest completion: write ${longest} or null`;
  translation.refuse(factor.node, text);
}

const CONTENTS = `${ACTOR}.checkpoint.save_contents`;
const PARTS: readonly Json[] = ["model", "optimizer", "extra", "hf_model"];

function translateTrainer(translation: Translation): void {
  const node = translation.given(CONTENTS);
  if (node === undefined) return;
  const parts = toJson(node);
  if (!Array.isArray(parts) || parts.some((part) => !PARTS.includes(part))) {
    const text = `expected a list of ${PARTS.join(", ")}, found ${describeNode(node)}`;
    return translation.refuse(node, text);
  }
  // Without the optimizer, a checkpoint is the model alone.
  if (!parts.includes("optimizer")) translation.set("training.save_only_model", true, node);
}

/** verl's validation: how often, where problems are held out. */
function translateFrequency(translation: Translation): void {
  const start = translation.node("trainer.val_before_train");
  const test = translation.number("trainer.test_freq"), isTested = test !== null && test.value > 0;
  const keys = ["eval.num_examples", "data.test_examples", "data.validation_examples"];
  const heldOutProblems = Math.max(...keys.map((key) => translation.number(key)?.value ?? 0));
  if (heldOutProblems === 0) {
    if (!isTested) return;
    const text = "has no effect without held-out problems: eval.num_examples";
    return translation.note(test.node, text);
  }
  if (isTested) {
    translation.set("training.eval_steps", test.value, test.node);
    translation.set("training.eval_strategy", "steps", test.node);
  }
  if (start !== undefined && translation.isTrue("trainer.val_before_train")) {
    translation.set("training.eval_on_start", true, start);
  }
}

/** verl's validation: how it samples. top_p and top_k must be those of training. */
function translateSampling(translation: Translation): void {
  const at = (name: string) => `${ROLLOUT}.val_kwargs.${name}`;
  const sampled = translation.given(at("do_sample"));
  const temperature = translation.number(at("temperature"));
  const isGreedy = sampled !== undefined && !translation.isTrue(at("do_sample"));
  if (isGreedy || temperature?.value === 0) return;
  // `off` is verl's value for none.
  for (const [name, none, off] of [["top_p", 1, 1], ["top_k", 0, -1]] as const) {
    const found = translation.number(at(name));
    const meant = (value: number) => value === off ? none : value;
    const value = meant(translation.number(`training.${name}`)?.value ?? none);
    if (found === null || meant(found.value) === value) continue;
    const text = `must be that of training, which is ${value}, or val_kwargs.temperature 0`;
    translation.refuse(found.node, text);
  }
}

/** Keys that verl counts in generations → rgx's key, which counts optimizer steps. */
const COUNTED: readonly [path: string, name: string][] = [
  ["trainer.total_training_steps", "max_steps"],
  ["trainer.save_freq", "save_steps"],
  ["trainer.test_freq", "eval_steps"],
  [`${ACTOR}.optim.lr_warmup_steps`, "warmup_steps"],
];

/**
 * Advises what to write if a generation has several optimizer steps: a step of verl is a generation
 * with all of its updates. The numbers themselves are not changed.
 */
function noteUnits(translation: Translation): void {
  const train = translation.number("data.train_batch_size")?.value ?? 0;
  const mini = translation.number(`${ACTOR}.ppo_mini_batch_size`)?.value ?? train;
  const updates = Math.ceil(train / mini) *
    (translation.number("training.num_iterations")?.value ?? 1);
  if (!(updates > 1)) return;
  const counted = COUNTED.flatMap(([path, name]) => {
    const given = translation.number(path);
    // If rgx's own key is written too, that key wins, and its value counts optimizer steps.
    const isTaken = given !== null && given.value > 0 &&
      translation.number(`training.${name}`)?.node.at === given.node.at;
    return isTaken ? [{ node: given.node, written: `${name}=${given.value * updates}` }] : [];
  });
  if (counted.length === 0) return;
  const text =
    `verl counts generations and rgx optimizer steps, of which a generation has ${updates}` +
    ` here: for as much as in verl, write ${counted.map(({ written }) => written).join(" ")}`;
  translation.note(counted[0]!.node, text);
}

/** The function of a Python file that verl names is the reward. */
function translateReward(translation: Translation): void {
  for (const section of ["custom_reward_function", "reward.custom_reward_function"]) {
    const path = translation.text(`${section}.path`);
    if (path === null) continue;
    const kwargs = translation.given(`${section}.reward_kwargs`);
    const reward = {
      path,
      function: translation.text(`${section}.name`) ?? "compute_score",
      ...(kwargs?.kind === "map" && toJson(kwargs) as Record<string, Json>),
    };
    translation.prefer("rewards", [reward], translation.node(`${section}.path`)!);
  }
}

/** The keys with DAPO's punishment in recipes, and beside them the longest completion. */
const OVERLONG: readonly [buffer: string, longest: string][] = [
  ["reward.reward_kwargs.overlong_buffer_cfg", "reward.reward_kwargs.max_resp_len"],
  ["reward_model.reward_kwargs.overlong_buffer_cfg", "reward_model.reward_kwargs.max_resp_len"],
  ["reward_model.overlong_buffer", ""],
];

/** Adds DAPO's punishment of long completions to the rewards if it is switched on. */
function translateOverlong(translation: Translation): void {
  for (const [buffer, beside] of OVERLONG) {
    const enable = translation.node(`${buffer}.enable`);
    if (enable === undefined || !translation.isTrue(`${buffer}.enable`)) continue;
    const length = translation.number(`${buffer}.len`);
    if (length === null) {
      translation.refuse(enable, `needs ${buffer}.len, a number of tokens`);
      continue;
    }
    translation.addOverlong(length.value, `${buffer}.penalty_factor`, enable, beside);
  }
}

/** Groups are compared by all rewards together. With one reward, its metric is the same. */
function checkMetric(translation: Translation): void {
  const path = "algorithm.filter_groups.metric", metric = translation.given(path);
  const rewards = translation.node("rewards");
  if (metric === undefined || !translation.isTrue("training.dynamic_sampling")) return;
  if (["seq_reward", "seq_final_reward", "score"].includes(translation.text(path) ?? "")) return;
  if (rewards?.kind !== "list" || rewards.items.length < 2) return;
  const names = rewards.items.map((item) => {
    const name = item.kind === "map" ? item.entries.get("name")?.node : item;
    return name?.kind === "scalar" ? name.value : "another";
  });
  const text = `groups are compared by the sum of their rewards (${names.join(" + ")}): write ` +
    "seq_final_reward, or have one reward";
  translation.refuse(metric, text);
}

/** Completions of a micro-step if no key says how many: rgx's default. */
const DEFAULT_MICRO = 8;

/**
 * Translates verl's batch sizes. verl counts the prompts of a generation (train) and of an
 * optimizer step (mini), and the completions of a micro-step (micro). rgx counts completions
 * everywhere.
 */
function translateBatchSizes(translation: Translation): void {
  const group = translation.number("training.num_generations")?.value ?? 8;
  const micro = translation.number(`${ACTOR}.ppo_micro_batch_size_per_gpu`);
  const mini = translation.number(`${ACTOR}.ppo_mini_batch_size`);
  const train = translation.number("data.train_batch_size");
  if (mini !== null) {
    const step = mini.value * group;
    const most = micro?.value ?? byTokens(translation) ?? DEFAULT_MICRO;
    const size = divisorUpTo(step, most);
    translation.set("training.per_device_train_batch_size", size, micro?.node ?? mini.node);
    const written = translation.number("training.per_device_train_batch_size")?.value ?? size;
    const steps = step % written === 0 ? step / written : 1;
    translation.set("training.gradient_accumulation_steps", steps, mini.node);
  }
  if (train !== null && mini !== null) checkUpdates(translation, train, mini);
  if (train !== null && translation.number("training.steps_per_generation") === null) {
    translation.set("training.generation_batch_size", train.value * group, train.node);
  }
}

/** The largest divisor of `count` up to `limit`; 1 if `count` cannot be the size of a step. */
function divisorUpTo(count: number, limit: number): number {
  if (!Number.isInteger(count) || count < 1 || count > 1e9) return 1;
  let largest = 1;
  for (let one = 1; one * one <= count; one++) {
    if (count % one !== 0) continue;
    for (const divisor of [one, count / one]) {
      if (divisor <= limit && divisor > largest) largest = divisor;
    }
  }
  return largest;
}

/** @param train the prompts of a generation, of which an update takes `mini` */
function checkUpdates(
  translation: Translation,
  train: { value: number; node: ConfigNode },
  mini: { value: number; node: ConfigNode },
): void {
  if (train.value % mini.value === 0) return;
  const below = mini.value * Math.floor(train.value / mini.value);
  const fitting = below === 0 ? `${mini.value}` : `${below} or ${below + mini.value}`;
  const text = `a generation of ${train.value} prompts has no whole number of updates of ` +
    `ppo_mini_batch_size ${mini.value}; works with ${fitting}`;
  translation.refuse(train.node, text);
}

/** With use_dynamic_bsz: how many of the longest completions have so many tokens. */
function byTokens(translation: Translation): number | null {
  const prompt = translation.number("training.max_prompt_length")?.value;
  const completion = translation.number("training.max_completion_length")?.value;
  if (!translation.isTrue(`${ACTOR}.use_dynamic_bsz`)) return null;
  if (prompt === undefined || completion === undefined) return null;
  const tokens = translation.number(`${ACTOR}.ppo_max_token_len_per_gpu`)?.value ?? 16384;
  return Math.floor(tokens / (prompt + completion));
}

/** Translates the keys of verl's files, of the number of their rows, and of long prompts. */
function translateData(translation: Translation): void {
  translateFiles(translation);
  // In verl, data.seed shuffles the prompts; in rgx, it draws a task's problems.
  const seed = translation.number("data.seed");
  if (translation.node("actor_rollout_ref") !== undefined && seed === null) {
    translation.drop("data.seed");
  }
  if (seed !== null && translation.given("data.train_files") !== undefined) {
    translation.prefer("training.data_seed", seed.value, seed.node);
  }
}

/** The file is the data set, unless a task or a data set is named. */
function translateFiles(translation: Translation): void {
  const train = translation.given("data.train_files"), val = translation.given("data.val_files");
  if (train === undefined) return;
  const file = oneFile(train, translation);
  const held = val === undefined ? null : oneFile(val, translation);
  const named = ["tasks", "task_name", "dataset_name"].map((name) => `data.${name}`)
    .find((path) => translation.given(path) !== undefined);
  if (named !== undefined && nearness(train, translation.given(named)!) <= 0) {
    return translation.note(train, `is not read: problems are of ${named}`);
  }
  if (file === null) return;
  translation.set("data.dataset_name", file, train);
  if (val === undefined || held === null) return;
  const wanted = translation.number("data.val_max_samples");
  const isLimited = wanted !== null && wanted.value > 0;
  const isAsked = ["eval.num_examples", "data.test_examples"]
    .some((path) => (translation.number(path)?.value ?? 0) > 0);
  if (!isLimited && !isAsked && !isEvaluated(translation)) {
    return translation.note(val, "is not read: no evaluation is asked for");
  }
  translation.set("data.eval_dataset_name", held, val);
  if (isLimited) translation.prefer("eval.num_examples", wanted.value, wanted.node);
  else translation.fill("eval.num_examples", ALL, val);
}

/** A larger number means the same as this one: all rows are held out. */
const ALL = 1_000_000;

function isEvaluated(translation: Translation): boolean {
  return (translation.number("trainer.test_freq")?.value ?? 0) > 0 ||
    translation.isTrue("trainer.val_before_train");
}

function oneFile(node: ConfigNode, translation: Translation): string | null {
  const one = node.kind === "list" && node.items.length === 1 ? node.items[0]! : node;
  if (one.kind === "scalar" && typeof one.value === "string") return one.value;
  const text = node.kind === "list"
    ? `${node.items.length} files: join them into one`
    : `expected a file, found ${describeNode(node)}`;
  translation.refuse(node, text);
  // So it is not reported, too, that no data set is named.
  translation.problems.incomplete = true;
  return null;
}
