/** Reads the larger data files of the tasks, which are compressed with Brotli. */
import process from "node:process";
import { assetUrl, unreadable } from "./asset.ts";

/**
 * Returns the text of the Brotli file `assets/<name>`. The decompressing module is loaded inside
 * the function, because loading it takes longer than listing all tasks.
 * @throws RgxError when the file cannot be read
 */
export function readCompressedAsset(name: string): string {
  const file = assetUrl(name);
  try {
    const { brotliDecompressSync } = process.getBuiltinModule("node:zlib");
    return new TextDecoder().decode(brotliDecompressSync(Deno.readFileSync(file)));
  } catch (cause) {
    throw unreadable(file, cause);
  }
}
