/**
 * Rules about the keys of section `training`: sizes that must divide each other, options that need
 * or exclude each other, and the parameters of a schedule. Sizes are checked as in TRL 1.16's
 * GRPOConfig, the best checkpoint as in transformers' TrainingArguments.
 */
import { nearest } from "../../core/suggest.ts";
import { microStepsPerGeneration } from "../batch_sizes.ts";
import type { LossType } from "../schema/loss_types.ts";
import { evalMetricNames } from "../schema/metric_names.ts";
import { nearby, RuleContext } from "./rule_context.ts";
import type { SchedulerKwargs, SchedulerType } from "../schema/schedule_types.ts";
import { GENERATION } from "../schema/generation_keys.ts";
import { defaultsOf } from "../types/key_spec.ts";

const inTraining = (name: string) => `training.${name}`;

const BY_LENGTH = "of sequence does not fit a loss that sums the tokens of a sequence: each one " +
  "counts by its length. GSPO's own loss is loss_type grpo";

/** What is wrong with the ratio of whole sequences, by the type of the loss; TRL warns likewise. */
const SEQUENCE_NOTES: Partial<Record<LossType, string>> = {
  bnpo: BY_LENGTH,
  dr_grpo: BY_LENGTH,
  dapo: BY_LENGTH,
  cispo: BY_LENGTH,
  vespo: "of vespo is token: the loss weighs whole sequences by itself",
};

export class TrainingRules extends RuleContext {
  /**
   * @param phases "sft": leaves out the rules about sizes and evaluations, which only GRPO needs
   */
  check(phases: "all" | "sft"): void {
    if (phases === "all") {
      this.#generation();
      this.#evalSizes();
      this.#evaluation();
      this.#best();
    }
    this.#sampling();
    this.#options();
    this.#entropy();
    this.#importance();
    this.#rolloutLogProbs();
    this.#rolloutActivations();
    this.#schedule("training", this.config.training.learning_rate);
    if (this.config.sft !== null) this.#schedule("sft", this.config.sft.learning_rate);
  }

