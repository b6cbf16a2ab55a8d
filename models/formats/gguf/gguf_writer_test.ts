/** Written GGUF and safetensors files are read back. */
import assert from "node:assert/strict";
import { test } from "../../../core/testing.ts";
import { readGguf } from "./gguf.ts";
import { type GgufMetadata, type GgufTensorToWrite, writeGguf } from "./gguf_writer.ts";
import { writeSafetensors } from "../tensor_stream.ts";
import { encodeSafetensors } from "../safetensors/safetensors_writer.ts";
import { encodePieces } from "../weight_encoding.ts";

async function* pieces(parts: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield await Promise.resolve(part);
}

const METADATA: GgufMetadata = new Map([
  ["general.architecture", ["string", "llama"]],
  ["a.count", ["u32", 4_000_000_000]],
  ["a.float", ["f32", 0.5]],
  ["a.flag", ["bool", true]],
  ["a.no", ["bool", false]],
  ["a.empty", ["string", []]],
  ["a.kinds", ["i32", [1, -2, 3]]],
  // Longer than the first buffer.
  ["a.tokens", ["string", Array.from({ length: 9000 }, (_, i) => `größe ${i}`)]],
]);

test.inFolder("metadata and tensors of a written file are read back", async (folder) => {
  const values = Float32Array.from({ length: 96 }, (_, i) => i - 40);
  const tensor = (name: string, type: "f32" | "q8_0", shape: number[]): GgufTensorToWrite => ({
    name,
    type,
    shape,
    bytes: () =>
      pieces(
        encodePieces(type, { name, shape }, values.subarray(0, shape.reduce((a, b) => a * b))),
      ),
  });
  const path = `${folder}/m.gguf`;
  await writeGguf(path, METADATA, [
    tensor("odd", "f32", [3]),
    tensor("blocks", "q8_0", [3, 32]),
    tensor("last", "f32", [2, 5]),
  ]);
  const file = await readGguf(path);
  assert.deepEqual(
    [...file.metadata],
    [...METADATA].map(([key, [, value]]) => [key, value]),
  );
  assert.deepEqual(file.info("blocks").shape, [3, 32]);
  assert.deepEqual(await file.float32("odd"), values.subarray(0, 3));
  assert.deepEqual(await file.float32("last"), values.subarray(0, 10));
  const blocks = await file.float32("blocks");
  blocks.forEach((x, i) => assert.ok(Math.abs(x - values[i]!) <= 0.25, `${x}`));
  const { begin, end } = file.info("last");
  assert.equal(begin % 32, 0);
  assert.equal((await Deno.stat(path)).size, Math.ceil(end / 32) * 32);
});

test.inFolder("a streamed safetensors file equals the one made in memory", async (folder) => {
  const data = Float32Array.from({ length: 6 }, (_, i) => i / 3);
  const tensors = [
    { name: "b", dtype: "F32" as const, shape: [2, 3], data },
    { name: "a", dtype: "F32" as const, shape: [6], data },
    { name: "c", dtype: "BF16" as const, shape: [6], data },
  ];
  await writeSafetensors(
    `${folder}/x`,
    tensors.map(({ name, dtype, shape, data }) => ({
      name,
      dtype,
      shape,
      bytes: () => pieces(encodePieces(dtype === "F32" ? "f32" : "bf16", { name, shape }, data)),
    })),
  );
  assert.deepEqual(await Deno.readFile(`${folder}/x`), encodeSafetensors(tensors));
});

test.inFolder("a tensor with too few bytes is a defect", async (folder) => {
  const short = { name: "a", shape: [2], bytes: () => pieces([new Uint8Array(4)]) };
  const wrong = /tensor a: 4 bytes were made, expected 8/;
  await assert.rejects(
    writeGguf(`${folder}/g`, new Map(), [{ ...short, type: "f32" }]),
    wrong,
  );
  await assert.rejects(writeSafetensors(`${folder}/s`, [{ ...short, dtype: "F32" }]), wrong);
});
