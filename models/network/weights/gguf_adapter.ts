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
import {
  type GgufLayout,
  ggufLayout,
  rowsFromFile,
  rowsToFile,
} from "../../formats/gguf/gguf_layout.ts";
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
import { placeLora } from "./model_weights.ts";

/** Keys of the file's metadata. */
export const ADAPTER_TYPE = "adapter.type", LORA_ALPHA = "adapter.lora.alpha";

/** The order of a pair's rows in B, and of its columns in A. */
function pairLayouts(layout: GgufLayout, r: number): { ofA: GgufLayout; ofB: GgufLayout } {
  const same = { ...layout, places: null };
  return layout.columns ? { ofA: { ...layout, count: r }, ofB: same } : { ofA: same, ofB: layout };
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
  return lora.flatMap(({ path, peftPath, r, scale, module }) => {
    const layout = ggufLayout(config, tensors.get(`${path}.weight`)!);
    const { ofA, ofB } = pairLayouts(layout, r), { a, b } = loraNames(peftPath);
    const experts = matrixCount(config, module), lead = experts > 1 ? [experts] : [];
    const [inDim, outDim] = linearDims(config, module, tensors.get(`${path}.weight`)!.layer);
    // B of PEFT has the experts running fastest; here each has a matrix.
    // llama.cpp's scale is alpha/r of the whole file; what this one has more is put into B.
    const gain = scale * r / alpha;
    const readA = async () => rowsToFile(ofA, await weights.float32(a))[0]!;
    const readB = async () =>
      rowsToFile(ofB, transposeEach(await weights.float32(b), 1, outDim * r));
    return layout.names.flatMap((name, i) => {
      const pair = (
        suffix: string,
        shape: readonly number[],
        values: () => Promise<Float32Array>,
      ): GgufTensorToWrite => ({
        name: name + suffix,
        type,
        shape: [...lead, ...shape],
        bytes: async function* () {
          yield* encodePieces(type, { name: name + suffix, shape }, await values());
        },
      });
      return [
        pair(".lora_a", [r, inDim], readA),
        pair(".lora_b", [outDim / layout.names.length, r], async () => {
          const values = (await readB())[i]!;
          return gain === 1 ? values : values.map((x) => x * gain);
        }),
      ];
    });
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
  const required = { "general.type": "adapter", [ADAPTER_TYPE]: "lora" };
  for (const [key, wanted] of Object.entries({ ...required, "general.architecture": gguf })) {
    if (metadata.get(key) === wanted) continue;
    throw new UsageError(
      `${label}: ${key} is ${JSON.stringify(metadata.get(key))}, expected "${wanted}"`,
      { advice: "Give an adapter of this base, as llama.cpp's convert_lora_to_gguf.py writes it." },
    );
  }
  if (typeof alpha !== "number" || !(alpha > 0)) {
    throw new RgxError(`${label}: ${LORA_ALPHA} is ${alpha}, expected a positive number`);
  }
  const unknown = new Set(file.tensors.keys());
  const pairs = new Map<string, { tensor: ModelTensor; layout: GgufLayout; r: number }>();
  for (const tensor of modelTensors(config)) {
    const isModule = tensor.part === "head" || MODULES.includes(tensor.part as Module);
    if (!isModule || tensor.kind !== "weight") continue;
    const layout = ggufLayout(config, tensor);
    const names = layout.names.flatMap((name) => [`${name}.lora_a`, `${name}.lora_b`]);
    if (!names.every((name) => file.tensors.has(name))) continue;
    for (const name of names) unknown.delete(name);
    const path = tensor.name.replace(/\.weight$/, ""), r = file.info(names[0]!).shape.at(-2)!;
    pairs.set(path, { tensor, layout, r });
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
  const tensors: TensorToWrite[] = [];
  for (const { path, module, peftPath } of placeLora(config, loraOptions(peft))) {
    const pair = pairs.get(path);
    if (pair === undefined) continue; // It is named as missing where the adapter is checked.
    const { r, layout: { names } } = pair, { ofA, ofB } = pairLayouts(pair.layout, r);
    const read = (suffix: string) =>
      Promise.all(names.map((name) => file.float32(`${name}.lora_${suffix}`)));
    const [one, two = one] = await read("a");
    if (two!.some((x, i) => x !== one![i])) {
      throw new UsageError(`${label}: ${names.join(" and ")} have an A each, expected the same`);
    }
    const experts = matrixCount(config, module), { a, b } = loraNames(peftPath), dtype = "F32";
    const width = file.info(`${names[0]}.lora_a`).shape.at(-1)!, data = rowsFromFile(ofA, [one!]);
    const ofPeft = transposeEach(rowsFromFile(ofB, await read("b")), 1, experts);
    tensors.push({ name: a, dtype, shape: [data.length / width, width], data });
    const columns = r * experts;
    tensors.push({ name: b, dtype, shape: [ofPeft.length / columns, columns], data: ofPeft });
  }
  return { config: peft, weights: await parseSafetensors(encodeSafetensors(tensors), label) };
}
