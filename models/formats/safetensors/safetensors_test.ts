import assert from "node:assert/strict";
import fc from "fast-check";
import { refusal, test } from "../../../core/testing.ts";
import { RgxError } from "../../../core/errors.ts";
import { encodeSafetensors } from "./safetensors_writer.ts";
import { parseSafetensors, readSafetensors } from "./safetensors.ts";
import { accepted, editedBytes, mostAreRefused } from "../../damage_testing.ts";
import { cases } from "../../../tests/cases.ts";
import { goldenPath } from "../../../tests/golden.ts";

/** A file with any header text, to break one rule at a time. */
function raw(header: string, dataBytes: number, announced?: number): Uint8Array {
  const json = new TextEncoder().encode(header);
  const out = new Uint8Array(8 + json.length + dataBytes);
  new DataView(out.buffer).setBigUint64(0, BigInt(announced ?? json.length), true);
  out.set(json, 8);
  return out;
}

const shared = goldenPath("");

Deno.test("tensors of every written type are read back with their values", async () => {
  const bytes = encodeSafetensors([
    { name: "b", dtype: "F32", shape: [2, 2], data: new Float32Array([1, -2, 3.5, 1e-40]) },
    { name: "a", dtype: "F32", shape: [], data: new Float32Array([7]) },
    { name: "d", dtype: "F64", shape: [1], data: new Float64Array([Math.PI]) },
    { name: "h", dtype: "F16", shape: [3], data: new Float32Array([1, 65504, -(2 ** -24)]) },
    { name: "g", dtype: "BF16", shape: [2], data: new Float32Array([1.5, -3]) },
    { name: "i", dtype: "I64", shape: [2], data: new BigInt64Array([-1n, 5n]) },
    { name: "u", dtype: "U32", shape: [1], data: new Uint32Array([4294967295]) },
    { name: "m", dtype: "BOOL", shape: [3], data: new Uint8Array([1, 0, 1]) },
    { name: "empty", dtype: "F32", shape: [0, 4], data: new Float32Array(0) },
  ], { format: "pt", step: "3" });
  const file = await parseSafetensors(bytes);
  assert.deepEqual(file.metadata, { format: "pt", step: "3" });
  assert.deepEqual([...file.tensors.keys()].slice(0, 3), ["d", "i", "a"]);
  assert.deepEqual(await file.float32("b"), new Float32Array([1, -2, 3.5, 1e-40]));
  assert.deepEqual(await file.float64("d"), new Float64Array([Math.PI]));
  assert.deepEqual(await file.float32("d"), new Float32Array([Math.PI]));
  assert.deepEqual(await file.float32("a"), new Float32Array([7]));
  assert.deepEqual(file.info("a").shape, []);
  assert.deepEqual(await file.float32("h"), new Float32Array([1, 65504, -(2 ** -24)]));
  assert.deepEqual(await file.float64("g"), new Float64Array([1.5, -3]));
  assert.deepEqual([...await file.integers("i")], [-1, 5]);
  assert.deepEqual([...await file.integers("u")], [4294967295]);
  assert.deepEqual([...await file.integers("m")], [1, 0, 1]);
  assert.equal((await file.float32("empty")).length, 0);
  await assert.rejects(file.float32("i"), /tensor "i" is I64, expected F32/);
  await assert.rejects(file.integers("b"), /tensor "b" is F32, expected an integer/);
  assert.throws(() => file.info("z"), /no tensor "z"/);
});

Deno.test("data starts at a multiple of 8, and the order given does not matter", () => {
  const a = { name: "x", dtype: "F32", shape: [1], data: new Float32Array([1]) } as const;
  const b = { name: "longer name", dtype: "F16", shape: [1], data: new Float32Array([2]) } as const;
  const bytes = encodeSafetensors([a, b]);
  assert.deepEqual(bytes, encodeSafetensors([b, a]));
  assert.equal(new DataView(bytes.buffer).getBigUint64(0, true) % 8n, 0n);
  assert.throws(() => encodeSafetensors([a, a]), /two tensors are called x/);
  assert.throws(() => encodeSafetensors([{ ...a, shape: [2] }]), /takes 8 bytes, got 4/);
  assert.throws(() => encodeSafetensors([{ ...a, dtype: "I64" }]), /cannot store a Float32Array/);
});

