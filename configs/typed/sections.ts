/**
 * The keys of all sections but `training`. Written by deno task docs:config from the schema; do not
 * edit it.
 */
import type { RunConfig } from "../schema/run_config.ts";
import type { CurriculumSection } from "../schema/sections/data.ts";
import type { ModelInit } from "../schema/sections/model.ts";
import type { Curricula, TaskItems, Trackers } from "./items.ts";

/** The tokenizer of a model that is made from a seed: `model.init.tokenizer`. */
export interface TokenizerKeys {
  /** One token a character. Expected: characters; default characters. */
  type?: ModelInit["tokenizer"]["type"];
  /** All characters that are tokens. Expected: text. */
  alphabet?: ModelInit["tokenizer"]["alphabet"];
  /**
   * Tokens of several characters; <eos> and <unk> must be there. Expected: a list of text; default
   * ["<pad>","<unk>","<eos>","<answer>","</answer>"].
   */
  special_tokens?: ModelInit["tokenizer"]["special_tokens"];
}

/** A model that is made from a seed: `model.init`. */
export interface InitKeys {
  /** Llama: GQA, RoPE, RMSNorm, SwiGLU. Expected: llama; default llama. */
  architecture?: ModelInit["architecture"];
  /** Width of the residual stream. Expected: an integer ≥ 2. */
  hidden_size?: ModelInit["hidden_size"];
  /** Width of the MLP's inner layer. Expected: an integer ≥ 1. */
  intermediate_size?: ModelInit["intermediate_size"];
  /** Decoder layers. Expected: an integer ≥ 1. */
  num_hidden_layers?: ModelInit["num_hidden_layers"];
  /** Query heads. Expected: an integer ≥ 1. */
  num_attention_heads?: ModelInit["num_attention_heads"];
  /**
   * Key and value heads, which divide the query heads. Expected: an integer ≥ 1; default
   * num_attention_heads.
   */
  num_key_value_heads?: ModelInit["num_key_value_heads"];
  /** Longest sequence, prompt and completion. Expected: an integer ≥ 2; default 512. */
  max_position_embeddings?: ModelInit["max_position_embeddings"];
  /** Base of the rotary angles. Expected: a number > 0; default 10000. */
  rope_theta?: ModelInit["rope_theta"];
  /** Added to the mean square before the root. Expected: a number > 0; default 0.00001. */
  rms_norm_eps?: ModelInit["rms_norm_eps"];
  /** The head has the weights of the embedding. Expected: true or false; default true. */
  tie_word_embeddings?: ModelInit["tie_word_embeddings"];
  /** Standard deviation of the first weights. Expected: a number > 0; default 0.02. */
  initializer_range?: ModelInit["initializer_range"];
  /** Its tokenizer. */
  tokenizer?: TokenizerKeys;
}

/** The model: `model`. */
export interface ModelKeys {
  /**
   * Folder of a Hugging Face model, GGUF file, or a name on the Hub that is in the local cache.
   * Expected: a name or null; default null.
   */
  model_name_or_path?: RunConfig["model"]["model_name_or_path"];
  /**
   * LoRA adapter (PEFT's folder, or a name on the Hub) that is trained further on
   * model_name_or_path; its file says its rank, alpha, modules and, unless it is written, its
   * dropout; the reference of beta is the adapter as it was. Expected: a name or null; default
   * null.
   */
  adapter_name_or_path?: RunConfig["model"]["adapter_name_or_path"];
  /** Folder of the tokenizer; null = the model's. Expected: a name or null; default null. */
  tokenizer_name_or_path?: RunConfig["model"]["tokenizer_name_or_path"];
  /**
   * Chat template in place of the model's: a file, or the Jinja text itself. Expected: text or
   * null; default null.
   */
  chat_template?: RunConfig["model"]["chat_template"];
  /**
   * Sizes as in the model's config.json, and in `of` the name of the model that has them (absent:
   * this one): a dry run plans memory with them where the model is not there; names in rgx's own
   * configs/models need none. Expected: a map or null; default null.
   */
  shape?: RunConfig["model"]["shape"];
  /**
   * RoPE scaling in place of that of the model's config.json, with its keys ({rope_type: yarn,
   * factor: 4}): for texts beyond the model's length; not with lora, whose files would not say it.
   * Expected: a map or null; default null.
   */
  rope_scaling?: RunConfig["model"]["rope_scaling"];
  /**
   * What frozen weights are held in: auto = as they are stored, others widen or round them; with
   * bfloat16 and no lora section, matrices are also trained in it (training.bf16_rounding); all
   * else that is trained and all sums are float32. Expected: auto, float32, float16 or bfloat16;
   * default auto.
   */
  dtype?: RunConfig["model"]["dtype"];
  /**
   * Quantise the frozen linear layers at load: NF4 in blocks of 64, scales in 8 bits (double
   * quantisation). Expected: true or false; default false.
   */
  load_in_4bit?: RunConfig["model"]["load_in_4bit"];
  /**
   * Quantise the frozen linear layers at load: 8 bits in blocks of 64. Expected: true or false;
   * default false.
   */
  load_in_8bit?: RunConfig["model"]["load_in_8bit"];
  /** Limit of prompt and completion together, where max_prompt_length is unset. */
  max_seq_length?: number | null;
  /** A model that is made from a seed, instead of one by name. */
  init?: InitKeys | null;
}

