/**
 * Data as modules. Registries take no imports of texts and bytes, and a module that was loaded from
 * a server cannot read files beside it; so a package has modules with the data in their place.
 */

/** The source of a module whose default export is this text. */
export function textModule(text: string, name: string): string {
  return `/** The text of ${name}. */\nconst text: string = ${JSON.stringify(text)};\n` +
    "export default text;\n";
}

/** The source of a module whose default export is these bytes. */
export function bytesModule(bytes: Uint8Array, name: string): string {
  return `/** The bytes of ${name}. */\nimport { Buffer } from "node:buffer";\n\n` +
    "const bytes: Uint8Array<ArrayBuffer> = new Uint8Array(\n" +
    `  Buffer.from("${bytes.toBase64()}", "base64"),\n);\nexport default bytes;\n`;
}

/**
 * The module that stands in a package for tasks/asset_bytes.ts. A file is decoded when it is
 * first asked for.
 * @param assets names in `tasks/assets/`, and their bytes
 */
export function assetModule(assets: ReadonlyMap<string, Uint8Array>): string {
  const entries = [...assets].map(([name, bytes]) => `  "${name}": "${bytes.toBase64()}",\n`);
  return '/** Data files of the tasks. */\nimport { Buffer } from "node:buffer";\n\n' +
    `const ASSETS: Readonly<Record<string, string>> = {\n${entries.join("")}};\n\n` +
    "/** @returns the bytes of `assets/<name>` */\n" +
    "export function assetBytes(name: string): Uint8Array {\n" +
    '  return new Uint8Array(Buffer.from(ASSETS[name]!, "base64"));\n}\n';
}
