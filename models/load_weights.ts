/**
 * Fills a model's base tensors from a source of weights, one at a time: as a file's bytes where they are held in the
 * file's type, quantised on all threads where that was asked for, else as values.
 */
import { RgxError } from "../core/errors.ts";
import { type FloatRows, floatRows, isLoadType, Quantizer } from "../kernels/weights/quantizer.ts";
import { architectureOf } from "./architectures/mod.ts";
import { llamaTensors, LM_HEAD } from "./llama_weights.ts";
import type { Parameters } from "./parameters.ts";
import { elementCount } from "./safetensors.ts";
import type { LlamaConfig, WeightReader, WeightSource } from "./types.ts";

/** Told after each tensor how many values are loaded, of how many. */
export type LoadListener = (done: number, total: number) => void;

/** A source that is a file, or null: maps and functions know values only. */
export function weightFile(source: WeightSource): WeightReader | null {
  return typeof source !== "function" && "typeOf" in source ? source : null;
}

/** Fills the base tensors from a source. @throws RgxError for a missing tensor or a wrong size. */
export async function loadWeights(
  parameters: Parameters,
  config: LlamaConfig,
  source: WeightSource,
  onLoad: LoadListener = () => {},
): Promise<void> {
  const file = weightFile(source), tensors = llamaTensors(config);
  const total = tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0);
  let quantizer: Quantizer | null = null, done = 0;
  try {
    for (const { name, shape } of tensors) {
      const { storage } = parameters.get(name);
      if (isLoadType(storage)) {
        quantizer ??= await Quantizer.for(parameters.device);
        quantizeTensor(
          parameters,
          name,
          await rowsOf(config, source, name, shape),
          quantizer,
          file,
        );
      } else if (file !== null && storage !== null && file.typeOf(name) === storage) {
        parameters.writeStored(name, await file.bytes(name, shape));
      } else {
        parameters.write(name, await valuesOf(config, source, name, shape));
      }
      onLoad(done += elementCount(shape), total);
    }
  } finally {
    quantizer?.dispose();
  }
}

/** @throws RgxError that names the tensor, for a value that is not finite */
function quantizeTensor(
  parameters: Parameters,
  name: string,
  rows: FloatRows,
  quantizer: Quantizer,
  file: WeightReader | null,
): void {
  try {
    parameters.quantize(name, rows, quantizer);
  } catch (error) {
    if (!(error instanceof RgxError)) throw error;
    const label = file === null ? "" : `${file.label}: `;
    throw new RgxError(`${label}tensor "${name}": ${error.message}`, {
      advice: "load it without load_in_4bit or load_in_8bit, or get the weights again",
      cause: error,
    });
  }
}

async function rowsOf(
  config: LlamaConfig,
  source: WeightSource,
  name: string,
  shape: readonly number[],
): Promise<FloatRows> {
  const file = weightFile(source), type = file?.typeOf(name) ?? null;
  return type === "f16" || type === "bf16"
    ? { type, bytes: await file!.bytes(name, shape) }
    : floatRows(await valuesOf(config, source, name, shape));
}

async function valuesOf(
  config: LlamaConfig,
  source: WeightSource,
  name: string,
  shape: readonly number[],
): Promise<Float32Array | Float64Array> {
  const ask = async (wanted: string) =>
    typeof source === "function"
      ? await source(wanted, shape)
      : "typeOf" in source
      ? await source.values(wanted, shape)
      : source.get(wanted) ?? null;
  const { embedding } = architectureOf(config).names;
  const found = await ask(name) ??
    (name === embedding && config.tieWordEmbeddings ? await ask(LM_HEAD) : null);
  if (found !== null) return found;
  const where = weightFile(source), label = where === null ? "" : `${where.label}: `;
  throw new RgxError(
    `${label}the weights hold no tensor "${name}" (expected shape [${shape.join(", ")}])`,
    { advice: "check that config.json belongs to these weights" },
  );
}
