/** A hash of the code of this program. */
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { sha256OfFile } from "../checksums.ts";
import { versionLine } from "../version.ts";

/** The rooms whose code takes part in training, and the files that name the packages. */
export const HASHED: readonly string[] = [
  "bench",
  "cli",
  "cluster",
  "configs",
  "core",
  "data",
  "deno.json",
  "deno.lock",
  "hub",
  "kernels",
  "models",
  "rewards",
  "tasks",
  "training",
];

/**
 * A hash of what computes the results of a run: the runtime, and the code with its kernels. The
 * version alone does not show that a rank has an older checkout. The hash is taken of the
 * executable, which contains all of this, or of the sources.
 * @param root the folder of a checkout
 */
export async function programHash(root: URL = new URL("../../", import.meta.url)): Promise<string> {
  if (Deno.build.standalone) return await sha256OfFile(Deno.execPath());
  const hash = createHash("sha256").update(versionLine());
  // The address of a package that was loaded from a server names its version.
  if (root.protocol !== "file:") return hash.update(root.href).digest("hex");
  const add = async (path: string) => {
    const entries = await Array.fromAsync(Deno.readDir(path));
    for (const { name, isDirectory } of entries.sort((a, b) => a.name < b.name ? -1 : 1)) {
      const inside = `${path}/${name}`;
      if (isDirectory) await add(inside);
      else if (isCode(name)) hash.update(inside.slice(folder.length)).update(await bytesOf(inside));
    }
  };
  const folder = fileURLToPath(root), bytesOf = (path: string) => Deno.readFile(path);
  for (const name of HASHED) {
    const path = folder + name, info = await Deno.stat(path).catch(() => null);
    if (info?.isDirectory) await add(path);
    else if (info !== null) hash.update(name).update(await bytesOf(path));
  }
  return hash.digest("hex");
}

const isCode = (name: string) => /\.(ts|wasm|so|dll|dylib)$/.test(name) && !/_test\.ts$/.test(name);
