struct Params { rows: u32, row: u32, d: u32, first: u32, tokens: u32, scale: f32, b_base: u32, b_panel: u32, b_groups: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> weight: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> pair_start: array<u32>;
@group(0) @binding(3) var<storage, read> targets: array<u32>;
@group(0) @binding(4) var<storage, read> dlogp: array<f32>;
@group(0) @binding(5) var<storage, read> means: array<f32>;
@group(0) @binding(6) var<storage, read_write> dhidden: array<f32>;

fn halves(words: vec4u) -> vec4f {
  return vec4f(unpack2x16float(words.x).x, unpack2x16float(words.y).x,
               unpack2x16float(words.z).x, unpack2x16float(words.w).x);
}
struct BlockWords { code: vec4u, pair: vec4u }
fn block_words(row: u32, i: u32) -> BlockWords {
  let quad = (row >> 2u) & 3u;
  let panel = p.b_base + (row >> 4u) * p.b_panel;
  let at = panel + i / 32u * 20u;
  return BlockWords(
    weight[at + 4u * ((i >> 3u) & 3u) + quad],
    weight[at + 4u * (4u) + quad]);
}
fn block_values(w: BlockWords, i: u32) -> mat4x4f {
  let code = w.code >> vec4u((i & 4u) << 2u);
  let s = halves(w.pair);
  let m = halves(w.pair >> vec4u(16u));
  return mat4x4f(
    vec4f(code & vec4u(15u)) * s + m,
    vec4f((code >> vec4u(4u)) & vec4u(15u)) * s + m,
    vec4f((code >> vec4u(8u)) & vec4u(15u)) * s + m,
    vec4f((code >> vec4u(12u)) & vec4u(15u)) * s + m);
}
fn row_four(row: u32, i: u32, end: u32) -> vec4f {
  let values = block_values(block_words(row & ~3u, i), i);
  let lane = row & 3u;
  return vec4f(values[0][lane], values[1][lane], values[2][lane], values[3][lane]);
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