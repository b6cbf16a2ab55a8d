/**
 * Rules about the keys of section `training`: sizes that must divide each other, options that need
 * or exclude each other, and the parameters of a schedule. Sizes are checked as in TRL 1.16's
 * GRPOConfig, the best checkpoint as in transformers' TrainingArguments.
 */
import { didYouMean } from "../../core/suggest.ts";
import { microStepsPerGeneration } from "../batch_sizes.ts";
import type { LossType } from "../schema/loss_types.ts";
import { evalMetricNames } from "../schema/metric_names.ts";
import { nearby, RuleContext } from "./rule_context.ts";
import { SCHEDULE_PARAMETERS, type SchedulerKwargs } from "../schema/schedule_types.ts";
import { GENERATION } from "../schema/sampling_keys.ts";
import { defaultsOf } from "../types/key_spec.ts";

const BY_LENGTH = "of sequence does not fit a loss that sums the tokens of a sequence: each one " +
  "counts by its length. GSPO's own loss is loss_type grpo";

/** The warning about the ratio of whole sequences, by the type of the loss. TRL warns likewise. */
const SEQUENCE_NOTES: Partial<Record<LossType, string>> = {
  bnpo: BY_LENGTH,
  dr_grpo: BY_LENGTH,
  dapo: BY_LENGTH,
  cispo: BY_LENGTH,
  vespo: "of vespo is token: the loss weighs whole sequences by itself",
};

/** The keys that say how many completions a generation has, and how it is cut. */
const CUTS = "per_device_train_batch_size gradient_accumulation_steps generation_batch_size " +
  "steps_per_generation";

const worksWith = (works: readonly (string | number)[], before = "", or = " or ") =>
  works.length === 0 ? "" : `; works with ${before}${works.join(or)}`;

export class TrainingRules extends RuleContext {
  /**
   * @param phases "sft": leaves out the rules about sizes and evaluations, which only GRPO needs
   */
  check(phases: "all" | "sft"): void {
    if (phases === "all") {
      this.#generation();
      this.#evaluation();
      this.#best();
    }
    this.#options();
    this.#loss();
    this.#advantages();
    this.#rollouts();
    this.#schedule("training", this.config.training.learning_rate);
    if (this.config.sft !== null) this.#schedule("sft", this.config.sft.learning_rate);
  }

