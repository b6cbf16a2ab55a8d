struct Params { m: u32, n: u32, k: u32, lda: u32, b_base: u32, b_panel: u32, b_groups: u32, b_column: u32, ldo: u32, a_base: u32, out_base: u32, flush: u32, add: u32, m_first: u32, alpha: f32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> mat_a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> mat_b: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> mat_out: array<vec4<f32>>;
var<workgroup> lines: array<vec4f, 1024>;

fn four_a(start: u32, i: u32, end: u32) -> vec4f {
  var v = vec4f(0.0);
  if (i < end) { v = mat_a[(start + i) >> 2u]; }
  return v;
}
fn block_a(first: u32, depth: u32) -> mat4x4f {
  return transpose(mat4x4f(
    four_a(p.a_base + min(first + 0u, p.m - 1u) * p.lda, depth, p.k),
    four_a(p.a_base + min(first + 1u, p.m - 1u) * p.lda, depth, p.k),
    four_a(p.a_base + min(first + 2u, p.m - 1u) * p.lda, depth, p.k),
    four_a(p.a_base + min(first + 3u, p.m - 1u) * p.lda, depth, p.k)));
}

fn nf4_level(code: vec4u) -> vec4f {
  let second = (code & vec4u(4u)) != vec4u(0u);
  let low = select(vec4u(3468535937u), vec4u(16050652u), second);
  let high = select(vec4u(723457034u), vec4u(2136753976u), second);
  let levels = select(low, high, (code & vec4u(8u)) != vec4u(0u));
  let shifts = vec4u(24u) - ((code & vec4u(3u)) << vec4u(3u));
  return vec4f(bitcast<vec4i>(levels << shifts) >> vec4u(24u));
}
struct BlockWords { code: vec4u, tail: vec4u, group: vec4u }
fn block_words(row: u32, i: u32) -> BlockWords {
  let quad = (row >> 2u) & 3u;
  let panel = p.b_base + (row >> 4u) * p.b_panel;
  let at = panel + i / 64u * 33u;
  return BlockWords(
    mat_b[at + 4u * ((i >> 3u) & 7u) + quad],
    mat_b[at + 32u] >> vec4u(quad << 3u),
    mat_b[panel + p.b_groups + i / 1024u]);
}
fn block_values(w: BlockWords, i: u32) -> mat4x4f {
  let code = w.code >> vec4u((i & 4u) << 2u);
  let step = bitcast<f32>(w.group.x);
  let s = step * vec4f(w.tail & vec4u(255u)) + bitcast<f32>(w.group.y);
  return mat4x4f(
    nf4_level(code >> vec4u(0u)) * s,
    nf4_level(code >> vec4u(4u)) * s,
    nf4_level(code >> vec4u(8u)) * s,
    nf4_level(code >> vec4u(12u)) * s);
}
struct Fetched { x: vec4u, y: vec4u, z: vec4u, w: vec4u }
fn fetch_b(first: u32, depth: u32) -> Fetched {
  if (depth >= p.k || first >= p.n) { return Fetched(); }
  let words = block_words(depth, p.b_column + first);
  return Fetched(words.code, words.tail, words.group, vec4u());
}
fn widened_b(fetched: Fetched, first: u32, depth: u32) -> mat4x4f {
  return transpose(block_values(BlockWords(fetched.x, fetched.y, fetched.z), p.b_column + first));
}
fn fetched_floats(block: mat4x4f) -> Fetched {
  return Fetched(bitcast<vec4u>(block[0]), bitcast<vec4u>(block[1]), bitcast<vec4u>(block[2]), bitcast<vec4u>(block[3]));
}
fn floats_of(fetched: Fetched) -> mat4x4f {
  return mat4x4f(bitcast<vec4f>(fetched.x), bitcast<vec4f>(fetched.y), bitcast<vec4f>(fetched.z), bitcast<vec4f>(fetched.w));
}
fn put(row: u32, column: u32, value: vec4f, scale: f32, add: bool) {
  if (row >= p.m || column >= p.n) { return; }
  let at = (p.out_base + row * p.ldo + column) >> 2u;
  if (add) { mat_out[at] = fma(vec4f(scale), value, mat_out[at]); }
  else { mat_out[at] = scale * value; }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let number = group.x + group.y * groups.x;
  let tiles_m = (p.m + 15u) / 16u;
  let tiles_n = (p.n + 15u) / 16u;
  if (number >= tiles_m * tiles_n) { return; }
  let tile_m = select(number / tiles_n, number % tiles_m, p.m_first != 0u);
  let tile_n = select(number % tiles_n, number / tiles_m, p.m_first != 0u);
  let origin_m = tile_m * 16u;
  let origin_n = tile_n * 16u;
  let tiles = max(1u, (p.k + 127u) / 128u);
  let id0 = local + 0u;
  let in_a0 = id0 < 128u;
  let row0 = 4u * select(((id0 - 128u) % 4u), (id0 % 4u + 4u * (id0 / 128u)), in_a0);
  let term0 = 4u * select(((id0 - 128u) / 4u), (id0 / 4u % 32u), in_a0);
  let stride0 = 4u;
  let place0 = select(512u, 0u, in_a0) + term0 * stride0 + row0 / 4u;
  let first0 = row0 + select(origin_n, origin_m, in_a0);
  var fetched0 = Fetched();
  let lane = local % 16u;
  let slice = local / 16u;
  let ty = lane / 4u;
  let tx = lane % 4u;
  var stored = p.add != 0u;
  var c0_0 = vec4f(0.0);
  var c1_0 = vec4f(0.0);
  var c2_0 = vec4f(0.0);
  var c3_0 = vec4f(0.0);
  if (in_a0) { fetched0 = fetched_floats(block_a(first0, (0u) * 128u + term0)); } else { fetched0 = fetch_b(first0, (0u) * 128u + term0); }
  for (var tile = 0u; tile < tiles; tile++) {
    var block0 = floats_of(fetched0);
    if (!in_a0) { block0 = widened_b(fetched0, first0, tile * 128u + term0); }
    workgroupBarrier();
    lines[place0 + 0u * stride0] = block0[0]; lines[place0 + 1u * stride0] = block0[1]; lines[place0 + 2u * stride0] = block0[2]; lines[place0 + 3u * stride0] = block0[3];
    workgroupBarrier();
    if (tile + 1u < tiles) {
      if (in_a0) { fetched0 = fetched_floats(block_a(first0, (tile + 1u) * 128u + term0)); } else { fetched0 = fetch_b(first0, (tile + 1u) * 128u + term0); }
    }
    let a0_0 = lines[ty + slice * 4u + 0u];
    let b0_0 = lines[tx + slice * 4u + 512u];
    c0_0 = fma(vec4f(a0_0.x), b0_0, c0_0);
    c1_0 = fma(vec4f(a0_0.y), b0_0, c1_0);
    c2_0 = fma(vec4f(a0_0.z), b0_0, c2_0);
    c3_0 = fma(vec4f(a0_0.w), b0_0, c3_0);
    let a1_0 = lines[ty + slice * 4u + 64u];
    let b1_0 = lines[tx + slice * 4u + 576u];
    c0_0 = fma(vec4f(a1_0.x), b1_0, c0_0);
    c1_0 = fma(vec4f(a1_0.y), b1_0, c1_0);
    c2_0 = fma(vec4f(a1_0.z), b1_0, c2_0);
    c3_0 = fma(vec4f(a1_0.w), b1_0, c3_0);
    let a2_0 = lines[ty + slice * 4u + 128u];
    let b2_0 = lines[tx + slice * 4u + 640u];
    c0_0 = fma(vec4f(a2_0.x), b2_0, c0_0);
    c1_0 = fma(vec4f(a2_0.y), b2_0, c1_0);
    c2_0 = fma(vec4f(a2_0.z), b2_0, c2_0);
    c3_0 = fma(vec4f(a2_0.w), b2_0, c3_0);
    let a3_0 = lines[ty + slice * 4u + 192u];
    let b3_0 = lines[tx + slice * 4u + 704u];
    c0_0 = fma(vec4f(a3_0.x), b3_0, c0_0);
    c1_0 = fma(vec4f(a3_0.y), b3_0, c1_0);
    c2_0 = fma(vec4f(a3_0.z), b3_0, c2_0);
    c3_0 = fma(vec4f(a3_0.w), b3_0, c3_0);
    let a4_0 = lines[ty + slice * 4u + 256u];
    let b4_0 = lines[tx + slice * 4u + 768u];
    c0_0 = fma(vec4f(a4_0.x), b4_0, c0_0);
    c1_0 = fma(vec4f(a4_0.y), b4_0, c1_0);
    c2_0 = fma(vec4f(a4_0.z), b4_0, c2_0);
    c3_0 = fma(vec4f(a4_0.w), b4_0, c3_0);
    let a5_0 = lines[ty + slice * 4u + 320u];
    let b5_0 = lines[tx + slice * 4u + 832u];
    c0_0 = fma(vec4f(a5_0.x), b5_0, c0_0);
    c1_0 = fma(vec4f(a5_0.y), b5_0, c1_0);
    c2_0 = fma(vec4f(a5_0.z), b5_0, c2_0);
    c3_0 = fma(vec4f(a5_0.w), b5_0, c3_0);
    let a6_0 = lines[ty + slice * 4u + 384u];
    let b6_0 = lines[tx + slice * 4u + 896u];
    c0_0 = fma(vec4f(a6_0.x), b6_0, c0_0);
    c1_0 = fma(vec4f(a6_0.y), b6_0, c1_0);
    c2_0 = fma(vec4f(a6_0.z), b6_0, c2_0);
    c3_0 = fma(vec4f(a6_0.w), b6_0, c3_0);
    let a7_0 = lines[ty + slice * 4u + 448u];
    let b7_0 = lines[tx + slice * 4u + 960u];
    c0_0 = fma(vec4f(a7_0.x), b7_0, c0_0);
    c1_0 = fma(vec4f(a7_0.y), b7_0, c1_0);
    c2_0 = fma(vec4f(a7_0.z), b7_0, c2_0);
    c3_0 = fma(vec4f(a7_0.w), b7_0, c3_0);
    if (tile + 1u == tiles || (tile + 1u) % p.flush == 0u) {
      let scale = p.alpha;
      workgroupBarrier();
      lines[slice * 64u + (4u * (ty + 0u) + 0u) * 4u + (4u * (tx + 0u)) / 4u] = c0_0;
      lines[slice * 64u + (4u * (ty + 0u) + 1u) * 4u + (4u * (tx + 0u)) / 4u] = c1_0;
      lines[slice * 64u + (4u * (ty + 0u) + 2u) * 4u + (4u * (tx + 0u)) / 4u] = c2_0;
      lines[slice * 64u + (4u * (ty + 0u) + 3u) * 4u + (4u * (tx + 0u)) / 4u] = c3_0;
      workgroupBarrier();
      let at0 = local + 0u;
      if (at0 < 64u) { put(origin_m + at0 / 4u, origin_n + 4u * (at0 % 4u), lines[at0] + lines[at0 + 64u] + lines[at0 + 128u] + lines[at0 + 192u] + lines[at0 + 256u] + lines[at0 + 320u] + lines[at0 + 384u] + lines[at0 + 448u] + lines[at0 + 512u] + lines[at0 + 576u] + lines[at0 + 640u] + lines[at0 + 704u] + lines[at0 + 768u] + lines[at0 + 832u] + lines[at0 + 896u] + lines[at0 + 960u], scale, stored); }
      stored = true;
      c0_0 = vec4f(0.0);
      c1_0 = vec4f(0.0);
      c2_0 = vec4f(0.0);
      c3_0 = vec4f(0.0);
    }
  }
}