  /** The completions of a generation are a multiple of the micro-step, and whole groups. */
  #generation(): void {
    const names = [
      inTraining("num_generations"),
      inTraining("per_device_train_batch_size"),
      inTraining("gradient_accumulation_steps"),
      inTraining("generation_batch_size"),
      inTraining("steps_per_generation"),
    ] as const;
    if (!this.valid(...names)) return;
    const {
      num_generations: group,
      per_device_train_batch_size: size,
      gradient_accumulation_steps: accumulation,
      generation_batch_size: whole,
      steps_per_generation: steps,
    } = this.config.training;
    if (whole !== null && steps !== null) {
      const text = `${whole} and steps_per_generation ${steps}: expected at most one of them; ` +
        `steps_per_generation ${steps} alone generates ${size * steps} completions at a time`;
      return this.fail(
        text,
        inTraining("generation_batch_size"),
        inTraining("steps_per_generation"),
      );
    }
    if (whole !== null) {
      const right = (value: number) => value % size === 0 && value % group === 0;
      if (right(whole)) return;
      const works = nearby(whole, right);
      const text = `${whole} completions are not whole micro-steps of ` +
        `per_device_train_batch_size ${size} and whole groups of num_generations ${group}` +
        (works.length === 0 ? "" : `; works with ${works.join(" or ")}`);
      return this.fail(text, inTraining("generation_batch_size"));
    }
    const cuts = steps ?? accumulation;
    const cutName = steps === null ? "gradient_accumulation_steps" : "steps_per_generation";
    const batch = size * cuts;
    if (batch % group === 0) return;
    const sizes = nearby(size, (other) => (other * cuts) % group === 0);
    const groups = nearby(group, (other) => other >= 2 && batch % other === 0);
    const works = [
      groups.length > 0 ? `num_generations ${groups.join(" or ")}` : "",
      sizes.length > 0 ? `per_device_train_batch_size ${sizes.join(" or ")}` : "",
    ].filter((part) => part !== "").join(", or ");
    const what = steps === null ? "step" : "generation";
    const text = `${group} does not divide the ${batch} completions of a ${what} ` +
      `(per_device_train_batch_size ${size} × ${cutName} ${cuts})` +
      (works === "" ? "" : `; works with ${works}`);
    this.fail(text, ...names);
  }

  #evaluates(): boolean {
    const { eval_strategy, eval_on_start } = this.config.training;
    return eval_strategy !== "no" || eval_on_start;
  }

  #evalSizes(): void {
    const names = [
      inTraining("num_generations_eval"),
      inTraining("per_device_eval_batch_size"),
      inTraining("num_generations"),
    ] as const;
    if (
      !this.valid(...names, inTraining("eval_strategy"), inTraining("eval_on_start")) ||
      !this.#evaluates()
    ) return;
    const { training } = this.config;
    const group = training.num_generations_eval ?? training.num_generations;
    const size = training.per_device_eval_batch_size;
    if (size % group === 0) return;
    const sizes = nearby(size, (other) => other % group === 0);
    const groups = nearby(group, (other) => size % other === 0);
    const text = `${group} completions of a problem (num_generations_eval, else num_generations) ` +
      `do not divide per_device_eval_batch_size ${size}; works with num_generations_eval ` +
      `${groups.join(" or ")}, or per_device_eval_batch_size ${sizes.join(" or ")}`;
    this.fail(text, ...names);
  }

  #evaluation(): void {
    const names = [inTraining("eval_strategy"), inTraining("eval_on_start")] as const;
    if (!this.valid(...names, inTraining("eval_steps"), "eval")) return;
    const { training, data, eval: evaluation } = this.config;
    const isAsked = evaluation.num_examples > 0 || data.validation_examples !== null;
    if (this.#evaluates() && !isAsked) {
      const name = training.eval_strategy !== "no" ? names[0] : names[1];
      this.fail("needs held-out problems: set eval.num_examples, for example 100", name);
    }
    if (training.eval_steps !== null && training.eval_strategy !== "steps") {
      const text = `has no effect while eval_strategy is ${training.eval_strategy}`;
      this.problems.note(this.at(inTraining("eval_steps")), inTraining("eval_steps"), text);
    }
  }

  #best(): void {
    const names = [
      inTraining("load_best_model_at_end"),
      inTraining("save_strategy"),
      inTraining("eval_strategy"),
      inTraining("save_steps"),
      inTraining("eval_steps"),
      inTraining("logging_steps"),
      inTraining("metric_for_best_model"),
    ] as const;
    if (!this.valid(...names, "rewards", inTraining("beta"))) return;
    const { training } = this.config;
    const { load_best_model_at_end: best, save_strategy: save, eval_strategy: measure } = training;
    const metric = training.metric_for_best_model;
    if (metric !== null) {
      const known = evalMetricNames(this.config);
      const plain = metric.replace(/^eval_/, "");
      // A reward from a file may log any metric. Its names are only known in the run.
      const maybe = this.config.rewards.some(({ file }) => file !== undefined);
      if (!known.includes(plain) && !maybe) {
        const near = nearest(plain, known);
        const hint = near === null ? "" : `, did you mean ${near}?`;
        const text = `no metric of an evaluation is called ${JSON.stringify(metric)}${hint} ` +
          `(known: ${known.join(", ")})`;
        this.fail(text, inTraining("metric_for_best_model"));
      }
    }
    if (save === "best" && measure === "no") {
      const text = "best needs evaluations: set eval_strategy to steps or epoch";
      return this.fail(text, inTraining("save_strategy"));
    }
    if (!best) return;
    if (measure === "no") {
      const text = "needs evaluations: set eval_strategy and save_strategy to steps, or to epoch";
      return this.fail(text, names[0]);
    }
    if (save === "best") return;
    if (save !== measure) {
      const text = `needs a checkpoint for each evaluation: save_strategy ${save} and ` +
        `eval_strategy ${measure} differ; works with save_strategy ${measure} or best`;
      return this.fail(text, names[0]);
    }
    if (save !== "steps") return;
    const every = training.eval_steps ?? training.logging_steps;
    if (isMultiple(training.save_steps, every)) return;
    const works = every < 1 ? [] : nearby(training.save_steps, (other) => other % every === 0);
    const text =
      `needs an evaluation of each checkpoint: save_steps ${training.save_steps} is no ` +
      `multiple of eval_steps ${every}` +
      (works.length === 0 ? "" : `; works with save_steps ${works.join(" or ")}`);
    this.fail(text, names[0]);
  }

  #sampling(): void {
    const { training } = this.config;
    const cut = inTraining("truncate_prompts"), longest = inTraining("max_prompt_length");
    if (this.valid(cut, longest, "model.max_seq_length") && training.truncate_prompts !== null) {
      const limited = training.max_prompt_length !== null ||
        this.node("model.max_seq_length") !== undefined;
      if (!limited) this.fail("needs max_prompt_length, the tokens that are kept", cut);
    }
    const minimum = inTraining("min_new_tokens"), maximum = inTraining("max_completion_length");
    if (this.valid(minimum, maximum) && training.min_new_tokens > training.max_completion_length) {
      const text = `${training.min_new_tokens} exceeds max_completion_length ` +
        `${training.max_completion_length}`;
      this.fail(text, minimum);
    }
  }

  #options(): void {
    const { training, lora } = this.config;
    const sync = inTraining("sync_ref_model");
    if (this.valid(sync, inTraining("beta"), "lora") && training.sync_ref_model) {
      if (training.beta === 0) this.fail("there is no reference model with beta 0", sync);
      if (lora !== null) {
        const text = "the reference of an adapter is the model without it, which can not follow; " +
          "remove lora (~lora) or sync_ref_model";
        this.fail(text, sync);
      }
    }
    const cap = inTraining("epsilon_high");
    if (
      this.valid(inTraining("loss_type"), cap, inTraining("epsilon")) &&
      training.loss_type === "cispo" &&
      (training.epsilon_high ?? training.epsilon) < 1
    ) {
      const text = `of cispo is the cap of the ratio itself: below 1 (here ` +
        `${training.epsilon_high ?? training.epsilon}) it cuts every token; 5.0 is usual`;
      this.problems.note(this.at(cap, inTraining("loss_type")), cap, text);
    }
    const level = inTraining("importance_sampling_level");
    if (
      this.valid(inTraining("loss_type"), level) && training.loss_type === "luspo" &&
      training.importance_sampling_level === "token"
    ) {
      const text = "luspo is meant for sequence";
      this.problems.note(this.at(level, inTraining("loss_type")), level, text);
    }
    if (
      this.valid(inTraining("loss_type"), level) &&
      training.importance_sampling_level === "sequence"
    ) {
      const text = SEQUENCE_NOTES[training.loss_type];
      if (text !== undefined) {
        this.problems.note(this.at(level, inTraining("loss_type")), level, text);
      }
    }
  }

  #entropy(): void {
    const low = inTraining("entropy_coef_min"), high = inTraining("entropy_coef_max");
    if (!this.valid(low, high)) return;
    const { entropy_coef_min: min, entropy_coef_max: max } = this.config.training;
    if (min > max) this.fail(`${min} exceeds entropy_coef_max ${max}`, low, high);
  }

  /** TRL's checks of the bounds of the sampler's ratio. */
  #importance(): void {
    const low = inTraining("vllm_importance_sampling_clip_min");
    const high = inTraining("vllm_importance_sampling_clip_max");
    const how = inTraining("vllm_importance_sampling_mode");
    const on = inTraining("vllm_importance_sampling_correction");
    if (!this.valid(low, high, how, on, inTraining("loss_type"))) return;
    const {
      vllm_importance_sampling_clip_min: min,
      vllm_importance_sampling_clip_max: max,
      vllm_importance_sampling_mode: mode,
    } = this.config.training;
    if (min !== null && max !== null && min >= max) {
      this.fail(`${min} is not below vllm_importance_sampling_clip_max ${max}`, low, high);
    }
    if (!this.config.training.vllm_importance_sampling_correction) return;
    if (min === null && max === null && mode.endsWith("truncate")) {
      const text = `${mode} needs a bound: vllm_importance_sampling_clip_max or …_clip_min`;
      this.fail(text, how, high);
    }
  }

  /** Old log-probabilities are needed when a generation batch is for several steps. */
  #rolloutLogProbs(): void {
    const names = [
      inTraining("use_rollout_log_probs"),
      inTraining("num_iterations"),
      inTraining("steps_per_generation"),
      inTraining("generation_batch_size"),
      inTraining("per_device_train_batch_size"),
      inTraining("gradient_accumulation_steps"),
    ] as const;
    if (!this.valid(...names, "generation.backend")) return;
    const { training, generation } = this.config;
    if (!training.use_rollout_log_probs) return;
    if (generation.backend !== "in_process") {
      const text = "needs generation.backend in_process: what a server has sampled is corrected " +
        "by log-probabilities of the policy (vllm_importance_sampling_correction)";
      return this.fail(text, names[0], "generation.backend");
    }
    const perGeneration = microStepsPerGeneration(training);
    if (training.gradient_accumulation_steps % perGeneration !== 0) return;
    const text = "has no effect: each generation is for one step, which needs no old " +
      "log-probabilities; leave it out, or set num_iterations or steps_per_generation";
    this.fail(text, names[0]);
  }

  /** The activations of sampling are those of the policy without dropout, and of one generation. */
  #rolloutActivations(): void {
    const names = [
      inTraining("use_rollout_activations"),
      inTraining("dynamic_sampling"),
      inTraining("num_iterations"),
      inTraining("steps_per_generation"),
      inTraining("generation_batch_size"),
      inTraining("per_device_train_batch_size"),
      inTraining("gradient_accumulation_steps"),
    ] as const;
    if (!this.valid(...names, "generation.backend", "lora.lora_dropout")) return;
    const { training, generation, lora } = this.config, [name, dynamic] = names;
    if (!training.use_rollout_activations) return;
    if (generation.backend !== "in_process") {
      const text = "needs generation.backend in_process: a server keeps no activations";
      return this.fail(text, name, "generation.backend");
    }
    if ((lora?.lora_dropout ?? 0) > 0) {
      const text = "needs lora.lora_dropout 0: sampling has no dropout, the training pass has";
      return this.fail(text, name, "lora.lora_dropout");
    }
    if (training.dynamic_sampling) {
      const text =
        "and dynamic_sampling exclude each other: that samples several batches for one " +
        "step, and drops most of their groups";
      return this.fail(text, name, dynamic);
    }
    const perGeneration = microStepsPerGeneration(training);
    if (perGeneration % training.gradient_accumulation_steps === 0) return;
    const text = "needs steps of one generation each: steps_per_generation × num_iterations as a " +
      `multiple of gradient_accumulation_steps (${training.gradient_accumulation_steps})`;
    this.fail(text, name);
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

