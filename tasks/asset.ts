/** Reads the data files of the tasks (`assets/`, licences included) when they are first needed. */
import process from "node:process";
import { RgxError } from "../core/errors.ts";
import { assetBytes } from "./asset_bytes.ts";

/**
 * Returns the text of `assets/<name>`.
 * @throws RgxError when the file cannot be read
 */
export function readAsset(name: string): string {
  return new TextDecoder().decode(readBytes(name));
}

/**
 * Returns the text of the Brotli file `assets/<name>`. The decompressing module is loaded inside
 * the function, because loading it takes longer than listing all tasks.
 * @throws RgxError when the file cannot be read
 */
export function readCompressedAsset(name: string): string {
  const { brotliDecompressSync } = process.getBuiltinModule("node:zlib");
  return new TextDecoder().decode(brotliDecompressSync(readBytes(name)));
}

function readBytes(name: string): Uint8Array {
  try {
    return assetBytes(name);
  } catch (cause) {
    throw new RgxError(`cannot read tasks/assets/${name}: ${(cause as Error).message}`, {
      advice: "the file belongs to the program; reinstall it, and allow reading",
      cause,
    });
  }
}
