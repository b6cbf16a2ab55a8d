/** Writes the modules of a package, and the files beside them. */
import { ROOT } from "../architecture/imports.ts";
import type { Modules } from "./modules.ts";

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
