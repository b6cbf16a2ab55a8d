/**
 * The keys of the YAML file of `rgx eval`, the values that each accepts, and their descriptions.
 */
import type { ConfigNode } from "../../configs/documents/node.ts";
import { PROMPT_ROLES } from "../../data/prompt_roles.ts";

/** The values that a key accepts; for numbers with their range. */
export type Wanted = "text" | "boolean" | "map" | "list" | readonly string[] | {
  kind: "number" | "integer";
  min: number;
  /** `min` itself is not allowed. */
  above?: boolean;
  max?: number;
};

const COUNT: Wanted = { kind: "integer", min: 1 };
const SEED: Wanted = { kind: "integer", min: 0 };
const SAMPLES: Wanted = { kind: "integer", min: 1, max: 4096 };

export const KEYS: Readonly<Record<string, Wanted>> = {
  model_path: "text",
  model: "text",
  models: "list",
  provider: "text",
  max_concurrent: { kind: "integer", min: 1, max: 1024 },
  max_tokens: COUNT,
  temperature: { kind: "number", min: 0, max: 100 },
  top_p: { kind: "number", min: 0, above: true, max: 1 },
  activations: ["int8", "float32"],
  compute_dtype: ["bfloat16", "float16", "float32"],
  // It has no effect: weights stay as they are stored, and the computing is in float32.
  dtype: ["auto", "float32", "bfloat16", "float16", "float", "half"],
  developer_prompt: "text",
  developer_role: PROMPT_ROLES,
  eval_repeats: SAMPLES,
  system_prompt: "text",
  system_prompt_id: "text",
  system_role: PROMPT_ROLES,
  completions_per_prompt: SAMPLES,
  batch_size: COUNT,
  default_size: COUNT,
  default_seed: SEED,
  output_dir: "text",
  save_metadata: "boolean",
  save_full_results: "boolean",
  categories: "list",
  base_url: "text",
  api_key_env: "text",
  seed: SEED,
  samples: SAMPLES,
  add_instructions: "boolean",
  chat_template_kwargs: "map",
  few_shot: { kind: "integer", min: 0, max: 64 },
  few_shot_as: ["prompt", "turns"],
  binary: "boolean",
};
export const CATEGORY_KEYS: Readonly<Record<string, Wanted>> = {
  category: "text",
  datasets: "list",
};
export const MODEL_KEYS: Readonly<Record<string, Wanted>> = { name: "text", system_prompt: "text" };
/** Keys of the two styles, and of rgx, for the same thing: a file has one of them. */
export const SAME: readonly (readonly string[])[] = [
  ["samples", "completions_per_prompt", "eval_repeats"],
  ["seed", "default_seed"],
  ["system_prompt", "developer_prompt"],
  ["system_role", "developer_role"],
];
/** Any other key is a parameter of the task. */
export const DATASET_KEYS: Readonly<Record<string, Wanted>> = {
  dataset: "text",
  size: COUNT,
  seed: SEED,
  params: "map",
  path: "text",
};

const NAMES = {
  text: "a text (numbers in quotes)",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  map: "a map",
  list: "a list",
};

function isChoice(wanted: Wanted): wanted is readonly string[] {
  return Array.isArray(wanted);
}

export function inWords(wanted: Wanted): string {
  if (typeof wanted === "string") return NAMES[wanted];
  if (isChoice(wanted)) return wanted.join(", ").replace(/, (?=[^,]*$)/, " or ");
  const { kind, min, above = false, max } = wanted, name = NAMES[kind];
  if (above) return `${name} above ${min}, up to ${max}`;
  return max === undefined ? `${name} of at least ${min}` : `${name} from ${min} to ${max}`;
}

export function isWanted(node: ConfigNode, wanted: Wanted): boolean {
  if (node.kind !== "scalar") return node.kind === wanted;
  const { value } = node;
  if (value === null) return true; // like a key that is not there
  if (isChoice(wanted)) return wanted.some((one) => one === value);
  if (wanted === "text") return typeof value === "string";
  if (wanted === "boolean") return typeof value === "boolean";
  if (typeof wanted === "string" || typeof value !== "number") return false;
  const { kind, min, above = false, max = Infinity } = wanted;
  const isInRange = value >= min && value <= max && !(above && value === min);
  return isInRange && (kind === "number" || Number.isSafeInteger(value));
}
