/** POST /v1/load_lora_adapter and /v1/unload_lora_adapter, as vLLM has them. */
import { Buffer } from "node:buffer";
import { isAbsent } from "../core/paths.ts";
import { ADAPTER_CONFIG, ADAPTER_WEIGHTS } from "../models/network/adapters/peft_adapter.ts";
import { ApiError, badRequest } from "./api_error.ts";
import type { Fields } from "./fields.ts";
import type { ModelHost } from "./model_host.ts";

export interface AdapterRules {
  /** Folders below which adapters may be loaded; none = loading from paths is off. */
  folders: readonly string[];
  /** Whether the files of an adapter may come in the request. */
  uploads: boolean;
  /** Maximum number of adapters at the same time. */
  max: number;
}

/** Maximum length of a name. */
const MAX_NAME = 256;
const FILES = [ADAPTER_CONFIG, ADAPTER_WEIGHTS] as const;

/**
 * Loads an adapter from a path, or from files in the request. `load_inplace` replaces one of the
 * same name.
 * @throws ApiError
 */
export async function loadAdapter(
  fields: Fields,
  host: ModelHost,
  rules: AdapterRules,
): Promise<string> {
  checkOn(rules);
  const name = nameOf(fields), replaces = fields.boolean("load_inplace", false);
  if (host.has(name) && (!replaces || host.isBase(name))) {
    throw badRequest(
      `there is a model named ${JSON.stringify(name)} already` +
        (host.isBase(name) ? "" : "; load_inplace: true replaces it"),
      "lora_name",
    );
  }
  if (!host.has(name) && host.adapterCount >= rules.max) {
    throw badRequest(`${rules.max} adapters are loaded, which is the limit; unload one first`);
  }
  const path = fields.string("lora_path"), files = fields.object("lora_files");
  if ((path === undefined) === (files === undefined)) {
    throw badRequest("give lora_path, or lora_files", "lora_path");
  }
  if (path !== undefined) await host.load(name, await allowedPath(path, rules.folders), replaces);
  else await loadFiles(files!, host, name, replaces, rules);
  return `Success: LoRA adapter '${name}' added successfully.`;
}

/** @throws ApiError */
export function unloadAdapter(fields: Fields, host: ModelHost, rules: AdapterRules): string {
  checkOn(rules);
  const name = nameOf(fields);
  if (host.isBase(name)) throw badRequest("the base model cannot be unloaded", "lora_name");
  host.unload(name);
  return `Success: LoRA adapter '${name}' removed successfully.`;
}

function checkOn({ folders, uploads }: AdapterRules): void {
  if (folders.length > 0 || uploads) return;
  throw new ApiError(
    404,
    "not_found_error",
    "adapters cannot be changed: start the server with --allow-adapter-loading FOLDER",
  );
}

function nameOf(fields: Fields): string {
  const name = fields.string("lora_name");
  if (name === undefined || name === "" || name.length > MAX_NAME) {
    throw fields.wrong("lora_name", `a name of 1 to ${MAX_NAME} characters`);
  }
  return name;
}

/** The real path of an adapter. @throws ApiError unless it is below one of the folders */
async function allowedPath(path: string, folders: readonly string[]): Promise<string> {
  const refused = badRequest(
    "lora_path: no adapter there, or not below a folder of --allow-adapter-loading",
    "lora_path",
  );
  let real: string;
  try {
    real = await Deno.realPath(path);
  } catch (error) {
    if (isAbsent(error) || error instanceof TypeError) throw refused;
    throw error;
  }
  for (const folder of folders) {
    if (real.startsWith(`${(await Deno.realPath(folder)).replace(/\/$/, "")}/`)) return real;
  }
  throw refused;
}

/** Loads an adapter whose two files are in the request, in base64. */
async function loadFiles(
  files: Fields,
  host: ModelHost,
  name: string,
  replaces: boolean,
  { uploads }: AdapterRules,
): Promise<void> {
  if (!uploads) {
    throw badRequest("lora_files: start the server with --allow-adapter-upload", "lora_files");
  }
  const folder = await Deno.makeTempDir({ prefix: "rgx-adapter-" });
  try {
    for (const file of FILES) {
      const text = files.string(file), bytes = text === undefined ? null : fromBase64(text);
      if (bytes === null) throw files.wrong(file, "the file in base64");
      await Deno.writeFile(`${folder}/${file}`, bytes);
    }
    await host.load(name, folder, replaces);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The bytes; null when the text is not base64. */
function fromBase64(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64").replace(/=+$/, "") === text.replace(/=+$/, "") ? bytes : null;
}
