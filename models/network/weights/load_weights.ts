/**
 * Loads a model's base tensors from a source of weights, one at a time: as the file's bytes when
 * they are stored in the file's type, quantised on all threads when that is asked for, and
 * otherwise as values.
 */
import { inPlace, RgxError } from "../../../core/errors.ts";
import {
  floatRows,
  isLoadType,
  PART_BYTES,
  WeightLoader,
} from "../../../kernels/devices/weight_loader.ts";
import { PANEL } from "../../../kernels/weights/panel.ts";
import { embeddingName, LM_HEAD, modelTensors } from "../../architectures/mod.ts";
import { ONES } from "./model_weights.ts";
import { matrixShape, type Parameters } from "./parameters.ts";
import { type RowReader, rowReader } from "../../formats/row_reader.ts";
import { elementCount } from "../../formats/element_count.ts";
import { fileBytes, isBlockType, type WeightType } from "../../formats/stored_weight.ts";
import type { ModelConfig } from "../../architectures/model_config.ts";
import type { WeightReader, WeightSource } from "../../formats/weight_reader.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Called before the first tensor and after each: the values so far, and in total. */
export type LoadListener = (done: number, total: number) => void;

/** The source if it is a file, or null: maps have values only. */
export function weightFile(source: WeightSource): WeightReader | null {
  return "typeOf" in source ? source : null;
}

/** Compares a file's header with the configuration, before memory is taken. @throws RgxError */
export function checkWeights(config: ModelConfig, source: WeightSource): void {
  const file = weightFile(source);
  if (file?.holds === undefined) return;
  for (const { name, part, shape } of modelTensors(config)) {
    if (file.holds(name, shape)) continue;
    if (part === "embedding" && config.tieWordEmbeddings && file.holds(LM_HEAD, shape)) continue;
    throw missingTensor(source, name, shape);
  }
}

/** Loads the base tensors from a source. @throws RgxError for a missing tensor or a wrong size */
export async function loadWeights(
  parameters: Parameters,
  config: ModelConfig,
  source: WeightSource,
  onLoad: LoadListener = () => {},
): Promise<void> {
  const file = weightFile(source);
  const tensors = modelTensors(config).filter(({ name }) => parameters.has(name));
  if (parameters.has(ONES)) {
    const [width] = parameters.get(ONES).shape;
    parameters.write(ONES, new Float32Array(width!).fill(1));
  }
  const total = tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0);
  const buffers: [Bytes, Bytes] = [new Uint8Array(PART_BYTES), new Uint8Array(PART_BYTES)];
  const inBlocks = tensors.some(({ name }) => {
    const { storage } = parameters.get(name);
    return storage !== null && isBlockType(storage);
  });
  const loader = inBlocks ? await WeightLoader.for(parameters.device) : null;
  let done = 0;
  onLoad(0, total);
  try {
    for (const { name, shape } of tensors) {
      await loadTensor(name, shape);
      onLoad(done += elementCount(shape), total);
    }
  } catch (error) {
    throw file === null ? error : inFile(file, error);
  } finally {
    loader?.dispose();
  }

  async function loadTensor(name: string, shape: readonly number[]): Promise<void> {
    const { storage } = parameters.get(name), type = fileType(name);
    const parts = (take: (bytes: Bytes, first: number) => void) =>
      eachPart(file!, name, shape, type!, buffers, take);
    if (storage !== null && type === storage) {
      await parts((bytes, first) => parameters.writeStored(name, bytes, first, loader));
    } else if (isLoadType(storage) && (type === "f32" || type === "f16" || type === "bf16")) {
      await parts((bytes, first) => parameters.quantize(name, { type, bytes, first }, loader!));
    } else if (storage === null && type === "f32" && shape.length > 1) {
      await parts((bytes, first) => {
        const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
        parameters.writeRows(name, values, first);
      });
    } else {
      const values = await valuesOf(config, source, name, shape);
      if (isLoadType(storage)) parameters.quantize(name, floatRows(values), loader!);
      else parameters.write(name, values);
    }
  }

  function fileType(name: string): WeightType | "f32" | null {
    return file?.typeOf(name) ?? (file?.dtype?.(name) === "F32" ? "f32" : null);
  }
}

/**
 * Reads a matrix's stored bytes in parts of some panels of rows. A part is valid during the call of
 * `take` only. Reading a large tensor at once would need its size in memory again, and most of the
 * time would go into clearing that memory. The next part is read while `take` works.
 */
async function eachPart(
  file: WeightReader,
  name: string,
  shape: readonly number[],
  type: WeightType | "f32",
  buffers: readonly [Bytes, Bytes],
  take: (bytes: Bytes, first: number) => void,
): Promise<void> {
  const [n, k] = matrixShape(shape), width = fileBytes(type, k);
  const rowsPerPart = Math.floor(PART_BYTES / (PANEL * width)) * PANEL;
  const read = async (first: number): Promise<Bytes | null> => {
    if (first >= n) return null;
    const part = buffers[first / rowsPerPart % 2]!.subarray(
      0,
      Math.min(rowsPerPart, n - first) * width,
    );
    if (await file.bytesInto?.(name, shape, first * width, part)) return part;
    if (first > 0) throw new Error(`${name}: its rows from ${first} on are not there`);
    return null;
  };
  let part = rowsPerPart === 0 ? null : await read(0);
  if (part === null) return take(await file.bytes(name, shape), 0);
  for (let first = 0; part !== null; first += rowsPerPart) {
    const next = read(first + rowsPerPart);
    try {
      take(part, first);
    } finally {
      await next;
    }
    part = await next;
  }
}

/**
 * Reads rows of the table that the device does not hold: from its file, or from memory where that
 * cannot be. Null without one. @throws RgxError for a missing table or a wrong size
 */
export async function tableRows(
  parameters: Parameters,
  config: ModelConfig,
  source: WeightSource,
): Promise<RowReader | null> {
  const table = modelTensors(config).find(({ part }) => part === "perLayerTable");
  if (table === undefined || parameters.has(table.name)) return null;
  const { name, shape } = table, [rows, width] = shape as [number, number];
  const file = weightFile(source), reader = file && await rowReader(file, name, [rows, width]);
  if (reader !== null) return reader;
  const values = await valuesOf(config, source, name, shape);
  return (ids) => {
    const out = new Float32Array(ids.length * width);
    ids.forEach((id, i) => out.set(values.subarray(id * width, (id + 1) * width), i * width));
    return Promise.resolve(out);
  };
}

function inFile({ label }: WeightReader, error: unknown): unknown {
  const isOfTensor = error instanceof RgxError && error.message.startsWith("tensor ");
  return isOfTensor ? inPlace(label, error) : error;
}

async function valuesOf(
  config: ModelConfig,
  source: WeightSource,
  name: string,
  shape: readonly number[],
): Promise<Float32Array | Float64Array> {
  const isTied = name === embeddingName(config) && config.tieWordEmbeddings;
  for (const wanted of isTied ? [name, LM_HEAD] : [name]) {
    const found = "typeOf" in source
      ? await source.values(wanted, shape)
      : source.get(wanted) ?? null;
    if (found !== null) return found;
  }
  throw missingTensor(source, name, shape);
}

function missingTensor(source: WeightSource, name: string, shape: readonly number[]): RgxError {
  const where = weightFile(source), label = where === null ? "" : `${where.label}: `;
  return new RgxError(
    `${label}the weights hold no tensor "${name}" (expected shape [${shape.join(", ")}])`,
    { advice: "check that config.json belongs to these weights" },
  );
}
