/**
 * Exports a trained model for other programs: its adapter in PEFT's format, the adapter merged into
 * its base as a Hugging Face folder, or a GGUF file with tokenizer and chat template. Weights are
 * read and written one by one. The result appears under its name when it is complete.
 */
import { produceFileAtomic } from "../../core/atomic_file.ts";
import { UsageError } from "../../core/errors.ts";
import { requireAdapterFolder, writeAdapterFolder } from "./export_adapter.ts";
import { EXPORT_TARGETS, type ExportTarget } from "./export_targets.ts";
import { WEIGHT_TYPES, type WeightType } from "../formats/weight_types.ts";
import { checkpointNotes, findModel, requireModel } from "../../hub/find_model.ts";
import { ggufIdentity, ggufMetadata, ggufTensors } from "./gguf_export.ts";
import { ggufTokenizerMetadata, putsSpaceTwice } from "./gguf_tokenizer_export.ts";
import { TOKEN_KIND } from "../formats/gguf/gguf_tokenizer.ts";
import {
  type GgufMetadata,
  type GgufTensorToWrite,
  type GgufWritten,
  writeGguf,
} from "../formats/gguf/gguf_writer.ts";
import { readJsonObject } from "../../core/json_file.ts";
import { fileValues } from "../formats/expert_files.ts";
import {
  architectureOf,
  fileTensors,
  isMatrix,
  type ModelTensor,
  modelTensors,
} from "../architectures/mod.ts";
import { mergedConfig, type MergedWeights, mergedWeights } from "./merged_weights.ts";
import { type ModelFolder, readModelFolder } from "../model_folder.ts";
import { modelTextFiles } from "../formats/model_folder_files.ts";
import { checkOutputPlace, type OutputRules, writeModelFolder } from "./output_place.ts";
import { type StreamedTensor, writeSafetensors } from "../formats/tensor_stream.ts";
import { encodePieces, FLOAT_TYPES, type FloatType } from "../formats/weight_encoding.ts";
import { ADAPTER_WEIGHTS } from "../network/adapters/peft_adapter.ts";
import { ADAPTER_TYPE, ggufAdapterTensors, LORA_ALPHA } from "../network/weights/gguf_adapter.ts";
import { readGguf } from "../formats/gguf/gguf.ts";
import { readImportance } from "../formats/gguf/importance.ts";
import { ggufName } from "../formats/gguf/gguf_layout.ts";

/** Options of `exportModel`. */
export interface ExportOptions {
  /** The format that is written. */
  to: ExportTarget;
  /** Default: the type of the (base) model; quantised weights become f32. */
  dtype?: WeightType;
  /**
   * A folder. For GGUF: the name of a file that ends with .gguf, or the folder for it. An adapter
   * becomes a file of llama.cpp's where the name ends so.
   */
  output: string;
  /** llama.cpp's importance matrix, a file, for the types q4_k_m and q6_k. */
  imatrix?: string;
  /** Replace an existing model. */
  force?: boolean;
  /** Aborts the export between two tensors: it throws the signal's reason, and nothing remains. */
  signal?: AbortSignal;
}

/** The result of an export. */
export interface Exported {
  /** The folder, or the GGUF file. */
  path: string;
  /** Type of the matrices. */
  dtype: WeightType | null;
  /** Bytes of the file with the weights. */
  bytes: number;
  /** What users of the result should know. */
  notes: string[];
}

/**
 * Exports a model folder, a checkpoint, an adapter (merged into its base) or a GGUF file.
 * @throws UsageError when it does not exist, cannot be exported in this way, or the output exists
 *   already; RgxError when a file is damaged, or the disk is full (no incomplete output remains)
 */
export async function exportModel(checkpoint: string, options: ExportOptions): Promise<Exported> {
  const { to, force = false, dtype } = options;
  requireOne("to", to, EXPORT_TARGETS);
  if (dtype !== undefined) requireOne("dtype", dtype, WEIGHT_TYPES);
  if (dtype !== undefined && to !== "gguf" && !Object.hasOwn(FLOAT_TYPES, dtype)) {
    throw new UsageError(`dtype ${dtype} is a type of GGUF files only`, {
      advice: `In the target ${to} it is ${Object.keys(FLOAT_TYPES).join(", ")}.`,
    });
  }
  if (options.imatrix !== undefined && to !== "gguf") {
    throw new UsageError(`imatrix: ${to} does not heed it`, { advice: "It is for gguf files." });
  }
  const output = options.output.replace(/(.)\/+$/, "$1");
  const found = await findModel(checkpoint), path = found.path ?? await requireModel(checkpoint);
  const rules = { force, sources: [path], signal: options.signal };
  const exported = to === "adapter"
    ? await exportAdapter(path, output, dtype ?? null, rules)
    : to === "hf"
    ? await writeHfFolder(await readModelFolder(path), output, dtype ?? null, rules)
    : await writeGgufFile(
      await readModelFolder(path),
      checkpoint,
      output,
      dtype ?? null,
      rules,
      options.imatrix,
    );
  return { ...exported, notes: [...checkpointNotes(checkpoint, found), ...exported.notes] };
}

