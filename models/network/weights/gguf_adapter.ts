/**
 * Low-rank adapters in GGUF files, as llama.cpp's `convert_lora_to_gguf.py` writes them: a pair
 * `NAME.lora_a` [r, in] and `NAME.lora_b` [out, r] for each adapted tensor NAME, of experts one for
 * each of them. The scale is alpha/r. What the file of a model has in another order
 * (formats/gguf/gguf_layout.ts) is so here too: rows of B, and columns of A where the columns of
 * the weight are. llama.cpp's own script refuses the value heads of a Qwen3.5.
 */
import { RgxError, UsageError } from "../../../core/errors.ts";
import { type Module, MODULES } from "../../architectures/architecture.ts";
import {
  architectureOf,
  linearDims,
  type ModelTensor,
  modelTensors,
  peftPath,
} from "../../architectures/mod.ts";
import { isParameter, matrixCount } from "../../architectures/mixtures.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import { transposeEach } from "../../formats/expert_files.ts";
import type { GgufFile } from "../../formats/gguf/gguf.ts";
import { ggufLayout, rowsFromFile, rowsToFile } from "../../formats/gguf/gguf_layout.ts";
import type { GgufTensorToWrite } from "../../formats/gguf/gguf_writer.ts";
import {
  encodeSafetensors,
  type TensorToWrite,
} from "../../formats/safetensors/safetensors_writer.ts";
import { parseSafetensors } from "../../formats/safetensors/safetensors.ts";
import { encodePieces, type FloatType } from "../../formats/weight_encoding.ts";
import { loraNames } from "../adapters/lora.ts";
import { loraOptions, type PeftAdapter, type PeftConfig } from "../adapters/peft_adapter.ts";
import { fitAdapter } from "./adapter_fit.ts";
import { type LoraPlacement, placeLora } from "./model_weights.ts";

/** Keys of the file's metadata. */
export const ADAPTER_TYPE = "adapter.type", LORA_ALPHA = "adapter.lora.alpha";

/** How a file has the pair of a module: names of its tensors, and order and shape of A and B. */
function pairLayout(
  config: ModelConfig,
  tensor: ModelTensor,
  { r, module, layer }: Pick<LoraPlacement, "r" | "module" | "layer">,
) {
  const layout = ggufLayout(config, tensor), { names, columns } = layout;
  const experts = matrixCount(config, module), lead = experts > 1 ? [experts] : [];
  const [inDim, outDim] = linearDims(config, module, layer), same = { ...layout, places: null };
  return {
    names,
    experts,
    inDim,
    outDim,
    a: { order: columns ? { ...layout, count: r } : same, shape: [...lead, r, inDim] },
    b: { order: columns ? same : layout, shape: [...lead, outDim / names.length, r] },
  };
}

/**
 * @param where the adapter, for messages
 * @throws UsageError for parts that llama.cpp's files have no place for, RgxError for another base
 */
export function ggufAdapterTensors(
  adapter: PeftAdapter,
  config: ModelConfig,
  type: FloatType,
  where: string,
): GgufTensorToWrite[] {
  const { lora, saved, embedding } = fitAdapter(adapter, config, "of the adapter");
  const isTiedHead = config.tieWordEmbeddings && lora.some(({ layer }) => layer === null);
  const problem = embedding !== null
    ? "trained embeddings"
    : saved.length > 0
    ? "modules that are stored in full"
    : isTiedHead
    ? "an adapter of a head that is tied to the embedding"
    : lora.some(({ bias, magnitude, from }) => bias || magnitude || from !== null)
    ? "DoRA, biases, PiSSA or OLoRA"
    : null;
  if (problem !== null) {
    throw new UsageError(`${where}: a GGUF file of an adapter has no place for ${problem}`, {
      advice: "Merge it into its base: --to gguf.",
    });
  }
  const tensors = new Map(modelTensors(config).map((tensor) => [tensor.name, tensor]));
  const { weights, config: { alpha } } = adapter;
  const written = (
    name: string,
    shape: readonly number[],
    values: () => Promise<Float32Array>,
  ): GgufTensorToWrite => ({
    name,
    type,
    shape,
    bytes: async function* () {
      yield* encodePieces(type, { name, shape }, await values());
    },
  });
  return lora.flatMap((placed) => {
    const { path, peftPath, r, scale } = placed, ofPeft = loraNames(peftPath);
    const pair = pairLayout(config, tensors.get(`${path}.weight`)!, placed), { a, b } = pair;
    // llama.cpp's scale is alpha/r of the whole file; what this one has more is put into B.
    const gain = scale * r / alpha;
    const readA = async () => rowsToFile(a.order, await weights.float32(ofPeft.a))[0]!;
    const readB = async (part: number) => {
      // B of PEFT has the experts running fastest; here each has a matrix.
      const values = transposeEach(await weights.float32(ofPeft.b), 1, pair.outDim * r);
      return rowsToFile(b.order, gain === 1 ? values : values.map((x) => x * gain))[part]!;
    };
    return pair.names.flatMap((name, part) => [
      written(`${name}.lora_a`, a.shape, readA),
      written(`${name}.lora_b`, b.shape, () => readB(part)),
    ]);
  });
}

