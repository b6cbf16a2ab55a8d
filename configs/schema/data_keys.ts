/**
 * Keys of the problems, the supervised warm start, the evaluation before and after training, and
 * the names of a run.
 */
import { keys } from "../types/key_spec.ts";
import { SCHEDULE_KWARGS, SCHEDULES, WARMUP } from "./schedule_types.ts";
import { CURRICULA, TASK_FILES, TASKS } from "./task_types.ts";
import { checked, choice, float, listOf, name, trackers } from "../types/value_types.ts";
import { PROMPT_ROLES } from "../../data/prompt_roles.ts";
import { parseSplit } from "../../data/split_slices.ts";

/** The type of keys that name a split of a data set, or slices of splits. */
const SPLIT = { ...checked(name(), parseSplit), expected: "a split or slices" };

export const DATA = {
  path: "data",
  about: "the problems, and how they become prompts",
  flat: true,
  keys: keys({
    tasks: TASKS,
    files: TASK_FILES,
    split: SPLIT,
    role: choice(PROMPT_ROLES),
  }, {
    task_name: `name? = null -- a reasoning task, or the file of a task of yours (./digit_sum.ts)
      [data.name, data.task, task]`,
    task_config: "map = {} -- parameters of the task [data.config, data.params]",
    tasks: `tasks? = null -- several tasks drawn by weight, in place of one; task_name is then
      null or composite [data.datasets, datasets]`,
    task_files: `files = [] -- files of your tasks; each that is named in place of a task is added
      here, with its SHA-256`,
    dataset_name: `name? = null -- JSONL, CSV or parquet file, folder, or data set of the Hub
      (after rgx pull --dataset) with question/answer, prompt or messages columns [data.dataset,
      dataset, data]`,
    dataset_train_split: `split = train -- the split of a file or data set that is trained on, or
      slices, as in \`datasets\`: train[:90%], train[100:], train+validation`,
    dataset_test_split: `split = test -- the split that is held out, or slices: train[90%:]; test:
      where the data has that split, or else a validation split`,
    eval_dataset_name: `name? = null -- the file, folder or data set of the Hub that is held out,
      in place of a split of dataset_name`,
    dataset_prompt_column: `name? = null -- the column of a file that holds the prompts; null:
      prompt, question, problem or messages`,
    num_examples: `int>=1? = 2048 -- training entries; of a file all (null), unless it is written
      [dataset_size, data.dataset_size]`,
    max_examples: "int>=1? = null -- only the first so many rows of a file; null: all",
    train_ratio: `number>0<=1? = null -- share of the problems that is trained on; the others are
      for test and validation. Of a task it is a share of num_examples`,
    validation_examples: `int>=1? = null -- problems that evaluations while training ask in place
      of the held-out ones; null: none, but the rest of train_ratio for data with a test split`,
    test_examples: `int>=1? = null -- problems that are asked before and after training:
      eval.num_examples, and of a file without a test split exactly so many are held out; null:
      the rest of train_ratio`,
    seed: "int>=0 = 42 -- seed of the task's generator",
    add_instructions: `bool = true -- put the answer-format instruction before the question; of
      data that is not rgx's own false, unless it is written`,
    prompt_format: `one chat|plain = chat -- chat: prompts go through the model's chat template, a
      text as a user's message; plain: they are continued as plain text, as TRL continues a prompt
      that is a text`,
    system_prompt: `name? = null -- text of the system message, or DeepSeekZero, default, simple,
      direct, chain_of_draft or gsm8k; a conversation of the data keeps a system message of its
      own [data.system_prompt_id, system_prompt_id]`,
    developer_role: `role = system -- role of the message that holds system_prompt, for templates
      that know another one [data.system_role, system_role]`,
  }),
};

export const CURRICULUM_SCHEDULE = {
  path: "curriculum.schedule",
  about: "when levels go up without regard to scores",
  keys: keys({}, {
    automatic: "bool = false -- up every update_steps steps, whatever the scores",
    update_steps: "int>=1 = 30 -- steps between two levels, with automatic",
  }),
};

export const CURRICULUM = {
  path: "curriculum",
  about: "difficulty levels that follow the results; null: none",
  isOn: ({ enabled }: { enabled: boolean }) => enabled,
  parts: { schedule: CURRICULUM_SCHEDULE },
  isOptional: true as const,
  keys: keys({ curricula: CURRICULA }, {
    enabled: "bool = false -- whether levels of difficulty move with the results",
    last_k: `int>=1 = 20 -- newest scores of a task that decide; while there are fewer, levels
      stay`,
    success_threshold: `number>=0<=1 = 0.7 -- levels go up where the mean of these scores is above
      it`,
    failure_threshold: `number>=0<=1 = 0.1 -- levels go down where the mean of these scores is
      below it`,
    curricula: `curricula = {} -- starting levels, \`*\` of all attributes; empty: all tasks of
      the run that have levels, from 0`,
  }),
};

