/**
 * WGSL that reads four neighbouring elements of a row-major matrix of f32, f16 or bf16. (For
 * weights in blocks see kernels/weights/widen.wgsl.ts.)
 */
import { widenPair } from "../../../weights/widen.wgsl.ts";

export type ElementType = "f32" | "f16" | "bf16";

/** `aligned`: every row begins at a multiple of four elements and has a multiple of four. */
export interface Elements {
  type: ElementType;
  aligned: boolean;
}

/** Element type of the buffer in the kernel. */
export function bufferType({ type, aligned }: Elements): string {
  if (type === "f32") return aligned ? "vec4<f32>" : "f32";
  return aligned ? "vec2<u32>" : "u32";
}

/**
 * fn four_<name>(start, i, end): the elements i … i + 3 of the row that begins at `start`; those
 * from `end` on are zero. i is a multiple of 4. `buffer` is the variable that is read.
 */
export function fourElements(name: string, buffer: string, elements: Elements): string {
  return `
fn four_${name}(start: u32, i: u32, end: u32) -> vec4f {
  var v = vec4f(0.0);
  ${readFour(buffer, elements)}
  return v;
}`;
}

function readFour(buffer: string, { type, aligned }: Elements): string {
  if (type === "f32") {
    if (aligned) return `if (i < end) { v = ${buffer}[(start + i) >> 2u]; }`;
    return ["x", "y", "z", "w"].map((lane, j) =>
      `if (i + ${j}u < end) { v.${lane} = ${buffer}[start + i + ${j}u]; }`
    ).join("\n  ");
  }
  if (aligned) {
    return `if (i < end) {
    let words = ${buffer}[(start + i) >> 2u];
    v = vec4f(${widenPair(type, "words.x")}, ${widenPair(type, "words.y")});
  }`;
  }
  return ["v = vec4f(pair, v.zw);", "v = vec4f(v.xy, pair);"].map((set, j) =>
    `if (i + ${2 * j}u < end) {
    let word = ${buffer}[((start + i) >> 1u) + ${j}u];
    let pair = ${widenPair(type, "word")};
    ${set}
  }`
  ).join("\n  ");
}