Deno.test("every broken rule of the format is refused with what was found", async () => {
  const t = (body: string) => `{"w":{${body}}}`;
  const ok = `"dtype":"F32","shape":[2],"data_offsets":[0,8]`;
  const cases: [Uint8Array, RegExp][] = [
    [new Uint8Array(0), /it has 0 bytes, expected at least 8/],
    [raw("{}", 0, 100_000_001), /header of 100000001 bytes/],
    [new TextEncoder().encode("version https://git-lfs"), /Git LFS pointer/],
    [raw(t(ok), 8, 5000), /the download is incomplete/],
    [raw(`[1,2]`, 0), /begins with byte 0x5b, expected "\{"/],
    [raw(` {}`, 0), /begins with byte 0x20/],
    [raw(`{"w":`, 0), /header is not JSON/],
    [raw("", 4), /header has 0 bytes/],
    [raw(`{"w":5}`, 0), /entry "w" is 5/],
    [raw(`{"__metadata__":{"n":1}}`, 0), /metadata "n" is 1/],
    [raw(t(ok.replace("F32", "F31")), 8), /"w" has dtype "F31"/],
    [raw(t(ok.replace("[2]", "[-2]")), 8), /has shape \[-2\]/],
    [raw(t(ok.replace("[2]", "[2.5]")), 8), /has shape \[2.5\]/],
    [raw(t(ok.replace("[0,8]", "[0]")), 8), /has data_offsets \[0\]/],
    [raw(t(ok.replace("[0,8]", "[0,4]")), 4), /needs 8 bytes, .* hold 4/],
    [raw(t(ok.replace("[0,8]", "[8,0]")), 8), /needs 8 bytes, .* hold -8/],
    [raw(t(ok.replace("[0,8]", "[8,16]")), 16), /bytes 0 to 8 .* belong to no tensor/],
    [
      raw(`{"a":{${ok}},"b":{${ok.replace("[0,8]", "[4,12]")}}}`, 12),
      /tensor "b" begins at byte 4 and overlaps "a", which ends at 8/,
    ],
    [raw(t(ok), 5), /download is incomplete: 5 of 8 bytes .*"w" is the first/],
    [raw(t(ok), 9), /1 bytes after the last tensor/],
  ];
  for (const [bytes, message] of cases) {
    const more = { where: "m.safetensors: not a valid safetensors file: ", advice: /./ };
    await assert.rejects(
      parseSafetensors(bytes, "m.safetensors"),
      refusal(message, RgxError, more),
    );
  }
});

test.inFolder("errors about truncated and missing files name them", async (folder) => {
  const path = `${folder}/model.safetensors`;
  const bytes = encodeSafetensors([
    { name: "first", dtype: "F32", shape: [4], data: new Float32Array(4) },
    { name: "second", dtype: "F32", shape: [4], data: new Float32Array(4) },
  ]);
  await Deno.writeFile(path, bytes.subarray(0, bytes.length - 3));
  await assert.rejects(readSafetensors(path), /incomplete: 29 of 32 .*"second"/);
  await assert.rejects(readSafetensors(`${folder}/none.safetensors`), /no such file/);
  await assert.rejects(readSafetensors(folder), /not a file/);
  await Deno.writeFile(path, bytes);
  const file = await readSafetensors(path);
  await Deno.truncate(path, 100);
  await assert.rejects(
    file.float32("second"),
    /nothing left to read at byte 176, expected data up to 192/,
  );
});

Deno.test("the real model and an adapter written by PEFT can be read", async () => {
  const model = await readSafetensors(`${shared}models/tinystories-656k/model.safetensors`);
  assert.deepEqual(model.info("lm_head.weight").shape, [2048, 128]);
  assert.ok(!model.tensors.has("model.embed_tokens.weight"));
  let count = 0;
  for (const info of model.tensors.values()) count += info.shape.reduce((a, b) => a * b, 1);
  assert.equal(count, 656_000);
  const adapter = await readSafetensors(
    `${shared}trl-step/adapter/adapter_model.safetensors`,
  );
  const name = "base_model.model.model.layers.0.mlp.down_proj.lora_A.weight";
  assert.deepEqual(adapter.info(name).shape, [4, 384]);
  assert.ok((await adapter.float32(name)).some((v) => v !== 0));
  // The same tensors written again give the file that PEFT wrote.
  const again = encodeSafetensors(
    await Promise.all([...adapter.tensors.values()].map(async ({ name, dtype, shape }) => ({
      name,
      dtype,
      shape,
      data: await adapter.bytes(name),
    }))),
    adapter.metadata,
  );
  assert.deepEqual(again, await Deno.readFile(adapter.label));
});

