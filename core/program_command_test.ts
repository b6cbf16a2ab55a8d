/** `deno.json` has the flags of `program_command.ts`. */
import assert from "node:assert/strict";
import config from "../deno.json" with { type: "json" };
import { SAFE_V8_FLAGS, V8_FLAGS } from "./program_command.ts";

Deno.test("the tasks of deno.json have the V8 flags of the executable, or the fewer safe ones", () => {
  const tasks: Record<string, string> = config.tasks;
  const flagsOf = (command: string) => /--v8-flags=\S+/.exec(command)?.[0];
  assert.equal(flagsOf(tasks["rgx"]!), V8_FLAGS);
  assert.equal(flagsOf(tasks["rgx:safe"]!), SAFE_V8_FLAGS);
  for (const [name, command] of Object.entries(tasks)) {
    const flags = flagsOf(command);
    if (flags !== undefined && name !== "rgx:safe") assert.equal(flags, V8_FLAGS, name);
  }
  const fast = V8_FLAGS.replace("--v8-flags=", "").split(",");
  const safe = SAFE_V8_FLAGS.replace("--v8-flags=", "").split(",");
  assert.ok(safe.every((flag) => fast.includes(flag)));
  assert.ok(!safe.includes("--no-wasm-bounds-checks"));
});
