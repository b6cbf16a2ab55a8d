/**
 * The native kernels of ARM64 processors, on an emulated one: RGX_TEST_ARM64 is a command that
 * starts Deno for ARM64, with spaces between its words.
 */
import assert from "node:assert/strict";
import { NEEDED, needs } from "../../tests/skipped.ts";

const COMMAND = Deno.env.get("RGX_TEST_ARM64")?.split(" ") ?? [];

const SCRIPT = `
import { createWasmDevice } from "${new URL("../devices/wasm/device.ts", import.meta.url).href}";
const device = await createWasmDevice({ threads: 1 });
console.log(Deno.build.arch, device.tiles);
device.close();`;

Deno.test("on ARM64 the native kernels give the bits of the WASM kernels", {
  ignore: needs(COMMAND.length > 0, NEEDED.arm64),
}, async () => {
  const [program, ...args] = COMMAND;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, SCRIPT);
    const { stdout, stderr } = await new Deno.Command(program!, {
      args: [...args, "run", "-A", "--no-check", "--unstable-raw-imports", file],
      env: { NO_COLOR: "1" },
    }).output();
    // The self-check at start compares the bits of every kernel; where one differs, this names it.
    const text = new TextDecoder();
    assert.equal(text.decode(stdout).trim(), "aarch64 NEON tiles", text.decode(stderr));
  } finally {
    await Deno.remove(file);
  }
});