const MIN_RATES = ["min_lr", "min_lr_rate"] as const;

/** The parameters of each schedule. */
const SCHEDULE_PARAMETERS: Record<SchedulerType, readonly (keyof SchedulerKwargs)[]> = {
  linear: [],
  constant: [],
  constant_with_warmup: [],
  cosine: ["num_cycles"],
  cosine_with_restarts: ["num_cycles"],
  cosine_with_min_lr: ["num_cycles", ...MIN_RATES],
  cosine_warmup_with_min_lr: ["num_cycles", "warmup_lr_rate", ...MIN_RATES],
  polynomial: ["power", "lr_end"],
  inverse_sqrt: ["timescale"],
  warmup_stable_decay: [
    ...["num_decay_steps", "num_stable_steps", "warmup_type", "decay_type", "num_cycles"] as const,
    ...["min_lr_ratio", ...MIN_RATES] as const,
  ],
};

/**
 * Two shares of all steps can be compared, and two numbers of steps; a share and a number can not.
 */
function isMultiple(value: number, unit: number): boolean {
  if ((value < 1) !== (unit < 1)) return false;
  const quotient = value / unit;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9 && quotient >= 1 - 1e-9;
}

const BACKEND = "generation.backend", URLS = "generation.base_url";
const TIMEOUT = "generation.server_timeout";
const STALE = "generation.max_staleness";