function requireOne<T extends string>(flag: string, value: string, allowed: readonly T[]): void {
  if ((allowed as readonly string[]).includes(value)) return;
  throw new UsageError(`${flag} ${value}: not known, expected ${allowed.join(", ")}`);
}

async function exportAdapter(
  checkpoint: string,
  output: string,
  dtype: WeightType | null,
  rules: OutputRules,
): Promise<Exported> {
  const type = dtype as FloatType | null;
  if (output.endsWith(".gguf")) {
    await requireAdapterFolder(checkpoint);
    const { adapter, ...base } = await readModelFolder(checkpoint), { config } = base;
    await checkOutputPlace(output, "file", withBase(rules, { ...base, adapter }));
    const stored = type ?? "f32", { alpha } = adapter!.config;
    const tensors = ggufAdapterTensors(adapter!, config, stored, checkpoint);
    const metadata = new Map<string, GgufWritten>([
      ...ggufIdentity(architectureOf(config), stored, nameOf(checkpoint)),
      ["general.type", ["string", "adapter"]],
      [ADAPTER_TYPE, ["string", "lora"]],
      [LORA_ALPHA, ["f32", alpha]],
    ]);
    const bytes = await writeGgufAt(output, metadata, tensors);
    return { path: output, dtype: stored, bytes, notes: [] };
  }
  await checkOutputPlace(output, "folder", rules);
  let notes: string[] = [];
  const bytes = await writeModelFolder(output, async (folder) => {
    notes = await writeAdapterFolder(checkpoint, type, folder);
  }, ADAPTER_WEIGHTS);
  return { path: output, dtype, bytes, notes };
}

/** Writes a file and its folder. @returns its bytes */
async function writeGgufAt(
  path: string,
  metadata: GgufMetadata,
  tensors: readonly GgufTensorToWrite[],
): Promise<number> {
  await Deno.mkdir(path.slice(0, Math.max(0, path.lastIndexOf("/"))) || ".", { recursive: true });
  await produceFileAtomic(path, (temporary) => writeGguf(temporary, metadata, tensors));
  return (await Deno.stat(path)).size;
}

/** Writes a model as one safetensors file with its configuration and tokenizer. */
export async function writeHfFolder(
  model: ModelFolder,
  output: string,
  dtype: WeightType | null,
  rules: OutputRules,
): Promise<Exported> {
  await checkOutputPlace(output, "folder", withBase(rules, model));
  const types: StoredTypes<FloatType> = dtype === null
    ? await storedTypes(model)
    : { matrix: dtype as FloatType, vector: dtype as FloatType };
  const weights = untilAborted(mergedWeights(model), rules), config = mergedConfig(model);
  // The matrices of experts are parts of two tensors, which alternate in the file.
  const kept = new Map<string, ReturnType<MergedWeights>>();
  const read = (name: string, shape: readonly number[]) => {
    const values = kept.get(name) ?? weights(name, shape);
    kept.delete(name);
    kept.set(name, values);
    if (kept.size > 2) kept.delete(kept.keys().next().value!);
    return values;
  };
  const tensors = modelTensors(config).flatMap((tensor) => {
    const parts = fileTensors(config, tensor), readTensor = parts.length > 1 ? read : weights;
    return parts.map((stored): StreamedTensor => {
      const { name, shape } = stored;
      const type = isMatrix(tensor) ? types.matrix : types.vector;
      const bytes = async function* () {
        const values = await readTensor(tensor.name, tensor.shape);
        yield* encodePieces(type, { name, shape }, fileValues(values, stored));
      };
      return { name, dtype: FLOAT_TYPES[type].dtype, shape, bytes };
    });
  });
  const generation = model.path.endsWith(".gguf")
    ? null
    : await readJsonObject(`${model.path}/generation_config.json`);
  const texts = modelTextFiles(
    { ...model, config },
    FLOAT_TYPES[types.matrix].name,
    generation ?? {},
  );
  const bytes = await writeModelFolder(output, async (folder) => {
    await writeSafetensors(`${folder}/model.safetensors`, tensors);
    for (const [name, text] of texts) await Deno.writeTextFile(`${folder}/${name}`, text);
  });
  const notes = model.tokenizer === null ? ["the model has no tokenizer"] : [];
  return { path: output, dtype: types.matrix, bytes, notes };
}

/** An adapter's base is read, too. */
function withBase(rules: OutputRules, { path }: ModelFolder): OutputRules {
  return { ...rules, sources: [...rules.sources, path] };
}

