/**
 * Tells, without reading the weights, whether a model is still the one whose answers are stored.
 */
import { sha256Hex } from "../../core/checksums.ts";
import type { LocalPlace } from "./model_request.ts";

/** A hash of names, sizes and modification times of the files of a model and an adapter's base. */
export function fingerprintOf(
  { path, weights, tokenizer = path, storage }: LocalPlace,
): string {
  const lines = [...new Set([path, weights, tokenizer])].flatMap(fileLines);
  return sha256Hex([...lines, ...(storage ? [JSON.stringify(storage)] : [])].join("\n"));
}

function fileLines(path: string): string[] {
  const line = (name: string) => {
    const { size, mtime } = Deno.statSync(name);
    return `${name} ${size} ${mtime?.getTime()}`;
  };
  if (Deno.statSync(path).isFile) return [line(path)];
  // In a run's folder only the files of the model count.
  const names = [...Deno.readDirSync(path)].map(({ name }) => name).filter((name) =>
    /\.(safetensors|gguf|json|jinja|bin)$|^merges\.txt$/.test(name) &&
    !/^(run|trainer_state|rgx_state)\.json$/.test(name)
  ).sort();
  return [path, ...names.map((name) => line(`${path}/${name}`))];
}
