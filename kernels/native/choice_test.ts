import assert from "node:assert/strict";
import { nativeLibraries, VECTORS } from "./library.ts";
import { findDifference } from "./self_check.ts";
import { createWasmDevice } from "../devices/wasm/device.ts";

Deno.test("RGX_NATIVE=0 switches native kernels off, and another value is refused", async () => {
  const before = Deno.env.get("RGX_NATIVE");
  try {
    Deno.env.set("RGX_NATIVE", "0");
    const device = await createWasmDevice({ threads: 1 });
    assert.equal(device.tiles, "WASM tiles (switched off by RGX_NATIVE=0)");
    device.close();
    Deno.env.set("RGX_NATIVE", "yes");
    await assert.rejects(createWasmDevice({ threads: 1 }), /RGX_NATIVE is "yes"; expected 1, or 0/);
  } finally {
    if (before === undefined) Deno.env.delete("RGX_NATIVE");
    else Deno.env.set("RGX_NATIVE", before);
  }
});

Deno.test("RGX_TARGET names the kernels, and one that cannot be had here is refused", async () => {
  const before = Deno.env.get("RGX_TARGET"), native = Deno.env.get("RGX_NATIVE");
  const opened = async (target: string) => {
    Deno.env.set("RGX_TARGET", target);
    const device = await createWasmDevice({ threads: 1 });
    device.close();
    return device.tiles;
  };
  try {
    Deno.env.delete("RGX_NATIVE");
    assert.equal(await opened("wasm"), "WASM tiles (chosen by RGX_TARGET=wasm)");
    for (const { target } of nativeLibraries().codes) {
      assert.equal(await opened(target), `${VECTORS[target]} tiles`);
    }
    const elsewhere = Deno.build.arch === "aarch64" ? "avx2" : "neon";
    await assert.rejects(
      opened(elsewhere),
      /RGX_TARGET is "(avx2|neon)", which cannot be had here/,
    );
    await assert.rejects(opened("sse"), /"sse"; expected one of wasm, avx2, avx512, neon/);
  } finally {
    if (before === undefined) Deno.env.delete("RGX_TARGET");
    else Deno.env.set("RGX_TARGET", before);
    if (native !== undefined) Deno.env.set("RGX_NATIVE", native);
  }
});

Deno.test("without the permission ffi the reason is given", async () => {
  const device = new URL("../devices/wasm/device.ts", import.meta.url).href;
  const script = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(
    script,
    `import { createWasmDevice } from ${JSON.stringify(device)};
     const device = await createWasmDevice({ threads: 1 });
     console.log(device.tiles);
     device.close();`,
  );
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--unstable-raw-imports", "--allow-read", "--allow-env", script],
  }).output();
  await Deno.remove(script);
  const text = new TextDecoder().decode(stdout), errors = new TextDecoder().decode(stderr);
  assert.match(text, /^WASM tiles \((they need the permission --allow-ffi|there are none)/, errors);
});

Deno.test("the self-check finds a device that computes other bits", async () => {
  using one = await createWasmDevice({ threads: 1, native: false });
  using other = await createWasmDevice({ threads: 1, native: false });
  assert.equal(await findDifference(one, other), null);
  const read = other.read.bind(other);
  other.read = async (tensor, ...range) => {
    const values = await read(tensor, ...range);
    values[values.length - 1]! += 2 ** -20;
    return values;
  };
  assert.match(await findDifference(one, other) ?? "", /"m":33/);
});
