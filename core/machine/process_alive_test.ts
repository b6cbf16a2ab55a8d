import assert from "node:assert/strict";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { processIsAlive, processStartTicks } from "./process_alive.ts";

Deno.test("this process is alive, and one that never was is not", () => {
  assert.ok(processIsAlive(Deno.pid));
  assert.ok(!processIsAlive(2 ** 22 + 1));
  assert.equal(processStartTicks(2 ** 22 + 1), null);
});

Deno.test("a process that has ended is not alive before its parent has looked", {
  ignore: needs(Deno.build.os === "linux", NEEDED.system),
}, async () => {
  // The shell's child ends at once; the sleep that the shell becomes never looks at it.
  const child = new Deno.Command("sh", {
    args: ["-c", "sh -c 'echo $$; exec true' & exec sleep 60"],
    stdout: "piped",
  }).spawn();
  try {
    const reader = child.stdout.getReader();
    const pid = Number(new TextDecoder().decode((await reader.read()).value));
    reader.releaseLock();
    const state = () => Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ")[1]![0];
    while (state() !== "Z") await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(!processIsAlive(pid));
  } finally {
    child.kill("SIGKILL");
    await child.stdout.cancel();
    await child.status;
  }
});
