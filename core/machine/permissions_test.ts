import assert from "node:assert/strict";
import { RgxError, UsageError } from "../errors.ts";
import { requirePermissions, withPermissions } from "./permissions.ts";

Deno.test({
  name: "a call without its permissions names the flags that are missing, each once",
  permissions: { read: true },
  fn() {
    const needed = [
      { name: "env" },
      { name: "sys", kind: "hostname" },
      { name: "sys", kind: "systemMemoryInfo" },
      { name: "read" },
      { name: "write", path: "runs" },
    ] as const;
    assert.throws(() => requirePermissions("train", ...needed), (error) => {
      assert.ok(error instanceof UsageError);
      assert.equal(error.message, "train needs --allow-env and --allow-sys and --allow-write=runs");
      const flags = "--allow-env --allow-sys --allow-write=runs";
      assert.equal(
        error.advice,
        `Start the program with ${flags}, or with -A, which allows everything.`,
      );
      return true;
    });
    requirePermissions("train", { name: "read", path: "runs" });
  },
});

Deno.test({
  name: "a permission that is needed later is an error for users too, and others stay as they are",
  permissions: { read: true },
  async fn() {
    const late = withPermissions("loadModel", [], () => Deno.writeTextFile("a.txt", ""));
    await assert.rejects(late, (error) => {
      assert.ok(error instanceof RgxError);
      assert.match(error.message, /^loadModel: Requires write access to .*--allow-write/);
      return true;
    });
    const missing = withPermissions("loadModel", [], () => Deno.readTextFile("no_such_file"));
    await assert.rejects(missing, Deno.errors.NotFound);
  },
});