  /** The completions of a generation are a multiple of the micro-step, and whole groups. */
  #generation(): void {
    const {
      num_generations: group,
      per_device_train_batch_size: size,
      gradient_accumulation_steps: accumulation,
      generation_batch_size: whole,
      steps_per_generation: steps,
    } = this.config.training;
    const all = `num_generations ${CUTS}`;
    this.rule(
      `generation_batch_size steps_per_generation | ${all}`,
      () =>
        whole !== null && steps !== null &&
        `${whole} and steps_per_generation ${steps}: expected at most one of them; ` +
          `steps_per_generation ${steps} alone generates ${size * steps} completions at a time`,
    );
    this.rule(`generation_batch_size | ${all}`, () => {
      const right = (value: number) => value % size === 0 && value % group === 0;
      return whole !== null && steps === null && !right(whole) &&
        `${whole} completions are not whole micro-steps of per_device_train_batch_size ${size} ` +
          `and whole groups of num_generations ${group}${worksWith(nearby(whole, right))}`;
    });
    this.rule(all, () => {
      const cuts = steps ?? accumulation, batch = size * cuts;
      if (whole !== null || batch % group === 0) return null;
      const sizes = nearby(size, (other) => (other * cuts) % group === 0);
      const groups = nearby(group, (other) => other >= 2 && batch % other === 0);
      const works = [
        groups.length > 0 ? `num_generations ${groups.join(" or ")}` : "",
        sizes.length > 0 ? `per_device_train_batch_size ${sizes.join(" or ")}` : "",
      ].filter((part) => part !== "");
      const [what, cutName] = steps === null
        ? ["step", "gradient_accumulation_steps"]
        : ["generation", "steps_per_generation"];
      return `${group} does not divide the ${batch} completions of a ${what} ` +
        `(per_device_train_batch_size ${size} × ${cutName} ${cuts})${
          worksWith(works, "", ", or ")
        }`;
    });
  }

  #evaluation(): void {
    const { training, data, eval: evaluation } = this.config;
    const isAsked = training.eval_strategy !== "no" || training.eval_on_start;
    this.rule(
      "num_generations_eval per_device_eval_batch_size num_generations | eval_strategy eval_on_start",
      () => {
        const group = training.num_generations_eval ?? training.num_generations;
        const size = training.per_device_eval_batch_size;
        if (!isAsked || size % group === 0) return null;
        const sizes = nearby(size, (other) => other % group === 0);
        const groups = nearby(group, (other) => size % other === 0);
        return `${group} completions of a problem (num_generations_eval, else num_generations) ` +
          `do not divide per_device_eval_batch_size ${size}` +
          worksWith(groups, "num_generations_eval ") +
          `, or per_device_eval_batch_size ${sizes.join(" or ")}`;
      },
    );
    const key = training.eval_strategy !== "no" ? "eval_strategy" : "eval_on_start";
    this.rule(
      `${key} | eval_strategy eval_on_start eval_steps eval`,
      () =>
        isAsked && evaluation.num_examples === 0 && data.validation_examples === null &&
        "needs held-out problems: set eval.num_examples, for example 100",
    );
    this.noteRule(
      "eval_steps | eval_strategy eval_on_start eval",
      () =>
        training.eval_steps !== null && training.eval_strategy !== "steps" &&
        `has no effect while eval_strategy is ${training.eval_strategy}`,
    );
  }

  #best(): void {
    const { training, rewards } = this.config;
    const { load_best_model_at_end: best, save_strategy: save, eval_strategy: measure } = training;
    const all = "load_best_model_at_end save_strategy eval_strategy save_steps eval_steps " +
      "logging_steps metric_for_best_model rewards beta";
    this.rule(`metric_for_best_model | ${all}`, () => {
      const metric = training.metric_for_best_model;
      if (metric === null) return null;
      const known = evalMetricNames(this.config), plain = metric.replace(/^eval_/, "");
      // A reward from a file may log any metric. Its names are only known in the run.
      if (known.includes(plain) || rewards.some(({ file }) => file !== undefined)) return null;
      return `no metric of an evaluation is called ${JSON.stringify(metric)}` +
        `${didYouMean(plain, known)} ` +
        `(known: ${known.join(", ")})`;
    });
    this.rule(`save_strategy | ${all}`, () =>
      save === "best" && measure === "no" &&
      "best needs evaluations: set eval_strategy to steps or epoch");
    this.rule(`load_best_model_at_end | ${all}`, () => {
      if (!best || save === "best") return null;
      if (measure === "no") {
        return "needs evaluations: set eval_strategy and save_strategy to steps, or to epoch";
      }
      if (save !== measure) {
        return `needs a checkpoint for each evaluation: save_strategy ${save} and ` +
          `eval_strategy ${measure} differ; works with save_strategy ${measure} or best`;
      }
      const every = training.eval_steps ?? training.logging_steps;
      if (save !== "steps" || isMultiple(training.save_steps, every)) return null;
      const works = every < 1 ? [] : nearby(training.save_steps, (other) => other % every === 0);
      return `needs an evaluation of each checkpoint: save_steps ${training.save_steps} is no ` +
        `multiple of eval_steps ${every}${worksWith(works, "save_steps ")}`;
    });
  }

  #options(): void {
    const { training, lora } = this.config;
    this.rule(
      "truncate_prompts | max_prompt_length model.max_seq_length",
      () =>
        training.truncate_prompts !== null && training.max_prompt_length === null &&
        this.node("model.max_seq_length") === undefined &&
        "needs max_prompt_length, the tokens that are kept",
    );
    this.rule(
      "min_new_tokens | max_completion_length",
      () =>
        training.min_new_tokens > training.max_completion_length &&
        `${training.min_new_tokens} exceeds max_completion_length ` +
          `${training.max_completion_length}`,
    );
    this.rule(
      "sync_ref_model | beta lora",
      () =>
        training.sync_ref_model && training.beta === 0 && "there is no reference model with beta 0",
    );
    this.rule("sync_ref_model | beta lora", () =>
      training.sync_ref_model && lora !== null &&
      "the reference of an adapter is the model without it, which can not follow; " +
        "remove lora (~lora) or sync_ref_model");
    this.rule(
      "entropy_coef_min entropy_coef_max",
      () =>
        training.entropy_coef_min > training.entropy_coef_max &&
        `${training.entropy_coef_min} exceeds entropy_coef_max ${training.entropy_coef_max}`,
    );
  }

  #loss(): void {
    const { training } = this.config, { loss_type: loss, importance_sampling_level } = training;
    this.noteRule("epsilon_high loss_type | epsilon", () => {
      const cap = training.epsilon_high ?? training.epsilon;
      return loss === "cispo" && cap < 1 &&
        `of cispo is the cap of the ratio itself: below 1 (here ${cap}) it cuts every token; ` +
          "5.0 is usual";
    });
    this.noteRule(
      "importance_sampling_level loss_type",
      () =>
        importance_sampling_level === "sequence"
          ? SEQUENCE_NOTES[loss]
          : loss === "luspo" && "luspo is meant for sequence",
    );
    // TRL's checks of the bounds of the sampler's ratio.
    const {
      vllm_importance_sampling_clip_min: min,
      vllm_importance_sampling_clip_max: max,
      vllm_importance_sampling_mode: mode,
    } = training;
    const ofRatio = "vllm_importance_sampling_clip_max vllm_importance_sampling_mode " +
      "vllm_importance_sampling_correction vllm_importance_sampling_clip_min loss_type";
    this.rule(
      `vllm_importance_sampling_clip_min vllm_importance_sampling_clip_max | ${ofRatio}`,
      () =>
        min !== null && max !== null && min >= max &&
        `${min} is not below vllm_importance_sampling_clip_max ${max}`,
    );
    this.rule(
      `vllm_importance_sampling_mode vllm_importance_sampling_clip_max | ${ofRatio}`,
      () =>
        training.vllm_importance_sampling_correction && min === null && max === null &&
        mode.endsWith("truncate") &&
        `${mode} needs a bound: vllm_importance_sampling_clip_max or …_clip_min`,
    );
  }

  /** The keys that an estimator of advantages needs and excludes. */
  #advantages(): void {
    const { training, generation } = this.config, name = training.advantage_estimator;
    if (name === "grpo") return;
    this.noteRule(
      "scale_rewards advantage_estimator",
      () => training.scale_rewards !== "group" && `has no effect with advantage_estimator ${name}`,
    );
    this.rule(
      "advantage_estimator | multi_objective_aggregation",
      () =>
        training.multi_objective_aggregation !== "sum_then_normalize" &&
        `${name} compares sums of rewards: it excludes multi_objective_aggregation ` +
          training.multi_objective_aggregation,
    );
    this.rule(
      "advantage_estimator | generation.backend use_rollout_activations",
      () =>
        name === "remax" &&
        (generation.backend !== "in_process"
          ? "remax needs generation.backend in_process, for the greedy completions"
          : training.use_rollout_activations &&
            "remax excludes use_rollout_activations: greedy completions take their place"),
    );
  }

  /** Values that sampling stores for the training pass. */
  #rollouts(): void {
    const { training, generation, lora } = this.config;
    const isServer = generation.backend !== "in_process";
    const each = training.gradient_accumulation_steps;
    const all = `num_iterations ${CUTS} generation.backend`;
    // Old log-probabilities are needed if one generation batch serves several steps.
    this.rule(
      `use_rollout_log_probs generation.backend | ${all}`,
      () =>
        training.use_rollout_log_probs && isServer &&
        "needs generation.backend in_process: what a server has sampled is corrected by " +
          "log-probabilities of the policy (vllm_importance_sampling_correction)",
    );
    this.rule(`use_rollout_log_probs | ${all}`, () =>
      training.use_rollout_log_probs && !isServer &&
      each % microStepsPerGeneration(training) === 0 &&
      "has no effect: each generation is for one step, which needs no old log-probabilities; " +
        "leave it out, or set num_iterations or steps_per_generation");
    if (!training.use_rollout_activations) return;
    // Sampling stores activations without dropout, and only of one generation.
    const wrong = ([
      [
        "generation.backend",
        isServer,
        "needs generation.backend in_process: a server keeps no " +
        "activations",
      ],
      [
        "lora.lora_dropout",
        (lora?.lora_dropout ?? 0) > 0,
        "needs lora.lora_dropout 0: sampling " +
        "has no dropout, the training pass has",
      ],
      [
        "dynamic_sampling",
        training.dynamic_sampling,
        "and dynamic_sampling exclude each other: " +
        "that samples several batches for one step, and drops most of their groups",
      ],
      [
        "",
        microStepsPerGeneration(training) % each !== 0,
        "needs steps of one generation each: " +
        "steps_per_generation × num_iterations as a multiple of gradient_accumulation_steps " +
        `(${each})`,
      ],
    ] as const).find(([, isWrong]) => isWrong);
    if (wrong === undefined) return;
    const [other, , text] = wrong;
    this.rule(
      `use_rollout_activations ${other}`.trim() + ` | ${all} dynamic_sampling lora.lora_dropout`,
      () => text,
    );
  }

  #schedule(section: "training" | "sft", rate: number): void {
    const kwargs = `${section}.lr_scheduler_kwargs`, type = `${section}.lr_scheduler_type`;
    if (!this.valid(kwargs, type, `${section}.learning_rate`)) return;
    const { lr_scheduler_type: schedule, lr_scheduler_kwargs: given } = this.config[section]!;
    const taken = SCHEDULE_PARAMETERS[schedule];
    for (const name of Object.keys(given) as (keyof SchedulerKwargs)[]) {
      if (taken.includes(name)) continue;
      const has = taken.length === 0 ? "it has none" : `it has ${taken.join(", ")}`;
      this.fail(`no parameter of ${schedule} (${has})`, `${kwargs}.${name}`);
    }
    const lowest = (["min_lr", "min_lr_rate", "min_lr_ratio"] as const)
      .filter((name) => given[name] !== undefined);
    if (lowest.length > 1) this.fail(`${lowest.join(" and ")}: expected one of them`, kwargs);
    if (schedule.endsWith("with_min_lr") && lowest.length === 0) {
      const text = `${schedule} needs its lowest rate: ` +
        "lr_scheduler_kwargs: {min_lr_rate: 0.1} or {min_lr: 1e-7}";
      this.fail(text, kwargs, type);
    }
    if (schedule === "warmup_stable_decay" && given.num_decay_steps === undefined) {
      this.fail(`${schedule} needs lr_scheduler_kwargs: {num_decay_steps: 100}`, kwargs, type);
    }
    const end = schedule === "polynomial" ? given.lr_end ?? 1e-7 : given.min_lr;
    if (end === undefined || (end <= rate && rate > 0)) return;
    const name = schedule === "polynomial" ? "lr_end" : "min_lr";
    this.fail(`${end} exceeds learning_rate ${rate}`, `${kwargs}.${name}`, type);
  }
}

