/**
 * The types in which a model's weights are stored, so that they lose no precision and do not grow
 * when they are written again.
 */
import { readGguf } from "../formats/gguf/gguf.ts";
import { ggufArchitecture } from "../formats/gguf/gguf_config.ts";
import { ggufName } from "../formats/gguf/gguf_names.ts";
import { modelTensors } from "../network/weights/model_weights.ts";
import type { ModelFolder } from "../model_folder.ts";
import { openWeightFiles } from "../formats/weight_files.ts";

type FloatType = "f32" | "f16" | "bf16";

export interface StoredTypes<T = FloatType> {
  matrix: T;
  /** Type of norms and biases. */
  vector: T;
}

/**
 * The type that all matrices have in common, and the one that all vectors have; otherwise f32,
 * which represents every other type.
 */
export async function storedTypes(
  { path, config }: Pick<ModelFolder, "path" | "config">,
): Promise<StoredTypes> {
  const typeOf = path.endsWith(".gguf") ? await ggufTypes(path) : await folderTypes(path, config);
  const found = { matrix: new Set<string | null>(), vector: new Set<string | null>() };
  for (const { name, shape } of modelTensors(config)) {
    (shape.length > 1 ? found.matrix : found.vector).add(typeOf(name));
  }
  return { matrix: common(found.matrix), vector: common(found.vector) };
}

async function ggufTypes(path: string) {
  const file = await readGguf(path), architecture = ggufArchitecture(file);
  return (name: string) => {
    const stored = ggufName(architecture, name);
    return stored === null ? null : file.tensors.get(stored)?.type.name ?? null;
  };
}

async function folderTypes(path: string, config: ModelFolder["config"]) {
  const files = await openWeightFiles(path, config.tieWordEmbeddings);
  return (name: string) => files.dtype(name);
}

function common(types: ReadonlySet<string | null>): FloatType {
  const [type] = types;
  if (types.size === 1 && type === "F16") return "f16";
  return types.size === 1 && type === "BF16" ? "bf16" : "f32";
}
