/**
 * WGSL that reads four neighbouring elements of a row-major matrix of f32, f16 or bf16. (For
 * weights in blocks see kernels/weights/widen.wgsl.ts.)
 */
import { MIN_MAGNITUDE } from "../bf16.ts";
import { widenPair } from "../../../weights/widen.wgsl.ts";

/** The bits of the smallest magnitude that is not rounded to zero. */
const SMALLEST = new Uint32Array(Float32Array.of(MIN_MAGNITUDE).buffer)[0]!;

export type ElementType = "f32" | "f16" | "bf16";

/** To what the elements of an operand are rounded (../bf16.ts, ../f16.ts); null = they are not. */
export type Rounding = "bf16" | "f16" | null;

/** `aligned`: every row begins at a multiple of four elements and has a multiple of four. */
export interface Elements {
  type: ElementType;
  aligned: boolean;
  /** How elements are rounded ({@link roundFunction}); default: they are not. */
  rounding?: Rounding;
}

const roundBf16 = `
fn round_bf16(v: vec4f) -> vec4f {
  let bits = bitcast<vec4u>(v);
  let magnitude = bits & vec4u(0x7fffffffu);
  let nearest = bits + vec4u(0x7fffu) + ((bits >> vec4u(16u)) & vec4u(1u));
  let number = select(nearest, bits | vec4u(0x400000u), magnitude > vec4u(0x7f800000u));
  let kept = select(vec4u(0u), number & vec4u(0xffff0000u), magnitude >= vec4u(${SMALLEST}u));
  return bitcast<vec4f>(kept);
}`;

/**
 * In integers, because neither the rounding of conversions nor what becomes of large numbers is the
 * same on all cards. Numbers below 2^-14 are multiples of 2^-24.
 */
const roundF16 = `
fn round_f16(v: vec4f) -> vec4f {
  let bits = bitcast<vec4u>(v);
  let magnitude = bits & vec4u(0x7fffffffu);
  let odd = (magnitude >> vec4u(13u)) & vec4u(1u);
  let nearest = (magnitude + vec4u(0xfffu) + odd) & vec4u(0xffffe000u);
  let large = select(nearest, vec4u(0x7f800000u), nearest >= vec4u(0x47800000u));
  let shift = vec4u(126u) - clamp(magnitude >> vec4u(23u), vec4u(101u), vec4u(125u));
  let mantissa = select(
    (magnitude & vec4u(0x7fffffu)) | vec4u(0x800000u), vec4u(0u), magnitude < vec4u(0x32800000u)
  );
  let last = (mantissa >> shift) & vec4u(1u);
  let half = vec4u(1u) << (shift - vec4u(1u));
  let units = (mantissa + half - vec4u(1u) + last) >> shift;
  let small = bitcast<vec4u>(vec4f(units) * ${2 ** -24});
  let number = select(large, small, magnitude < vec4u(0x38800000u));
  let kept = select(number, magnitude | vec4u(0x400000u), magnitude > vec4u(0x7f800000u));
  return bitcast<vec4f>(kept | (bits & vec4u(0x80000000u)));
}`;

/** fn round_<type>(v): four numbers, rounded as in ../bf16.ts and ../f16.ts. */
export function roundFunction(rounding: Rounding): string {
  return rounding === null ? "" : { bf16: roundBf16, f16: roundF16 }[rounding];
}

/** WGSL: a vec4f, rounded. */
export function rounded(rounding: Rounding, value: string): string {
  return rounding === null ? value : `round_${rounding}(${value})`;
}

/** How an operand of this type is rounded: one that is stored in the type of products is exact. */
export function roundingOfStored(rounding: Rounding, type: string): Rounding {
  return type === rounding ? null : rounding;
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
  return ${rounded(elements.rounding ?? null, "v")};
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
