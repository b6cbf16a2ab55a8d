/** Larger data files of the tasks, kept compressed with Brotli. */
import process from "node:process";
import { assetUrl, unreadable } from "./asset.ts";

/**
 * The text of the Brotli file `assets/<name>`. Throws RgxError where it cannot be read. The module that
 * decompresses is looked up here, since loading it takes longer than listing all tasks.
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
