/**
 * Checks where an export or a conversion is written. What exists there is kept, unless it is a
 * model that may be replaced. A folder with anything else in it is never removed.
 */
import { produceFolderAtomic } from "../../core/atomic_file.ts";
import { UsageError } from "../../core/errors.ts";

export interface OutputRules {
  force: boolean;
  sources: readonly string[];
  /** Aborts the work between two tensors; no incomplete output remains. */
  signal?: AbortSignal | undefined;
}

const MODEL_FILES = ["config.json", "adapter_config.json"];

/**
 * @param force replace an existing model
 * @param sources paths that are read; none of them may be in `output`
 * @throws UsageError when `output` cannot be written
 */
export async function checkOutputPlace(
  output: string,
  kind: "file" | "folder",
  { force, sources }: OutputRules,
): Promise<void> {
  if (output === "") throw new UsageError("the output is empty, expected a path");
  const stat = await lookUp(output);
  if (stat === null) return;
  if (stat.isDirectory !== (kind === "folder")) {
    throw new UsageError(
      `${output}: it is a ${stat.isDirectory ? "folder" : "file"}, expected a ${kind}`,
      { advice: "Name another output." },
    );
  }
  const there = await Deno.realPath(output);
  for (const source of sources) {
    const from = await Deno.realPath(source);
    if (from !== there && !from.startsWith(`${there}/`)) continue;
    throw new UsageError(`${output}: ${source}, which is read, lies there`, {
      advice: "Name another output.",
    });
  }
  if (kind === "file") {
    if (!force) throw exists(output);
    return;
  }
  const names: string[] = [];
  for await (const { name } of Deno.readDir(output)) names.push(name);
  if (names.length === 0) return;
  if (!names.some((name) => MODEL_FILES.includes(name))) {
    throw new UsageError(`${output}: the folder is there, and it is not a model`, {
      advice: "Name another output: a folder that holds other things is not replaced.",
    });
  }
  if (!force) throw exists(output);
}

/**
 * Writes the folder of a model, which appears when it is complete. The caller has checked its place
 * before it read anything ({@link checkOutputPlace}).
 * @param write fills the empty folder
 * @param weights name of its file with the weights
 * @returns bytes of that file
 */
export async function writeModelFolder(
  output: string,
  write: (folder: string) => Promise<void>,
  weights = "model.safetensors",
): Promise<number> {
  await produceFolderAtomic(output, write);
  return (await Deno.stat(`${output}/${weights}`)).size;
}

function exists(output: string): UsageError {
  return new UsageError(`${output}: it is there already`, {
    advice: "Name another output, or replace it: --force, in a program force: true.",
  });
}

async function lookUp(path: string): Promise<Deno.FileInfo | null> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    if (!(error instanceof Deno.errors.NotADirectory)) throw error;
    throw new UsageError(`${path}: a part of the path is a file, not a folder`, {
      advice: "Name another output.",
      cause: error,
    });
  }
}
