/**
 * The keys of section `lora` if a saved adapter is trained further (`adapter_name_or_path`). The
 * adapter's file has its shape. `models/model_folder.ts` reads the weights.
 */
import { resolve } from "node:path";
import { RgxError } from "../../core/errors.ts";
import { readJsonObject } from "../../core/json_file.ts";
import { exists } from "../../core/paths.ts";
import { findModel, nameAndRevision } from "../../hub/find_model.ts";
import {
  asText,
  type ConfigNode,
  emptyMap,
  fromJson,
  isNull,
  type Json,
  type MapNode,
  nodeAt,
  type Problems,
  type ScalarNode,
  toJson,
  withEntry,
} from "../documents/node.ts";

const KEY = "model.adapter_name_or_path";

/** What the file of an adapter may say: the section's keys, with PEFT's defaults. */
const OF_THE_FILE: Readonly<Record<string, Json>> = {
  r: 8,
  lora_alpha: 8,
  lora_dropout: 0,
  target_modules: null,
  target_parameters: [],
  use_rslora: false,
  use_dora: false,
  bias: "none",
  lora_bias: false,
  trainable_token_indices: null,
  modules_to_save: [],
  exclude_modules: [],
  layers_to_transform: null,
  rank_pattern: {},
  alpha_pattern: {},
};

/** PEFT replaces "all-linear" by the names of all linear modules of the layers: these. */
const ALL_LINEAR = [
  "down_proj gate_proj k_proj o_proj q_proj up_proj v_proj",
  "c_attn c_fc c_proj",
  "down_proj gate_up_proj o_proj qkv_proj",
  "input_linear k_proj o_proj output_linear q_proj v_proj",
  "in_proj k_proj out_proj q_proj v_proj w1 w2 w3",
  "down_proj gate_proj in_proj_a in_proj_b in_proj_qkv in_proj_z k_proj o_proj out_proj q_proj " +
  "up_proj v_proj",
].map((names) => names.split(" "));

/** The tree, with the shape of the adapter that is trained further in the section `lora`. */
export async function withAdapterKeys(
  tree: MapNode,
  cwd: string,
  problems: Problems,
): Promise<MapNode> {
  const named = asText(nodeAt(tree, "model.adapter_name_or_path"));
  if (named === null) return tree;
  const lora = nodeAt(tree, "lora"), enabled = nodeAt(lora, "enabled");
  if (enabled?.kind === "scalar" && enabled.value === false) {
    const key = enabled.foreign ?? "lora.enabled";
    problems.add(enabled.at, key, "false, and adapter_name_or_path names an adapter to train");
    return tree;
  }
  const section = lora?.kind === "map" ? lora : emptyMap(named.at);
  const place = resolve(cwd, named.value);
  const found = await findModel(await exists(place) ? place : named.value);
  // The adapter may be fetched later. A command that needs it reports that it is missing.
  if (found.path === null) return withEntry(tree, "lora", section);
  const json = await readAdapterConfig(found.path, named, problems);
  if (json === null) return tree;
  await noteOtherBase(tree, found.path, json, { cwd, named, problems });
  return withEntry(tree, "lora", mergeKeys(section, json, named, problems));
}

async function readAdapterConfig(
  folder: string,
  named: ScalarNode,
  problems: Problems,
): Promise<Record<string, Json> | null> {
  try {
    const json = await readJsonObject(`${folder}/adapter_config.json`);
    const isModel = json === null && await exists(`${folder}/config.json`);
    if (json?.["peft_type"] === "LORA") return json as Record<string, Json>;
    problems.add(
      named.at,
      KEY,
      json !== null
        ? `${named.value}: an adapter of the type ${JSON.stringify(json["peft_type"] ?? null)}, ` +
          'only "LORA" is supported'
        : isModel
        ? `${named.value}: a whole model and no adapter; name it in model_name_or_path`
        : `${named.value}: no adapter: looked for ${folder}/adapter_config.json`,
    );
  } catch (error) {
    if (!(error instanceof RgxError)) throw error;
    problems.add(named.at, KEY, error.message);
  }
  return null;
}

/** The section with the values of the file. A written key with another value is a mistake. */
function mergeKeys(
  section: MapNode,
  json: Readonly<Record<string, Json>>,
  named: ScalarNode,
  problems: Problems,
): MapNode {
  for (const [name, byDefault] of Object.entries(OF_THE_FILE)) {
    const written = section.entries.get(name)?.node, value = json[name] ?? byDefault;
    const isGiven = written !== undefined && !isNull(written) && !isGeneral(written);
    // PEFT reads the dropout rate from the file too, but that rate belongs to the training.
    if (isGiven && name === "lora_dropout") continue;
    if (isGiven && !isSame(toJson(written), value, name)) {
      const has = JSON.stringify(value), text = `the adapter ${named.value} has ${has}`;
      problems.add(written.at, written.foreign ?? `lora.${name}`, `${text}: leave the key out`);
      continue;
    }
    if (value === null && written === undefined) continue;
    section = withEntry(section, name, fromJson(value, named.at));
  }
  const init = section.entries.get("init_lora_weights")?.node;
  if (init !== undefined && !isGeneral(init) && ![true, "true"].includes(toJson(init) as never)) {
    const text = `the weights of the adapter ${named.value} are read: leave the key out`;
    problems.add(init.at, "lora.init_lora_weights", text);
  }
  return section;
}

/** Whether a key comes from an embedded file. Values of such files are meant for any adapter. */
function isGeneral({ at }: ConfigNode): boolean {
  return at.source.name.startsWith("rgx:");
}

function isSame(written: Json, inFile: Json, name: string): boolean {
  const sorted = (value: Json) => Array.isArray(value) ? [...value].sort() : value;
  const text = (value: Json) =>
    JSON.stringify(
      sorted(name === "layers_to_transform" && typeof value === "number" ? [value] : value),
    );
  if (name === "target_modules" && written === "all-linear") {
    return inFile === written || ALL_LINEAR.some((names) => text(names) === text(inFile));
  }
  if (name === "rank_pattern" || name === "alpha_pattern") {
    const entries = (value: Json) =>
      text(Object.entries(value ?? {}).map((pair) => pair.join(" ")));
    return entries(written) === entries(inFile);
  }
  return text(written) === text(inFile);
}

/** Notes that the adapter was trained on another model. Opening it checks whether it fits. */
async function noteOtherBase(
  tree: MapNode,
  folder: string,
  json: Readonly<Record<string, Json>>,
  { cwd, named, problems }: { cwd: string; named: ScalarNode; problems: Problems },
): Promise<void> {
  const model = asText(nodeAt(tree, "model.model_name_or_path"));
  const base = json["base_model_name_or_path"], revision = json["revision"] ?? null;
  if (model === null) return;
  if (typeof base !== "string" || base === "" || base === model.value) return;
  const real = async (path: string) => await Deno.realPath(path).catch(() => null);
  const here = await real(resolve(cwd, model.value));
  const places = [await real(resolve(folder, base)), await real(resolve(cwd, base))];
  if (here !== null && places.includes(here)) return;
  const asked = nameAndRevision(model.value);
  if (here === null && asked.name === base && (asked.revision ?? "main") === (revision ?? "main")) {
    return;
  }
  problems.note(named.at, KEY, `the adapter was trained on ${base}, not on ${model.value}`);
}
