/** A model of a benchmark: where it is, and how it is asked. */
import type { DialogueKeys } from "../dialogue/dialogue.ts";
import type { StorageOptions } from "../../models/network/weights/weight_storage.ts";
import type { PromptRecord, Sampling } from "../results/result_file.ts";
import type { Untrained } from "./starting_model.ts";

/** How a model is asked. */
export interface ModelSettings {
  prompt: PromptRecord;
  sampling: Sampling;
  /** Seed of the draws. */
  seed: number;
  /** Prompts are cut to this many tokens, as in the checkpoint's run; null = they are not cut. */
  keepPromptTokens: number | null;
  /**
   * Maximum number of completions that a model on this machine decodes together; absent: as many
   * as are fastest. No answer depends on it.
   */
  batchSize?: number;
  /** Environments and tools; absent: an answer is one turn. */
  dialogues?: DialogueKeys;
}

export interface ModelRequest {
  /** The name as the user gave it: its name in results and charts. */
  name: string;
  where: ModelPlace;
  settings: ModelSettings;
  /** Changes when the weights do. */
  fingerprint: string;
}

export type ModelPlace = LocalPlace | UntrainedPlace | RemotePlace;

/** A folder on this machine. */
export interface LocalPlace {
  kind: "local";
  path: string;
  /** The folder of the weights; for an adapter that of its base. */
  weights: string;
  /** The type in which weights are held, if it differs from the type of their file. */
  storage?: StorageOptions;
  /** The folder of the tokenizer, if it is not the model's folder. */
  tokenizer?: string;
}

/** A model that is made from a seed. */
export interface UntrainedPlace {
  kind: "untrained";
  made: Untrained;
}

/** A name on an OpenAI-compatible server. */
export interface RemotePlace {
  kind: "remote";
  model: string;
}

/** Equal for models that can share the weights on the device; null: the model shares with none. */
export function sharedWeights({ where }: Pick<ModelRequest, "where">): string | null {
  if (where.kind !== "local") return null;
  return `${where.weights} ${JSON.stringify(where.storage ?? {})}`;
}
