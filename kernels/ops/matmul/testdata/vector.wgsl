struct Params { n: u32, k: u32, ldo: u32, a_base: u32, b_base: u32, out_base: u32, add: u32, alpha: f32, r: u32, x_base: u32, w_base: u32, lora_scale: f32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> mat_a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> mat_b: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> lora_x: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> lora_w: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> mat_out: array<f32>;

fn four_a(start: u32, i: u32, end: u32) -> vec4f {
  var v = vec4f(0.0);
  if (i < end) { v = mat_a[(start + i) >> 2u]; }
  return v;
}

fn four_b(start: u32, i: u32, end: u32) -> vec4f {
  var v = vec4f(0.0);
  if (i < end) {
    let words = mat_b[(start + i) >> 2u];
    v = vec4f(unpack2x16float(words.x), unpack2x16float(words.y));
  }
  return v;
}

fn four_x(start: u32, i: u32, end: u32) -> vec4f {
  var v = vec4f(0.0);
  if (i < end) { v = lora_x[(start + i) >> 2u]; }
  return v;
}

fn four_w(start: u32, i: u32, end: u32) -> vec4f {
  var v = vec4f(0.0);
  if (i < end) { v = lora_w[(start + i) >> 2u]; }
  return v;
}
var<workgroup> partial: array<vec4f, 512>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let first = (group.x + group.y * groups.x) * 4u;
  if (first >= p.n) { return; }
  var c0_0 = vec4f(0.0);
  var c0_1 = vec4f(0.0);
  var c0_2 = vec4f(0.0);
  var c0_3 = vec4f(0.0);
  var c1_0 = vec4f(0.0);
  var c1_1 = vec4f(0.0);
  var c1_2 = vec4f(0.0);
  var c1_3 = vec4f(0.0);
  for (var at = 4u * local; at < p.k; at += 1024u) {
    let x0 = four_a(p.a_base + 0u * p.k, at, p.k);
    let x1 = four_a(p.a_base + 1u * p.k, at, p.k);
    let w0 = four_b(p.b_base + min(first + 0u, p.n - 1u) * p.k, at, p.k);
    let w1 = four_b(p.b_base + min(first + 1u, p.n - 1u) * p.k, at, p.k);
    let w2 = four_b(p.b_base + min(first + 2u, p.n - 1u) * p.k, at, p.k);
    let w3 = four_b(p.b_base + min(first + 3u, p.n - 1u) * p.k, at, p.k);
    c0_0 = fma(x0, w0, c0_0);
    c0_1 = fma(x0, w1, c0_1);
    c0_2 = fma(x0, w2, c0_2);
    c0_3 = fma(x0, w3, c0_3);
    c1_0 = fma(x1, w0, c1_0);
    c1_1 = fma(x1, w1, c1_1);
    c1_2 = fma(x1, w2, c1_2);
    c1_3 = fma(x1, w3, c1_3);
  }
  c0_0 *= p.alpha;
  c0_1 *= p.alpha;
  c0_2 *= p.alpha;
  c0_3 *= p.alpha;
  c1_0 *= p.alpha;
  c1_1 *= p.alpha;
  c1_2 *= p.alpha;
  c1_3 *= p.alpha;
  for (var at = 4u * local; at < p.r; at += 1024u) {
    let x0 = p.lora_scale * four_x(p.x_base + 0u * p.r, at, p.r);
    let x1 = p.lora_scale * four_x(p.x_base + 1u * p.r, at, p.r);
    let w0 = four_w(p.w_base + min(first + 0u, p.n - 1u) * p.r, at, p.r);
    let w1 = four_w(p.w_base + min(first + 1u, p.n - 1u) * p.r, at, p.r);
    let w2 = four_w(p.w_base + min(first + 2u, p.n - 1u) * p.r, at, p.r);
    let w3 = four_w(p.w_base + min(first + 3u, p.n - 1u) * p.r, at, p.r);
    c0_0 = fma(x0, w0, c0_0);
    c0_1 = fma(x0, w1, c0_1);
    c0_2 = fma(x0, w2, c0_2);
    c0_3 = fma(x0, w3, c0_3);
    c1_0 = fma(x1, w0, c1_0);
    c1_1 = fma(x1, w1, c1_1);
    c1_2 = fma(x1, w2, c1_2);
    c1_3 = fma(x1, w3, c1_3);
  }
  partial[local + 0u] = vec4f((c0_0.x + c0_0.y) + (c0_0.z + c0_0.w), (c0_1.x + c0_1.y) + (c0_1.z + c0_1.w), (c0_2.x + c0_2.y) + (c0_2.z + c0_2.w), (c0_3.x + c0_3.y) + (c0_3.z + c0_3.w));
  partial[local + 256u] = vec4f((c1_0.x + c1_0.y) + (c1_0.z + c1_0.w), (c1_1.x + c1_1.y) + (c1_1.z + c1_1.w), (c1_2.x + c1_2.y) + (c1_2.z + c1_2.w), (c1_3.x + c1_3.y) + (c1_3.z + c1_3.w));
  workgroupBarrier();
  if (local < 32u) {
    let begin = local / 16u * 256u + local % 16u;
    partial[begin] = partial[begin + 0u] + partial[begin + 16u] + partial[begin + 32u] + partial[begin + 48u] + partial[begin + 64u] + partial[begin + 80u] + partial[begin + 96u] + partial[begin + 112u] + partial[begin + 128u] + partial[begin + 144u] + partial[begin + 160u] + partial[begin + 176u] + partial[begin + 192u] + partial[begin + 208u] + partial[begin + 224u] + partial[begin + 240u];
  }
  workgroupBarrier();
  if (local < 2u) {
    let begin = local / 1u * 256u + local % 1u;
    let sum = partial[begin + 0u] + partial[begin + 1u] + partial[begin + 2u] + partial[begin + 3u] + partial[begin + 4u] + partial[begin + 5u] + partial[begin + 6u] + partial[begin + 7u] + partial[begin + 8u] + partial[begin + 9u] + partial[begin + 10u] + partial[begin + 11u] + partial[begin + 12u] + partial[begin + 13u] + partial[begin + 14u] + partial[begin + 15u];
    let column = first + 4u * (local % 1u);
    let at = p.out_base + local / 1u * p.ldo + column;
    if (column + 0u < p.n) { mat_out[at + 0u] = select(sum.x, mat_out[at + 0u] + sum.x, p.add != 0u); }
    if (column + 1u < p.n) { mat_out[at + 1u] = select(sum.y, mat_out[at + 1u] + sum.y, p.add != 0u); }
    if (column + 2u < p.n) { mat_out[at + 2u] = select(sum.z, mat_out[at + 2u] + sum.z, p.add != 0u); }
    if (column + 3u < p.n) { mat_out[at + 3u] = select(sum.w, mat_out[at + 3u] + sum.w, p.add != 0u); }
  }
}