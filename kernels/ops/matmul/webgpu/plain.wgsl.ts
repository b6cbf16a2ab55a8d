/**
 * WGSL of the simple matrix product: each invocation makes one output, by sums of 32 terms that are
 * added one after the other. It reads every layout and type, and shares only the widening of
 * weights in blocks with the fast kernels, which are held against it on the card.
 */
import { rounded, roundFunction, type Rounding } from "./elements.wgsl.ts";
import type { Layout } from "./operands.wgsl.ts";
import { perElement } from "../../common/wgsl/entry.ts";
import type { KernelSpec } from "../../common/wgsl/kernel.ts";
import { isBlockType, type WeightType } from "../../../weights/types.ts";
import { BLOCK_PARAMS, widenBlocks, widenPair } from "../../../weights/widen.wgsl.ts";

export interface PlainOptions {
  a: Layout;
  b: Layout;
  bType: "f32" | WeightType;
  lora: boolean;
  /** How both sides are rounded. */
  rounding: Rounding;
}

/** Terms that are summed before they are added to the output's sum. */
const TERMS = 32;

export function plainKernel({ a, b, bType, lora, rounding }: PlainOptions): KernelSpec {
  const inBlocks = bType !== "f32" && isBlockType(bType);
  const element = (x: string) => rounding === null ? x : `${rounded(rounding, `vec4f(${x})`)}.x`;
  const sum = (name: string, terms: string, left: string, right: string) => `
  var ${name} = 0.0;
  for (var begin = 0u; begin < ${terms}; begin += ${TERMS}u) {
    var part = 0.0;
    let end = min(begin + ${TERMS}u, ${terms});
    for (var t = begin; t < end; t++) { part = fma(${element(left)}, ${element(right)}, part); }
    ${name} += part;
  }`;
  const place = a === "along" ? "row * p.lda + t" : "t * p.lda + row";
  return {
    name: `matmul.plain${lora ? ".lora" : ""}${rounding === null ? "" : `.${rounding}`}`,
    buffers: {
      mat_a: "read f32",
      mat_b: `read ${inBlocks ? "vec4<u32>" : bType === "f32" ? "f32" : "u32"}`,
      ...(lora ? { lora_x: "read f32", lora_w: "read f32" } : {}),
      mat_out: "write f32",
    },
    params: {
      m: "u32",
      n: "u32",
      k: "u32",
      lda: "u32",
      ldo: "u32",
      a_base: "u32",
      out_base: "u32",
      ...(inBlocks ? { ...BLOCK_PARAMS, b_column: "u32" } : { ldb: "u32", b_base: "u32" }),
      add: "u32",
      alpha: "f32",
      ...(lora ? { r: "u32", x_base: "u32", w_base: "u32", lora_scale: "f32" } : {}),
    } as KernelSpec["params"],
    code: `${roundFunction(rounding)}
${elementOfB(b, bType)}
${
      perElement(
        `let row = i / p.n;
  let column = i % p.n;${sum("sum", "p.k", `mat_a[p.a_base + ${place}]`, "b_at(column, t)")}
  var result = p.alpha * sum;${
          lora
            ? `${
              sum(
                "added",
                "p.r",
                "lora_x[p.x_base + row * p.r + t]",
                "lora_w[p.w_base + column * p.r + t]",
              )
            }
  result += p.lora_scale * added;`
            : ""
        }
  let at = p.out_base + row * p.ldo + column;
  if (p.add != 0u) { result += mat_out[at]; }
  mat_out[at] = result;`,
        "p.m * p.n",
      )
    }`,
  };
}

/** fn b_at(column, t): the element of b for a column of the result and a term. */
export function elementOfB(layout: Layout, type: "f32" | WeightType): string {
  const signature = "fn b_at(column: u32, t: u32) -> f32 {";
  if (type !== "f32" && isBlockType(type)) {
    const [row, i] = layout === "along" ? ["column", "t"] : ["t", "p.b_column + column"];
    return `${widenBlocks("mat_b", type)}
${signature}
  let row = ${row};
  let i = ${i};
  let values = block_values(block_words(row & ~3u, i & ~3u), i & ~3u);
  return values[i & 3u][row & 3u];
}`;
  }
  const at = layout === "along"
    ? "p.b_base + column * p.ldb + t"
    : layout === "across"
    ? "p.b_base + t * p.ldb + column"
    : "p.b_base + (column & ~15u) * p.ldb + t * 16u + (column & 15u)";
  return type === "f32" ? `${signature} return mat_b[${at}]; }` : `${signature}
  let at = ${at};
  let word = mat_b[at >> 1u];
  return ${widenPair(type, "word")}[at & 1u];
}`;
}
