/** Bytes of workgroup memory that a kernel declares. */

/** Bytes of WGSL's types. */
const BYTES: Readonly<Record<string, number>> = {
  f32: 4,
  u32: 4,
  i32: 4,
  f16: 2,
  "vec4<f16>": 8,
  "atomic<u32>": 4,
  vec2f: 8,
  "vec2<f32>": 8,
  vec2u: 8,
  "vec2<u32>": 8,
  vec4f: 16,
  "vec4<f32>": 16,
  vec4u: 16,
};

/** @throws Error for a type that no kernel had so far */
export function workgroupBytes(text: string): number {
  let sum = 0;
  for (const [, type] of text.matchAll(/var<workgroup>\s+\w+\s*:\s*([^;]+);/g)) {
    const array = /^array<(.+),\s*([0-9]+)u?\s*>$/.exec(type!.trim());
    const element = array === null ? type!.trim() : array[1]!.trim();
    const bytes = BYTES[element];
    if (bytes === undefined) throw new Error(`workgroup memory of type ${type}`);
    sum += bytes * (array === null ? 1 : Number(array[2]));
  }
  return sum;
}
