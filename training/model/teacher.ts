/**
 * The teacher of a run (section `teacher`): what says how likely each token of the policy's own
 * samples is. On-policy distillation (Agarwal et al. 2024) as TRL 1.16 has it; alone, or as a term
 * beside the rewards. It is a frozen model in this process, a server (`teacher_server.ts`),
 * or the policy itself with another prompt.
 */
import type { RunConfig, TeacherSection } from "../../configs/schema/run_config.ts";
import { Interrupted } from "../../core/errors.ts";
import type { Device } from "../../kernels/device.ts";
import type { CausalLM } from "../../models/causal_lm.ts";
import { loadIdModel } from "../../models/load_model.ts";
import { readModelFolder } from "../../models/model_folder.ts";
import type { Group } from "../../models/network/types.ts";
import { planStorage } from "../../models/network/weights/weight_storage.ts";
import { loraOptions } from "../../models/network/adapters/peft_adapter.ts";
import { type ModelSizes, modelSizes } from "../../models/network/weights/model_sizes.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import type { TeacherPlace } from "../loss/top_divergence.ts";
import { otherTeacher, TeacherServer } from "./teacher_server.ts";
import type { ModelSource } from "./model_source.ts";

export interface Teacher extends Pick<TeacherSection, "beta" | "weight"> {
  /**
   * A model that has just done a pass over the groups, of which whole distributions are compared;
   * or what is known about each branch token.
   */
  ask(groups: readonly Group[], temperature: number): Promise<CausalLM | TeacherPlace[]>;
  dispose(): void;
}

/** The sizes of a teacher that is not loaded yet. */
export type TeacherSizes = (onDevice: Parameters<typeof modelSizes>[2]) => ModelSizes;

type Student = Pick<ModelSource, "config" | "tokenizer" | "path">;

/**
 * Reads what a teacher is, without its weights.
 * @returns null for one that takes no memory for weights: a server, or what the policy has already
 * @throws UsageError for one that reads other tokens than the student
 */
export async function openTeacher(
  config: RunConfig,
  student: Student,
): Promise<TeacherSizes | null> {
  const { model_name_or_path: name, adapter_name_or_path: adapterName, base_url } = config.teacher!;
  if (base_url !== null || name === null) return null;
  const folder = await readModelFolder(name, adapterName);
  const { config: shape, tokenizer, files, adapter } = folder;
  const why = tokenizer === null
    ? "has no tokenizer, so nothing says that its tokens are the student's"
    : otherTokens(tokenizer, student.tokenizer) ??
      (shape.vocabSize === student.config.vocabSize
        ? null
        : `computes ${shape.vocabSize} logits, the student ${student.config.vocabSize}`);
  if (why !== null) throw otherTeacher("teacher.model_name_or_path", `${name} ${why}`);
  if (adapter === null && sharedBase(config, student) === await Deno.realPath(folder.path)) {
    return null;
  }
  const lora = adapter === null ? {} : { lora: loraOptions(adapter.config) };
  const storage = planStorage(shape, "none", {}, (weight) => files.typeOf(weight));
  return (onDevice) => modelSizes(shape, { trainable: "none", storage, ...lora }, onDevice);
}

/** The path of the frozen weights that the student's adapter is on; null: none are frozen. */
function sharedBase({ lora, model }: RunConfig, { path }: Student): string | null {
  const isShared = lora !== null && model.rope_scaling === null && path !== null;
  return isShared ? Deno.realPathSync(path) : null;
}

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

/** @param policy the model that is trained */
export async function loadTeacher(
  config: RunConfig,
  device: Device,
  policy: CausalLM,
  student: Student,
  shouldStop: () => boolean = () => false,
): Promise<Teacher> {
  const { model_name_or_path: name, adapter_name_or_path: adapter, ...section } = config.teacher!;
  if (section.base_url !== null) {
    const { tokenizer, config: { vocabSize } } = student;
    const server = new TeacherServer(config.teacher!, tokenizer, vocabSize, () => {
      device.beforeRun?.(); // ends work of the run
      if (shouldStop()) throw new Interrupted();
    });
    await server.open();
    return server;
  }
  if (name === null) return { ...modelTeacher(policy, section), dispose: () => {} };
  const base = sharedBase(config, student);
  const { model } = await loadIdModel(name, device, {
    ...(adapter === null ? {} : { adapter }),
    ...(base === null ? {} : { sharing: { model: policy, base } }),
  });
  return modelTeacher(model, section);
}

export function modelTeacher(
  model: CausalLM,
  { beta, weight, top_k: count }: Pick<TeacherSection, "beta" | "weight" | "top_k">,
): Teacher {
  return {
    beta,
    weight,
    dispose: () => model.dispose(),
    async ask(groups, temperature) {
      const { logp } = await model.forward(groups, { temperature, train: false });
      if (count === null) return model;
      const top = await model.topTokens(count, temperature);
      return top.map((tokens, i) => ({ logprob: logp[i]!, top: tokens }));
    },
  };
}
