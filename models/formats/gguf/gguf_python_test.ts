/**
 * Opt-in: llama.cpp's own Python package reads what rgx writes. RGX_TEST_PYTHON names a Python that
 * has `gguf` (pip install gguf).
 */
import assert from "node:assert/strict";
import { withFolder } from "../../../core/testing.ts";
import { exportModel } from "../../export/export.ts";
import { readGguf } from "./gguf.ts";
import { goldenPath } from "../../../tests/golden.ts";

const python = Deno.env.get("RGX_TEST_PYTHON");
const source = goldenPath("models/stories260k");

/**
 * Prints the scalar metadata, and for each tensor its type, its shape and the sum of squares of its
 * values.
 */
const READER = `
import json, sys
from gguf import GGUFReader, dequantize
file = GGUFReader(sys.argv[1])
out = {"metadata": {}, "tensors": {}}
for key, field in file.fields.items():
    value = field.contents()
    out["metadata"][key] = len(value) if isinstance(value, list) else value
for t in file.tensors:
    values = dequantize(t.data, t.tensor_type).astype("float64")
    squares = float((values * values).sum())
    out["tensors"][t.name] = [t.tensor_type.name, list(values.shape), squares]
print(json.dumps(out))
`;
import { NEEDED, needs } from "../../../tests/skipped.ts";

Deno.test({
  name: "the gguf package of Python reads exported files with the same values",
  ignore: needs(python !== undefined, NEEDED.python),
  async fn() {
    await withFolder(async (folder) => {
      for (const dtype of ["f32", "f16", "bf16", "q8_0", "q4_0"] as const) {
        const path = `${folder}/${dtype}.gguf`;
        await exportModel(source!, { to: "gguf", dtype, output: path });
        const { success, stdout, stderr } = await new Deno.Command(python!, {
          args: ["-c", READER, path],
        }).output();
        assert.ok(success, new TextDecoder().decode(stderr));
        const found = JSON.parse(new TextDecoder().decode(stdout)) as {
          metadata: Record<string, unknown>;
          tensors: Record<string, [type: string, shape: number[], squares: number]>;
        };
        const file = await readGguf(path);
        for (const [key, value] of file.metadata) {
          assert.deepEqual(found.metadata[key], Array.isArray(value) ? value.length : value, key);
        }
        assert.deepEqual(Object.keys(found.tensors).sort(), [...file.tensors.keys()].sort());
        for (const [name, { type, shape }] of file.tensors) {
          const squares = (await file.float32(name)).reduce((sum, x) => sum + x * x, 0);
          const [theirType, theirShape, theirSquares] = found.tensors[name]!;
          assert.deepEqual([theirType, theirShape], [type.name, shape], name);
          assert.ok(Math.abs(theirSquares - squares) <= 1e-9 * squares, `${dtype} ${name}`);
        }
      }
    });
  },
});
