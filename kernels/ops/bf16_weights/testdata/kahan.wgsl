struct Params { n: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> src: array<f32>;
@group(0) @binding(2) var<storage, read_write> weight: array<u32>;
@group(0) @binding(3) var<storage, read_write> rest: array<u32>;

fn nearest_bf16(x: vec2f) -> vec2u {
  let bits = bitcast<vec2u>(x);
  return (bits + vec2u(0x7fffu) + ((bits >> vec2u(16u)) & vec2u(1u))) & vec2u(0xffff0000u);
}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let i = (group.x + group.y * groups.x) * 256u + local;
  if (i >= p.n) { return; }
  let x = vec2f(src[2u * i], src[2u * i + 1u]);
  let rounded = nearest_bf16(x);
  let left = nearest_bf16(x - bitcast<vec2f>(rounded));
  weight[i] = (rounded.x >> 16u) | rounded.y;
  rest[i] = (left.x >> 16u) | left.y;
}