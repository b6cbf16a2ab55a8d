/** WGSL: Philox4x32-10 with the same words as core/philox.ts. */

/**
 * mul_high(a, b): the high word of the 64-bit product of two u32. WGSL has no 64-bit type, so it is
 * assembled from products of 16-bit halves.
 */
export const MUL_HIGH = `
fn mul_high(a: u32, b: u32) -> u32 {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let t = ah * bl + ((al * bl) >> 16u);
  let w = al * bh + (t & 0xffffu);
  return ah * bh + (t >> 16u) + (w >> 16u);
}
`;

/** philox(counter, key): the four random words. Needs {@link MUL_HIGH}. */
export const PHILOX = `
fn philox_round(c: vec4u, k: vec2u) -> vec4u {
  return vec4u(
    mul_high(0xcd9e8d57u, c.z) ^ c.y ^ k.x,
    0xcd9e8d57u * c.z,
    mul_high(0xd2511f53u, c.x) ^ c.w ^ k.y,
    0xd2511f53u * c.x,
  );
}
fn philox(counter: vec4u, key: vec2u) -> vec4u {
  var c = counter;
${
  Array.from({ length: 10 }, (_, round) => {
    const low = Math.imul(round, 0x9e3779b9) >>> 0, high = Math.imul(round, 0xbb67ae85) >>> 0;
    return `  c = philox_round(c, key + vec2u(${low}u, ${high}u));`;
  }).join("\n")
}
  return c;
}
`;
