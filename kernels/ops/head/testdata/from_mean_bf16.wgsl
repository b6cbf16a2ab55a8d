struct Params { rows: u32, row: u32, d: u32, first: u32, tokens: u32, scale: f32, b_base: u32, b_panel: u32, b_groups: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> weight: array<u32>;
@group(0) @binding(2) var<storage, read> pair_start: array<u32>;
@group(0) @binding(3) var<storage, read> targets: array<u32>;
@group(0) @binding(4) var<storage, read> dlogp: array<f32>;
@group(0) @binding(5) var<storage, read> means: array<f32>;
@group(0) @binding(6) var<storage, read_write> dhidden: array<f32>;

fn row_four(row: u32, i: u32, end: u32) -> vec4f {
  let at = (row * end + i) >> 1u;
  let first = weight[at];
  var v = vec4f(vec2f(bitcast<f32>(first << 16u), bitcast<f32>(first & 0xffff0000u)), 0.0, 0.0);
  if (i + 2u < end) {
    let second = weight[at + 1u];
    v = vec4f(v.xy, vec2f(bitcast<f32>(second << 16u), bitcast<f32>(second & 0xffff0000u)));
  }
  return v;
}@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let number = group.x + group.y * groups.x;
  if (number >= p.rows) { return; }
  let row = p.row + number;
  let pair_begin = pair_start[row];
  let pair_end = pair_start[row + 1u];
  var alpha = 0.0;
  for (var pair = pair_begin; pair < pair_end; pair++) { alpha += dlogp[pair]; }
  for (var j = 4u * local; j < p.d; j += 256u) {
    let at = number * p.d + j;
    var sum = vec4f(0.0);
    if (j + 0u < p.d) { if (p.first == 0u) { sum.x = -alpha * p.scale * means[at + 0u]; } else { sum.x = dhidden[at + 0u]; } }
    if (j + 1u < p.d) { if (p.first == 0u) { sum.y = -alpha * p.scale * means[at + 1u]; } else { sum.y = dhidden[at + 1u]; } }
    if (j + 2u < p.d) { if (p.first == 0u) { sum.z = -alpha * p.scale * means[at + 2u]; } else { sum.z = dhidden[at + 2u]; } }
    if (j + 3u < p.d) { if (p.first == 0u) { sum.w = -alpha * p.scale * means[at + 3u]; } else { sum.w = dhidden[at + 3u]; } }
    for (var pair = pair_begin; pair < pair_end; pair++) {
      let token = targets[pair] - p.first;
      if (token < p.tokens) {
        sum = fma(vec4f(dlogp[pair] * p.scale), row_four(token, j, p.d), sum);
      }
    }
    if (j + 0u < p.d) { dhidden[at + 0u] = sum.x; }
    if (j + 1u < p.d) { dhidden[at + 1u] = sum.y; }
    if (j + 2u < p.d) { dhidden[at + 2u] = sum.z; }
    if (j + 3u < p.d) { dhidden[at + 3u] = sum.w; }
  }
}