/** Whether a file is an adapter's, not a model's. */
export function isGgufAdapter(file: GgufFile): boolean {
  return file.metadata.get("general.type") === "adapter";
}

/**
 * The adapter of a file under PEFT's names.
 * @param config of its base
 * @throws UsageError for what is no low-rank adapter or belongs to another base, RgxError for a
 *   damaged file
 */
export async function readGgufAdapter(file: GgufFile, config: ModelConfig): Promise<PeftAdapter> {
  const { label, metadata } = file, { gguf, inLayer } = architectureOf(config);
  const alpha = metadata.get(LORA_ALPHA);
  const advice = "Give an adapter of this base, as llama.cpp's convert_lora_to_gguf.py writes it.";
  const required = { "general.type": "adapter", [ADAPTER_TYPE]: "lora" };
  for (const [key, wanted] of Object.entries({ ...required, "general.architecture": gguf })) {
    if (metadata.get(key) === wanted) continue;
    const found = JSON.stringify(metadata.get(key));
    throw new UsageError(`${label}: ${key} is ${found}, expected "${wanted}"`, { advice });
  }
  if (!(typeof alpha === "number" && alpha > 0 && alpha < Infinity)) {
    throw new RgxError(`${label}: ${LORA_ALPHA} is ${alpha}, expected a positive number`, {
      advice,
    });
  }
  const unknown = new Set(file.tensors.keys());
  const pairs = new Map<string, { tensor: ModelTensor; r: number }>();
  for (const tensor of modelTensors(config)) {
    const isModule = tensor.part === "head" || MODULES.includes(tensor.part as Module);
    if (!isModule || tensor.kind !== "weight") continue;
    const names = ggufLayout(config, tensor).names
      .flatMap((name) => [`${name}.lora_a`, `${name}.lora_b`]);
    if (!names.every((name) => file.tensors.has(name))) continue;
    for (const name of names) unknown.delete(name);
    const path = tensor.name.replace(/\.weight$/, ""), r = file.info(names[0]!).shape.at(-2) ?? 0;
    pairs.set(path, { tensor, r });
  }
  const [first] = unknown;
  if (first !== undefined || pairs.size === 0) {
    throw new UsageError(
      first === undefined
        ? `${label}: it holds no pair of matrices`
        : `${label}: the tensor "${first}" is not understood, or its pair is missing`,
      { advice: "Only low-rank adapters of linear modules are read from GGUF files." },
    );
  }
  const targets: string[] = [], parameters = new Set<string>(), ranks: [string, number][] = [];
  for (const [path, { tensor: { part, layer }, r }] of pairs) {
    const name = peftPath(config, path);
    if (layer !== null && isParameter(config, part as Module)) {
      parameters.add(`${inLayer[part as Module]!}${part === "router" ? ".weight" : ""}`);
    } else targets.push(name);
    ranks.push([name.replaceAll(".", "\\."), r]);
  }
  const r = Math.max(...ranks.map(([, r]) => r));
  const peft: PeftConfig = {
    baseModel: null,
    revision: null,
    r,
    alpha,
    dropout: 0,
    targetModules: targets,
    ...(parameters.size > 0 && { targetParameters: [...parameters] }),
    useRslora: false,
    rankPattern: Object.fromEntries(ranks.filter(([, rank]) => rank !== r)),
    alphaPattern: {},
    layersToTransform: null,
  };
  const tensors: TensorToWrite[] = [], dtype = "F32";
  const read = (names: readonly string[], shape: readonly number[]) =>
    Promise.all(names.map((name) => {
      const found = file.info(name).shape;
      if (String(found) === String(shape)) return file.float32(name);
      throw new RgxError(`${label}: "${name}" has shape [${found}], the base needs [${shape}]`, {
        advice: "Use the base that it was trained on.",
      });
    }));
  for (const { path, module, layer, peftPath } of placeLora(config, loraOptions(peft))) {
    const found = pairs.get(path);
    if (found === undefined) continue; // It is named as missing where the adapter is checked.
    const { r } = found, pair = pairLayout(config, found.tensor, { r, module, layer });
    const { names, experts, inDim, outDim, a, b } = pair, ofPeft = loraNames(peftPath);
    const [one, two] = await read(names.map((name) => `${name}.lora_a`), a.shape);
    if (two?.some((x, i) => x !== one![i])) {
      throw new UsageError(`${label}: ${names.join(" and ")} have an A each, expected the same`, {
        advice: "rgx has one module for both: merge the adapter into its base with llama.cpp.",
      });
    }
    const rows = rowsFromFile(b.order, await read(names.map((name) => `${name}.lora_b`), b.shape));
    const ofA = { shape: [r * experts, inDim], data: rowsFromFile(a.order, [one!]) };
    const ofB = { shape: [outDim, r * experts], data: transposeEach(rows, 1, experts) };
    tensors.push({ name: ofPeft.a, dtype, ...ofA }, { name: ofPeft.b, dtype, ...ofB });
  }
  return { config: peft, weights: await parseSafetensors(encodeSafetensors(tensors), label) };
}
