import assert from "node:assert/strict";
import { withFolder } from "../../../core/testing.ts";
import { normals, stream } from "../../../kernels/testing.ts";
import { quantizeQ4K, quantizeQ6K } from "../../../kernels/weights/quantize_k.ts";
import { readGguf } from "./gguf.ts";
import { writeGguf } from "./gguf_writer.ts";
import { importanceOf, readImportance } from "./importance.ts";
import { encodePieces } from "../weight_encoding.ts";

const NAME = "blk.0.ffn_down.weight";

Deno.test("an importance matrix is read in both forms, and a damaged one is refused", () =>
  withFolder(async (folder) => {
    const sums = Float32Array.of(2, 4, 6, 9), text = new TextEncoder().encode(NAME);
    const binary = new Uint8Array(16 + text.length + 16), view = new DataView(binary.buffer);
    view.setInt32(0, 1, true);
    view.setInt32(4, text.length, true);
    binary.set(text, 8);
    [2, 4].forEach((x, i) => view.setInt32(8 + text.length + 4 * i, x, true));
    sums.forEach((x, i) => view.setFloat32(16 + text.length + 4 * i, x, true));
    const tensor = (name: string, shape: number[], values: Float32Array) => ({
      name,
      type: "f32" as const,
      shape,
      bytes: async function* () {
        yield* await Promise.resolve(encodePieces("f32", { name, shape }, values));
      },
    });
    await Deno.writeFile(`${folder}/a.dat`, binary);
    await writeGguf(`${folder}/b.gguf`, new Map([["general.type", ["string", "imatrix"]]]), [
      tensor(`${NAME}.in_sum2`, [2, 2], sums),
      tensor(`${NAME}.counts`, [2, 1], Float32Array.of(2, 3)),
    ]);
    const old = await readImportance(`${folder}/a.dat`);
    assert.deepEqual([...importanceOf(old, NAME, 4)!], [1, 2, 3, 4.5]);
    const fresh = await readImportance(`${folder}/b.gguf`);
    assert.deepEqual([...importanceOf(fresh, NAME, 2, 1)!], [2, 3]);
    assert.throws(() => importanceOf(old, NAME, 3), /has 4 values, expected a multiple of 3/);
    await Deno.writeFile(`${folder}/a.dat`, binary.subarray(0, 30));
    await assert.rejects(readImportance(`${folder}/a.dat`), /or a damaged one/);
    await assert.rejects(
      readImportance(`${folder}/c.dat`),
      /c\.dat: no such file, expected an imp/,
    );
  }));

Deno.test("columns of importance lose less when blocks of Q4_K and Q6_K are made with it", () =>
  withFolder(async (folder) => {
    const random = stream("importance"), shape = [8, 256];
    const values = normals(random, 2048), columns = normals(random, 256).map((x) => x ** 4);
    const all = Float32Array.from(values, (_, i) => columns[i % 256]!);
    for (const [type, quantize] of [["q4_k_m", quantizeQ4K], ["q6_k", quantizeQ6K]] as const) {
      const errors: number[] = [];
      for (const importance of [undefined, all]) {
        const bytes = async function* () {
          yield await Promise.resolve(quantize(values, importance));
        };
        await writeGguf(`${folder}/m.gguf`, new Map(), [{ name: "w", type, shape, bytes }]);
        const found = await (await readGguf(`${folder}/m.gguf`)).float32("w");
        errors.push(found.reduce((sum, x, i) => sum + all[i]! * (x - values[i]!) ** 2, 0));
      }
      assert.ok(errors[1]! < 0.95 * errors[0]!, `${type}: ${errors}`);
    }
  }));
