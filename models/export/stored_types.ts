/**
 * The types in which a model's weights are stored, so that they lose no precision and do not grow
 * when they are written again.
 */
import { readGguf } from "../formats/gguf/gguf.ts";
import { ggufName } from "../formats/gguf/gguf_names.ts";
import { type ModelTensor, modelTensors } from "../architectures/mod.ts";
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
  for (const tensor of modelTensors(config)) {
    (tensor.shape.length > 1 ? found.matrix : found.vector).add(typeOf(tensor));
  }
  return { matrix: common(found.matrix), vector: common(found.vector) };
}

async function ggufTypes(path: string) {
  const { tensors } = await readGguf(path);
  return (tensor: ModelTensor) => tensors.get(ggufName(tensor))?.type.name ?? null;
}

async function folderTypes(path: string, config: ModelFolder["config"]) {
  const files = await openWeightFiles(path, config.tieWordEmbeddings);
  return ({ name }: ModelTensor) => files.dtype(name);
}

function common(types: ReadonlySet<string | null>): FloatType {
  const [type] = types;
  if (types.size === 1 && type === "F16") return "f16";
  return types.size === 1 && type === "BF16" ? "bf16" : "f32";
}
