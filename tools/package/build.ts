/**
 * `deno task build:package`: writes dist/package, the library and the program as a package for
 * Deno. A program elsewhere imports its mod.ts with one line of its deno.json, and `deno publish`
 * takes it as it is. `--npm` writes dist/npm too: the parts that need no device, for Node.
 */
import config from "../../deno.json" with { type: "json" };
import { ROOT } from "../architecture/imports.ts";
import { ModuleReader, type Modules } from "./modules.ts";

/** Files that stand beside the modules. */
const TEXTS = ["LICENSE", "README.md", "docs/library.md"];

/** Writes the package for Deno into a folder, which is replaced. */
export async function buildPackage(output: string): Promise<void> {
  const reader = new ModuleReader();
  for (const entry of Object.values(config.exports)) await reader.add(entry.replace("./", ""));
  const { name, version, license, exports } = config;
  await write(output, reader.modules, { name, version, license, exports });
}

/** Writes modules, the texts that stand beside them and a deno.json. */
export async function write(output: string, modules: Modules, settings: object): Promise<void> {
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

if (import.meta.main) {
  const output = "dist/package";
  await buildPackage(output);
  console.log(`${output}: import its mod.ts, or publish it (deno publish)`);
}
