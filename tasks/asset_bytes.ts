/** Reads a file of `assets/`. A package has another module in this place: tools/package/data.ts. */

/** @returns the bytes of `assets/<name>` */
export function assetBytes(name: string): Uint8Array {
  return Deno.readFileSync(new URL(`./assets/${name}`, import.meta.url));
}
