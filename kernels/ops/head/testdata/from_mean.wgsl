struct Params { rows: u32, row: u32, d: u32, first: u32, tokens: u32, scale: f32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read> pair_start: array<u32>;
@group(0) @binding(3) var<storage, read> targets: array<u32>;
@group(0) @binding(4) var<storage, read> dlogp: array<f32>;
@group(0) @binding(5) var<storage, read> means: array<f32>;
@group(0) @binding(6) var<storage, read_write> dhidden: array<f32>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let number = group.x + group.y * groups.x;
  if (number >= p.rows) { return; }
  let row = p.row + number;
  let pair_begin = pair_start[row];
  let pair_end = pair_start[row + 1u];
  var alpha = 0.0;
  for (var pair = pair_begin; pair < pair_end; pair++) { alpha += dlogp[pair]; }
  for (var j = local; j < p.d; j += 256u) {
    let at = number * p.d + j;
    var sum = 0.0;
    if (p.first == 0u) { sum = -alpha * p.scale * means[at]; } else { sum = dhidden[at]; }
    for (var pair = pair_begin; pair < pair_end; pair++) {
      let token = targets[pair] - p.first;
      if (token < p.tokens) { sum = fma(dlogp[pair] * p.scale, weight[token * p.d + j], sum); }
    }
    dhidden[at] = sum;
  }
}