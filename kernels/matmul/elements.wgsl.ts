/**
 * WGSL that reads four neighbouring elements of a matrix, for every type in which a matrix may be stored: the one
 * place to extend when a type joins (blocks of 8 or 4 bits would read their scale here as well).
 */
import type { WeightType } from "./spec.ts";

export type ElementType = "f32" | WeightType;

/** `aligned`: every row begins at a multiple of four elements and holds a multiple of four. */
export interface Elements {
  type: ElementType;
  aligned: boolean;
}

/** The buffer's element type in the kernel. */
export function bufferType({ type, aligned }: Elements): string {
  if (type === "f32") return aligned ? "vec4<f32>" : "f32";
  return aligned ? "vec2<u32>" : "u32";
}

/** Two halves of a word as f32. */
function widened(type: WeightType, word: string): string {
  return type === "f16"
    ? `unpack2x16float(${word})`
    : `vec2f(bitcast<f32>(${word} << 16u), bitcast<f32>(${word} & 0xffff0000u))`;
}

/**
 * fn four_<name>(start, i, end): elements i … i + 3 of the row that begins at `start`, zero from `end` on; i is a
 * multiple of 4. `buffer` is the variable to read.
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
    v = vec4f(${widened(type, "words.x")}, ${widened(type, "words.y")});
  }`;
  }
  return ["v = vec4f(pair, v.zw);", "v = vec4f(v.xy, pair);"].map((set, j) =>
    `if (i + ${2 * j}u < end) {
    let word = ${buffer}[((start + i) >> 1u) + ${j}u];
    let pair = ${widened(type, "word")};
    ${set}
  }`
  ).join("\n  ");
}
