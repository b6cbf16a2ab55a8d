/** What the tuner may choose from on a card, in the sizes of a model of 0.5 billion parameters. */
import assert from "node:assert/strict";
import type { WebgpuTraits } from "../../ops/common/webgpu_op.ts";
import type { Tensor } from "../../tensor.ts";
import { choicePoint } from "./choice_points.ts";

const TRAITS: WebgpuTraits = {
  limits: {
    bindingElements: 2 ** 29 - 64,
    groupsPerDimension: 65_535,
    workgroupBytes: 49_152,
    invocations: 1024,
  },
  software: false,
  computeDtype: "float32",
};

const D = 896, ROWS = 4096;
const heads = { heads: 14, kvHeads: 2, headDim: 64, scale: 0.125 };
const tensor = (length: number) => ({ length }) as Tensor;
const decoding = { count: 64, maxNew: 256, prefixK: tensor(2048 * 128), ...heads };

/** Arguments, and the sizes of workgroups or tiles. */
const CHOICES: Readonly<Record<string, [args: object, sizes: RegExp[]]>> = {
  matmul: [{ m: 1, n: 4864, k: D, transB: true }, [/64 x8/, /256 x8/]],
  attention: [{ rows: ROWS, ...heads }, [/^8x8x4/, /^16x16x2/]],
  "attention_backward.queries": [{ rows: ROWS, ...heads }, [/^8x8x4/, /^16x16x2/]],
  "attention_backward.keys": [{ rows: ROWS, ...heads }, [/^8x8x4/, /^16x16x2/]],
  "attention_decode.prefix": [decoding, [/^16x4x1 256/, /^32x8x1 4096/]],
  "attention_decode.branch": [decoding, [/^16x4x1 256/, /^32x8x1 4096/]],
};

Deno.test("every choice has several sizes on a card", () => {
  for (const [name, [args, sizes]] of Object.entries(CHOICES)) {
    const point = choicePoint(name), names = point.candidates({ ...args }, TRAITS);
    for (const size of sizes) {
      assert.ok(names.some((other) => size.test(other)), `${name}: ${size}`);
    }
    assert.equal(new Set(names).size, names.length, `${name}: a candidate is there twice`);
    assert.ok(point.classOf({ ...args }, TRAITS)!.startsWith(name), name);
  }
});
