/** What the tests of job scripts share. */
import assert from "node:assert/strict";
import { RgxError } from "../core/errors.ts";

/** Expects a refusal with this exit code whose message holds all of `says`. */
export async function refuses(
  work: () => unknown,
  says: readonly string[],
  exitCode = 2,
): Promise<void> {
  let found: unknown = null;
  try {
    await work();
  } catch (error) {
    found = error;
  }
  assert.ok(found instanceof RgxError, `expected a refusal, found ${found}`);
  assert.equal(found.exitCode, exitCode);
  for (const text of says) {
    assert.ok(found.message.includes(text), `expected ${text} in: ${found.message}`);
  }
}

/** Runs a program and returns what it says. */
export async function run(
  command: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<{ code: number; out: string; err: string }> {
  const [program, ...args] = command;
  const { code, stdout, stderr } = await new Deno.Command(program!, { args, ...options }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

/** True when a program of this name can be started. */
export async function isInstalled(program: string): Promise<boolean> {
  try {
    await new Deno.Command(program, { args: ["--version"], stdout: "null", stderr: "null" })
      .output();
    return true;
  } catch {
    return false;
  }
}

export async function withFolder(work: (path: string) => Promise<void>): Promise<void> {
  const path = await Deno.makeTempDir({ prefix: "rgx-" });
  try {
    await work(path);
  } finally {
    await Deno.remove(path, { recursive: true });
  }
}
