/**
 * The weights of a model folder: one `model.safetensors`, or shards with their index
 * (`model.safetensors.index.json`), or the same as `pytorch_model.bin`. Tensors are read one at a
 * time. Three variations of Hugging Face's folders are understood: names without the leading
 * "model." or "transformer.", one matrix for both embedding and head, and the text part of a model
 * that also sees.
 */
import { Buffer } from "node:buffer";
import { RgxError, UsageError } from "../../core/errors.ts";
import { readJsonObject } from "../../core/json_file.ts";
import { elementCount } from "./element_count.ts";
import { joinExperts, type TensorFile } from "./expert_files.ts";
import { ARCHITECTURES, LM_HEAD } from "../architectures/mod.ts";
import { storedInWrapper } from "../architectures/wrapper.ts";
import type { ModelConfig } from "../architectures/model_config.ts";
import { DTYPE_BYTES, type SafetensorsDType } from "./safetensors/dtypes.ts";
import { readSafetensors, type SafetensorsFile } from "./safetensors/safetensors.ts";
import { storedType, type WeightType } from "./stored_weight.ts";
import { readTorchFile } from "./torch/torch_file.ts";
import type { WeightReader } from "./weight_reader.ts";

interface Format<T extends TensorFile = TensorFile> {
  readonly single: string;
  readonly index: string;
  /** Names that shards may have. */
  readonly shard: RegExp;
  readonly open: (path: string) => Promise<T>;
}

export const SAFETENSORS: Format<SafetensorsFile> = {
  single: "model.safetensors",
  index: "model.safetensors.index.json",
  shard: /^[^/\\]+\.safetensors$/,
  open: readSafetensors,
};

/** In the order in which they are looked for. */
const FORMATS: readonly Format[] = [
  SAFETENSORS,
  {
    single: "pytorch_model.bin",
    index: "pytorch_model.bin.index.json",
    shard: /^[^/\\]+\.bin$/,
    open: readTorchFile,
  },
];

const MERGE_FSDP =
  "These are FSDP shards: put them together with `accelerate merge-weights FOLDER OUTPUT`, " +
  "or save with a full state_dict (fsdp_state_dict_type: FULL_STATE_DICT).";
const MERGE_ZERO =
  "These are DeepSpeed shards: put them together with the zero_to_fp32.py that is " +
  "beside them: `python zero_to_fp32.py . OUTPUT --safe_serialization`.";

/** Formats that rgx does not read, with the advice for each. */
const OTHER_FORMATS: readonly [RegExp, string][] = [
  [/\.distcp$|^pytorch_model_fsdp_\d+|^\.metadata$/, MERGE_FSDP],
  [/^zero_to_fp32\.py$|^global_step\d+$|_optim_states\.pt$|^zero_pp_rank/, MERGE_ZERO],
  [
    /^model_world_size_\d+_rank_\d+\.pt$/,
    "These are the parts of FSDP's processes: rgx convert FOLDER --output OUTPUT puts them together.",
  ],
  [/\.gguf$/, "Give the path of the GGUF file itself."],
  [/\.pth?$/, "Call PyTorch's file pytorch_model.bin, or save the model as safetensors."],
  [/\.(h5|msgpack|onnx)$/, "Use the model's safetensors."],
];

/** What some folders leave out in front of the names. */
const MODEL_PREFIX = /^(model|transformer)\./;

class WeightFiles implements WeightReader {
  constructor(
    /** The folder, for messages. */
    readonly label: string,
    /** Tensor name → the file that holds it. */
    private readonly files: ReadonlyMap<string, TensorFile>,
    private tied: boolean,
    private readonly wrapped: boolean,
  ) {}

