/**
 * PyTorch weights. The golden files were written by PyTorch 2.6: the same tensors in the present
 * layout of `torch.save` and in the one from before torch 1.6, which is refused. Among the tensors
 * are shared, transposed and half-precision ones, a scalar and a parameter.
 */
import assert from "node:assert/strict";
import { RgxError } from "../../../core/errors.ts";
import { refusal } from "../../../core/testing.ts";
import { widenBF16, widenF16 } from "../../../core/half_floats.ts";
import { parseTorchFile } from "./torch_file.ts";
import { unpickle } from "./unpickle.ts";
import { torchRules } from "./torch_rules.ts";
import { accepted, editedBytes, mostAreRefused } from "../../damage_testing.ts";

const golden: Record<"zip" | "legacy", string> = JSON.parse(
  await Deno.readTextFile(new URL("../../../tests/golden/torch_files.json", import.meta.url)),
);
const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
const FILES = { zip: bytesOf(golden.zip), legacy: bytesOf(golden.legacy) };
const VALUES = [1, -2, 0.5, 3, -4, 8];

Deno.test("tensors are read with their values", async () => {
  const file = await parseTorchFile(FILES.zip);
  assert.deepEqual([...file.tensors.keys()], [
    "plain",
    "shared",
    "transposed",
    "half",
    "brain",
    "scalar",
    "mask",
  ]);
  assert.deepEqual(file.info("plain").shape, [2, 3]);
  assert.deepEqual([...await file.floats("plain")], VALUES);
  assert.deepEqual([...await file.floats("shared")], [7, 9]);
  assert.deepEqual([...await file.floats("transposed")], [1, 3, -2, -4, 0.5, 8]);
  assert.deepEqual([...await file.floats("half")], VALUES);
  assert.deepEqual([...await file.floats("brain")], VALUES);
  // The stored bits, for weights that stay in their type.
  const bits = async (name: string) => new Uint16Array((await file.bytes(name)).buffer);
  assert.deepEqual([...widenF16(await bits("half"))], VALUES);
  assert.deepEqual([...widenBF16(await bits("brain"))], VALUES);
  const floats = new Float32Array((await file.bytes("transposed")).buffer);
  assert.deepEqual([...floats], [1, 3, -2, -4, 0.5, 8]);
  assert.deepEqual(file.info("scalar").shape, []);
  assert.deepEqual([...await file.floats("scalar")], [Math.PI]);
  await assert.rejects(file.floats("mask"), /tensor "mask" is BOOL, expected F32/);
  assert.throws(() => file.info("none"), /no tensor "none" among the 7/);
});

Deno.test("contents that do not have the archive's checksum are refused", async () => {
  const at = (bytes: number[], from: number) =>
    FILES.zip.findIndex((_, i) => i >= from && bytes.every((b, j) => FILES.zip[i + j] === b));
  // The first value of "plain", 1 as a float, and the last one's name in the pickle.
  const value = at([0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0], 0), name = at([..."mask"].map(code), 0);
  for (const [place, what] of [[value, /data\/\d+" in it/], [name, /data\.pkl" in it/]] as const) {
    assert.ok(place > 0);
    const changed = FILES.zip.slice();
    changed[place]! ^= 1;
    const read = async () => await (await parseTorchFile(changed)).floats("plain");
    await assert.rejects(read, /does not have the checksum that it should/);
    await assert.rejects(read, what);
  }
});

const code = (c: string) => c.charCodeAt(0);

/** Reads everything; false = refused. */
function readAll(bytes: Uint8Array): Promise<boolean> {
  return accepted(async () => {
    const file = await parseTorchFile(bytes, "x.bin");
    for (const { name, dtype, shape } of file.tensors.values()) {
      if (!/^B?F/.test(dtype)) continue;
      assert.equal((await file.floats(name)).length, shape.reduce((a, b) => a * b, 1));
    }
  }, "x.bin: ");
}

const PUTS = [..."().N}]tuseaRbQX", [0x85], [0x86], [0x87], [0x88], [0x8a, 8], Array(4).fill(255)];

Deno.test("500 damaged files are read completely or refused", () =>
  mostAreRefused(editedBytes(FILES.zip, PUTS), readAll, { seed: 8, share: 1 / 5 }));

const ascii = (text: string) => Uint8Array.from(text, (c) => c.charCodeAt(0));
const run = (text: string) => unpickle(ascii(text), torchRules("m.bin"), "m.bin");

Deno.test("a pickle that names, calls or does anything else is refused by name", () => {
  const cases: [string, RegExp][] = [
    ["cos\nsystem\nX\x02\0\0\0ls\x85R.", /names "os\.system", which is no part of a tensor/],
    ["cbuiltins\neval\n.", /names "builtins\.eval"/],
    ["ctorch\nload\n.", /names "torch\.load"/],
    ["ctorch.storage\n_load_from_bytes\n.", /names "torch\.storage\._load_from_bytes"/],
    ["\x8c\x02os\x8c\x06system\x93.", /opcode 0x8c at byte 0/],
    ["(S'ls'\ni__main__\nx\n.", /opcode 0x53/],
    ["N\x81.", /opcode 0x81/],
    ["ctorch\nFloatStorage\n)R.", /calls what cannot be called/],
    ["K\x01)R.", /calls what cannot be called/],
    ["N}b.", /sets the state of what has none/],
    ["K\x01Q.", /refers to something that is no storage/],
    ["ctorch._utils\n_rebuild_tensor_v2\n)R.", /makes a tensor of what is no storage/],
    ["ctorch._utils\n_rebuild_parameter\n)R.", /makes a parameter of no tensor/],
    ["ccollections\nOrderedDict\n(K\x01tR.", /makes a dictionary of what is no list/],
    [".", /takes what is not there/],
    ["NN.", /leaves values behind/],
    ["t.", /has no mark/],
    ["h\x05.", /recalls value 5/],
    ["NNa.", /appends to what is no list/],
    ["NNNs.", /sets items of what is no dictionary/],
    ["\x80\x09.", /is of protocol 9/],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => run(text), refusal(message, RgxError, { where: "m.bin: ", advice: /./ }));
  }
});

Deno.test("files that are not PyTorch weights, or too old, are refused", async () => {
  const cut = FILES.zip.slice(0, -30);
  const cases: [Uint8Array, RegExp][] = [
    [new Uint8Array(0), /it is empty/],
    [ascii("version https://git-lfs"), /Git LFS pointer/],
    [ascii("{}"), /begins with byte 0x7b/],
    [cut, /its end is missing: it is incomplete/],
    [FILES.legacy, /m\.bin: torch saved it in the layout from before 1\.6, which is not read/],
    [ascii("PK\x05\x06" + "\0".repeat(18)), /no data\.pkl in the archive/],
  ];
  for (const [bytes, message] of cases) {
    await assert.rejects(parseTorchFile(bytes, "m.bin"), message);
  }
});
