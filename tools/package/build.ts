/**
 * `deno task build:package`: writes dist/package, the library and the program as a package for
 * Deno. A program elsewhere imports its mod.ts with one line of its deno.json, and `deno publish`
 * takes it as it is. With `--npm` it writes dist/rgx-npm.tgz, the parts that need no device, for
 * Node.
 */
import config from "../../deno.json" with { type: "json" };
import { ModuleReader, writePackage } from "./modules.ts";
import { buildNpmPackage } from "./npm.ts";

/** Writes the package for Deno into a folder, which is replaced. */
export async function buildPackage(output: string): Promise<void> {
  const reader = new ModuleReader();
  for (const entry of Object.values(config.exports)) await reader.add(entry.replace("./", ""));
  const { name, version, license, exports } = config;
  await writePackage(output, reader.modules, { name, version, license, exports });
}

if (import.meta.main) {
  if (Deno.args.includes("--npm")) {
    await buildNpmPackage("dist/rgx-npm.tgz");
    console.log("dist/rgx-npm.tgz: in a project of yours, npm install PATH/dist/rgx-npm.tgz");
  } else {
    await buildPackage("dist/package");
    console.log("dist/package: import its mod.ts, or publish it (deno publish)");
  }
}
