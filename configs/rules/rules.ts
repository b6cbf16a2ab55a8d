/**
 * Rules about several keys: sources that exclude each other, and sizes that must fit. The rules
 * about the problems and about section `training` are in files of their own. A rule is checked only
 * if every key that it reads has a valid value.
 */
import { messageOf } from "../../core/errors.ts";
import { checkRepositoryName } from "../../hub/repository.ts";
import { hasEnvironments } from "../../rewards/environments/open_environments.ts";
import { DataRules } from "./data_rules.ts";
import type { MapNode, Problems } from "../documents/node.ts";
import { GenerationRules } from "./training_rules.ts";
import { SplitRules } from "./data_rules.ts";
import { TrainingRules } from "./training_rules.ts";
import { RuleContext } from "./rule_context.ts";
import { MULTI_TURN } from "../schema/multi_turn_keys.ts";
import { defaultsOf } from "../types/key_spec.ts";
import type { RunConfig } from "../schema/run_config.ts";
import type { ModelInit } from "../schema/run_config.ts";

export function checkRules(
  config: RunConfig,
  maxSeqLength: number | null,
  tree: MapNode,
  problems: Problems,
  phases: "all" | "sft",
): void {
  const rules = new Rules(config, tree, problems);
  rules.model();
  new DataRules(config, tree, problems).check();
  new SplitRules(config, tree, problems).check();
  if (phases === "all") rules.rewards();
  rules.preferences();
  rules.teacher();
  rules.environments();
  rules.lengths(maxSeqLength);
  rules.uploads();
  new TrainingRules(config, tree, problems).check(phases);
  if (phases === "all") new GenerationRules(config, tree, problems).check();
}

class Rules extends RuleContext {
  /** The repository has a name that the Hub takes, and only one key asks for an upload. */
  uploads(): void {
    const { hf_upload: section, training } = this.config;
    if (section !== null && this.valid("hf_upload.repo_id")) {
      const key = "hf_upload.repo_id";
      if (section.repo_id === null) this.fail("missing: name the repository, USER/NAME", key);
      else this.#repository(key, section.repo_id);
      if (this.valid("training.push_to_hub") && training.push_to_hub) {
        const text = "push_to_hub and hf_upload both upload the model: use one of them";
        this.fail(text, "training.push_to_hub");
      }
    }
    if (!this.valid("training.hub_model_id") || training.hub_model_id === null) return;
    this.#repository("training.hub_model_id", training.hub_model_id);
  }