/** The adapter: `lora`. */
export interface LoraKeys {
  /**
   * false: full fine-tuning although there is a lora section. Expected: true or false; default
   * true.
   */
  enabled?: boolean;
  /** Rank of A and B. Expected: an integer ≥ 1; default 16. */
  r?: NonNullable<RunConfig["lora"]>["r"];
  /** The adapter's output is scaled by lora_alpha / r. Expected: a number > 0; default 32. */
  lora_alpha?: NonNullable<RunConfig["lora"]>["lora_alpha"];
  /**
   * Share of what A reads that is dropped while training. Expected: a number ≥ 0 and < 1; default
   * 0.
   */
  lora_dropout?: NonNullable<RunConfig["lora"]>["lora_dropout"];
  /**
   * Modules with an adapter: names, ends of paths, or an expression for the whole path; null =
   * q_proj and v_proj, of GPT-2 c_attn; all-linear = all of the layers; lm_head = the head.
   * Expected: a list of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, c_attn,
   * c_proj, c_fc, lm_head, or all-linear or a regular expression for the whole path or null;
   * default null.
   */
  target_modules?: NonNullable<RunConfig["lora"]>["target_modules"];
  /** The adapter's output is scaled by lora_alpha / √r. Expected: true or false; default false. */
  use_rslora?: NonNullable<RunConfig["lora"]>["use_rslora"];
  /**
   * Modules, by the end of their path, that are trained in full and stored with the adapter:
   * lm_head, embed_tokens, norm, …. Expected: a list of module names; default [].
   */
  modules_to_save?: NonNullable<RunConfig["lora"]>["modules_to_save"];
  /**
   * Names, ends of paths or an expression for the whole path of modules without an adapter.
   * Expected: a list of module names, or a regular expression for the whole path; default [].
   */
  exclude_modules?: NonNullable<RunConfig["lora"]>["exclude_modules"];
  /**
   * Layers with an adapter, counted from 0; null = all. Expected: a list of layer numbers or null;
   * default null.
   */
  layers_to_transform?: NonNullable<RunConfig["lora"]>["layers_to_transform"];
  /** Another r, by module. Expected: a map of module names to an integer ≥ 1; default {}. */
  rank_pattern?: NonNullable<RunConfig["lora"]>["rank_pattern"];
  /**
   * Another lora_alpha, by module. Expected: a map of module names to a number > 0; default {}.
   */
  alpha_pattern?: NonNullable<RunConfig["lora"]>["alpha_pattern"];
  /**
   * true: A uniform, B zero; gaussian: A normal with deviation 1/r, B zero; false: both uniform.
   * Expected: true, false or gaussian; default true.
   */
  init_lora_weights?: boolean | "true" | "false" | "gaussian";
}

