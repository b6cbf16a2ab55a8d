/** The README.md beside saved weights, with the metadata block that the Hugging Face Hub reads. */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { nameAndRevision } from "../../hub/find_model.ts";
import { VERSION } from "../../core/version.ts";

export function modelCard(config: RunConfig): string {
  const { model, data, rewards, training, sft, lora } = config;
  const base = model.model_name_or_path === null
    ? null
    : nameAndRevision(model.model_name_or_path).name;
  const problems = data.tasks?.map(({ task_name }) => task_name).join(", ") ?? data.task_name ??
    data.dataset_name;
  const warmStart = sft !== null && sft.max_steps > 0
    ? `${sft.max_steps} supervised steps on worked answers, then `
    : "";
  return [
    "---",
    ...(base === null ? [] : [`base_model: ${JSON.stringify(base)}`]),
    `library_name: ${lora === null ? "transformers" : "peft"}`,
    "pipeline_tag: text-generation",
    "tags: [grpo, reasoning, rgx]",
    "---",
    `# ${config.logging.run_name}`,
    "",
    `Trained by rgx ${VERSION} on ${problems}: ${warmStart}GRPO ` +
    `(loss ${training.loss_type}, ${training.num_generations} completions a prompt, ` +
    `learning rate ${training.learning_rate}), rewarded for ${
      rewards.map(({ name }) => name).join(", ")
    }.`,
    lora === null
      ? "All weights were trained."
      : `A LoRA adapter (r ${lora.r}, alpha ${lora.lora_alpha}) was trained` +
        (lora.modules_to_save.length === 0
          ? "."
          : `, and beside it in full: ${lora.modules_to_save.join(", ")}.`),
    "",
  ].join("\n");
}
