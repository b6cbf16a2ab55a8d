/**
 * The modules of a package: everything that its entries reach, with imports that need neither an
 * import map nor unstable features.
 */
import config from "../../deno.json" with { type: "json" };
import { ASSETS, importsIn, ROOT } from "../architecture/imports.ts";
import { writtenOut } from "./config_types.ts";
import { assetModule, bytesModule, textModule } from "./data.ts";

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
export type Modules = Map<string, string>;

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