  /**
   * Whether the head is the embedding. As in transformers, `tie_word_embeddings` has no effect when
   * the files hold a head with other values than the embedding.
   */
  async sharesHead(embedding: string): Promise<boolean> {
    const [one, head] = [embedding, LM_HEAD].map((name) => this.#nameInFiles(name));
    if (!this.tied || !one || !head) return this.tied;
    this.tied = await haveSameBytes(this.files.get(one)!, one, this.files.get(head)!, head);
    return this.tied;
  }

  names(): string[] {
    return [...this.files.keys()];
  }

  /** @throws RgxError for layers that the configuration does not count */
  checkLayers({ numLayers, architecture }: ModelConfig): void {
    const prefix = ARCHITECTURES[architecture ?? "llama"].layers;
    const layerOf = (name: string) =>
      this.#variations(prefix).flatMap((start) =>
        name.startsWith(start) ? [parseInt(name.slice(start.length))] : []
      )[0] ?? -1;
    const [first, ...others] = this.names().filter((name) => layerOf(name) >= numLayers);
    if (first === undefined) return;
    throw new RgxError(
      `${this.label}: the weights have more layers than the ${numLayers} of config.json: ` +
        `"${first}"${others.length === 0 ? "" : ` and ${others.length} more tensors`}`,
      { advice: "Correct the number of layers in config.json, or remove these tensors." },
    );
  }

  /**
   * Values of a tensor by its full Hugging Face name, or null when the folder has none: float32, or
   * float64 for F64.
   * @throws RgxError when its shape is not `shape`
   */
  async values(
    name: string,
    shape: readonly number[],
  ): Promise<Float32Array | Float64Array | null> {
    const found = this.#find(name, shape);
    return found === null ? null : await found.file.floats(found.stored);
  }

  holds(name: string, shape: readonly number[]): boolean {
    return this.#find(name, shape) !== null;
  }

  typeOf(name: string): WeightType | null {
    const dtype = this.dtype(name);
    return dtype === null ? null : storedType(dtype);
  }

  /**
   * The stored bytes of a tensor for which `dtype` gives a type.
   * @throws RgxError when its shape is not `shape`
   */
  async bytes(name: string, shape: readonly number[]): Promise<Uint8Array<ArrayBuffer>> {
    const { file, stored } = this.#find(name, shape)!;
    return await file.bytes(stored);
  }

  async bytesInto(
    name: string,
    shape: readonly number[],
    from: number,
    out: Uint8Array<ArrayBuffer>,
  ): Promise<boolean> {
    const { file, stored } = this.#find(name, shape)!;
    if (file.bytesInto === undefined) return false;
    await file.bytesInto(stored, from, out);
    return true;
  }

  #find(name: string, shape: readonly number[]): { file: TensorFile; stored: string } | null {
    const stored = this.#storedName(name);
    if (stored === null) return null;
    const file = this.files.get(stored)!;
    const info = file.info(stored);
    const same = info.shape.length === shape.length && info.shape.every((n, i) => n === shape[i]);
    if (!same) {
      throw new RgxError(
        `${file.label}: tensor "${stored}" has shape [${info.shape.join(", ")}], ` +
          `expected [${shape.join(", ")}] (${elementCount(shape)} values) by config.json`,
        { advice: "config.json and the weights belong to different models." },
      );
    }
    return { file, stored };
  }

  /** The type of a tensor in its file ("BF16"), or null when the folder has no such tensor. */
  dtype(name: string): string | null {
    const stored = this.#storedName(name);
    return stored === null ? null : this.files.get(stored)!.info(stored).dtype;
  }

  #storedName(name: string): string | null {
    const embedding = "model.embed_tokens.weight";
    const names = [name];
    if (this.tied && name === embedding) names.push(LM_HEAD);
    if (this.tied && name === LM_HEAD) names.push(embedding);
    return names.map((wanted) => this.#nameInFiles(wanted)).find((found) => found !== null) ?? null;
  }

  #nameInFiles(name: string): string | null {
    return this.#variations(name).find((one) => this.files.has(one)) ?? null;
  }

  #variations(name: string): string[] {
    return this.wrapped ? storedInWrapper(name) : [name, name.replace(MODEL_PREFIX, "")];
  }
}