/** The problems: `data`. */
export interface DataKeys {
  /**
   * A reasoning task, or the file of a task of yours (./digit_sum.ts). Expected: a name or null;
   * default null.
   */
  task_name?: RunConfig["data"]["task_name"];
  /** Parameters of the task. Expected: a map; default {}. */
  task_config?: RunConfig["data"]["task_config"];
  /**
   * Several tasks drawn by weight, in place of one; task_name is then null or composite. Expected:
   * a list of {task_name, weight, config}, or a map of tasks to {weight, config} or null; default
   * null.
   */
  tasks?: TaskItems | null;
  /**
   * Files of your tasks; each that is named in place of a task is added here, with its SHA-256.
   * Expected: a list of {path, sha256}; default [].
   */
  task_files?: RunConfig["data"]["task_files"];
  /**
   * JSONL, CSV or parquet file, folder, or data set of the Hub (after rgx pull --dataset) with
   * question/answer, prompt or messages columns. Expected: a name or null; default null.
   */
  dataset_name?: RunConfig["data"]["dataset_name"];
  /**
   * The split of a file or data set that is trained on, or slices, as in `datasets`: train[:90%],
   * train[100:], train+validation. Expected: a split or slices; default train.
   */
  dataset_train_split?: RunConfig["data"]["dataset_train_split"];
  /**
   * The split that is held out, or slices: train[90%:]; test: where the data has that split, or
   * else a validation split. Expected: a split or slices; default test.
   */
  dataset_test_split?: RunConfig["data"]["dataset_test_split"];
  /**
   * The file, folder or data set of the Hub that is held out, in place of a split of dataset_name.
   * Expected: a name or null; default null.
   */
  eval_dataset_name?: RunConfig["data"]["eval_dataset_name"];
  /**
   * The column of a file that holds the prompts; null: prompt, question, problem or messages.
   * Expected: a name or null; default null.
   */
  dataset_prompt_column?: RunConfig["data"]["dataset_prompt_column"];
  /**
   * Training entries; of a file all (null), unless it is written. Expected: an integer ≥ 1 or null;
   * default 2048.
   */
  num_examples?: RunConfig["data"]["num_examples"];
  /**
   * Only the first so many rows of a file; null: all. Expected: an integer ≥ 1 or null; default
   * null.
   */
  max_examples?: RunConfig["data"]["max_examples"];
  /**
   * Share of the problems that is trained on; the others are for test and validation. Of a task it
   * is a share of num_examples. Expected: a number > 0 and ≤ 1 or null; default null.
   */
  train_ratio?: RunConfig["data"]["train_ratio"];
  /**
   * Problems that evaluations while training ask in place of the held-out ones; null: none, but the
   * rest of train_ratio for data with a test split. Expected: an integer ≥ 1 or null; default null.
   */
  validation_examples?: RunConfig["data"]["validation_examples"];
  /**
   * Problems that are asked before and after training: eval.num_examples, and of a file without a
   * test split exactly so many are held out; null: the rest of train_ratio. Expected: an integer ≥
   * 1 or null; default null.
   */
  test_examples?: RunConfig["data"]["test_examples"];
  /** Seed of the task's generator. Expected: an integer ≥ 0; default 42. */
  seed?: RunConfig["data"]["seed"];
  /**
   * Put the answer-format instruction before the question; of data that is not rgx's own false,
   * unless it is written. Expected: true or false; default true.
   */
  add_instructions?: RunConfig["data"]["add_instructions"];
  /**
   * chat: prompts go through the model's chat template, a text as a user's message; plain: they are
   * continued as plain text, as TRL continues a prompt that is a text. Expected: chat or plain;
   * default chat.
   */
  prompt_format?: RunConfig["data"]["prompt_format"];
  /**
   * Text of the system message, or DeepSeekZero, default, simple, direct, chain_of_draft or gsm8k;
   * a conversation of the data keeps a system message of its own. Expected: a name or null; default
   * null.
   */
  system_prompt?: RunConfig["data"]["system_prompt"];
  /**
   * Role of the message that holds system_prompt, for templates that know another one. Expected:
   * system, developer or user; default system.
   */
  developer_role?: RunConfig["data"]["developer_role"];
}

/** When levels rise by themselves: `curriculum.schedule`. */
export interface CurriculumScheduleKeys {
  /** Up every update_steps steps, whatever the scores. Expected: true or false; default false. */
  automatic?: CurriculumSection["schedule"]["automatic"];
  /** Steps between two levels, with automatic. Expected: an integer ≥ 1; default 30. */
  update_steps?: CurriculumSection["schedule"]["update_steps"];
}

