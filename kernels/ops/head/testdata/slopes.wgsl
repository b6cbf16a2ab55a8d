struct Params { rows: u32, row: u32, width: u32, first: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> logits: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> pair_start: array<u32>;
@group(0) @binding(3) var<storage, read> targets: array<u32>;
@group(0) @binding(4) var<storage, read> lse: array<f32>;
@group(0) @binding(5) var<storage, read> entropy: array<f32>;
@group(0) @binding(6) var<storage, read> dlogp: array<f32>;
@group(0) @binding(7) var<storage, read> dentropy: array<f32>;

fn exp_f32(value: f32) -> f32 {
  let x = clamp(value, -87.3, 88.7);
  let n = round(x * 1.44269504);
  let r = fma(n, -1.42860677e-6, fma(n, -0.693145752, x));
  var q = fma(r, 1.9875691500e-4, 1.3981999507e-3);
  q = fma(q, r, 8.3334519073e-3);
  q = fma(q, r, 4.1665795894e-2);
  q = fma(q, r, 1.6666665459e-1);
  q = fma(q, r, 5.0000001201e-1);
  let e = fma(q, r * r, r) + 1.0;
  let half = i32(n) / 2;
  let a = bitcast<f32>(u32(half + 127) << 23u);
  let b = bitcast<f32>(u32(i32(n) - half + 127) << 23u);
  return select(e * a * b, 0.0, value < -87.3);
}

alias Load = vec4f;
fn exp_load(x: vec4f) -> vec4f {
  return vec4f(exp_f32(x.x), exp_f32(x.y), exp_f32(x.z), exp_f32(x.w));
}
fn sum_load(x: vec4f) -> f32 { return (x.x + x.y) + (x.z + x.w); }
fn max_load(x: vec4f) -> f32 { return max(max(x.x, x.y), max(x.z, x.w)); }

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let number = group.x + group.y * groups.x;
  if (number >= p.rows) { return; }
  let row = p.row + number;
  let begin = number * (p.width / 4u);
  let end = begin + (p.width / 4u);
  let pair_begin = pair_start[row];
  let pair_end = pair_start[row + 1u];
  var alpha = 0.0;
  for (var pair = pair_begin; pair < pair_end; pair++) { alpha += dlogp[pair]; }
  let shift = lse[row];
  let slope = -dentropy[row];
  let level = fma(slope, entropy[row], -alpha);
  for (var i = begin + local; i < end; i += 256u) { let x = logits[i] - Load(shift);
    logits[i] = exp_load(x) * fma(Load(slope), x, Load(level)); }
  for (var pair = pair_begin; pair < pair_end; pair++) {
    let column = targets[pair] - p.first;
    if (column < p.width && (column >> 2u) % 256u == local) { logits[begin + (column >> 2u)][column & 3u] += dlogp[pair]; }
  }
}