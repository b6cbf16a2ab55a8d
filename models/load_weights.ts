/**
 * Fills a model's base tensors from a source of weights, one at a time: as a file's bytes where they are held in the
 * file's type, quantised on all threads where that was asked for, else as values.
 */
import { RgxError } from "../core/errors.ts";
import {
  type FloatRows,
  floatRows,
  isLoadType,
  PART_BYTES,
  WeightLoader,
} from "../kernels/weights/loader.ts";
import { PANEL } from "../kernels/weights/panel.ts";
import { architectureOf } from "./architectures/mod.ts";
import { llamaTensors, LM_HEAD } from "./llama_weights.ts";
import type { Parameters } from "./parameters.ts";
import { elementCount } from "./safetensors.ts";
import { fileBytes, isBlockType, type WeightType } from "./stored_weight.ts";
import type { LlamaConfig, WeightReader, WeightSource } from "./types.ts";

/** Told before the first tensor and after each how many values are loaded, of how many. */
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
  const buffer = new Uint8Array(PART_BYTES);
  const inBlocks = tensors.some(({ name }) => {
    const { storage } = parameters.get(name);
    return storage !== null && isBlockType(storage);
  });
  const loader = inBlocks ? await WeightLoader.for(parameters.device) : null;
  let done = 0;
  onLoad(0, total);
  try {
    for (const { name, shape } of tensors) {
      const { storage } = parameters.get(name), type = file?.typeOf(name) ?? null;
      if (isLoadType(storage)) {
        const take = (rows: FloatRows) => quantizeRows(parameters, name, rows, loader!, file);
        if (type === "f16" || type === "bf16") {
          await eachPart(file!, name, shape, type, buffer, (bytes, first) => {
            take({ type, bytes, first });
          });
        } else take(floatRows(await valuesOf(config, source, name, shape)));
      } else if (storage !== null && type === storage) {
        await eachPart(file!, name, shape, type, buffer, (bytes, first) => {
          parameters.writeStored(name, bytes, first, loader);
        });
      } else {
        parameters.write(name, await valuesOf(config, source, name, shape));
      }
      onLoad(done += elementCount(shape), total);
    }
  } finally {
    loader?.dispose();
  }
}

/**
 * A matrix's stored bytes in parts of some panels of rows, each for as long as the call lasts: reading a large tensor
 * at once would take as much memory again, and most of the time for the system to clear it.
 */
async function eachPart(
  file: WeightReader,
  name: string,
  shape: readonly number[],
  type: WeightType,
  buffer: Uint8Array<ArrayBuffer>,
  take: (bytes: Uint8Array<ArrayBuffer>, first: number) => void,
): Promise<void> {
  const [n, k] = [shape[0]!, shape[1]!], width = fileBytes(type, k);
  const most = Math.floor(buffer.length / (PANEL * width)) * PANEL;
  if (most === 0) return take(await file.bytes(name, shape), 0);
  for (let first = 0; first < n; first += most) {
    const part = buffer.subarray(0, Math.min(most, n - first) * width);
    const apart = await file.bytesInto?.(name, shape, first * width, part) ?? false;
    if (!apart) return take(await file.bytes(name, shape), 0);
    take(part, first);
  }
}

/** @throws RgxError that names the tensor, for a value that is not finite */
function quantizeRows(
  parameters: Parameters,
  name: string,
  rows: FloatRows,
  loader: WeightLoader,
  file: WeightReader | null,
): void {
  try {
    parameters.quantize(name, rows, loader);
  } catch (error) {
    if (!(error instanceof RgxError)) throw error;
    const label = file === null ? "" : `${file.label}: `;
    throw new RgxError(`${label}tensor "${name}": ${error.message}`, {
      advice: "load it without load_in_4bit or load_in_8bit, or get the weights again",
      cause: error,
    });
  }
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