/** Levels of difficulty that follow the results: `curriculum`. */
export interface CurriculumKeys {
  /**
   * Whether levels of difficulty move with the results. Expected: true or false; default false.
   */
  enabled?: boolean;
  /**
   * Newest scores of a task that decide; while there are fewer, levels stay. Expected: an integer ≥
   * 1; default 20.
   */
  last_k?: NonNullable<RunConfig["curriculum"]>["last_k"];
  /**
   * Levels go up where the mean of these scores is above it. Expected: a number ≥ 0 and ≤ 1;
   * default 0.7.
   */
  success_threshold?: NonNullable<RunConfig["curriculum"]>["success_threshold"];
  /**
   * Levels go down where the mean of these scores is below it. Expected: a number ≥ 0 and ≤ 1;
   * default 0.1.
   */
  failure_threshold?: NonNullable<RunConfig["curriculum"]>["failure_threshold"];
  /**
   * Starting levels, `*` of all attributes; empty: all tasks of the run that have levels, from 0.
   * Expected: a map of tasks to {attribute_levels}; default {}.
   */
  curricula?: Curricula;
  /** Levels that rise by themselves. */
  schedule?: CurriculumScheduleKeys;
}

/** Supervised training before GRPO: `sft`. */
export interface SftKeys {
  /** Supervised steps before GRPO; 0 = none. Expected: an integer ≥ 0. */
  max_steps?: NonNullable<RunConfig["sft"]>["max_steps"];
  /** Examples of a micro-batch. Expected: an integer ≥ 1; default 64. */
  per_device_train_batch_size?: NonNullable<RunConfig["sft"]>["per_device_train_batch_size"];
  /** Micro-batches of a step, which ranks share. Expected: an integer ≥ 1; default 1. */
  gradient_accumulation_steps?: NonNullable<RunConfig["sft"]>["gradient_accumulation_steps"];
  /** Highest learning rate. Expected: a number ≥ 0; default 0.00002. */
  learning_rate?: NonNullable<RunConfig["sft"]>["learning_rate"];
  /**
   * Schedule of the learning rate. Expected: linear, cosine, constant, constant_with_warmup,
   * cosine_with_min_lr, cosine_warmup_with_min_lr, cosine_with_restarts, polynomial, inverse_sqrt
   * or warmup_stable_decay; default linear.
   */
  lr_scheduler_type?: NonNullable<RunConfig["sft"]>["lr_scheduler_type"];
  /** Parameters of the schedule. Expected: a map of parameters of the schedule; default {}. */
  lr_scheduler_kwargs?: NonNullable<RunConfig["sft"]>["lr_scheduler_kwargs"];
  /** Steps of linear warm-up; < 1 = ratio of all steps. Expected: a number ≥ 0; default 0. */
  warmup_steps?: NonNullable<RunConfig["sft"]>["warmup_steps"];
  /** AdamW's weight decay. Expected: a number ≥ 0; default 0. */
  weight_decay?: NonNullable<RunConfig["sft"]>["weight_decay"];
  /** Clip the gradient of a step to this L2 norm; 0 = never. Expected: a number ≥ 0; default 1. */
  max_grad_norm?: NonNullable<RunConfig["sft"]>["max_grad_norm"];
}

/** The evaluation before and after training: `eval`. */
export interface EvalKeys {
  /**
   * Problems that are held out and asked before and after training; 0: none, and a file without a
   * test split is trained on as a whole. Expected: an integer ≥ 0; default 0.
   */
  num_examples?: RunConfig["eval"]["num_examples"];
  /** null = the training temperature. Expected: a number ≥ 0 or null; default null. */
  temperature?: RunConfig["eval"]["temperature"];
  /** Problems at once, before and after training. Expected: an integer ≥ 1; default 64. */
  batch_size?: RunConfig["eval"]["batch_size"];
}

/** Who samples the completions of training: `generation`. */
export interface GenerationKeys {
  /**
   * Who samples the completions of training: the trainer's process, or servers with OpenAI's API
   * (rgx serve, vLLM; docs/rollouts.md). Expected: in_process or openai; default in_process.
   */
  backend?: RunConfig["generation"]["backend"];
  /**
   * openai: address of the server, or of several that share the prompts. Expected: an address such
   * as http://HOST:8000, or a list of them or null; default null.
   */
  base_url?: string | string[] | null;
  /**
   * openai: environment variable with the key; null = OPENAI_API_KEY, which may be unset. Expected:
   * a name or null; default null.
   */
  api_key_env?: RunConfig["generation"]["api_key_env"];
  /**
   * openai: seconds for which all servers may be down before the run saves a checkpoint and ends
   * with exit code 75. Expected: a number ≥ 0; default 240.
   */
  server_timeout?: RunConfig["generation"]["server_timeout"];
  /**
   * openai: train on samples of the policy of so many steps ago, so that servers sample while the
   * trainer trains; 0 = always the present policy. Expected: an integer ≥ 0 and ≤ 100; default 0.
   */
  max_staleness?: RunConfig["generation"]["max_staleness"];
}

