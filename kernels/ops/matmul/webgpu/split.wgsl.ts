/**
 * WGSL that adds the parts of a sum (tile.wgsl.ts) to the output, one after the other. A product
 * that is divided into pieces between two parts therefore has the same bits.
 */
import { perElement } from "../../common/wgsl/entry.ts";
import { kernel } from "../../common/wgsl/kernel.ts";

export const addParts = kernel({
  name: "matmul.add_parts",
  buffers: { sums: "read f32", mat_out: "write f32" },
  params: {
    count: "u32",
    n: "u32",
    ldo: "u32",
    out_base: "u32",
    parts: "u32",
    add: "u32",
    alpha: "f32",
  },
  code: perElement(
    `let at = p.out_base + i / p.n * p.ldo + i % p.n;
  var sum = 0.0;
  if (p.add != 0u) { sum = mat_out[at]; }
  for (var part = 0u; part < p.parts; part++) {
    sum = fma(p.alpha, sums[part * p.count + i], sum);
  }
  mat_out[at] = sum;`,
    "p.count",
  ),
});
