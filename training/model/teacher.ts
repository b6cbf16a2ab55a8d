/**
 * The teacher of a run (section `teacher`): a frozen model whose distributions over the next token
 * the policy learns on its own samples. On-policy distillation (Agarwal et al. 2024) as TRL 1.16's
 * DistillationTrainer has it; alone, or as a term beside the rewards.
 */
import type { TeacherSection } from "../../configs/schema/run_config.ts";
import { UsageError } from "../../core/errors.ts";
import type { Device } from "../../kernels/device.ts";
import type { LanguageModel } from "../../models/language_model.ts";
import { loadIdModel } from "../../models/load_model.ts";
import { readModelFolder } from "../../models/model_folder.ts";
import { planStorage } from "../../models/network/weights/weight_storage.ts";
import { loraOptions } from "../../models/network/adapters/peft_adapter.ts";
import { type ModelSizes, modelSizes } from "../../models/network/weights/model_sizes.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import type { ModelSource } from "./model_source.ts";

export interface Teacher extends Pick<TeacherSection, "beta" | "weight"> {
  model: LanguageModel;
}

/** The sizes of a teacher that is not loaded yet. */
export type TeacherSizes = (onDevice: Parameters<typeof modelSizes>[2]) => ModelSizes;

/**
 * Reads what a teacher is, without its weights.
 * @throws UsageError for one that reads other tokens than the student
 */
export async function openTeacher(
  { model_name_or_path: name, adapter_name_or_path: adapterName }: TeacherSection,
  student: Pick<ModelSource, "config" | "tokenizer">,
): Promise<TeacherSizes> {
  const { config, tokenizer, files, adapter } = await readModelFolder(name, adapterName);
  const why = tokenizer === null
    ? "has no tokenizer, so nothing says that its tokens are the student's"
    : otherTokens(tokenizer, student.tokenizer) ??
      (config.vocabSize === student.config.vocabSize
        ? null
        : `computes ${config.vocabSize} logits, the student ${student.config.vocabSize}`);
  if (why !== null) {
    throw new UsageError(`teacher.model_name_or_path: ${name} ${why}`, {
      advice: "A teacher says how likely each token of the student is, so both need the same " +
        "tokens: take a model of the student's family.",
    });
  }
  const lora = adapter === null ? {} : { lora: loraOptions(adapter.config) };
  const storage = planStorage(config, "none", {}, (weight) => files.typeOf(weight));
  return (onDevice) => modelSizes(config, { trainable: "none", storage, ...lora }, onDevice);
}

/** What is different about the teacher's tokens, or null. */
function otherTokens(teacher: Tokenizer, student: Tokenizer): string | null {
  const [theirs, own] = [teacher, student].map((one) => one.files().get("tokenizer.json"));
  if (theirs !== undefined && theirs === own) return null;
  if (teacher.vocabSize !== student.vocabSize) {
    return `has ${teacher.vocabSize} tokens, the student ${student.vocabSize}`;
  }
  for (let id = 0; id < student.vocabSize; id++) {
    const [a, b] = [teacher.decode([id]), student.decode([id])];
    if (a === b) continue;
    return `has other tokens: ${id} is ${JSON.stringify(a)}, the student's ${JSON.stringify(b)}`;
  }
  return null;
}

export async function loadTeacher(section: TeacherSection, device: Device): Promise<Teacher> {
  const { model_name_or_path: name, adapter_name_or_path: adapter, beta, weight } = section;
  const { model } = await loadIdModel(name, device, adapter === null ? {} : { adapter });
  return { model, beta, weight };
}
