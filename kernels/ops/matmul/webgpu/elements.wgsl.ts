/**
 * WGSL that reads four neighbouring elements of a row-major matrix of f32, f16 or bf16. (For
 * weights in blocks see kernels/weights/widen.wgsl.ts.)
 */
import { MIN_MAGNITUDE } from "../bf16.ts";
import { widenPair } from "../../../weights/widen.wgsl.ts";

/** The bits of the least magnitude that is not rounded to zero. */
const LEAST = new Uint32Array(Float32Array.of(MIN_MAGNITUDE).buffer)[0]!;

export type ElementType = "f32" | "f16" | "bf16";

/** `aligned`: every row begins at a multiple of four elements and has a multiple of four. */
export interface Elements {
  type: ElementType;
  aligned: boolean;
  /** Whether elements are rounded to bfloat16 (roundBf16Function). */
  bf16?: boolean;
}

/**
 * fn round_bf16(v): four numbers, rounded as in ../bf16.ts.
 */
export const roundBf16Function = `
fn round_bf16(v: vec4f) -> vec4f {
  let bits = bitcast<vec4u>(v);
  let magnitude = bits & vec4u(0x7fffffffu);
  let nearest = bits + vec4u(0x7fffu) + ((bits >> vec4u(16u)) & vec4u(1u));
  let number = select(nearest, bits | vec4u(0x400000u), magnitude > vec4u(0x7f800000u));
  let kept = select(vec4u(0u), number & vec4u(0xffff0000u), magnitude >= vec4u(${LEAST}u));
  return bitcast<vec4f>(kept);
}`;

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
  return ${elements.bf16 ? "round_bf16(v)" : "v"};
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
