/** Model folders and adapters with weights from memory. Not part of the program. */
import type { FileContent } from "../core/atomic_file.ts";
import { modelTensors } from "./architectures/mod.ts";
import { mergedConfig, mergedWeights } from "./export/merged_weights.ts";
import { modelFolderFiles, type ModelText } from "./formats/model_folder_files.ts";
import { storedBytes } from "./formats/safetensors/safetensors_writer.ts";
import type { StreamedTensor } from "./formats/tensor_stream.ts";
import type { ModelFolder } from "./model_folder.ts";
import { peftAdapterFiles, type PeftConfig } from "./network/adapters/peft_adapter.ts";

export interface TensorInMemory {
  name: string;
  shape: readonly number[];
  data: Float32Array | Float64Array;
}

export interface ModelToWrite extends ModelText {
  tensors: Iterable<TensorInMemory>;
}

type Files = Map<string, Uint8Array<ArrayBuffer>>;

/** All files of a model, with weights in F32. */
export function encodeModelFolder(model: ModelToWrite): Promise<Files> {
  return filesOf(modelFolderFiles(model, asF32(model.tensors)));
}

/** The files of an adapter, with weights in F32. */
export function encodePeftAdapter(
  config: PeftConfig,
  tensors: Iterable<TensorInMemory>,
  taken: Iterable<TensorInMemory> = [],
): Promise<Files> {
  return filesOf(peftAdapterFiles(config, asF32(tensors), asF32(taken)));
}

function asF32(tensors: Iterable<TensorInMemory>): StreamedTensor[] {
  return [...tensors].map(({ name, shape, data }) => {
    const entry = { name, shape, dtype: "F32" as const };
    return { ...entry, bytes: () => [storedBytes({ ...entry, data })] };
  });
}

async function filesOf(files: ReadonlyMap<string, FileContent>): Promise<Files> {
  const out: Files = new Map();
  for (const [name, content] of files) out.set(name, await bytesOf(content));
  return out;
}

/** The whole content of a file. */
export async function bytesOf(content: FileContent): Promise<Uint8Array<ArrayBuffer>> {
  const pieces = content instanceof Uint8Array ? [content] : content();
  return new Uint8Array(await new Response(ReadableStream.from(pieces)).arrayBuffer());
}

/** All weights of a model, with its adapter merged in. */
export async function mergedMap(model: ModelFolder) {
  const read = mergedWeights(model), tensors = modelTensors(mergedConfig(model));
  return new Map(
    await Promise.all(
      tensors.map(async ({ name, shape }) => [name, await read(name, shape)] as const),
    ),
  );
}
