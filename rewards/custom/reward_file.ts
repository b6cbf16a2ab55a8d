/**
 * A user's reward file, and its code as a module that a Worker without permissions can load. Types
 * are stripped (lines keep their numbers) and imports are refused. The code becomes a `data:` URL,
 * because the Worker may not read files. This also works in the executable, which has no TypeScript
 * compiler.
 */
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { sha256Hex } from "../../core/checksums.ts";
import { UsageError } from "../../core/errors.ts";

export interface RewardFile {
  /** Relative to the working directory. */
  path: string;
  /** SHA-256 of the file. A run that is resumed with another file says so. */
  sha256?: string;
  /** Hosts that the reward may connect to, `name` or `name:port`; default none. */
  net?: readonly string[];
  /**
   * Number of values that are computed at the same time (asynchronous rewards); default 8 with
   * `net`, else 1.
   */
  concurrency?: number;
  /** Number of further attempts after an exception; default 2 with `net`, else 0. */
  retries?: number;
}

const HOST = /^(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** What is wrong with a host of `net`, or null. */
export function hostProblem(host: unknown): string | null {
  if (typeof host === "string" && HOST.test(host)) return null;
  return `expected a host as in api.example.org or localhost:8000, found ${JSON.stringify(host)}`;
}

const REWARD_EXTENSIONS = [".ts", ".mts", ".js", ".mjs"];

/** SHA-256 of the file, so that a changed one is noticed. @throws UsageError */
export async function rewardFileHash(path: string): Promise<string> {
  return sha256Hex(await read(path));
}

/** The module as a `data:` URL. @throws UsageError with file and line if it cannot be a reward */
export async function loadRewardFile(path: string): Promise<{ url: string }> {
  const extension = extname(path);
  if (!REWARD_EXTENSIONS.includes(extension)) {
    throw new UsageError(
      `${path}: a reward is a file ending in ${REWARD_EXTENSIONS.join(", ")}, found ` +
        (extension === "" ? "no extension" : extension),
    );
  }
  const text = (await read(path)).replace(/^\uFEFF/, "");
  const code = extension.endsWith("ts") ? await stripTypes(text, path) : text;
  await checkModule(code, path);
  return { url: `data:text/javascript;charset=utf-8,${encodeURIComponent(code)}` };
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const { code } = cause as { code?: string };
    const found = code === "ENOENT" ? "no such file" : code ?? String(cause);
    throw new UsageError(`the reward file ${path} cannot be read: ${found}`, { cause });
  }
}

async function stripTypes(text: string, path: string): Promise<string> {
  const { transform } = await import("sucrase");
  try {
    return transform(text, { transforms: ["typescript"], disableESTransforms: true }).code;
  } catch (cause) {
    throw syntaxError(path, cause);
  }
}

function syntaxError(path: string, cause: unknown): UsageError {
  const { message } = cause as Error;
  // "Error transforming x: Unexpected token (2:8)"; "Parse error @:2:8"
  const [, line, column] = /[(:](\d+):(\d+)\)?$/.exec(message.trim()) ?? [];
  const what = message.replace(/^Error transforming [^:]*: /, "").replace(
    / ?\(?@?:?\d+:\d+\)?$/,
    "",
  );
  const at = line === undefined ? path : `${path}:${line}:${column}`;
  return new UsageError(`${at}: not a module that can be read: ${what}`, {
    advice: "The mistake is at this place or inside of what begins here.",
    cause,
  });
}

async function checkModule(code: string, path: string): Promise<void> {
  const { parse } = await import("es-module-lexer/js");
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(code);
  } catch (cause) {
    throw syntaxError(path, cause);
  }
  const [imports, exports] = parsed;
  for (const { n: specifier, d: kind, ss: start } of imports) {
    if (kind === -2) continue; // import.meta
    const line = code.slice(0, start).split("\n").length;
    throw new UsageError(
      `${path}:${line}: imports ${
        specifier === undefined ? "a module" : JSON.stringify(specifier)
      }; ` +
        "a reward is one file that imports nothing (types excepted)",
      {
        advice: "Copy what is needed into the file, or bundle it into one: deno bundle, esbuild …",
      },
    );
  }
  const names = exports.map(({ n }) => n);
  if (!names.includes("default") && !names.includes("computeBatch")) {
    throw new UsageError(
      `${path}: exports ${
        names.length === 0 ? "nothing" : names.join(", ")
      }; expected a function as ` +
        "its default export, or computeBatch",
    );
  }
}