/**
 * Two shares of all steps can be compared, and two numbers of steps; a share and a number can not.
 */
function isMultiple(value: number, unit: number): boolean {
  if ((value < 1) !== (unit < 1)) return false;
  const quotient = value / unit;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9 && quotient >= 1 - 1e-9;
}

/** The keys of section `generation`, which all of its rules read. */
const OF_GENERATION = "generation.backend generation.base_url generation.api_key_env " +
  "generation.server_timeout generation.max_staleness generation.activations " +
  "generation.kv_cache_dtype";

/** Keys that round what the training pass does not. */
const ROUNDING = ["activations", "kv_cache_dtype"] as const;

/** Rules about section `generation`: what sampling on servers needs and excludes. */
export class GenerationRules extends RuleContext {
  check(): void {
    const { backend, base_url, max_staleness } = this.config.generation;
    if (!this.valid(...OF_GENERATION.split(" "))) return;
    if (backend === "in_process") return this.#inProcess();
    const key = "generation.backend";
    for (const name of ROUNDING) {
      if (this.config.generation[name] === "float32") continue;
      this.fail("needs generation.backend in_process: a server chooses", `generation.${name}`);
    }
    if ((base_url ?? []).length === 0) {
      this.fail("openai needs generation.base_url, the address of a server", key);
    }
    if (this.valid("lora") && this.config.lora === null) {
      this.fail(
        "openai sends the adapter of the run to the servers: add a section lora (of a model that " +
          "is trained in full, all weights would have to be sent at each step)",
        key,
      );
    }
    this.#vespo();
    if (max_staleness > 0) this.#staleness();
  }

