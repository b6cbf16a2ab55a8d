struct Params { n: u32, heads: u32, half: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> new_keys: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> new_values: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> cosines: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> sines: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> positions: array<u32>;
@group(0) @binding(6) var<storage, read> cache_rows: array<u32>;
@group(0) @binding(7) var<storage, read_write> cache_keys: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> cache_values: array<vec4<f32>>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let i = (group.x + group.y * groups.x) * 256u + local;
  if (i >= p.n) { return; }
  let pair = i % p.half;
  let head = i / p.half;
  let row = head / p.heads;
  let from_at = head * 2u * p.half + pair;
  let to_at = (cache_rows[row] * p.heads + head % p.heads) * 2u * p.half + pair;
  let angle = positions[row] * p.half + pair;
  let c = cosines[angle];
  let s = sines[angle];
  let a = new_keys[from_at];
  let b = new_keys[from_at + p.half];
  cache_keys[to_at] = a * c - b * s;
  cache_keys[to_at + p.half] = b * c + a * s;
  cache_values[to_at] = new_values[from_at];
  cache_values[to_at + p.half] = new_values[from_at + p.half];
}