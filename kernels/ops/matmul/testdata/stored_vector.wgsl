struct Params { n: u32, k: u32, ldo: u32, a_base: u32, b_base: u32, out_base: u32, add: u32, alpha: f32, b_panel: u32, b_groups: u32, r: u32, x_base: u32, w_base: u32, lora_scale: f32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> mat_a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> mat_b: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> lora_x: array<f32>;
@group(0) @binding(4) var<storage, read> lora_w: array<f32>;
@group(0) @binding(5) var<storage, read_write> mat_out: array<f32>;

fn halves(words: vec4u) -> vec4f {
  return vec4f(unpack2x16float(words.x).x, unpack2x16float(words.y).x,
               unpack2x16float(words.z).x, unpack2x16float(words.w).x);
}
struct BlockWords { code: vec4u, top: vec4u, tail: vec4u }
fn block_words(row: u32, i: u32) -> BlockWords {
  let quad = (row >> 2u) & 3u;
  let panel = p.b_base + (row >> 4u) * p.b_panel;
  let at = panel + i / 32u * 22u;
  return BlockWords(
    mat_b[at + 4u * ((i >> 3u) & 3u) + quad],
    mat_b[at + 4u * (4u) + quad],
    mat_b[at + 20u + (quad & 1u)] >> vec4u((quad >> 1u) << 4u));
}
fn block_values(w: BlockWords, i: u32) -> mat4x4f {
  let code = w.code >> vec4u((i & 4u) << 2u);
  let s = halves(w.tail);
  let high = (w.top >> vec4u(((i & 4u) << 2u) + ((i & 24u) >> 2u))) << vec4u(4u);
  return mat4x4f(
    (vec4f(code & vec4u(15u)) + vec4f((high >> vec4u(0u)) & vec4u(16u)) - 16.0) * s,
    (vec4f((code >> vec4u(4u)) & vec4u(15u)) + vec4f((high >> vec4u(1u)) & vec4u(16u)) - 16.0) * s,
    (vec4f((code >> vec4u(8u)) & vec4u(15u)) + vec4f((high >> vec4u(8u)) & vec4u(16u)) - 16.0) * s,
    (vec4f((code >> vec4u(12u)) & vec4u(15u)) + vec4f((high >> vec4u(9u)) & vec4u(16u)) - 16.0) * s);
}
var<workgroup> partial: array<vec4f, 256>;
@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let first = (group.x + group.y * groups.x) * 8u;
  if (first >= p.n) { return; }
  let column = first + 4u * (local % 2u);
  var c0 = vec4f(0.0);
  var c1 = vec4f(0.0);
  for (var at = local / 2u * 16u; at < p.k; at += 1024u) {
    let words0 = block_words(column, at + 0u);
    let words1 = block_words(column, at + 4u);
    let words2 = block_words(column, at + 8u);
    let words3 = block_words(column, at + 12u);
    let x0_0 = mat_a[((p.a_base + 0u * p.k + at) >> 2u) + 0u];
    let x0_1 = mat_a[((p.a_base + 0u * p.k + at) >> 2u) + 1u];
    let x0_2 = mat_a[((p.a_base + 0u * p.k + at) >> 2u) + 2u];
    let x0_3 = mat_a[((p.a_base + 0u * p.k + at) >> 2u) + 3u];
    let x1_0 = mat_a[((p.a_base + 1u * p.k + at) >> 2u) + 0u];
    let x1_1 = mat_a[((p.a_base + 1u * p.k + at) >> 2u) + 1u];
    let x1_2 = mat_a[((p.a_base + 1u * p.k + at) >> 2u) + 2u];
    let x1_3 = mat_a[((p.a_base + 1u * p.k + at) >> 2u) + 3u];
    let w0 = block_values(words0, at + 0u);
    c0 = fma(vec4f(x0_0.x), w0[0], c0);
    c1 = fma(vec4f(x1_0.x), w0[0], c1);
    c0 = fma(vec4f(x0_0.y), w0[1], c0);
    c1 = fma(vec4f(x1_0.y), w0[1], c1);
    c0 = fma(vec4f(x0_0.z), w0[2], c0);
    c1 = fma(vec4f(x1_0.z), w0[2], c1);
    c0 = fma(vec4f(x0_0.w), w0[3], c0);
    c1 = fma(vec4f(x1_0.w), w0[3], c1);
    let w1 = block_values(words1, at + 4u);
    c0 = fma(vec4f(x0_1.x), w1[0], c0);
    c1 = fma(vec4f(x1_1.x), w1[0], c1);
    c0 = fma(vec4f(x0_1.y), w1[1], c0);
    c1 = fma(vec4f(x1_1.y), w1[1], c1);
    c0 = fma(vec4f(x0_1.z), w1[2], c0);
    c1 = fma(vec4f(x1_1.z), w1[2], c1);
    c0 = fma(vec4f(x0_1.w), w1[3], c0);
    c1 = fma(vec4f(x1_1.w), w1[3], c1);
    let w2 = block_values(words2, at + 8u);
    c0 = fma(vec4f(x0_2.x), w2[0], c0);
    c1 = fma(vec4f(x1_2.x), w2[0], c1);
    c0 = fma(vec4f(x0_2.y), w2[1], c0);
    c1 = fma(vec4f(x1_2.y), w2[1], c1);
    c0 = fma(vec4f(x0_2.z), w2[2], c0);
    c1 = fma(vec4f(x1_2.z), w2[2], c1);
    c0 = fma(vec4f(x0_2.w), w2[3], c0);
    c1 = fma(vec4f(x1_2.w), w2[3], c1);
    let w3 = block_values(words3, at + 12u);
    c0 = fma(vec4f(x0_3.x), w3[0], c0);
    c1 = fma(vec4f(x1_3.x), w3[0], c1);
    c0 = fma(vec4f(x0_3.y), w3[1], c0);
    c1 = fma(vec4f(x1_3.y), w3[1], c1);
    c0 = fma(vec4f(x0_3.z), w3[2], c0);
    c1 = fma(vec4f(x1_3.z), w3[2], c1);
    c0 = fma(vec4f(x0_3.w), w3[3], c0);
    c1 = fma(vec4f(x1_3.w), w3[3], c1);
  }
  c0 *= p.alpha;
  c1 *= p.alpha;
  for (var at = local / 2u; at < p.r; at += 64u) {
    let w = p.lora_scale * vec4f(lora_w[p.w_base + min(column + 0u, p.n - 1u) * p.r + at], lora_w[p.w_base + min(column + 1u, p.n - 1u) * p.r + at], lora_w[p.w_base + min(column + 2u, p.n - 1u) * p.r + at], lora_w[p.w_base + min(column + 3u, p.n - 1u) * p.r + at]);
    c0 = fma(vec4f(lora_x[p.x_base + 0u * p.r + at]), w, c0);
    c1 = fma(vec4f(lora_x[p.x_base + 1u * p.r + at]), w, c1);
  }
  partial[local + 0u] = c0;
  partial[local + 128u] = c1;
  workgroupBarrier();
  if (local < 64u) {
    let begin = local / 32u * 128u + local % 32u;
    partial[begin] = partial[begin + 0u] + partial[begin + 32u] + partial[begin + 64u] + partial[begin + 96u];
  }
  workgroupBarrier();
  if (local < 4u) {
    let begin = local / 2u * 128u + local % 2u;
    let sum = partial[begin + 0u] + partial[begin + 2u] + partial[begin + 4u] + partial[begin + 6u] + partial[begin + 8u] + partial[begin + 10u] + partial[begin + 12u] + partial[begin + 14u] + partial[begin + 16u] + partial[begin + 18u] + partial[begin + 20u] + partial[begin + 22u] + partial[begin + 24u] + partial[begin + 26u] + partial[begin + 28u] + partial[begin + 30u];
    let column = first + 4u * (local % 2u);
    let at = p.out_base + local / 2u * p.ldo + column;
    if (column + 0u < p.n) { mat_out[at + 0u] = select(sum.x, mat_out[at + 0u] + sum.x, p.add != 0u); }
    if (column + 1u < p.n) { mat_out[at + 1u] = select(sum.y, mat_out[at + 1u] + sum.y, p.add != 0u); }
    if (column + 2u < p.n) { mat_out[at + 2u] = select(sum.z, mat_out[at + 2u] + sum.z, p.add != 0u); }
    if (column + 3u < p.n) { mat_out[at + 3u] = select(sum.w, mat_out[at + 3u] + sum.w, p.add != 0u); }
  }
}