  /** The keys of servers have no effect where the process itself samples. */
  #inProcess(): void {
    this.#rounding();
    const { base_url, api_key_env, max_staleness, server_timeout } = this.config.generation;
    const written = {
      base_url: base_url !== null,
      api_key_env: api_key_env !== null,
      server_timeout: server_timeout !== defaultsOf(GENERATION).server_timeout,
      max_staleness: max_staleness !== 0,
    };
    const needs = "has no effect with generation.backend in_process; set it to openai";
    for (const [name, isWritten] of Object.entries(written)) {
      const why = name === "max_staleness" ? ": one process samples and trains in turns" : "";
      if (isWritten) this.fail(needs + why, `generation.${name}`);
    }
  }

  /** What sampling with rounded activations, or rounded keys and values, excludes. */
  #rounding(): void {
    const { training, generation, lora } = this.config;
    this.rule(
      "generation.activations lora",
      () =>
        generation.activations === "int8" && lora === null &&
        "int8 needs a lora section: full training holds its weights as floats, which are not rounded",
    );
    for (const name of ROUNDING) {
      const value = generation[name], key = `generation.${name}`;
      if (value === "float32") continue;
      this.rule(`${key} use_rollout_activations`, () =>
        training.use_rollout_activations &&
        `${value} excludes use_rollout_activations: the training pass is not rounded`);
      this.rule(`${key} use_rollout_log_probs`, () =>
        training.use_rollout_log_probs &&
        `${value} excludes use_rollout_log_probs: the loss needs those of the policy itself`);
    }
  }

  /** TRL requires the same. */
  #vespo(): void {
    const { loss_type, ...training } = this.config.training;
    const mode = training.vllm_importance_sampling_mode;
    this.rule(
      "vllm_importance_sampling_mode loss_type | vllm_importance_sampling_correction",
      () =>
        loss_type === "vespo" && training.vllm_importance_sampling_correction &&
        !mode.startsWith("token") && `vespo needs token_truncate or token_mask, found ${mode}`,
    );
  }

  /** Options that exclude samples of older weights. */
  #staleness(): void {
    const { training, curriculum } = this.config;
    const key = `generation.max_staleness | ${OF_GENERATION}`;
    this.rule(
      `${key} num_iterations ${CUTS}`,
      () =>
        microStepsPerGeneration(training) !== training.gradient_accumulation_steps &&
        "counts optimizer steps, so each step must have its own generation: leave out " +
          "num_iterations, steps_per_generation and generation_batch_size",
    );
    this.rule(
      `${key} dynamic_sampling`,
      () =>
        training.dynamic_sampling &&
        "excludes dynamic_sampling: which prompts come next depends on rewards",
    );
    this.rule(
      `${key} curriculum`,
      () =>
        curriculum !== null &&
        "excludes curriculum: the levels of the next prompts depend on scores",
    );
  }
}
