/** Translates verl's adapter: LoRA, as FSDP's or Megatron's section has it. */
import { type ConfigNode, type Json, toJson } from "../../documents/node.ts";
import type { Translation } from "../translation.ts";

const MODEL = "actor_rollout_ref.model";

/** Megatron's joined modules → the modules of the files. */
const MEGATRON_MODULES: Readonly<Record<string, readonly string[]>> = {
  linear_qkv: ["q_proj", "k_proj", "v_proj"],
  linear_proj: ["o_proj"],
  linear_fc1: ["gate_proj", "up_proj"],
  linear_fc2: ["down_proj"],
};

/** Sets section `lora`, where the rank is above 0. verl's own defaults fill what is not written. */
export function translateAdapter(translation: Translation): void {
  const rank = translation.number(`${MODEL}.lora_rank`);
  if (rank !== null && rank.value > 0) {
    translation.set("lora", "r", rank.value, rank.node);
    put(translation, `${MODEL}.lora_alpha`, "lora_alpha", 16, rank.node);
    put(translation, `${MODEL}.target_modules`, "target_modules", "all-linear", rank.node);
    const excluded = translation.given(`${MODEL}.exclude_modules`);
    if (excluded !== undefined) {
      translation.set("lora", "exclude_modules", toJson(excluded), excluded);
    }
  }
  const joined = translation.number(`${MODEL}.lora.rank`);
  if (joined === null || joined.value === 0) return;
  translation.set("lora", "r", joined.value, joined.node);
  put(translation, `${MODEL}.lora.alpha`, "lora_alpha", 32, joined.node);
  put(translation, `${MODEL}.lora.dropout`, "lora_dropout", 0, joined.node);
  const path = `${MODEL}.lora.target_modules`, modules = translation.given(path);
  const names = modules === undefined ? Object.keys(MEGATRON_MODULES) : toJson(modules);
  translation.set("lora", "target_modules", splitModules(names), modules ?? joined.node);
}

function put(
  translation: Translation,
  path: string,
  name: string,
  otherwise: Json,
  rank: ConfigNode,
): void {
  const node = translation.given(path);
  if (node === undefined) translation.fill("lora", name, otherwise, rank);
  else translation.set("lora", name, toJson(node), node);
}

/** Names that are not Megatron's stay as they are. */
function splitModules(names: Json): Json {
  if (!Array.isArray(names)) return names;
  return names.flatMap((name): Json[] =>
    typeof name === "string" ? [...MEGATRON_MODULES[name] ?? [name]] : [name]
  );
}
