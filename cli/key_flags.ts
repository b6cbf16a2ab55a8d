/**
 * The keys of a configuration that are given most often, as flags: `train` and `sft` list them in their help. Every
 * other key is a flag too (`configs/documents/overrides.ts`).
 */

/** Flag with what it takes, and the key it sets. */
export const KEY_FLAGS: readonly (readonly [flag: string, key: string])[] = [
  ["--model-name <model>", "model.model_name_or_path"],
  ["--dataset <path>", "data.dataset_name"],
  ["--max-examples <n>", "data.max_examples"],
  ["--max-steps <n>", "training.max_steps"],
  ["--learning-rate <x>", "training.learning_rate"],
  ["--batch-size <n>", "training.per_device_train_batch_size"],
  ["--gradient-accumulation-steps <n>", "training.gradient_accumulation_steps"],
  ["--project-name <name>", "logging.project"],
  ["--no-trackio", "logging.report_to, without trackio"],
  ["--skip-evaluation", "eval.num_examples=0"],
];

/** For below a command's options. */
export function keyFlagsHelp(): string {
  const width = Math.max(...KEY_FLAGS.map(([flag]) => flag.length));
  const lines = KEY_FLAGS.map(([flag, key]) => `  ${flag.padEnd(width)}  ${key}`);
  return ["", "Keys as flags (rgx config show CONFIG lists all keys):", ...lines].join("\n");
}
