/** The configuration of a new project. */
import type { ProblemSizes } from "./problem_sizes.ts";

/** Room for the tags around an answer, and for problems that are longer than those seen. */
const TAGS = 8, MARGIN = 1.25;
/** The length of a completion where answers are not known. */
const DEFAULT_COMPLETION = 32;
/** Max number of prompts of a step. */
const MAX_PROMPTS = 32;
/** Printable ASCII and the line break. */
const ASCII = "\n" + String.fromCharCode(...Array.from({ length: 95 }, (_, i) => 32 + i));

/**
 * @param source the task, or the path of the data
 * @param params parameters of the task
 */
export function experiment(
  source: { task?: string; data?: string },
  params: Readonly<Record<string, unknown>>,
  reward: string,
  { count, question, answer, others, hasHeldOut }: ProblemSizes,
): string {
  const completion = Math.ceil((answer ?? DEFAULT_COMPLETION) * MARGIN) + TAGS;
  const positions = 2 ** Math.ceil(Math.log2(question * MARGIN + completion));
  // Of a file about a fifth is held out, and a step takes different problems.
  const prompts = 2 ** Math.floor(Math.log2(Math.max(1, Math.min(MAX_PROMPTS, count / 3))));
  const data = source.task === undefined
    ? `  dataset_name: ${JSON.stringify(source.data)}`
    : `  task_name: ${source.task} # rgx tasks show ${source.task}\n` +
      `  task_config: ${JSON.stringify(params)}\n  num_examples: 8192`;
  const supervised = answer === null ? NO_SUPERVISED : supervisedSteps(2 * prompts);
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

data:
${data}
  add_instructions: false # a tiny model cannot follow them

rewards:
  - { name: correctness, weight: 1.0 }
  - { path: rewards/${reward}.ts, weight: 0.2 }

${supervised}
eval:
  num_examples: ${hasHeldOut ? "200" : "0 # too few problems to hold some out"}

training:
  output_dir: runs/first
  learning_rate: 6.0e-4
  per_device_train_batch_size: ${8 * prompts} # ${prompts} prompts × 8 completions
  num_generations: 8
  max_completion_length: ${completion}
  beta: 0.2
  max_steps: 150
  logging_steps: 10
  save_steps: 50
  save_total_limit: 2
  seed: 42
`;
}

const supervisedSteps = (batch: number) =>
  `# Supervised steps on worked answers come first: GRPO learns where completions are sometimes right.
sft:
  max_steps: 220
  per_device_train_batch_size: ${batch}
  learning_rate: 2.0e-3
  lr_scheduler_type: constant_with_warmup
  warmup_steps: 20
`;

const NO_SUPERVISED =
  `# Some problems have no answer to copy, so there are no supervised steps before GRPO.
`;