const WHOLE = encodeSafetensors([
  {
    name: "model.embed.weight",
    dtype: "F32",
    shape: [3, 4],
    data: Float32Array.from(Array(12).keys()),
  },
  { name: "head", dtype: "F16", shape: [5], data: new Float32Array([1, -2, 0.5, 65504, 0]) },
  { name: "half", dtype: "BF16", shape: [2, 1], data: new Float32Array([1.5, -3]) },
  { name: "step", dtype: "I64", shape: [], data: new BigInt64Array([7n]) },
  { name: "mask", dtype: "BOOL", shape: [3], data: new Uint8Array([1, 0, 1]) },
  { name: "none", dtype: "F32", shape: [0, 2], data: new Float32Array(0) },
]);

/**
 * Reads everything, with the values that it holds and no more memory than the file takes; false =
 * refused.
 */
function readAll(bytes: Uint8Array): Promise<boolean> {
  return accepted(async () => {
    const file = await parseSafetensors(bytes, "x.safetensors");
    let held = 0;
    for (const { name, dtype, shape } of file.tensors.values()) {
      const stored = await file.bytes(name);
      held += stored.length;
      const count = shape.reduce((a, b) => a * b, 1);
      if (dtype.startsWith("F8")) await assert.rejects(file.float32(name), RgxError);
      else if (/^(F|BF)/.test(dtype)) {
        const values = await file.float32(name);
        assert.equal(values.length, count);
        if (dtype === "F32") assert.deepEqual(new Uint8Array(values.buffer), stored);
      } else assert.equal((await file.integers(name)).length, count);
    }
    assert.ok(held < bytes.length, `${held} bytes of tensors in a file of ${bytes.length}`);
  }, "x.safetensors: ");
}

const PUTS = '0 9 -1 99999999999 null [] {} " , } F64 __proto__ 1e3 .5'.split(" ");

Deno.test("500 damaged safetensors files are read correctly or refused", async () => {
  await mostAreRefused(editedBytes(WHOLE, PUTS), readAll, { seed: 4 });
  assert.ok(await readAll(WHOLE));
});

const number = fc.oneof(
  fc.nat(12),
  fc.constantFrom(-1, 0.5, 2 ** 31, 2 ** 53, 2 ** 53 - 1, 1e308, null, "4", true),
);
const entry = fc.record({
  dtype: fc.constantFrom(
    "F32",
    "F16",
    "BF16",
    "F64",
    "I64",
    "I8",
    "BOOL",
    "F8_E4M3",
    "F4",
    3,
    null,
  ),
  shape: fc.oneof(fc.array(number, { maxLength: 3 }), number),
  data_offsets: fc.oneof(fc.array(number, { maxLength: 3 }), fc.tuple(fc.nat(8), fc.nat(60))),
}, { requiredKeys: [] });
const header = fc.dictionary(
  fc.constantFrom("a", "b", "__proto__", "constructor", "", "größe", "__metadata__"),
  fc.oneof({ weight: 5, arbitrary: entry }, fc.jsonValue() as fc.Arbitrary<unknown>),
  { maxKeys: 4 },
);

Deno.test("500 made-up headers are read correctly or refused", () =>
  fc.assert(
    fc.asyncProperty(header, fc.nat(80), fc.nat(9), async (content, dataBytes, spaces) => {
      const json = new TextEncoder().encode(JSON.stringify(content) + " ".repeat(spaces));
      const bytes = new Uint8Array(8 + json.length + dataBytes);
      new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true);
      bytes.set(json, 8);
      await readAll(bytes);
    }),
    { numRuns: cases(500), seed: 4 },
  ));
