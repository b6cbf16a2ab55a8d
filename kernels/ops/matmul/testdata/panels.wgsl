struct Params { n: u32, k: u32, ldo: u32, a_base: u32, b_base: u32, out_base: u32, add: u32, alpha: f32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> mat_a: array<f32>;
@group(0) @binding(2) var<storage, read> mat_b: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> mat_out: array<f32>;
var<workgroup> partial: array<vec4f, 256>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let first = (group.x + group.y * groups.x) * 8u;
  if (first >= p.n) { return; }
  let column = first + 4u * (local % 2u);
  let panel = (p.b_base + (first & ~15u) * p.k + (column & 15u)) >> 2u;
  var c0 = vec4f(0.0);
  var at = local / 2u;
  for (; at + 384u < p.k; at += 512u) {
    let w0 = mat_b[panel + (at + 0u) * 4u];
    let w1 = mat_b[panel + (at + 128u) * 4u];
    let w2 = mat_b[panel + (at + 256u) * 4u];
    let w3 = mat_b[panel + (at + 384u) * 4u];
    c0 = fma(vec4f(mat_a[p.a_base + 0u * p.k + at + 0u]), w0, c0);
    c0 = fma(vec4f(mat_a[p.a_base + 0u * p.k + at + 128u]), w1, c0);
    c0 = fma(vec4f(mat_a[p.a_base + 0u * p.k + at + 256u]), w2, c0);
    c0 = fma(vec4f(mat_a[p.a_base + 0u * p.k + at + 384u]), w3, c0);
  }
  for (; at < p.k; at += 128u) {
    let w0 = mat_b[panel + (at + 0u) * 4u];
    c0 = fma(vec4f(mat_a[p.a_base + 0u * p.k + at + 0u]), w0, c0);
  }
  c0 *= p.alpha;
  partial[local + 0u] = c0;
  workgroupBarrier();
  if (local < 32u) {
    let begin = local / 32u * 256u + local % 32u;
    partial[begin] = partial[begin + 0u] + partial[begin + 32u] + partial[begin + 64u] + partial[begin + 96u] + partial[begin + 128u] + partial[begin + 160u] + partial[begin + 192u] + partial[begin + 224u];
  }
  workgroupBarrier();
  if (local < 2u) {
    let begin = local / 2u * 256u + local % 2u;
    let sum = partial[begin + 0u] + partial[begin + 2u] + partial[begin + 4u] + partial[begin + 6u] + partial[begin + 8u] + partial[begin + 10u] + partial[begin + 12u] + partial[begin + 14u] + partial[begin + 16u] + partial[begin + 18u] + partial[begin + 20u] + partial[begin + 22u] + partial[begin + 24u] + partial[begin + 26u] + partial[begin + 28u] + partial[begin + 30u];
    let column = first + 4u * (local % 2u);
    let at = p.out_base + local / 2u * p.ldo + column;
    if (column + 0u < p.n) { mat_out[at + 0u] = select(sum.x, mat_out[at + 0u] + sum.x, p.add != 0u); }
    if (column + 1u < p.n) { mat_out[at + 1u] = select(sum.y, mat_out[at + 1u] + sum.y, p.add != 0u); }
    if (column + 2u < p.n) { mat_out[at + 2u] = select(sum.z, mat_out[at + 2u] + sum.z, p.add != 0u); }
    if (column + 3u < p.n) { mat_out[at + 3u] = select(sum.w, mat_out[at + 3u] + sum.w, p.add != 0u); }
  }
}