/** Bytes that are compared at a time. */
const PART_BYTES = 1 << 22;

async function haveSameBytes(a: TensorFile, of: string, b: TensorFile, other: string) {
  const place = ({ name: _, ...rest }: { name: string }) => JSON.stringify(rest);
  const first = a.info(of), second = b.info(other);
  // In files of torch, two names may stand for the same bytes.
  if (a === b && place(first) === place(second)) return true;
  if (first.dtype !== second.dtype || String(first.shape) !== String(second.shape)) return false;
  if (a.bytesInto === undefined || b.bytesInto === undefined) {
    return Buffer.from(await a.bytes(of)).equals(await b.bytes(other));
  }
  const size = elementCount(first.shape) * DTYPE_BYTES[first.dtype as SafetensorsDType];
  for (let from = 0; from < size; from += PART_BYTES) {
    const [x, y] = [0, 1].map(() => Buffer.alloc(Math.min(PART_BYTES, size - from)));
    await a.bytesInto(of, from, x!);
    await b.bytesInto(other, from, y!);
    if (!x!.equals(y!)) return false;
  }
  return true;
}

/**
 * Opens the weights of a folder. Headers are read and checked; data is not read yet.
 * @param tied whether one matrix is both embedding and head, whatever its name in the file
 * @param wrapped whether it is the text part of a model that also sees
 * @throws UsageError when the folder has no weights that can be read, RgxError when they are
 *   damaged
 */
export async function openWeightFiles(
  folder: string,
  tied: boolean,
  wrapped = false,
): Promise<WeightFiles> {
  const entries = new Set<string>();
  for await (const entry of Deno.readDir(folder)) entries.add(entry.name);
  const files = new Map<string, TensorFile>();
  const format = FORMATS.find(({ single, index }) => entries.has(single) || entries.has(index));
  if (format === undefined) {
    const other = OTHER_FORMATS.find(([form]) => [...entries].some((name) => form.test(name)));
    throw new UsageError(
      `${folder}: no weights: looked for ${
        FORMATS.flatMap(({ single, index }) => [single, index]).join(", ")
      }`,
      other === undefined ? {} : { advice: other[1] },
    );
  }
  if (entries.has(format.single)) {
    const file = await format.open(`${folder}/${format.single}`);
    for (const name of file.tensors.keys()) files.set(name, file);
  } else {
    for (const [name, file] of await openShards(folder, format)) files.set(name, file);
  }
  return new WeightFiles(folder, joinExperts(files, folder), tied, wrapped);
}

/**
 * Tensor name → the shard that holds it.
 * @throws RgxError when the index and the shards do not agree
 */
export async function openShards<T extends TensorFile>(
  folder: string,
  { single, index, shard, open }: Format<T>,
): Promise<Map<string, T>> {
  const path = `${folder}/${index}`, extension = single.replace(/^.*\./, "");
  const map = (await readJsonObject(path))?.["weight_map"];
  if (map === null || typeof map !== "object") {
    throw new RgxError(`${path}: no "weight_map" in it, expected tensor → file`);
  }
  const files = new Map<string, T>(), opened = new Map<string, T>();
  for (const [tensor, name] of Object.entries(map)) {
    if (typeof name !== "string" || !shard.test(name)) {
      throw new RgxError(
        `${path}: tensor "${tensor}" is said to be in ${JSON.stringify(name)}, ` +
          `expected the name of a ${extension} file beside the index`,
      );
    }
    let file = opened.get(name);
    if (file === undefined) {
      file = await open(`${folder}/${name}`);
      opened.set(name, file);
    }
    if (!file.tensors.has(tensor)) {
      throw new RgxError(
        `${file.label}: tensor "${tensor}" is not in it, but ${index} says that it is`,
        { advice: "The shards belong to different models, or the download is incomplete." },
      );
    }
    files.set(tensor, file);
  }
  return files;
}
