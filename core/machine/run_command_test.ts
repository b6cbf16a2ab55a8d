import assert from "node:assert/strict";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { runCommand } from "./run_command.ts";

Deno.test({
  name: "a program gets its input, and ends with the work that asked for it",
  ignore: needs(Deno.build.os !== "windows", NEEDED.system),
  async fn() {
    const input = "a\n".repeat(300_000), ending = new AbortController();
    assert.equal((await runCommand(["cat"], { input }))!.out, input);
    assert.equal((await runCommand(["sh", "-c", "echo no >&2; exit 3"], { input }))!.err, "no\n");
    const ended = runCommand(["sleep", "600"], { signal: ending.signal });
    ending.abort();
    assert.equal((await ended)!.signal, "SIGTERM");
    assert.equal(await runCommand(["sleep", "600"], { signal: ending.signal }), null);
    assert.equal((await runCommand(["sleep", "600"], { timeoutMs: 100 }))!.success, false);
    assert.equal(await runCommand(["there-is-no-such-program"]), null);
  },
});
