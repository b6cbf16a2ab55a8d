import assert from "node:assert/strict";
import { RgxError } from "../../../core/errors.ts";
import { refusal } from "../../../core/testing.ts";
import { accepted, editedBytes, mostAreRefused } from "../../damage_testing.ts";
import { elementCount } from "../element_count.ts";
import { parseGguf, readGguf } from "./gguf.ts";
import { encodeTestGguf, type TestMetadata } from "./testing.ts";

const METADATA: TestMetadata = {
  "general.architecture": ["string", "llama"],
  "llama.block_count": ["u32", 2],
  "llama.context_length": ["u64", 128],
  "big": ["u64", 2n ** 60n],
  "eps": ["f32", 0.5],
  "yes": ["bool", true],
  "tokens": ["string", ["a", "größe", ""]],
  "types": ["i32", [1, 3, 6]],
};
const f32 = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer);
const TENSORS = [
  { name: "a", shape: [2, 3], typeId: 0, data: f32(1, 2, 3, 4, 5, 6) },
  { name: "b", shape: [2, 32], typeId: 8, data: new Uint8Array(68).fill(0x3c) },
  { name: "none", shape: [0], typeId: 0, data: new Uint8Array(0) },
  { name: "c", shape: [3], typeId: 1, data: new Uint8Array([0, 0x3c, 0, 0xc0, 1, 0]) },
];
const WHOLE = encodeTestGguf(METADATA, TENSORS);

Deno.test("metadata and tensors are read as they were written, in versions 2 and 3", async () => {
  for (const version of [2, 3]) {
    const file = await parseGguf(encodeTestGguf(METADATA, TENSORS, { version }));
    assert.deepEqual(
      Object.fromEntries(file.metadata),
      Object.fromEntries(Object.entries(METADATA).map(([key, [, value]]) => [key, value])),
    );
    assert.deepEqual(file.info("a").shape, [2, 3]);
    assert.deepEqual(await file.float32("a"), new Float32Array([1, 2, 3, 4, 5, 6]));
    assert.deepEqual(await file.float32("c"), new Float32Array([1, -2, 2 ** -24]));
    assert.equal((await file.float32("b"))[33], 60 * 1.05859375);
    assert.equal((await file.float32("none")).length, 0);
    assert.throws(() => file.info("d"), /no tensor "d" among the 4/);
  }
  const wide = encodeTestGguf(
    { ...METADATA, "general.alignment": ["u32", 128] },
    TENSORS,
    { alignment: 128 },
  );
  assert.deepEqual(await (await parseGguf(wide)).float32("c"), new Float32Array([1, -2, 2 ** -24]));
});

Deno.test("reads a header beyond the first window, and tensors beyond a piece", async () => {
  const tokens = Array.from({ length: 90_000 }, (_, i) => `token number ${i}`);
  const values = new Float32Array(2 ** 20 + 5).map((_, i) => i);
  const file = await parseGguf(encodeTestGguf({ tokens: ["string", tokens] }, [
    { name: "w", shape: [values.length], typeId: 0, data: new Uint8Array(values.buffer) },
  ]));
  assert.deepEqual(file.metadata.get("tokens"), tokens);
  assert.deepEqual(await file.float32("w"), values);
});

Deno.test("every broken rule of the format is refused with what was found", async () => {
  const changed = (change: (view: DataView) => void) => {
    const bytes = WHOLE.slice();
    change(new DataView(bytes.buffer));
    return bytes;
  };
  const tensor = (shape: number[], typeId = 0) =>
    encodeTestGguf({}, [{ name: "w", shape, typeId, data: f32(1, 2) }]);
  const cases: [Uint8Array, RegExp][] = [
    [new Uint8Array(0), /should end at byte 4, the file has 0/],
    [new TextEncoder().encode("version https://git-lfs"), /Git LFS pointer/],
    [new TextEncoder().encode("PK\x03\x04 something"), /begins with "PK\\u0003\\u0004"/],
    [changed((v) => v.setUint32(4, 1, true)), /version is 1, expected 2 or 3/],
    [changed((v) => v.setUint32(4, 3)), /big-endian/],
    [
      changed((v) => v.setBigUint64(8, 2n ** 60n, true)),
      /has a size or offset of 1152921504606846976/,
    ],
    [changed((v) => v.setBigUint64(8, 2n ** 40n, true)), /number of tensors is 1099511627776/],
    [changed((v) => v.setBigUint64(16, 5000n, true)), /number of metadata is 5000/],
    [changed((v) => v.setBigUint64(24, 9999n, true)), /length of metadata key 0 is 9999/],
    [WHOLE.subarray(0, 300), /incomplete|cannot hold/],
    [WHOLE.subarray(0, WHOLE.length - 1), /tensor "c" .* ends at byte/],
    [tensor([2 ** 50]), /incomplete: tensor "w"/],
    [tensor([2 ** 40, 2 ** 40]), /shape \[1099511627776,1099511627776\], which no file/],
    [tensor([3]), /ends at byte/],
    [tensor([2], 8), /rows of 2 weights, Q8_0 needs multiples of 32/],
    [tensor([1, 1, 1, 1, 2]), /5 dimensions, expected 4/],
    [encodeTestGguf({ "general.alignment": ["u32", 24] }, []), /alignment is 24/],
    [encodeTestGguf({}, [TENSORS[0]!, TENSORS[0]!]), /two tensors are called "a"/],
    [encodeTestGguf({}, TENSORS, { alignment: 8 }), /offset 24, expected a multiple of 32/],
    [
      encodeTestGguf({}, [TENSORS[1]!, { ...TENSORS[0]!, offset: 64 }]),
      /tensor "a" begins at byte 192 and overlaps "b", which ends at 196/,
    ],
  ];
  for (const [bytes, message] of cases) {
    const more = { where: "m.gguf: not a valid GGUF file: ", advice: /./ };
    await assert.rejects(parseGguf(bytes, "m.gguf"), refusal(message, RgxError, more));
  }
});

/** Reads everything; false = refused. */
function readAll(bytes: Uint8Array): Promise<boolean> {
  return accepted(async () => {
    const file = await parseGguf(bytes, "x.gguf");
    for (const { name, shape } of file.tensors.values()) {
      assert.equal((await file.float32(name)).length, elementCount(shape));
    }
  }, "x.gguf: ");
}

/** Numbers of eight bytes. */
const PUTS = [0, 1, 3, 32, 40, 255].flatMap((n) => [[n, 0, 0, 0, 0, 0, 0, 0], Array(8).fill(n)]);

Deno.test("500 damaged GGUF files are read completely or refused", async () => {
  await mostAreRefused(editedBytes(WHOLE, PUTS), readAll, { seed: 6 });
  assert.ok(await readAll(WHOLE));
});

Deno.test("unsupported types, parts and missing files have their own advice", async () => {
  const iq1 = encodeTestGguf({}, [{ ...TENSORS[1]!, typeId: 19 }]);
  await assert.rejects(
    parseGguf(iq1, "m.gguf"),
    /m\.gguf: tensor "b" is of type IQ1_S, which is not read \(only F32, F16, Q4_0, .*MXFP4\)/,
  );
  const part = encodeTestGguf({ "split.count": ["u32", 3] }, []);
  await assert.rejects(parseGguf(part, "m.gguf"), /one of 3 parts/);
  await assert.rejects(readGguf("/nowhere/m.gguf"), /no such file, expected a GGUF model/);
});