/** Names and trackers: `logging`. */
export interface LoggingKeys {
  /** Name of the run; default: name of the configuration file. Expected: a name. */
  run_name?: RunConfig["logging"]["run_name"];
  /** Name of the project. Expected: text; default huggingface. */
  project?: RunConfig["logging"]["project"];
  /**
   * Trackers that get the metrics too: none, tensorboard, trackio, wandb (offline), mlflow, all; a
   * name or a list. Expected: one or a list of none, tensorboard, trackio, wandb, mlflow, jsonl,
   * all; default [].
   */
  report_to?: Trackers;
}

/** The upload after the run: `hf_upload`. */
export interface HfUploadKeys {
  /**
   * Upload the model to the Hub when the run is complete. Expected: true or false; default false.
   */
  enabled?: NonNullable<RunConfig["hf_upload"]>["enabled"];
  /** USER/NAME of the repository, or NAME. Expected: a name or null; default null. */
  repo_id?: NonNullable<RunConfig["hf_upload"]>["repo_id"];
  /**
   * full: with all that a resume needs; null: only the model. Expected: full or null; default full.
   */
  optimizer_save_mode?: NonNullable<RunConfig["hf_upload"]>["optimizer_save_mode"];
  /**
   * Whether a repository that is made is private; null = the default of the account. Expected: true
   * or false or null; default false.
   */
  private?: NonNullable<RunConfig["hf_upload"]>["private"];
  /** Branch of the repository; null = main. Expected: a name or null; default null. */
  revision?: NonNullable<RunConfig["hf_upload"]>["revision"];
  /** Licence for the card, as in apache-2.0. Expected: a name or null; default null. */
  license?: NonNullable<RunConfig["hf_upload"]>["license"];
}

/** The job of `rgx slurm`: `slurm`. */
export interface SlurmKeys {
  /**
   * The account that the job is charged to; null: the command line names it. Expected: the name of
   * an account or null; default null.
   */
  account?: NonNullable<RunConfig["slurm"]>["account"];
  /**
   * Partition; null = the site's default. Expected: the name of a partition or null; default null.
   */
  partition?: NonNullable<RunConfig["slurm"]>["partition"];
  /**
   * Time limit of one start of the job: HH:MM:SS or D-HH:MM:SS. Expected: a time limit, as in
   * 04:00:00; default 04:00:00.
   */
  time?: NonNullable<RunConfig["slurm"]>["time"];
  /**
   * Cards of each node, one rank each; 0 = none; null = training.n_gpus_per_node, or 1. Expected:
   * an integer ≥ 0 and ≤ 1024 or null; default null.
   */
  gpus?: NonNullable<RunConfig["slurm"]>["gpus"];
  /**
   * Type of the cards, as in a100; null or any = any. Expected: a type of card or null; default
   * null.
   */
  gpu_type?: NonNullable<RunConfig["slurm"]>["gpu_type"];
  /**
   * Cores of a process; null = by the plan. Expected: an integer ≥ 1 and ≤ 4096 or null; default
   * null.
   */
  cpus?: NonNullable<RunConfig["slurm"]>["cpus"];
  /**
   * Memory of each node, with its unit; 0 = all of it; null = by the plan. Expected: an amount of
   * memory, as in 320G or null; default null.
   */
  memory?: NonNullable<RunConfig["slurm"]>["memory"];
  /**
   * Nodes; null = training.nnodes, or 1. Expected: an integer ≥ 1 and ≤ 4096 or null; default null.
   */
  nodes?: NonNullable<RunConfig["slurm"]>["nodes"];
  /**
   * Where the job runs, and where relative paths of the configuration begin; null = the current
   * folder. Expected: a name or null; default null.
   */
  work_dir?: NonNullable<RunConfig["slurm"]>["work_dir"];
  /** The script; null = slurm_{job name}.sh. Expected: a name or null; default null. */
  output?: NonNullable<RunConfig["slurm"]>["output"];
  /** Back into the queue when time is nearly up. Expected: true or false; default true. */
  requeue?: NonNullable<RunConfig["slurm"]>["requeue"];
}
