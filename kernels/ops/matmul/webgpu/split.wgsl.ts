/**
 * WGSL that adds the parts of a sum (tile.wgsl.ts) to the output, one after the other. A product
 * that is divided into pieces between two parts therefore has the same bits.
 */
import { perElement } from "../../common/wgsl/entry.ts";
import { kernel } from "../../common/wgsl/kernel.ts";

export const addParts = kernel({
  name: "matmul.add_parts",
  reads: "f32 sums",
  writes: "f32 mat_out",
  params: "u32 n columns ldo out_base parts add, f32 alpha",
  code: perElement(
    `let at = p.out_base + i / p.columns * p.ldo + i % p.columns;
  var sum = 0.0;
  if (p.add != 0u) { sum = mat_out[at]; }
  for (var part = 0u; part < p.parts; part++) {
    sum = fma(p.alpha, sums[part * p.n + i], sum);
  }
  mat_out[at] = sum;`,
  ),
});
