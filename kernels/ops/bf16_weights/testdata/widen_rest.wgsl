struct Params { n: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> weight: array<u32>;
@group(0) @binding(2) var<storage, read> rest: array<u32>;
@group(0) @binding(3) var<storage, read_write> wide: array<f32>;

fn bf16_values(word: u32) -> vec2f {
  return bitcast<vec2f>(vec2u(word << 16u, word & 0xffff0000u));
}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let i = (group.x + group.y * groups.x) * 256u + local;
  if (i >= p.n) { return; }
  let value = bf16_values(weight[i]) + bf16_values(rest[i]);
  wide[2u * i] = value.x;
  wide[2u * i + 1u] = value.y;
}