/**
 * The modules of a package: everything that its entries reach, with imports that need neither an
 * import map nor unstable features.
 */
import config from "../../deno.json" with { type: "json" };
import { ASSETS, importsIn, ROOT } from "../architecture/imports.ts";
import { writtenOut } from "./config_types.ts";

/** `import name from "specifier" with { type: "text" }`. */
const DATA_IMPORT = /\bfrom\s*"([^"]+)"\s*with\s*\{\s*type:\s*"(text|bytes)",?\s*\}/g;

/** A static import, an export from or a lazy import, of a package. */
const PACKAGE_IMPORT = /(\bfrom\s*|\bimport\s*|\bimport\(\s*)"([^"./][^"]*)"/g;

/**
 * The first line of each module. Deno checks a module beside a program with the program's settings
 * (strictness, libraries). These have been checked with the project's; their types still hold.
 */
const CHECKED = "// @ts-nocheck\n";

/** Path in the package → source. */
type Modules = Map<string, string>;

/** Reads the sources of a package. */
export class ModuleReader {
  readonly modules: Modules = new Map();

  /** Adds a module and all that it imports, workers included. */
  async add(path: string): Promise<void> {
    const waiting = [path];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (this.modules.has(next)) continue;
      const source = await this.#source(next);
      const found = importsIn(source, next).filter((target) =>
        /\.[jt]s$/.test(target) && !target.startsWith(DATA)
      );
      this.modules.set(next, CHECKED + source);
      waiting.push(...found);
    }
  }

  async #source(path: string): Promise<string> {
    if (path === "tasks/asset_bytes.ts") return await assets();
    const read = await Deno.readTextFile(new URL(path, ROOT));
    const text = path === "configs/schema/run_config.ts" ? writtenOut(read) : read;
    const found = new Map<string, string>();
    for (const [, specifier, type] of text.matchAll(DATA_IMPORT)) {
      found.set(specifier!, await this.#addData(specifier!, type!, path));
    }
    return text
      .replace(DATA_IMPORT, (_, specifier) => `from "${relative(path, found.get(specifier)!)}"`)
      .replace(PACKAGE_IMPORT, (_, before, specifier) => `${before}"${versioned(specifier)}"`);
  }

  /** Adds a module with the data, once for all that import it. @returns its path */
  async #addData(specifier: string, type: string, importer: string): Promise<string> {
    const isFile = specifier.startsWith(".");
    const name = isFile
      ? new URL(specifier, new URL(importer, "file:///")).pathname.slice(1)
      : specifier;
    const path = `${DATA}${name.replace(/^@/, "")}.ts`;
    if (!this.modules.has(path)) {
      const source = isFile ? new URL(name, ROOT).href : specifier;
      const { default: data } = await import(source, { with: { type } });
      this.modules.set(path, type === "text" ? textModule(data, name) : bytesModule(data, name));
    }
    return path;
  }
}

/** The folder of the modules with data. */
const DATA = "inlined/";

async function assets(): Promise<string> {
  const files = await Promise.all(
    ASSETS.map(async (path) =>
      [path.split("/").at(-1)!, await Deno.readFile(new URL(path, ROOT))] as const
    ),
  );
  return assetModule(new Map(files));
}

/** The path from one module of the package to another. */
function relative(from: string, to: string): string {
  const up = "../".repeat(from.split("/").length - 1);
  return `${up === "" ? "./" : up}${to}`;
}

const PACKAGES: Readonly<Record<string, string>> = config.imports;

/** A package of deno.json with its version, `npm:yaml@2.9.1`; any other specifier as it is. */
function versioned(specifier: string): string {
  const whole = PACKAGES[specifier];
  if (whole !== undefined) return whole;
  const name = Object.keys(PACKAGES).find((known) => specifier.startsWith(`${known}/`));
  return name === undefined ? specifier : PACKAGES[name] + specifier.slice(name.length);
}

// Data as modules. Registries take no imports of texts and bytes, and a module that was loaded from
// a server cannot read files beside it; so a package has modules with the data in their place.

/** The source of a module whose default export is this text. */
function textModule(text: string, name: string): string {
  return `/** The text of ${name}. */\nconst text: string = ${JSON.stringify(text)};\n` +
    "export default text;\n";
}

/** The source of a module whose default export is these bytes. */
function bytesModule(bytes: Uint8Array, name: string): string {
  return `/** The bytes of ${name}. */\nimport { Buffer } from "node:buffer";\n\n` +
    "const bytes: Uint8Array<ArrayBuffer> = new Uint8Array(\n" +
    `  Buffer.from("${bytes.toBase64()}", "base64"),\n);\nexport default bytes;\n`;
}

/**
 * The module that stands in a package for tasks/asset_bytes.ts. A file is decoded when it is
 * first asked for.
 * @param assets names in `tasks/assets/`, and their bytes
 */
function assetModule(assets: ReadonlyMap<string, Uint8Array>): string {
  const entries = [...assets].map(([name, bytes]) => `  "${name}": "${bytes.toBase64()}",\n`);
  return '/** Data files of the tasks. */\nimport { Buffer } from "node:buffer";\n\n' +
    `const ASSETS: Readonly<Record<string, string>> = {\n${entries.join("")}};\n\n` +
    "/** @returns the bytes of `assets/<name>` */\n" +
    "export function assetBytes(name: string): Uint8Array {\n" +
    '  return new Uint8Array(Buffer.from(ASSETS[name]!, "base64"));\n}\n';
}

/** Texts of every package. */
const TEXTS = ["LICENSE", "README.md", "docs/library.md"];

/**
 * Writes a package for Deno into a folder, which is replaced.
 * @param settings its deno.json
 */
export async function writePackage(
  output: string,
  modules: Modules,
  settings: object,
): Promise<void> {
  await Deno.remove(output, { recursive: true }).catch(() => {});
  const files = new Map(modules);
  for (const name of TEXTS) files.set(name, await Deno.readTextFile(new URL(name, ROOT)));
  files.set("deno.json", JSON.stringify({ ...settings, nodeModulesDir: "none" }, null, 2) + "\n");
  for (const [path, text] of files) {
    const file = `${output}/${path}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(file, text);
  }
}
