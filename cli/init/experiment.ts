/** The configuration of a new project. */
import type { ParamValue } from "../../core/named_params.ts";
import type { ProblemSizes } from "./problem_sizes.ts";

/** Room for the end of a completion, and for problems that are longer than those seen. */
const END = 6, MARGIN = 1.25;
/** The length of a completion where answers are not known. */
const DEFAULT_COMPLETION = 64;
/** Max number of prompts of a step, and completions of each. */
const MAX_PROMPTS = 32, COMPLETIONS = 8;
/** Steps of a small run, which is shorter where even the smallest steps take long. */
const SUPERVISED_STEPS = 220, STEPS = 150, HELD_OUT = 200;
/** What a run may compute: tokens in passes, about 20 μs each on two cores. */
const WORK = 5e6;
/** The attention to this many tokens takes as much time as all else. */
const ATTENTION_TOKENS = 1000;
/** Printable ASCII and the line break. */
const ASCII = "\n" + String.fromCharCode(...Array.from({ length: 95 }, (_, i) => 32 + i));

/** What a project trains on. */
export interface ProjectProblems {
  /** The task or its file, or the path of the data. */
  task?: string;
  data?: string;
  params: Readonly<Record<string, ParamValue>>;
  sizes: ProblemSizes;
}

/** @param reward the name of the reward's file */
export function experiment(
  { task, data, params, sizes }: ProjectProblems,
  reward: string,
): string {
  const { count, prompt, answer, words, others, hasHeldOut, isChat, isFound } = sizes;
  const completion = Math.ceil((answer?.longest ?? DEFAULT_COMPLETION) * MARGIN) + END;
  const positions = 2 ** Math.ceil(Math.log2(prompt.longest * MARGIN + completion));
  const { prompts, share } = fittingWork(sizes);
  const rounded = (steps: number) => Math.max(10, Math.round(steps * share / 10) * 10);
  const steps = rounded(STEPS), heldOut = rounded(HELD_OUT);
  const problems = task === undefined
    ? `  dataset_name: ${JSON.stringify(data)}`
    : `  task_name: ${
      /^\w+$/.test(task) ? task : JSON.stringify(task)
    } # rgx tasks show ${task}\n` +
      `  task_config: ${JSON.stringify(params)}\n  num_examples: 8192`;
  const first = isFound
    ? "{ name: correctness, weight: 1.0 }"
    : "{ path: rewards/same_words.ts, weight: 1.0 }";
  const own = `path: rewards/${reward}.ts, weight: 0.2` +
    (words > 8 ? `, params: { words: ${words} }` : "");
  const supervised = answer === null
    ? NO_SUPERVISED
    : supervisedSteps(rounded(SUPERVISED_STEPS), Math.min(count, 2 * prompts));
  return `# rgx train experiment.yaml
model:
  # A tiny model, made from a seed. A pretrained one in its place:
  #   model_name_or_path: HuggingFaceTB/SmolLM2-135M-Instruct   # rgx pull fetches it
  # and then also \`lora: { r: 16 }\`, without \`init\` and with fewer steps in \`sft\`.
  init:
    architecture: llama
    hidden_size: 96
    intermediate_size: 256
    num_hidden_layers: 2
    num_attention_heads: 4
    num_key_value_heads: 2
    max_position_embeddings: ${positions}
    initializer_range: 0.06
    tokenizer:
      type: characters
      alphabet: ${JSON.stringify(ASCII + others)}
      special_tokens: ["<pad>", "<unk>", "<eos>", "<answer>", "</answer>"]
${isChat ? "  chat_template: chat_template.jinja # a pretrained model has its own\n" : ""}
data:
${problems}
  add_instructions: false # a tiny model cannot follow them

rewards:
  - ${first}
  - { ${own} }

${supervised}
eval:
  num_examples: ${hasHeldOut ? heldOut : "0 # too few problems to hold some out"}

training:
  output_dir: runs/first
  learning_rate: 6.0e-4
  per_device_train_batch_size: ${COMPLETIONS * prompts} # ${prompts} × ${COMPLETIONS} completions
  num_generations: ${COMPLETIONS}
  max_completion_length: ${completion}
  beta: 0.2
  max_steps: ${steps}
  logging_steps: 10
  save_steps: 50
  save_total_limit: 2
  seed: 42
`;
}

/**
 * The prompts of a step with which a run takes a few minutes, and the share of the steps that fits
 * where even the fewest prompts are too many.
 */
function fittingWork({ count, prompt, answer }: ProblemSizes): { prompts: number; share: number } {
  const completion = answer?.mean ?? DEFAULT_COMPLETION;
  const supervised = answer === null ? 0 : SUPERVISED_STEPS * 2 * (prompt.mean + completion);
  // Completions are sampled, trained, and looked at by the reference; prompts are not sampled.
  const grpo = STEPS * (1.5 * prompt.mean + 2.5 * COMPLETIONS * completion);
  const perPrompt = (supervised + grpo) * (1 + (prompt.mean + completion) / ATTENTION_TOKENS);
  // A step takes different problems, twice as many with supervision.
  const most = Math.max(1, Math.min(MAX_PROMPTS, count / 2, WORK / perPrompt));
  return { prompts: 2 ** Math.floor(Math.log2(most)), share: Math.min(1, WORK / perPrompt) };
}

const supervisedSteps = (steps: number, batch: number) =>
  `# Supervised steps on worked answers come first: GRPO learns where completions are sometimes right.
sft:
  max_steps: ${steps}
  per_device_train_batch_size: ${batch}
  learning_rate: 2.0e-3
  lr_scheduler_type: constant_with_warmup
  warmup_steps: ${Math.min(20, steps / 5)}
`;

const NO_SUPERVISED =
  `# Some problems have no answer to copy, so there are no supervised steps before GRPO.
`;