  #repository(key: string, name: string): void {
    try {
      checkRepositoryName(name);
    } catch (error) {
      this.fail(messageOf(error), key);
    }
  }

  model(): void {
    const { model: { init, model_name_or_path: named, ...model }, lora } = this.config;
    const name = "model.model_name_or_path";
    if (!this.valid("model")) return;
    if (init === null && named === null) {
      this.missing(name, "missing: name a model folder, or make a model with model.init");
    }
    this.#storage();
    this.#ropeScaling();
    if (init === null) return;
    this.rule(`${name} | model`, () =>
      named !== null &&
      "a model is either loaded (model_name_or_path) or made (model.init), not both");
    if (named === null) {
      this.rule(
        "model.tokenizer_name_or_path | model",
        () =>
          model.tokenizer_name_or_path !== null &&
          "a model made with model.init has the tokenizer of model.init.tokenizer",
      );
      this.#init(init);
    }
    this.rule(
      "model.adapter_name_or_path",
      () =>
        model.adapter_name_or_path !== null && "a model made with model.init has no saved adapter",
    );
    this.rule("lora", () =>
      lora !== null &&
      "an adapter is useless without its base model, and model.init makes one that is saved " +
        "nowhere; remove lora (~lora, or enabled: false in it) to train all of the model");
  }

  /** The scaling must be in the files of the result, or other readers compute something else. */
  #ropeScaling(): void {
    const { model: { rope_scaling: scaling, init }, lora } = this.config;
    const key = "model.rope_scaling";
    if (scaling === null || !this.valid(key, "lora")) return;
    if (init !== null) this.fail("a model made with model.init has no RoPE scaling", key);
    if (lora !== null) {
      this.fail(
        "the files of an adapter do not say how its base is scaled; write rope_scaling into the " +
          "config.json of a copy of the base's folder (its other files may be links), and name " +
          "that folder in model_name_or_path",
        key,
      );
    }
  }

  /** Trained weights are stored in float32. */
  #storage(): void {
    const { model: { load_in_4bit, load_in_8bit, dtype }, lora } = this.config;
    const four = "model.load_in_4bit", eight = "model.load_in_8bit";
    if (load_in_4bit && load_in_8bit) {
      this.fail("load_in_8bit is set as well: one of them", four, eight);
    }
    this.rule(
      "bf16_rounding | lora model.dtype",
      () =>
        this.config.training.bf16_rounding !== null && (lora !== null || dtype !== "bfloat16") &&
        "only weights that are trained in bfloat16 are rounded: " +
          (lora === null ? "set model.dtype: bfloat16" : "an adapter is trained in float32"),
    );
    if (lora !== null || !this.valid("lora")) return;
    const trained = "full fine-tuning trains every weight, in float32 or bfloat16";
    if (load_in_4bit || load_in_8bit) {
      const key = load_in_4bit ? four : eight;
      this.fail(`${trained}; add a lora section to train an adapter on quantised weights`, key);
    } else if (dtype === "float16") {
      this.problems.note(this.at("model.dtype"), "model.dtype", `has no effect: ${trained}`);
    }
  }

  #init(init: ModelInit): void {
    const fail = (key: string, text: string) => this.fail(text, `model.init.${key}`, "model.init");
    const { hidden_size: width, num_attention_heads: heads, num_key_value_heads: kv } = init;
    if (width % heads !== 0 || (width / heads) % 2 !== 0) {
      const text =
        `the width of a head, hidden_size / num_attention_heads = ${width} / ${heads}, ` +
        "must be an even integer";
      fail("hidden_size", text);
    }
    if (heads % kv !== 0) {
      const text = `${kv} key and value heads do not divide ${heads} num_attention_heads`;
      fail("num_key_value_heads", text);
    }
    const { alphabet, special_tokens: special } = init.tokenizer;
    const characters = [...alphabet];
    const twice = characters.find((character, i) => characters.indexOf(character) < i);
    if (characters.length === 0) fail("tokenizer.alphabet", "expected at least one character");
    if (twice !== undefined) fail("tokenizer.alphabet", `${JSON.stringify(twice)} is there twice`);
    for (const needed of ["<eos>", "<unk>"]) {
      if (!special.includes(needed)) fail("tokenizer.special_tokens", `${needed} is missing`);
    }
    const repeated = special.find((token, i) => special.indexOf(token) < i);
    if (repeated !== undefined) {
      fail("tokenizer.special_tokens", `${JSON.stringify(repeated)} is there twice`);
    }
    const short = special.find((token) => [...token].length < 2);
    if (short !== undefined) {
      const text = `${JSON.stringify(short)} is too short, expected two characters or more`;
      fail("tokenizer.special_tokens", text);
    }
  }

  /** What the loss of preferences does not read. */
  preferences(): void {
    const { dpo } = this.config, key = "dpo.label_smoothing";
    if (dpo === null || !this.valid("dpo.loss_type", key)) return;
    if (dpo.label_smoothing === 0 || dpo.loss_type === "robust") return;
    this.fail(`has no effect with loss_type ${dpo.loss_type}: robust reads it`, key);
  }

  /** What a teacher is, and what can be compared with it. */
  teacher(): void {
    const { teacher, data, training } = this.config;
    if (teacher === null || !this.valid("teacher")) return;
    const { model_name_or_path: name, adapter_name_or_path: adapter, base_url, top_k } = teacher;
    const { teacher_prompt_template: template, api_key_env } = teacher;
    if (adapter !== null && (name === null || base_url !== null)) {
      const text = base_url === null
        ? "needs teacher.model_name_or_path, the model that the adapter is on"
        : "has no effect with base_url: the server has the adapter under the name that " +
          "model_name_or_path gives";
      this.fail(text, "teacher.adapter_name_or_path");
    }
    if (api_key_env !== null && base_url === null) {
      this.fail("has no effect without teacher.base_url", "teacher.api_key_env");
    }
    if (name === null && base_url === null && template === null && data.dataset_name === null) {
      const text = "missing: without a model the policy is its own teacher, which needs another " +
        "prompt (teacher_prompt_template)";
      this.fail(text, "teacher.model_name_or_path");
    }
    if (top_k !== null && top_k > 1 && teacher.beta > 0) {
      const text = `found ${top_k}, expected 1 with beta ${teacher.beta}: several of the ` +
        "teacher's tokens are compared by the forward KL alone (beta 0)";
      this.fail(text, "teacher.top_k");
    }
    if (base_url !== null && this.valid("training") && training.temperature !== 1) {
      const text = `found ${training.temperature}, expected 1 with teacher.base_url: a server ` +
        "gives log-probabilities at temperature 1";
      this.fail(text, "training.temperature");
    }
    if (template !== null && this.#hasDialogues) {
      const text = "has no effect in dialogues: their prompts come from the environment";
      this.fail(text, "teacher.teacher_prompt_template");
    }
  }

  rewards(): void {
    const { rewards, teacher } = this.config;
    if (!this.valid("rewards", "teacher") || rewards.length > 0 || teacher !== null) return;
    const text = "missing: expected at least one reward, for example [{name: correctness}]";
    if (this.node("rewards") === undefined) this.missing("rewards", text);
    else this.fail(text, "rewards");
  }

  /** Whether there are environments or tools. A list of tools that is not valid has none. */
  get #hasDialogues(): boolean {
    return hasEnvironments({ ...this.config, tools: this.config.tools ?? [] });
  }

  /** Environments come from one key, and have what they need. */
  environments(): void {
    const { environment, environments, data, training, generation, multi_turn } = this.config;
    if (!this.valid("environment", "environments", "tools", "multi_turn")) return;
    if (!this.#hasDialogues) {
      const unset: Record<string, unknown> = defaultsOf(MULTI_TURN);
      const set = Object.entries(this.config.multi_turn).find(([name, value]) =>
        value !== undefined && value !== unset[name]
      );
      if (set === undefined) return;
      const text = "has no effect without environment, environments or tools";
      return this.fail(text, `multi_turn.${set[0]}`);
    }
    const key = environment !== null
      ? "environment"
      : environments !== null
      ? "environments"
      : "tools";
    if (environment !== null && environments !== null) {
      this.fail("environment names one already: one of the two", "environments");
    }
    if (environments !== null && this.valid("data") && data.dataset_name === null) {
      const text = "the column environment of each row chooses one: name a file with " +
        "data.dataset_name";
      this.fail(text, "environments");
    }
    const { name } = environment ?? {};
    if (
      name !== undefined && data.task_name === null && data.tasks === null && !data.dataset_name
    ) {
      this.fail(`${name} asks the problems of a task: name one with data.task_name`, key);
    }
    if (this.valid("generation") && generation.max_staleness > 0) {
      const text = `found ${generation.max_staleness}, expected 0 with ${key}: the policy of a ` +
        "dialogue's first turn answers all its turns, so none can begin before its step";
      this.fail(text, "generation.max_staleness");
    }
    this.rule(
      "multi_turn.credit | advantage_estimator multi_objective_aggregation loss_type",
      () =>
        multi_turn.credit === "return" &&
        (training.advantage_estimator !== "grpo" || training.loss_type === "vespo" ||
          training.multi_objective_aggregation !== "sum_then_normalize") &&
        "return compares turns as GRPO does: it needs advantage_estimator grpo, " +
          "multi_objective_aggregation sum_then_normalize, and another loss_type than vespo",
    );
    this.rule(
      `use_rollout_activations | ${key}`,
      () =>
        training.use_rollout_activations &&
        "sampling keeps the activations of one prompt for a group, and each turn of a dialogue " +
          "has a prompt of its own",
    );
  }

  lengths(maxSeqLength: number | null): void {
    const names = ["training.max_completion_length", "training.max_prompt_length"];
    if (!this.valid(...names, "model")) return;
    const { max_completion_length: completion, max_prompt_length: prompt } = this.config.training;
    if (maxSeqLength !== null && prompt === null && maxSeqLength <= completion) {
      const text =
        `${maxSeqLength} leaves no room for a prompt in addition to max_completion_length ` +
        `${completion}`;
      this.fail(text, "model.max_seq_length");
    }
    const { init } = this.config.model;
    if (init === null) return;
    const needed = completion + (prompt ?? 1);
    if (needed > init.max_position_embeddings) {
      const text = prompt === null
        ? `${completion} leaves no room for a prompt in max_position_embeddings ` +
          `${init.max_position_embeddings}`
        : `${prompt} of the prompt and ${completion} exceed max_position_embeddings ` +
          `${init.max_position_embeddings}`;
      this.problems.add(this.at(...names, "model.init"), names[0]!, text);
    }
  }
}
