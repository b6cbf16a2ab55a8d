/**
 * WGSL that loads the operands of the tiled matrix product (tile.wgsl.ts) from storage, in blocks
 * of 4 × 4 elements. The rows of a and b are rows and columns of the result; their terms run along
 * k.
 */
import {
  bufferType,
  type Elements,
  fourElements,
  rounded,
  type Rounding,
} from "./elements.wgsl.ts";
import { type BlockType, isBlockType, type WeightType } from "../../../weights/types.ts";
import { BLOCK_PARAMS, blockWordNames, widenBlocks } from "../../../weights/widen.wgsl.ts";

/** How an operand is stored: its rows run along k, or across k. */
export type Layout = "along" | "across";

const LANES = [0, 1, 2, 3];

/**
 * How a kernel reads b: the buffer's element type, the parameters, and the WGSL that loads from it.
 */
interface OperandB {
  buffer: string;
  params: string;
  code: string;
}

/**
 * @param aligned all matrices can be read as vectors of four
 * @param rounding how the elements are rounded
 */
export function operandB(
  type: "f32" | WeightType,
  layout: Layout,
  aligned: boolean,
  rounding: Rounding,
): OperandB {
  return isBlockType(type)
    ? storedOperand(type, layout, rounding)
    : rowMajorOperand({ type, aligned, rounding }, layout);
}

/** b of f32, f16 or bf16, row-major. */
function rowMajorOperand(elements: Elements, layout: Layout): OperandB {
  return {
    buffer: bufferType(elements),
    params: "u32 ldb b_base",
    code: `${fourElements("b", "mat_b", elements)}
${blockFunction("b", layout, "n", "p.b_base", "p.ldb", "p.k")}`,
  };
}

/**
 * b in blocks. They are loaded as words and widened when they are stored in workgroup memory, so
 * that an invocation does not wait for them before it multiplies. With "across" the rows of the
 * weight are the terms, and the result begins at its column b_column.
 *
 *     fn fetch_b(first, depth) -> Fetched             the words; beyond the last term zeros, which
 *                                                     widen to zeros
 *     fn widened_b(fetched, first, depth) -> mat4x4f  the elements, like block_b
 */
function storedOperand(type: BlockType, layout: Layout, rounding: Rounding): OperandB {
  const along = layout === "along";
  const [row, i] = along
    ? ["min(first, (p.n - 1u) & ~3u)", "depth"]
    : ["depth", "p.b_column + first"];
  const fields = blockWordNames(type), names = ["x", "y", "z", "w"];
  const fetched = names.map((_, f) => f < fields.length ? `words.${fields[f]}` : "vec4u()");
  const words = fields.map((_, f) => `fetched.${names[f]}`);
  const values = `block_values(BlockWords(${words.join(", ")}), ${i})`;
  return {
    buffer: "vec4<u32>",
    params: `u32 b_column, ${BLOCK_PARAMS}`,
    code: `${widenBlocks("mat_b", type)}
struct Fetched { ${names.map((name) => `${name}: vec4u`).join(", ")} }
fn fetch_b(first: u32, depth: u32) -> Fetched {
  if (depth >= p.k${along ? "" : " || first >= p.n"}) { return Fetched(); }
  let words = block_words(${row}, ${i});
  return Fetched(${fetched.join(", ")});
}
fn widened_b(fetched: Fetched, first: u32, depth: u32) -> mat4x4f {
${
      rounding !== null
        ? `  let exact = ${values};
  let values = mat4x4f(${LANES.map((j) => rounded(rounding, `exact[${j}]`)).join(", ")});
  return ${along ? "values" : "transpose(values)"};`
        : `  return ${along ? values : `transpose(${values})`};`
    }
}
fn fetched_floats(block: mat4x4f) -> Fetched {
  return Fetched(${names.map((_, j) => `bitcast<vec4u>(block[${j}])`).join(", ")});
}
fn floats_of(fetched: Fetched) -> mat4x4f {
  return mat4x4f(${names.map((name) => `bitcast<vec4f>(fetched.${name})`).join(", ")});
}`,
  };
}

/**
 * fn block_<name>(first, depth): the terms depth … depth + 3 (columns of the matrix) of the rows
 * first … first + 3. Terms beyond the last one are zero. Rows beyond the last one may hold
 * anything, because their results are not stored.
 */
export function blockFunction(
  name: string,
  layout: Layout,
  rows: string,
  base: string,
  step: string,
  terms: string,
): string {
  const signature = `fn block_${name}(first: u32, depth: u32) -> mat4x4f {`;
  if (layout === "along") {
    const lines = LANES.map((i) =>
      `four_${name}(${base} + min(first + ${i}u, p.${rows} - 1u) * ${step}, depth, ${terms})`
    );
    return `${signature}\n  return transpose(mat4x4f(\n    ${lines.join(",\n    ")}));\n}`;
  }
  return `
fn line_${name}(first: u32, depth: u32) -> vec4f {
  if (depth >= ${terms} || first >= p.${rows}) { return vec4f(0.0); }
  return four_${name}(${base} + depth * ${step}, first, p.${rows});
}
${signature}
  return mat4x4f(${LANES.map((i) => `line_${name}(first, depth + ${i}u)`).join(", ")});
}`;
}
