/**
 * The package for Node: the sections of library/node.ts as one JavaScript file, with types. Deno
 * removes the types from the modules and writes declarations (`deno pack`); esbuild makes one file
 * of them, with `deno_for_node.js` in the place of Deno.
 */
import { build, stop } from "esbuild";
import config from "../../deno.json" with { type: "json" };
import { ROOT } from "../architecture/imports.ts";
import { ModuleReader, writePackage } from "./modules.ts";

const ENTRY = "library/node.ts";

/** Packages that the modules import: the name, and which of deno.json's. */
const PACKAGES = { yaml: "yaml", sucrase: "sucrase", "es-module-lexer": "es-module-lexer/js" };

/**
 * Writes a packed package (.tgz) for `npm install` and `npm publish`. It is not a folder, because
 * npm only links to a folder of another project, and does not install what it depends on.
 * @throws Error with the output of Deno when it refuses the modules
 */
export async function buildNpmPackage(output: string): Promise<void> {
  const { name, version, license } = config, work = `${output}.tmp`, made = `${work}/made/package`;
  const reader = new ModuleReader();
  await reader.add(ENTRY);
  await writePackage(work, reader.modules, { name, version, license, exports: `./${ENTRY}` });
  try {
    await run(work, Deno.execPath(), "pack", "--allow-dirty", "--no-source-maps", "-o", "x.tgz");
    await run(work, "tar", "xzf", "x.tgz");
    await copyTypes(`${work}/package`, `${made}/types`);
    await build({
      entryPoints: [`${work}/package/${ENTRY.replace(/ts$/, "js")}`],
      outfile: `${made}/mod.js`,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node22",
      charset: "utf8",
      external: Object.keys(PACKAGES).flatMap((name) => [name, `${name}/*`]),
      inject: [new URL("tools/package/deno_for_node.js", ROOT).pathname],
      legalComments: "none",
      // Workers and sandboxes are never started here; their URLs stay.
      logOverride: { "empty-import-meta": "silent" },
    });
    const types = `./types/${ENTRY.replace(/ts$/, "d.ts")}`;
    const manifest = {
      name,
      version,
      license,
      type: "module",
      types,
      description: "Reasoning tasks, rewards, scoring and configurations of rgx",
      exports: { ".": { types, default: "./mod.js" } },
      engines: { node: ">=22" },
      files: ["mod.js", "types", "README.md", "LICENSE"],
      dependencies: Object.fromEntries(
        Object.entries(PACKAGES).map(([name, key]) => [name, versionOf(key)]),
      ),
    };
    await Deno.writeTextFile(`${made}/package.json`, JSON.stringify(manifest, null, 2) + "\n");
    for (const text of ["README.md", "LICENSE"]) {
      await Deno.copyFile(new URL(text, ROOT), `${made}/${text}`);
    }
    await run(`${work}/made`, "tar", "czf", "made.tgz", "package");
    await Deno.rename(`${work}/made/made.tgz`, output);
  } finally {
    await stop();
    await Deno.remove(work, { recursive: true });
  }
}

/** The version in "npm:yaml@2.9.1" or "npm:es-module-lexer@1.7.0/js". */
function versionOf(key: string): string {
  return /@([\d.]+)(\/|$)/.exec((config.imports as Record<string, string>)[key]!)![1]!;
}

async function run(cwd: string, program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, cwd, stdout: "null" })
    .output();
  if (!success) throw new Error(`${program} ${args[0]}: ${new TextDecoder().decode(stderr)}`);
}

/** Copies the declarations, which are beside the modules. */
async function copyTypes(from: string, to: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyTypes(`${from}/${name}`, `${to}/${name}`);
    else if (name.endsWith(".d.ts")) {
      await Deno.mkdir(to, { recursive: true });
      await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
    }
  }
}