export const SFT = {
  path: "sft",
  about: "supervised warm start before GRPO; null: none",
  isOn: ({ max_steps }: { max_steps: number }) => max_steps !== 0,
  isOptional: true as const,
  keys: keys({ schedule: SCHEDULES, kwargs: SCHEDULE_KWARGS, warmup: WARMUP }, {
    max_steps: "int>=0 = required -- supervised steps before GRPO; 0 = none [sft.steps]",
    per_device_train_batch_size: "int>=1 = 64 -- examples of a micro-batch [sft.batch_size]",
    gradient_accumulation_steps: "int>=1 = 1 -- micro-batches of a step, which ranks share",
    learning_rate: "number>=0 = 2e-5 -- highest learning rate [sft.lr]",
    lr_scheduler_type: "schedule = linear -- schedule of the learning rate",
    lr_scheduler_kwargs: "kwargs = {} -- parameters of the schedule",
    warmup_steps: "warmup = 0 -- steps of linear warm-up; < 1 = ratio of all steps",
    weight_decay: "number>=0 = 0 -- AdamW's weight decay",
    max_grad_norm: "number>=0 = 1 -- clip the gradient of a step to this L2 norm; 0 = never",
    assistant_only_loss: `bool = false -- of rows with messages, train on all answers of the
      assistant, not only on those after the last message of a user`,
  }),
};

export const TEACHER = {
  path: "teacher",
  about: "a model whose distributions the policy learns on its own samples; null: none",
  isOptional: true as const,
  keys: keys({}, {
    model_name_or_path: `name? = null -- the model whose distributions the policy learns, or its
      name on the server; null: the policy itself, which then sees another prompt`,
    adapter_name_or_path: "name? = null -- a LoRA adapter on it",
    base_url: "name? = null -- address of a server with the model, which has prompt_logprobs",
    api_key_env: `name? = null -- environment variable with the key of the server; null =
      OPENAI_API_KEY`,
    server_timeout: "number>=0 = 240 -- seconds for which the server may be down",
    teacher_prompt_template: `text? = null -- the prompt that the teacher sees, such as
      "{prompt} (the answer is {answer})"; {column}: a column of the data. null: that of a column
      teacher_prompt, or the policy's`,
    beta: `number>=0<=1 = 1 -- 0: forward KL, 1: reverse KL, between: generalised Jensen-Shannon
      divergence`,
    weight: "number>0 = 1 -- factor of the divergence in the loss, beside that of the rewards",
    top_k: `int>=1? = null -- number of the teacher's likeliest tokens that are compared; the rest
      counts as one token. null = all tokens, with base_url 1. With beta > 0 it must be 1`,
  }),
};

export const DPO = {
  path: "dpo",
  about: "training on preferences, which only `rgx dpo` obeys; null: none",
  isOptional: true as const,
  keys: keys({}, {
    beta: "number>0 = 0.1 -- how far from the reference answers may go: higher, less far",
    loss_type: "one sigmoid|ipo|hinge|robust = sigmoid -- form of the loss",
    label_smoothing: `number>=0<0.5 = 0 -- share of rows whose labels are wrong (robust)
      [label_smoothing, training.label_smoothing]`,
    max_length: `int>=1? = null -- maximum tokens of prompt and answer, which are cut at the end;
      null = no limit [max_length, training.max_length]`,
    reference_free: `bool = false -- compare without a reference model
      [reference_free, training.reference_free]`,
  }),
};

export const EVAL = {
  path: "eval",
  about: "held-out evaluation before and after training",
  keys: keys({}, {
    num_examples: `int>=0 = 0 -- problems that are held out and asked before and after training;
      0: none, and a file without a test split is trained on as a whole`,
    temperature: "number>=0? = null -- null = the training temperature",
    batch_size: "int>=1 = 64 -- problems at once, before and after training",
  }),
};

export const LOGGING = {
  path: "logging",
  about: "the names and trackers of the run",
  flat: true,
  keys: keys({ trackers: trackers() }, {
    run_name: "name = required -- name of the run; default: name of the configuration file",
    project: `text = huggingface -- name of the project [logging.wandb_project, wandb_project,
      logging.project_name, project_name]`,
    report_to: `trackers = [] -- trackers that get the metrics too: none, tensorboard, trackio,
      wandb (offline), mlflow, all; a name or a list`,
  }),
};

/** Keys that only change other keys; the trainer does not get them. */
export const SHAPING = {
  path: "",
  keys: keys({ numbers: listOf(float(), "a list of numbers") }, {
    rewards: `any a list of rewards = required -- list of {name, weight, …parameters}, or names
      [training.rewards]`,
    "model.max_seq_length": `int>=2? = null -- limit of prompt and completion together, where
      max_prompt_length is unset [max_seq_length, training.max_seq_length]`,
    "training.reward_weights": `numbers? = null -- weights of the rewards, in order
      [reward_weights]`,
    env: "map = {} -- environment variables, set before anything is read",
  }),
};
