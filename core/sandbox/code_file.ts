/**
 * A file with code of a user, a reward or a task, as a module that a Worker without permissions can
 * load. Types are stripped (lines keep their numbers). Imports are refused, except for the helpers
 * that rgx gives to the file. The code becomes a `data:` URL, because the Worker may not read
 * files. This also works in the executable, which has no TypeScript compiler.
 */
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { sha256Hex } from "../checksums.ts";
import { UsageError } from "../errors.ts";

const EXTENSIONS = [".ts", ".mts", ".js", ".mjs"];

export interface CodeKind {
  /** The word for the code in messages: "reward" or "task". */
  what: string;
  /** A module that the file may import, and the object in the Worker that has its exports. */
  helpers?: { module: string; global: string };
}

export interface Code {
  /** `data:` URL of the code without types and imports. */
  url: string;
  exports: string[];
}

/** Whether a name is the path of a file with code. */
export function isCodePath(name: string): boolean {
  return EXTENSIONS.includes(extname(name));
}

/** SHA-256 of the file. @throws UsageError when it cannot be read */
export async function codeHash(path: string, what: string): Promise<string> {
  return sha256Hex(await read(path, what));
}

/** @throws UsageError with file and line for what cannot be loaded */
export async function loadCode(path: string, kind: CodeKind): Promise<Code> {
  const extension = extname(path);
  if (!EXTENSIONS.includes(extension)) {
    throw new UsageError(
      `${path}: a ${kind.what} is a file ending in ${EXTENSIONS.join(", ")}, found ` +
        (extension === "" ? "no extension" : extension),
    );
  }
  const text = (await read(path, kind.what)).replace(/^\uFEFF/, "");
  const plain = extension.endsWith("ts") ? await stripTypes(text, path) : text;
  const { code, exports } = await withoutImports(plain, path, kind);
  return { url: `data:text/javascript;charset=utf-8,${encodeURIComponent(code)}`, exports };
}

async function read(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const { code } = cause as { code?: string };
    const found = code === "ENOENT" ? "no such file" : code ?? String(cause);
    throw new UsageError(`the ${what} file ${path} cannot be read: ${found}`, { cause });
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
    advice: "The mistake is at this place, or inside the statement that begins here.",
    cause,
  });
}

/** The code with each import of the helpers replaced, so that lines keep their numbers. */
async function withoutImports(
  code: string,
  path: string,
  { what, helpers }: CodeKind,
): Promise<{ code: string; exports: string[] }> {
  const { parse } = await import("es-module-lexer/js");
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(code);
  } catch (cause) {
    throw syntaxError(path, cause);
  }
  const [imports, exports] = parsed;
  let result = "", end = 0;
  for (const { n: specifier, d: kind, ss: start, se: stop } of imports) {
    if (kind === -2) continue; // import.meta
    const names = /^import\s*\{([^}]*)\}/.exec(code.slice(start, stop))?.[1];
    if (helpers !== undefined && specifier === helpers.module && names !== undefined) {
      const taken = names.replace(/\bas\b/g, ":"), rest = code.slice(start, stop).split(names)[1]!;
      result += `${code.slice(end, start)}const {${taken}} = globalThis.${helpers.global}`;
      result += rest.replace(/[^\n]/g, "");
      end = stop;
      continue;
    }
    const line = code.slice(0, start).split("\n").length;
    const found = specifier === undefined ? "a module" : JSON.stringify(specifier);
    const allowed = helpers === undefined ? "" : `, and { names } of "${helpers.module}"`;
    throw new UsageError(
      `${path}:${line}: imports ${found}; a ${what} is one file that imports nothing (types ` +
        `excepted${allowed})`,
      {
        advice:
          "Copy the needed code into the file, or bundle all into one file: deno bundle, esbuild …",
      },
    );
  }
  return { code: result + code.slice(end), exports: exports.map(({ n }) => n) };
}
