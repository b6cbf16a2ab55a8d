struct Params { n: u32, first_block: u32, c1: u32, c2: u32, c3: u32, seed_low: u32, seed_high: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> src: array<u32>;
@group(0) @binding(2) var<storage, read_write> weight: array<u32>;

fn mul_high(a: u32, b: u32) -> u32 {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let t = ah * bl + ((al * bl) >> 16u);
  let w = al * bh + (t & 0xffffu);
  return ah * bh + (t >> 16u) + (w >> 16u);
}

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
  c = philox_round(c, key + vec2u(0u, 0u));
  c = philox_round(c, key + vec2u(2654435769u, 3144134277u));
  c = philox_round(c, key + vec2u(1013904242u, 1993301258u));
  c = philox_round(c, key + vec2u(3668340011u, 842468239u));
  c = philox_round(c, key + vec2u(2027808484u, 3986602516u));
  c = philox_round(c, key + vec2u(387276957u, 2835769497u));
  c = philox_round(c, key + vec2u(3041712726u, 1684936478u));
  c = philox_round(c, key + vec2u(1401181199u, 534103459u));
  c = philox_round(c, key + vec2u(4055616968u, 3678237736u));
  c = philox_round(c, key + vec2u(2415085441u, 2527404717u));
  return c;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let i = (group.x + group.y * groups.x) * 256u + local;
  if (i >= p.n) { return; }
  let counter = vec4u(p.first_block + i / 2u, p.c1, p.c2, p.c3);
  let words = philox(counter, vec2u(p.seed_low, p.seed_high)) & vec4u(0xffffu);
  let random = select(words.xy, words.zw, (i & 1u) == 1u);
  let bits = vec2u(src[2u * i], src[2u * i + 1u]) + random;
  weight[i] = (bits.x >> 16u) | (bits.y & 0xffff0000u);
}