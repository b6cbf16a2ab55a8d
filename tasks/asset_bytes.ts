/** Reads a file of `assets/`. In the npm package, tools/package/modules.ts replaces this module. */

/** @returns the bytes of `assets/<name>` */
export function assetBytes(name: string): Uint8Array {
  return Deno.readFileSync(new URL(`./assets/${name}`, import.meta.url));
}
