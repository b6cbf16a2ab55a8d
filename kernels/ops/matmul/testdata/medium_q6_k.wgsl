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

fn halves(words: vec4u) -> vec4f {
  return vec4f(unpack2x16float(words.x).x, unpack2x16float(words.y).x,
               unpack2x16float(words.z).x, unpack2x16float(words.w).x);
}
struct BlockWords { code: vec4u, top: vec4u, steps: vec4u, tail: vec4u }
fn block_words(row: u32, i: u32) -> BlockWords {
  let quad = (row >> 2u) & 3u;
  let panel = p.b_base + (row >> 4u) * p.b_panel;
  let at = panel + i / 256u * 210u;
  return BlockWords(
    mat_b[at + 4u * ((i >> 3u) & 31u) + quad],
    mat_b[at + 4u * (32u + ((i >> 4u) & 15u)) + quad],
    mat_b[at + 4u * (48u + ((i >> 6u) & 3u)) + quad],
    mat_b[at + 208u + (quad & 1u)] >> vec4u((quad >> 1u) << 4u));
}
fn block_values(w: BlockWords, i: u32) -> mat4x4f {
  let code = w.code >> vec4u((i & 4u) << 2u);
  let step = bitcast<vec4i>(w.steps << vec4u(24u - ((i & 48u) >> 1u))) >> vec4u(24u);
  let s = halves(w.tail) * vec4f(step);
  let high = (w.top >> vec4u(((i & 4u) << 2u) + ((i & 8u) >> 1u))) << vec4u(4u);
  return mat4x4f(
    (vec4f(code & vec4u(15u)) + vec4f((high >> vec4u(0u)) & vec4u(48u)) - 32.0) * s,
    (vec4f((code >> vec4u(4u)) & vec4u(15u)) + vec4f((high >> vec4u(2u)) & vec4u(48u)) - 32.0) * s,
    (vec4f((code >> vec4u(8u)) & vec4u(15u)) + vec4f((high >> vec4u(8u)) & vec4u(48u)) - 32.0) * s,
    (vec4f((code >> vec4u(12u)) & vec4u(15u)) + vec4f((high >> vec4u(10u)) & vec4u(48u)) - 32.0) * s);
}
struct Fetched { x: vec4u, y: vec4u, z: vec4u, w: vec4u }
fn fetch_b(first: u32, depth: u32) -> Fetched {
  if (depth >= p.k) { return Fetched(); }
  let words = block_words(min(first, (p.n - 1u) & ~3u), depth);
  return Fetched(words.code, words.top, words.steps, words.tail);
}
fn widened_b(fetched: Fetched, first: u32, depth: u32) -> mat4x4f {
  return block_values(BlockWords(fetched.x, fetched.y, fetched.z, fetched.w), depth);
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
  let tiles_m = (p.m + 63u) / 64u;
  let tiles_n = (p.n + 63u) / 64u;
  if (number >= tiles_m * tiles_n) { return; }
  let tile_m = select(number / tiles_n, number % tiles_m, p.m_first != 0u);
  let tile_n = select(number % tiles_n, number / tiles_m, p.m_first != 0u);
  let origin_m = tile_m * 64u;
  let origin_n = tile_n * 64u;
  let tiles = max(1u, (p.k + 31u) / 32u);
  let id0 = local + 0u;
  let in_a0 = id0 < 128u;
  let row0 = 4u * select(((id0 - 128u) % 8u + 8u * ((id0 - 128u) / 64u)), (id0 % 8u + 8u * (id0 / 64u)), in_a0);
  let term0 = 4u * select(((id0 - 128u) / 8u % 8u), (id0 / 8u % 8u), in_a0);
  let stride0 = 16u;
  let place0 = select(512u, 0u, in_a0) + term0 * stride0 + row0 / 4u;
  let first0 = row0 + select(origin_n, origin_m, in_a0);
  var fetched0 = Fetched();
  let lane = local % 256u;
  let slice = local / 256u;
  let ty = lane / 16u;
  let tx = lane % 16u;
  var stored = p.add != 0u;
  var c0_0 = vec4f(0.0);
  var c1_0 = vec4f(0.0);
  var c2_0 = vec4f(0.0);
  var c3_0 = vec4f(0.0);
  if (in_a0) { fetched0 = fetched_floats(block_a(first0, (0u) * 32u + term0)); } else { fetched0 = fetch_b(first0, (0u) * 32u + term0); }
  for (var tile = 0u; tile < tiles; tile++) {
    var block0 = floats_of(fetched0);
    if (!in_a0) { block0 = widened_b(fetched0, first0, tile * 32u + term0); }
    workgroupBarrier();
    lines[place0 + 0u * stride0] = block0[0]; lines[place0 + 1u * stride0] = block0[1]; lines[place0 + 2u * stride0] = block0[2]; lines[place0 + 3u * stride0] = block0[3];
    workgroupBarrier();
    if (tile + 1u < tiles) {
      if (in_a0) { fetched0 = fetched_floats(block_a(first0, (tile + 1u) * 32u + term0)); } else { fetched0 = fetch_b(first0, (tile + 1u) * 32u + term0); }
    }
    let a0_0 = lines[ty + 0u];
    let b0_0 = lines[tx + 512u];
    c0_0 = fma(vec4f(a0_0.x), b0_0, c0_0);
    c1_0 = fma(vec4f(a0_0.y), b0_0, c1_0);
    c2_0 = fma(vec4f(a0_0.z), b0_0, c2_0);
    c3_0 = fma(vec4f(a0_0.w), b0_0, c3_0);
    let a1_0 = lines[ty + 16u];
    let b1_0 = lines[tx + 528u];
    c0_0 = fma(vec4f(a1_0.x), b1_0, c0_0);
    c1_0 = fma(vec4f(a1_0.y), b1_0, c1_0);
    c2_0 = fma(vec4f(a1_0.z), b1_0, c2_0);
    c3_0 = fma(vec4f(a1_0.w), b1_0, c3_0);
    let a2_0 = lines[ty + 32u];
    let b2_0 = lines[tx + 544u];
    c0_0 = fma(vec4f(a2_0.x), b2_0, c0_0);
    c1_0 = fma(vec4f(a2_0.y), b2_0, c1_0);
    c2_0 = fma(vec4f(a2_0.z), b2_0, c2_0);
    c3_0 = fma(vec4f(a2_0.w), b2_0, c3_0);
    let a3_0 = lines[ty + 48u];
    let b3_0 = lines[tx + 560u];
    c0_0 = fma(vec4f(a3_0.x), b3_0, c0_0);
    c1_0 = fma(vec4f(a3_0.y), b3_0, c1_0);
    c2_0 = fma(vec4f(a3_0.z), b3_0, c2_0);
    c3_0 = fma(vec4f(a3_0.w), b3_0, c3_0);
    let a4_0 = lines[ty + 64u];
    let b4_0 = lines[tx + 576u];
    c0_0 = fma(vec4f(a4_0.x), b4_0, c0_0);
    c1_0 = fma(vec4f(a4_0.y), b4_0, c1_0);
    c2_0 = fma(vec4f(a4_0.z), b4_0, c2_0);
    c3_0 = fma(vec4f(a4_0.w), b4_0, c3_0);
    let a5_0 = lines[ty + 80u];
    let b5_0 = lines[tx + 592u];
    c0_0 = fma(vec4f(a5_0.x), b5_0, c0_0);
    c1_0 = fma(vec4f(a5_0.y), b5_0, c1_0);
    c2_0 = fma(vec4f(a5_0.z), b5_0, c2_0);
    c3_0 = fma(vec4f(a5_0.w), b5_0, c3_0);
    let a6_0 = lines[ty + 96u];
    let b6_0 = lines[tx + 608u];
    c0_0 = fma(vec4f(a6_0.x), b6_0, c0_0);
    c1_0 = fma(vec4f(a6_0.y), b6_0, c1_0);
    c2_0 = fma(vec4f(a6_0.z), b6_0, c2_0);
    c3_0 = fma(vec4f(a6_0.w), b6_0, c3_0);
    let a7_0 = lines[ty + 112u];
    let b7_0 = lines[tx + 624u];
    c0_0 = fma(vec4f(a7_0.x), b7_0, c0_0);
    c1_0 = fma(vec4f(a7_0.y), b7_0, c1_0);
    c2_0 = fma(vec4f(a7_0.z), b7_0, c2_0);
    c3_0 = fma(vec4f(a7_0.w), b7_0, c3_0);
    let a8_0 = lines[ty + 128u];
    let b8_0 = lines[tx + 640u];
    c0_0 = fma(vec4f(a8_0.x), b8_0, c0_0);
    c1_0 = fma(vec4f(a8_0.y), b8_0, c1_0);
    c2_0 = fma(vec4f(a8_0.z), b8_0, c2_0);
    c3_0 = fma(vec4f(a8_0.w), b8_0, c3_0);
    let a9_0 = lines[ty + 144u];
    let b9_0 = lines[tx + 656u];
    c0_0 = fma(vec4f(a9_0.x), b9_0, c0_0);
    c1_0 = fma(vec4f(a9_0.y), b9_0, c1_0);
    c2_0 = fma(vec4f(a9_0.z), b9_0, c2_0);
    c3_0 = fma(vec4f(a9_0.w), b9_0, c3_0);
    let a10_0 = lines[ty + 160u];
    let b10_0 = lines[tx + 672u];
    c0_0 = fma(vec4f(a10_0.x), b10_0, c0_0);
    c1_0 = fma(vec4f(a10_0.y), b10_0, c1_0);
    c2_0 = fma(vec4f(a10_0.z), b10_0, c2_0);
    c3_0 = fma(vec4f(a10_0.w), b10_0, c3_0);
    let a11_0 = lines[ty + 176u];
    let b11_0 = lines[tx + 688u];
    c0_0 = fma(vec4f(a11_0.x), b11_0, c0_0);
    c1_0 = fma(vec4f(a11_0.y), b11_0, c1_0);
    c2_0 = fma(vec4f(a11_0.z), b11_0, c2_0);
    c3_0 = fma(vec4f(a11_0.w), b11_0, c3_0);
    let a12_0 = lines[ty + 192u];
    let b12_0 = lines[tx + 704u];
    c0_0 = fma(vec4f(a12_0.x), b12_0, c0_0);
    c1_0 = fma(vec4f(a12_0.y), b12_0, c1_0);
    c2_0 = fma(vec4f(a12_0.z), b12_0, c2_0);
    c3_0 = fma(vec4f(a12_0.w), b12_0, c3_0);
    let a13_0 = lines[ty + 208u];
    let b13_0 = lines[tx + 720u];
    c0_0 = fma(vec4f(a13_0.x), b13_0, c0_0);
    c1_0 = fma(vec4f(a13_0.y), b13_0, c1_0);
    c2_0 = fma(vec4f(a13_0.z), b13_0, c2_0);
    c3_0 = fma(vec4f(a13_0.w), b13_0, c3_0);
    let a14_0 = lines[ty + 224u];
    let b14_0 = lines[tx + 736u];
    c0_0 = fma(vec4f(a14_0.x), b14_0, c0_0);
    c1_0 = fma(vec4f(a14_0.y), b14_0, c1_0);
    c2_0 = fma(vec4f(a14_0.z), b14_0, c2_0);
    c3_0 = fma(vec4f(a14_0.w), b14_0, c3_0);
    let a15_0 = lines[ty + 240u];
    let b15_0 = lines[tx + 752u];
    c0_0 = fma(vec4f(a15_0.x), b15_0, c0_0);
    c1_0 = fma(vec4f(a15_0.y), b15_0, c1_0);
    c2_0 = fma(vec4f(a15_0.z), b15_0, c2_0);
    c3_0 = fma(vec4f(a15_0.w), b15_0, c3_0);
    let a16_0 = lines[ty + 256u];
    let b16_0 = lines[tx + 768u];
    c0_0 = fma(vec4f(a16_0.x), b16_0, c0_0);
    c1_0 = fma(vec4f(a16_0.y), b16_0, c1_0);
    c2_0 = fma(vec4f(a16_0.z), b16_0, c2_0);
    c3_0 = fma(vec4f(a16_0.w), b16_0, c3_0);
    let a17_0 = lines[ty + 272u];
    let b17_0 = lines[tx + 784u];
    c0_0 = fma(vec4f(a17_0.x), b17_0, c0_0);
    c1_0 = fma(vec4f(a17_0.y), b17_0, c1_0);
    c2_0 = fma(vec4f(a17_0.z), b17_0, c2_0);
    c3_0 = fma(vec4f(a17_0.w), b17_0, c3_0);
    let a18_0 = lines[ty + 288u];
    let b18_0 = lines[tx + 800u];
    c0_0 = fma(vec4f(a18_0.x), b18_0, c0_0);
    c1_0 = fma(vec4f(a18_0.y), b18_0, c1_0);
    c2_0 = fma(vec4f(a18_0.z), b18_0, c2_0);
    c3_0 = fma(vec4f(a18_0.w), b18_0, c3_0);
    let a19_0 = lines[ty + 304u];
    let b19_0 = lines[tx + 816u];
    c0_0 = fma(vec4f(a19_0.x), b19_0, c0_0);
    c1_0 = fma(vec4f(a19_0.y), b19_0, c1_0);
    c2_0 = fma(vec4f(a19_0.z), b19_0, c2_0);
    c3_0 = fma(vec4f(a19_0.w), b19_0, c3_0);
    let a20_0 = lines[ty + 320u];
    let b20_0 = lines[tx + 832u];
    c0_0 = fma(vec4f(a20_0.x), b20_0, c0_0);
    c1_0 = fma(vec4f(a20_0.y), b20_0, c1_0);
    c2_0 = fma(vec4f(a20_0.z), b20_0, c2_0);
    c3_0 = fma(vec4f(a20_0.w), b20_0, c3_0);
    let a21_0 = lines[ty + 336u];
    let b21_0 = lines[tx + 848u];
    c0_0 = fma(vec4f(a21_0.x), b21_0, c0_0);
    c1_0 = fma(vec4f(a21_0.y), b21_0, c1_0);
    c2_0 = fma(vec4f(a21_0.z), b21_0, c2_0);
    c3_0 = fma(vec4f(a21_0.w), b21_0, c3_0);
    let a22_0 = lines[ty + 352u];
    let b22_0 = lines[tx + 864u];
    c0_0 = fma(vec4f(a22_0.x), b22_0, c0_0);
    c1_0 = fma(vec4f(a22_0.y), b22_0, c1_0);
    c2_0 = fma(vec4f(a22_0.z), b22_0, c2_0);
    c3_0 = fma(vec4f(a22_0.w), b22_0, c3_0);
    let a23_0 = lines[ty + 368u];
    let b23_0 = lines[tx + 880u];
    c0_0 = fma(vec4f(a23_0.x), b23_0, c0_0);
    c1_0 = fma(vec4f(a23_0.y), b23_0, c1_0);
    c2_0 = fma(vec4f(a23_0.z), b23_0, c2_0);
    c3_0 = fma(vec4f(a23_0.w), b23_0, c3_0);
    let a24_0 = lines[ty + 384u];
    let b24_0 = lines[tx + 896u];
    c0_0 = fma(vec4f(a24_0.x), b24_0, c0_0);
    c1_0 = fma(vec4f(a24_0.y), b24_0, c1_0);
    c2_0 = fma(vec4f(a24_0.z), b24_0, c2_0);
    c3_0 = fma(vec4f(a24_0.w), b24_0, c3_0);
    let a25_0 = lines[ty + 400u];
    let b25_0 = lines[tx + 912u];
    c0_0 = fma(vec4f(a25_0.x), b25_0, c0_0);
    c1_0 = fma(vec4f(a25_0.y), b25_0, c1_0);
    c2_0 = fma(vec4f(a25_0.z), b25_0, c2_0);
    c3_0 = fma(vec4f(a25_0.w), b25_0, c3_0);
    let a26_0 = lines[ty + 416u];
    let b26_0 = lines[tx + 928u];
    c0_0 = fma(vec4f(a26_0.x), b26_0, c0_0);
    c1_0 = fma(vec4f(a26_0.y), b26_0, c1_0);
    c2_0 = fma(vec4f(a26_0.z), b26_0, c2_0);
    c3_0 = fma(vec4f(a26_0.w), b26_0, c3_0);
    let a27_0 = lines[ty + 432u];
    let b27_0 = lines[tx + 944u];
    c0_0 = fma(vec4f(a27_0.x), b27_0, c0_0);
    c1_0 = fma(vec4f(a27_0.y), b27_0, c1_0);
    c2_0 = fma(vec4f(a27_0.z), b27_0, c2_0);
    c3_0 = fma(vec4f(a27_0.w), b27_0, c3_0);
    let a28_0 = lines[ty + 448u];
    let b28_0 = lines[tx + 960u];
    c0_0 = fma(vec4f(a28_0.x), b28_0, c0_0);
    c1_0 = fma(vec4f(a28_0.y), b28_0, c1_0);
    c2_0 = fma(vec4f(a28_0.z), b28_0, c2_0);
    c3_0 = fma(vec4f(a28_0.w), b28_0, c3_0);
    let a29_0 = lines[ty + 464u];
    let b29_0 = lines[tx + 976u];
    c0_0 = fma(vec4f(a29_0.x), b29_0, c0_0);
    c1_0 = fma(vec4f(a29_0.y), b29_0, c1_0);
    c2_0 = fma(vec4f(a29_0.z), b29_0, c2_0);
    c3_0 = fma(vec4f(a29_0.w), b29_0, c3_0);
    let a30_0 = lines[ty + 480u];
    let b30_0 = lines[tx + 992u];
    c0_0 = fma(vec4f(a30_0.x), b30_0, c0_0);
    c1_0 = fma(vec4f(a30_0.y), b30_0, c1_0);
    c2_0 = fma(vec4f(a30_0.z), b30_0, c2_0);
    c3_0 = fma(vec4f(a30_0.w), b30_0, c3_0);
    let a31_0 = lines[ty + 496u];
    let b31_0 = lines[tx + 1008u];
    c0_0 = fma(vec4f(a31_0.x), b31_0, c0_0);
    c1_0 = fma(vec4f(a31_0.y), b31_0, c1_0);
    c2_0 = fma(vec4f(a31_0.z), b31_0, c2_0);
    c3_0 = fma(vec4f(a31_0.w), b31_0, c3_0);
    if (tile + 1u == tiles || (tile + 1u) % p.flush == 0u) {
      let scale = p.alpha;
      put(origin_m + 4u * (ty + 0u) + 0u, origin_n + 4u * (tx + 0u), c0_0, scale, stored);
      put(origin_m + 4u * (ty + 0u) + 1u, origin_n + 4u * (tx + 0u), c1_0, scale, stored);
      put(origin_m + 4u * (ty + 0u) + 2u, origin_n + 4u * (tx + 0u), c2_0, scale, stored);
      put(origin_m + 4u * (ty + 0u) + 3u, origin_n + 4u * (tx + 0u), c3_0, scale, stored);
      stored = true;
      c0_0 = vec4f(0.0);
      c1_0 = vec4f(0.0);
      c2_0 = vec4f(0.0);
      c3_0 = vec4f(0.0);
    }
  }
}