/** Rules about section `generation`: what sampling on servers needs and excludes. */
export class GenerationRules extends RuleContext {
  check(): void {
    const { generation } = this.config;
    if (!this.valid(BACKEND, URLS, STALE, TIMEOUT, "generation.api_key_env")) return;
    if (generation.backend === "in_process") return this.#unused();
    if (generation.base_url === null || generation.base_url.length === 0) {
      this.fail("openai needs generation.base_url, the address of a server", BACKEND, URLS);
    }
    if (this.valid("lora") && this.config.lora === null) {
      this.fail(
        "openai sends the adapter of the run to the servers: add a section lora (of a model that " +
          "is trained in full, all weights would have to be sent at each step)",
        BACKEND,
      );
    }
    this.#vespo();
    if (generation.max_staleness > 0) this.#staleness();
  }

  /** Keys of servers where there are none. */
  #unused(): void {
    const { base_url, api_key_env, max_staleness, server_timeout } = this.config.generation;
    const needs = "has no effect with generation.backend in_process; set it to openai";
    if (base_url !== null) this.fail(needs, URLS);
    if (api_key_env !== null) this.fail(needs, "generation.api_key_env");
    if (server_timeout !== defaultsOf(GENERATION).server_timeout) this.fail(needs, TIMEOUT);
    if (max_staleness === 0) return;
    this.fail(`${needs}: one process samples and trains in turns`, STALE);
  }

  /** As TRL requires. */
  #vespo(): void {
    const mode = "training.vllm_importance_sampling_mode";
    const on = "training.vllm_importance_sampling_correction";
    if (!this.valid("training.loss_type", mode, on)) return;
    const { training } = this.config;
    if (training.loss_type !== "vespo" || !training.vllm_importance_sampling_correction) return;
    if (training.vllm_importance_sampling_mode.startsWith("token")) return;
    const text = `vespo needs token_truncate or token_mask, found ` +
      training.vllm_importance_sampling_mode;
    this.fail(text, mode, "training.loss_type", BACKEND);
  }

  #staleness(): void {
    const names = [
      "training.per_device_train_batch_size",
      "training.gradient_accumulation_steps",
      "training.generation_batch_size",
      "training.steps_per_generation",
      "training.num_iterations",
    ] as const;
    if (this.valid(...names)) {
      const { training } = this.config;
      if (microStepsPerGeneration(training) !== training.gradient_accumulation_steps) {
        this.fail(
          "counts optimizer steps, so each step must have its own generation: leave out " +
            "num_iterations, steps_per_generation and generation_batch_size",
          STALE,
        );
      }
    }
    const drawn = "training.dynamic_sampling";
    if (this.valid(drawn) && this.config.training.dynamic_sampling) {
      this.fail("excludes dynamic_sampling: which prompts come next depends on rewards", STALE);
    }
    if (this.valid("curriculum") && this.config.curriculum !== null) {
      this.fail("excludes curriculum: the levels of the next prompts depend on scores", STALE);
    }
  }
}
