/** For tests: folders of their own, what is in them, and what an error has to say. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { RgxError } from "./errors.ts";

/**
 * For `assert.throws` and `assert.rejects`: an error of a kind whose message matches.
 * @param more what the message begins with, and its advice
 */
export function refusal(
  message: RegExp,
  kind: typeof RgxError = RgxError,
  { where = "", advice }: { where?: string; advice?: RegExp } = {},
): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof kind, String(error));
    assert.match(error.message, message);
    assert.ok(error.message.startsWith(where), error.message);
    if (advice !== undefined) assert.match(error.advice ?? "", advice);
    return true;
  };
}

/** Calls `work` with a temporary folder, which is removed afterwards. */
export async function withFolder<T>(work: (folder: string) => T | Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "rgx-test-" });
  try {
    return await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Writes files at paths inside a folder, and the folders around them. */
export async function writeFiles(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = `${folder}/${name}`;
    await Deno.mkdir(dirname(path), { recursive: true });
    await Deno.writeFile(path, typeof content === "string" ? encoder.encode(content) : content);
  }
}

const encoder = new TextEncoder();

/** The sorted names in a folder; none if it does not exist. */
export function namesIn(folder: string | URL): string[] {
  try {
    return Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();
  } catch {
    return [];
  }
}

/** Tests with a folder: `test.inFolder("…", async (folder) => {…})`. */
export const test = {
  inFolder(
    name: string,
    work: (folder: string) => void | Promise<void>,
    ignore: boolean = false,
  ): void {
    Deno.test({ name, ignore, fn: () => withFolder(work) });
  },
};
