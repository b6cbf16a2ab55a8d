/**
 * The layouts of Vulkan's structures are those of C. `tests/golden/vulkan_offsets.json` has sizes
 * and offsets that a C compiler gave; where the machine has a compiler and Vulkan's headers
 * (libvulkan-dev, or VULKAN_INCLUDE=folder), they are made again and compared.
 * UPDATE_GOLDEN=1 writes the file.
 */
import assert from "node:assert/strict";
import { withFolder } from "../../../core/testing.ts";
import { NEEDED, needs } from "../../../tests/skipped.ts";
import { addressOf, cString, joined, Struct, textArray, textOf } from "./memory_layout.ts";
import * as structs from "./structs.ts";

type Layout = Record<string, number>;

const GOLDEN = new URL("../../../tests/golden/vulkan_offsets.json", import.meta.url);
const ALL: Struct<Record<string, "u32">>[] = Object.values(structs) as never[];
const named = (struct: Struct<Record<string, "u32">>) =>
  Object.keys(struct.fields).filter((field) => !field.startsWith("skipped"));

Deno.test("the layouts of Vulkan's structures are those of a C compiler", async () => {
  const golden = JSON.parse(await Deno.readTextFile(GOLDEN)) as Record<string, Layout>;
  assert.deepEqual(Object.keys(golden).sort(), ALL.map(({ name }) => name).sort());
  for (const struct of ALL) {
    const expected = golden[struct.name]!;
    assert.equal(struct.size, expected["sizeof"], struct.name);
    for (const field of named(struct)) {
      assert.equal(struct.offsets[field], expected[field], `${struct.name}.${field}`);
    }
  }
});

const include = Deno.env.get("VULKAN_INCLUDE") ?? "/usr/include";
const header = await Deno.readTextFile(`${include}/vulkan/vulkan_core.h`).catch(() => "");
/** Headers before 1.3.255 lack cooperative matrices. */
const hasHeaders = header.includes("VkCooperativeMatrixPropertiesKHR");

Deno.test({
  name: "the golden offsets are what Vulkan's headers give",
  ignore: needs(hasHeaders, NEEDED.vulkanHeaders),
  async fn() {
    const found = await compiledLayouts();
    if (Deno.env.get("UPDATE_GOLDEN") === "1") {
      await Deno.writeTextFile(GOLDEN, `${JSON.stringify(found, null, 1)}\n`);
    }
    assert.deepEqual(JSON.parse(await Deno.readTextFile(GOLDEN)), found);
  },
});

async function compiledLayouts(): Promise<Record<string, Layout>> {
  return await withFolder(async (folder) => {
    const print = (name: string, key: string, value: string) =>
      `  printf("${name} ${key} %zu\\n", ${value});`;
    const lines = ALL.flatMap((struct) => [
      print(struct.name, "sizeof", `sizeof(${struct.name})`),
      ...named(struct).map((field) =>
        print(struct.name, field, `offsetof(${struct.name}, ${field})`)
      ),
    ]);
    const program = "#include <stddef.h>\n#include <stdio.h>\n#include <vulkan/vulkan_core.h>\n" +
      `int main(void) {\n${lines.join("\n")}\n}\n`;
    await Deno.writeTextFile(`${folder}/offsets.c`, program);
    const run = async (command: string, args: string[]) => {
      const { success, stdout, stderr } = await new Deno.Command(command, { args }).output();
      assert.ok(success, new TextDecoder().decode(stderr));
      return new TextDecoder().decode(stdout);
    };
    await run("cc", ["-I", include, "-o", `${folder}/offsets`, `${folder}/offsets.c`]);
    const layouts: Record<string, Layout> = {};
    for (const line of (await run(`${folder}/offsets`, [])).trim().split("\n")) {
      const [name, key, value] = line.split(" ");
      (layouts[name!] ??= {})[key!] = Number(value);
    }
    return layouts;
  });
}

Deno.test("a structure has its values at their offsets, and points to texts and structures", () => {
  const inner = new Struct("Inner", null, { a: "u8", b: "u64" });
  const outer = new Struct("Outer", 7, {
    small: "u32*3",
    inner,
    text: "pointer",
    signed: "i32",
    real: "f32",
  });
  assert.deepEqual(inner.offsets, { a: 0, b: 8 });
  assert.deepEqual(outer.offsets, { small: 16, inner: 32, text: 48, signed: 56, real: 60 });
  assert.equal(outer.size, 64);
  const bytes = outer.make({
    inner: inner.make({ b: 2n ** 40n }),
    text: "abc",
    signed: -5,
    real: 1.5,
  });
  const view = new DataView(bytes.buffer);
  assert.equal(view.getUint32(0, true), 7);
  assert.equal(view.getBigUint64(40, true), 2n ** 40n);
  const pointer = Deno.UnsafePointer.create(view.getBigUint64(48, true))!;
  assert.equal(Deno.UnsafePointerView.getCString(pointer), "abc");
  assert.equal(outer.number(bytes, "signed"), -5);
  assert.equal(outer.number(bytes, "real"), 1.5);
  assert.equal(inner.number(outer.part(bytes, "inner"), "b"), 2 ** 40);
});

Deno.test("texts and arrays lie in memory as C has them", () => {
  assert.equal(textOf(cString("VK_ext")), "VK_ext");
  assert.deepEqual([...joined([cString("a"), cString("bc")])], [97, 0, 98, 99, 0]);
  const list = textArray(["one", "two"]), view = new DataView(list.buffer);
  const text = (i: number) =>
    Deno.UnsafePointerView.getCString(
      Deno.UnsafePointer.create(view.getBigUint64(8 * i, true))!,
    );
  assert.deepEqual([text(0), text(1)], ["one", "two"]);
  assert.notEqual(addressOf(list), 0n);
});
