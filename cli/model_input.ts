/** What `generate` and `logprobs` have in common: the model with its adapter, and ids from files. */
import { UsageError } from "../core/errors.ts";
import type { Device } from "../kernels/device.ts";
import { type LoadedModel, loadModel } from "../models/load_model.ts";
import { type DeviceFlags, openDevice } from "./open_device.ts";

export interface ModelFlags extends DeviceFlags {
  model: string;
  adapter?: string;
}

/** Loads the model, hands it on, and releases it and its device whatever happens. */
export async function withModel<T>(
  flags: ModelFlags,
  body: (loaded: LoadedModel, device: Device) => Promise<T>,
): Promise<T> {
  const device = await openDevice(flags);
  try {
    const options = flags.adapter === undefined ? {} : { adapter: flags.adapter };
    const loaded = await loadModel(flags.model, device, options);
    try {
      return await body(loaded, device);
    } finally {
      loaded.model.dispose();
    }
  } finally {
    device.close();
  }
}

/** A JSON array of token ids. @throws UsageError naming the file and what was found. */
export async function readIds(path: string, vocabSize: number): Promise<number[]> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    throw new UsageError(`can not read ${path}: ${(error as Error).message}`, { cause: error });
  }
  let ids: unknown;
  try {
    ids = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${path}: not JSON: ${(error as Error).message}`);
  }
  if (!Array.isArray(ids) || ids.length === 0) {
    throw new UsageError(`${path}: expected a JSON array of token ids, such as [1, 80, 147]`);
  }
  ids.forEach((id, i) => {
    if (!Number.isInteger(id) || id < 0 || id >= vocabSize) {
      throw new UsageError(
        `${path}: element ${i} is ${JSON.stringify(id)}, expected an id from 0 to ${vocabSize - 1}`,
      );
    }
  });
  return ids as number[];
}