function untilAborted(weights: MergedWeights, { signal }: OutputRules): MergedWeights {
  return (name, shape) => {
    signal?.throwIfAborted();
    return weights(name, shape);
  };
}

async function writeGgufFile(
  model: ModelFolder,
  checkpoint: string,
  output: string,
  dtype: WeightType | null,
  rules: OutputRules,
  imatrix?: string,
): Promise<Exported> {
  const type = dtype ?? (await storedTypes(model)).matrix;
  const path = output.endsWith(".gguf") ? output : `${output}/model-${type}.gguf`;
  await checkOutputPlace(path, "file", withBase(rules, model));
  const { tokenizer } = model, config = mergedConfig(model);
  const metadata = new Map(ggufMetadata(config, type, nameOf(checkpoint), checkpoint));
  if (tokenizer === null) {
    throw new UsageError(`${checkpoint}: no tokenizer, which a GGUF file must hold`, {
      advice: "Put the model's tokenizer.json into its folder.",
    });
  }
  const tokens = { ...model, tokenizer, vocabSize: config.vocabSize, where: checkpoint };
  for (const [key, value] of ggufTokenizerMetadata(tokens)) metadata.set(key, value);
  if (imatrix !== undefined && type !== "q4_k_m" && type !== "q6_k") {
    throw new UsageError(`imatrix: ${type} does not heed it`, { advice: "Take q4_k_m or q6_k." });
  }
  const importance = imatrix === undefined ? undefined : await readImportance(imatrix);
  const tensors = ggufTensors(config, untilAborted(mergedWeights(model), rules), type, importance);
  if (importance !== undefined && !tensors.some(({ name }) => importance.has(name))) {
    throw new UsageError(`${imatrix}: it names no tensor of the model`, {
      advice: "It belongs to another model.",
    });
  }
  const size = await writeGgufAt(path, metadata, tensors);
  const notes: string[] = [];
  const others = tensors.filter(({ shape, type: stored }) => shape.length > 1 && stored === "f16");
  if (type !== "f16" && others.length > 0) {
    notes.push(`${others.length} matrices are f16: their rows are no multiples of 32 weights`);
  }
  const kinds = metadata.get("tokenizer.ggml.token_type")![1] as number[];
  if (metadata.get("tokenizer.ggml.model")![1] === "llama" && !kinds.includes(TOKEN_KIND.byte)) {
    notes.push("llama.cpp refuses texts with characters that have no token of their own");
  }
  if (putsSpaceTwice(tokenizer, metadata)) {
    notes.push(
      "llama.cpp puts a space before every text; the model's tokenizer puts none before a text " +
        "that begins with one",
    );
  }
  if (config.slidingWindow && architectureOf(config).window !== "typed") {
    notes.push(
      `llama.cpp attends to all positions, not to the last ${config.slidingWindow}: ` +
        "longer texts come out differently there",
    );
  }
  return { path, dtype: type, bytes: size, notes };
}

/** The last part of a path that names the model. */
function nameOf(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== "." && part !== "..");
  const last = parts.at(-1) ?? "model";
  const checkpoint = /^(checkpoint-\d+|latest|best)$/.test(last);
  return (checkpoint && parts.length > 1 ? `${parts.at(-2)}-${last}` : last)
    .replace(/\.gguf$/, "");
}

// The types in which a model's weights are stored, so that they lose no precision and do not grow
// when they are written again.

interface StoredTypes<T = FloatType> {
  matrix: T;
  /** Type of norms and biases. */
  vector: T;
}

/**
 * The type that all matrices have in common, and the one that all vectors have; otherwise f32,
 * which represents every other type.
 */
async function storedTypes(
  { path, config, files }: Pick<ModelFolder, "path" | "config" | "files">,
): Promise<StoredTypes> {
  const gguf = path.endsWith(".gguf") ? (await readGguf(path)).tensors : null;
  const typeOf = (tensor: ModelTensor) =>
    (gguf === null ? files.dtype?.(tensor.name) : gguf.get(ggufName(config, tensor))?.type.name) ??
      null;
  const found = { matrix: new Set<string | null>(), vector: new Set<string | null>() };
  for (const tensor of modelTensors(config)) {
    const isMatrixType = isMatrix(tensor) && tensor.part !== "conv";
    found[isMatrixType ? "matrix" : "vector"].add(typeOf(tensor));
  }
  return { matrix: common(found.matrix), vector: common(found.vector) };
}

function common(found: ReadonlySet<string | null>): FloatType {
  // The values of MXFP4 are exact in bfloat16.
  const types = new Set([...found].map((type) => type === "MXFP4" ? "BF16" : type)), [type] = types;
  if (types.size === 1 && type === "F16") return "f16";
  return types.size === 1 && type === "BF16" ? "bf16" : "f32";
}
