/**
 * For tests of job scripts. A file that imports this one has one more test, which is ignored with a
 * reason where shellcheck is not installed.
 */
import assert from "node:assert/strict";
import { withFolder } from "../core/testing.ts";
import { NEEDED, needs } from "../tests/skipped.ts";
import { isInstalled, run } from "./testing.ts";

const hasShellcheck = await isInstalled("shellcheck");

Deno.test({
  name: "the scripts of this file are also read by shellcheck",
  ignore: needs(hasShellcheck, NEEDED.shellcheck),
  fn: () => {},
});

/** Asserts that bash can parse a script, and that shellcheck, if installed, finds nothing. */
export async function assertCleanShell(text: string): Promise<void> {
  await withFolder(async (folder) => {
    const path = `${folder}/job.sh`;
    await Deno.writeTextFile(path, text);
    const parsed = await run(["bash", "-n", path]);
    assert.equal(parsed.code, 0, parsed.err);
    if (!hasShellcheck) return;
    const checked = await run(["shellcheck", path]);
    assert.equal(checked.code, 0, checked.out);
  });
}
