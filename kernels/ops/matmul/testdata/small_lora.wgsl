struct Params { m: u32, n: u32, k: u32, lda: u32, ldb: u32, b_base: u32, ldo: u32, a_base: u32, out_base: u32, flush: u32, add: u32, m_first: u32, alpha: f32, r: u32, x_base: u32, w_base: u32, lora_scale: f32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> mat_a: array<f32>;
@group(0) @binding(2) var<storage, read> mat_b: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> lora_x: array<f32>;
@group(0) @binding(4) var<storage, read> lora_w: array<f32>;
@group(0) @binding(5) var<storage, read_write> mat_out: array<f32>;
var<workgroup> lines: array<vec4f, 1024>;

fn four_a(start: u32, i: u32, end: u32) -> vec4f {
  var v = vec4f(0.0);
  if (i + 0u < end) { v.x = mat_a[start + i + 0u]; }
  if (i + 1u < end) { v.y = mat_a[start + i + 1u]; }
  if (i + 2u < end) { v.z = mat_a[start + i + 2u]; }
  if (i + 3u < end) { v.w = mat_a[start + i + 3u]; }
  return v;
}

fn line_a(first: u32, depth: u32) -> vec4f {
  if (depth >= p.k || first >= p.m) { return vec4f(0.0); }
  return four_a(p.a_base + depth * p.lda, first, p.m);
}
fn block_a(first: u32, depth: u32) -> mat4x4f {
  return mat4x4f(line_a(first, depth + 0u), line_a(first, depth + 1u), line_a(first, depth + 2u), line_a(first, depth + 3u));
}

fn four_b(start: u32, i: u32, end: u32) -> vec4f {
  var v = vec4f(0.0);
  if (i < end) { v = mat_b[(start + i) >> 2u]; }
  return v;
}

fn line_b(first: u32, depth: u32) -> vec4f {
  if (depth >= p.k || first >= p.n) { return vec4f(0.0); }
  return four_b(p.b_base + (first & ~15u) * p.ldb + depth * 16u, first & 15u, 16u);
}
fn block_b(first: u32, depth: u32) -> mat4x4f {
  return mat4x4f(line_b(first, depth + 0u), line_b(first, depth + 1u), line_b(first, depth + 2u), line_b(first, depth + 3u));
}

fn four_x(start: u32, i: u32, end: u32) -> vec4f {
  var v = vec4f(0.0);
  if (i + 0u < end) { v.x = lora_x[start + i + 0u]; }
  if (i + 1u < end) { v.y = lora_x[start + i + 1u]; }
  if (i + 2u < end) { v.z = lora_x[start + i + 2u]; }
  if (i + 3u < end) { v.w = lora_x[start + i + 3u]; }
  return v;
}
fn block_x(first: u32, depth: u32) -> mat4x4f {
  return transpose(mat4x4f(
    four_x(p.x_base + min(first + 0u, p.m - 1u) * p.r, depth, p.r),
    four_x(p.x_base + min(first + 1u, p.m - 1u) * p.r, depth, p.r),
    four_x(p.x_base + min(first + 2u, p.m - 1u) * p.r, depth, p.r),
    four_x(p.x_base + min(first + 3u, p.m - 1u) * p.r, depth, p.r)));
}

fn four_w(start: u32, i: u32, end: u32) -> vec4f {
  var v = vec4f(0.0);
  if (i + 0u < end) { v.x = lora_w[start + i + 0u]; }
  if (i + 1u < end) { v.y = lora_w[start + i + 1u]; }
  if (i + 2u < end) { v.z = lora_w[start + i + 2u]; }
  if (i + 3u < end) { v.w = lora_w[start + i + 3u]; }
  return v;
}
fn block_w(first: u32, depth: u32) -> mat4x4f {
  return transpose(mat4x4f(
    four_w(p.w_base + min(first + 0u, p.n - 1u) * p.r, depth, p.r),
    four_w(p.w_base + min(first + 1u, p.n - 1u) * p.r, depth, p.r),
    four_w(p.w_base + min(first + 2u, p.n - 1u) * p.r, depth, p.r),
    four_w(p.w_base + min(first + 3u, p.n - 1u) * p.r, depth, p.r)));
}

fn put_one(at: u32, value: f32, scale: f32, add: bool) {
  if (add) { mat_out[at] = fma(scale, value, mat_out[at]); } else { mat_out[at] = scale * value; }
}
fn put(row: u32, column: u32, value: vec4f, scale: f32, add: bool) {
  if (row >= p.m) { return; }
  let at = p.out_base + row * p.ldo + column;
  if (column + 0u < p.n) { put_one(at + 0u, value.x, scale, add); }
  if (column + 1u < p.n) { put_one(at + 1u, value.y, scale, add); }
  if (column + 2u < p.n) { put_one(at + 2u, value.z, scale, add); }
  if (column + 3u < p.n) { put_one(at + 3u, value.w, scale, add); }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let number = group.x + group.y * groups.x;
  let tiles_m = (p.m + 31u) / 32u;
  let tiles_n = (p.n + 31u) / 32u;
  if (number >= tiles_m * tiles_n) { return; }
  let tile_m = select(number / tiles_n, number % tiles_m, p.m_first != 0u);
  let tile_n = select(number % tiles_n, number / tiles_m, p.m_first != 0u);
  let origin_m = tile_m * 32u;
  let origin_n = tile_n * 32u;
  let tiles_k = (p.k + 63u) / 64u;
  let tiles = tiles_k + (p.r + 63u) / 64u;
  let id0 = local + 0u;
  let in_a0 = id0 < 128u;
  let row0 = 4u * select(((id0 - 128u) % 8u), (id0 % 8u), in_a0);
  let term0 = 4u * select(((id0 - 128u) / 8u), (id0 / 8u), in_a0);
  let stride0 = 8u;
  let place0 = select(512u, 0u, in_a0) + term0 * stride0 + row0 / 4u;
  let first0 = row0 + select(origin_n, origin_m, in_a0);
  var block0 = mat4x4f();
  let lane = local % 64u;
  let slice = local / 64u;
  let ty = lane / 8u;
  let tx = lane % 8u;
  var stored = p.add != 0u;
  var c0_0 = vec4f(0.0);
  var c1_0 = vec4f(0.0);
  var c2_0 = vec4f(0.0);
  var c3_0 = vec4f(0.0);
  if (0u < tiles_k) {
  if (in_a0) { block0 = block_a(first0, (0u) * 64u + term0); } else { block0 = block_b(first0, (0u) * 64u + term0); }
  } else {
  if (in_a0) { block0 = block_x(first0, (0u - tiles_k) * 64u + term0); } else { block0 = block_w(first0, (0u - tiles_k) * 64u + term0); }
  }
  for (var tile = 0u; tile < tiles; tile++) {
    workgroupBarrier();
    lines[place0 + 0u * stride0] = block0[0]; lines[place0 + 1u * stride0] = block0[1]; lines[place0 + 2u * stride0] = block0[2]; lines[place0 + 3u * stride0] = block0[3];
    workgroupBarrier();
    if (tile + 1u < tiles) {
      if (tile + 1u < tiles_k) {
      if (in_a0) { block0 = block_a(first0, (tile + 1u) * 64u + term0); } else { block0 = block_b(first0, (tile + 1u) * 64u + term0); }
      } else {
      if (in_a0) { block0 = block_x(first0, (tile + 1u - tiles_k) * 64u + term0); } else { block0 = block_w(first0, (tile + 1u - tiles_k) * 64u + term0); }
      }
    }
    let a0_0 = lines[ty + slice * 8u + 0u];
    let b0_0 = lines[tx + slice * 8u + 512u];
    c0_0 = fma(vec4f(a0_0.x), b0_0, c0_0);
    c1_0 = fma(vec4f(a0_0.y), b0_0, c1_0);
    c2_0 = fma(vec4f(a0_0.z), b0_0, c2_0);
    c3_0 = fma(vec4f(a0_0.w), b0_0, c3_0);
    let a1_0 = lines[ty + slice * 8u + 32u];
    let b1_0 = lines[tx + slice * 8u + 544u];
    c0_0 = fma(vec4f(a1_0.x), b1_0, c0_0);
    c1_0 = fma(vec4f(a1_0.y), b1_0, c1_0);
    c2_0 = fma(vec4f(a1_0.z), b1_0, c2_0);
    c3_0 = fma(vec4f(a1_0.w), b1_0, c3_0);
    let a2_0 = lines[ty + slice * 8u + 64u];
    let b2_0 = lines[tx + slice * 8u + 576u];
    c0_0 = fma(vec4f(a2_0.x), b2_0, c0_0);
    c1_0 = fma(vec4f(a2_0.y), b2_0, c1_0);
    c2_0 = fma(vec4f(a2_0.z), b2_0, c2_0);
    c3_0 = fma(vec4f(a2_0.w), b2_0, c3_0);
    let a3_0 = lines[ty + slice * 8u + 96u];
    let b3_0 = lines[tx + slice * 8u + 608u];
    c0_0 = fma(vec4f(a3_0.x), b3_0, c0_0);
    c1_0 = fma(vec4f(a3_0.y), b3_0, c1_0);
    c2_0 = fma(vec4f(a3_0.z), b3_0, c2_0);
    c3_0 = fma(vec4f(a3_0.w), b3_0, c3_0);
    let a4_0 = lines[ty + slice * 8u + 128u];
    let b4_0 = lines[tx + slice * 8u + 640u];
    c0_0 = fma(vec4f(a4_0.x), b4_0, c0_0);
    c1_0 = fma(vec4f(a4_0.y), b4_0, c1_0);
    c2_0 = fma(vec4f(a4_0.z), b4_0, c2_0);
    c3_0 = fma(vec4f(a4_0.w), b4_0, c3_0);
    let a5_0 = lines[ty + slice * 8u + 160u];
    let b5_0 = lines[tx + slice * 8u + 672u];
    c0_0 = fma(vec4f(a5_0.x), b5_0, c0_0);
    c1_0 = fma(vec4f(a5_0.y), b5_0, c1_0);
    c2_0 = fma(vec4f(a5_0.z), b5_0, c2_0);
    c3_0 = fma(vec4f(a5_0.w), b5_0, c3_0);
    let a6_0 = lines[ty + slice * 8u + 192u];
    let b6_0 = lines[tx + slice * 8u + 704u];
    c0_0 = fma(vec4f(a6_0.x), b6_0, c0_0);
    c1_0 = fma(vec4f(a6_0.y), b6_0, c1_0);
    c2_0 = fma(vec4f(a6_0.z), b6_0, c2_0);
    c3_0 = fma(vec4f(a6_0.w), b6_0, c3_0);
    let a7_0 = lines[ty + slice * 8u + 224u];
    let b7_0 = lines[tx + slice * 8u + 736u];
    c0_0 = fma(vec4f(a7_0.x), b7_0, c0_0);
    c1_0 = fma(vec4f(a7_0.y), b7_0, c1_0);
    c2_0 = fma(vec4f(a7_0.z), b7_0, c2_0);
    c3_0 = fma(vec4f(a7_0.w), b7_0, c3_0);
    let a8_0 = lines[ty + slice * 8u + 256u];
    let b8_0 = lines[tx + slice * 8u + 768u];
    c0_0 = fma(vec4f(a8_0.x), b8_0, c0_0);
    c1_0 = fma(vec4f(a8_0.y), b8_0, c1_0);
    c2_0 = fma(vec4f(a8_0.z), b8_0, c2_0);
    c3_0 = fma(vec4f(a8_0.w), b8_0, c3_0);
    let a9_0 = lines[ty + slice * 8u + 288u];
    let b9_0 = lines[tx + slice * 8u + 800u];
    c0_0 = fma(vec4f(a9_0.x), b9_0, c0_0);
    c1_0 = fma(vec4f(a9_0.y), b9_0, c1_0);
    c2_0 = fma(vec4f(a9_0.z), b9_0, c2_0);
    c3_0 = fma(vec4f(a9_0.w), b9_0, c3_0);
    let a10_0 = lines[ty + slice * 8u + 320u];
    let b10_0 = lines[tx + slice * 8u + 832u];
    c0_0 = fma(vec4f(a10_0.x), b10_0, c0_0);
    c1_0 = fma(vec4f(a10_0.y), b10_0, c1_0);
    c2_0 = fma(vec4f(a10_0.z), b10_0, c2_0);
    c3_0 = fma(vec4f(a10_0.w), b10_0, c3_0);
    let a11_0 = lines[ty + slice * 8u + 352u];
    let b11_0 = lines[tx + slice * 8u + 864u];
    c0_0 = fma(vec4f(a11_0.x), b11_0, c0_0);
    c1_0 = fma(vec4f(a11_0.y), b11_0, c1_0);
    c2_0 = fma(vec4f(a11_0.z), b11_0, c2_0);
    c3_0 = fma(vec4f(a11_0.w), b11_0, c3_0);
    let a12_0 = lines[ty + slice * 8u + 384u];
    let b12_0 = lines[tx + slice * 8u + 896u];
    c0_0 = fma(vec4f(a12_0.x), b12_0, c0_0);
    c1_0 = fma(vec4f(a12_0.y), b12_0, c1_0);
    c2_0 = fma(vec4f(a12_0.z), b12_0, c2_0);
    c3_0 = fma(vec4f(a12_0.w), b12_0, c3_0);
    let a13_0 = lines[ty + slice * 8u + 416u];
    let b13_0 = lines[tx + slice * 8u + 928u];
    c0_0 = fma(vec4f(a13_0.x), b13_0, c0_0);
    c1_0 = fma(vec4f(a13_0.y), b13_0, c1_0);
    c2_0 = fma(vec4f(a13_0.z), b13_0, c2_0);
    c3_0 = fma(vec4f(a13_0.w), b13_0, c3_0);
    let a14_0 = lines[ty + slice * 8u + 448u];
    let b14_0 = lines[tx + slice * 8u + 960u];
    c0_0 = fma(vec4f(a14_0.x), b14_0, c0_0);
    c1_0 = fma(vec4f(a14_0.y), b14_0, c1_0);
    c2_0 = fma(vec4f(a14_0.z), b14_0, c2_0);
    c3_0 = fma(vec4f(a14_0.w), b14_0, c3_0);
    let a15_0 = lines[ty + slice * 8u + 480u];
    let b15_0 = lines[tx + slice * 8u + 992u];
    c0_0 = fma(vec4f(a15_0.x), b15_0, c0_0);
    c1_0 = fma(vec4f(a15_0.y), b15_0, c1_0);
    c2_0 = fma(vec4f(a15_0.z), b15_0, c2_0);
    c3_0 = fma(vec4f(a15_0.w), b15_0, c3_0);
    if (tile + 1u == tiles || tile + 1u == tiles_k || (tile + 1u) % p.flush == 0u) {
      let scale = select(p.alpha, p.lora_scale, tile >= tiles_k);
      workgroupBarrier();
      lines[slice * 256u + (4u * (ty + 0u) + 0u) * 8u + (4u * (tx + 0u)) / 4u] = c0_0;
      lines[slice * 256u + (4u * (ty + 0u) + 1u) * 8u + (4u * (tx + 0u)) / 4u] = c1_0;
      lines[slice * 256u + (4u * (ty + 0u) + 2u) * 8u + (4u * (tx + 0u)) / 4u] = c2_0;
      lines[slice * 256u + (4u * (ty + 0u) + 3u) * 8u + (4u * (tx + 0u)) / 4u] = c3_0;
      workgroupBarrier();
      let at0 = local + 0u;
      put(origin_m + at0 / 8u, origin_n + 4u * (at0 % 8u), lines[at0] + lines[at0 + 256u] + lines[at0 + 512u] + lines[at0 + 768u], scale, stored);
      stored = true;
      c0_0 = vec4f(0.0);
      c1_0 = vec4f(0.0);
      c2_0 = vec4f(0.0);
      c3_0 = vec4f(0.0);
    }
  }
}