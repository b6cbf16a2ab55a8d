/** Tells, without reading the weights, whether stored answers are from the present model. */
import { sha256Hex } from "../../core/checksums.ts";
import { UsageError } from "../../core/errors.ts";
import type { LocalPlace } from "./model_request.ts";

/** A hash of names, sizes and modification times of the files of a model and an adapter's base. */
export function fingerprintOf(
  { path, weights, tokenizer = path, storage }: LocalPlace,
): string {
  const lines = [...new Set([path, weights, tokenizer])].flatMap((place) => fileLines(place));
  return sha256Hex([...lines, ...(storage ? [JSON.stringify(storage)] : [])].join("\n"));
}

/**
 * The same without times, which differ where each machine has a copy of its own.
 * @throws UsageError when the model is not on this machine
 */
export function fileSizesOf({ path, weights, tokenizer = path }: LocalPlace): string {
  try {
    const lines = [...new Set([path, weights, tokenizer])]
      .flatMap((place) => fileLines(place, false));
    return sha256Hex(lines.join("\n"));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new UsageError(`${path}: ${Deno.hostname()} has no such model`, {
      advice: "All ranks need it, on a file system that their machines share or as copies.",
    });
  }
}

function fileLines(path: string, withTimes = true): string[] {
  const line = (name: string) => {
    const { size, mtime } = Deno.statSync(name);
    return `${name} ${size}${withTimes ? ` ${mtime?.getTime()}` : ""}`;
  };
  if (Deno.statSync(path).isFile) return [line(path)];
  // In a run's folder only the files of the model count.
  const names = [...Deno.readDirSync(path)].map(({ name }) => name).filter((name) =>
    /\.(safetensors|gguf|json|jinja|bin)$|^merges\.txt$/.test(name) &&
    !/^(run|trainer_state|rgx_state)\.json$/.test(name)
  ).sort();
  return [path, ...names.map((name) => line(`${path}/${name}`))];
}
