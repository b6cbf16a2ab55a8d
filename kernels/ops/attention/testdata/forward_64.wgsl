struct Params { count: u32, rows: u32, row_begin: u32, heads: u32, kv_heads: u32, per_kv: u32, window: u32, scale: f32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> queries: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> values: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> outputs: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> lses: array<f32>;
@group(0) @binding(6) var<storage, read> segments: array<u32>;
@group(0) @binding(7) var<storage, read> row_segment: array<u32>;
const NONE = 0xffffffffu;
var<workgroup> tile: array<vec4<f32>, 1088>;
fn load_queries(row: u32, c: u32) -> vec4<f32> {
  if (row == NONE) { return vec4<f32>(); }
  return queries[row * 16u + c];
}
fn load_keys(row: u32, c: u32) -> vec4<f32> {
  if (row == NONE) { return vec4<f32>(); }
  return keys[row * 16u + c];
}
fn load_values(row: u32, c: u32) -> vec4<f32> {
  if (row == NONE) { return vec4<f32>(); }
  return values[row * 16u + c];
}
fn store_outputs(row: u32, c: u32, value: vec4<f32>) {
  if (c >= 16u) { return; }
  outputs[row * 16u + c] = value;
}

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

var<workgroup> row_slots: array<vec4<f32>, 128>;
fn exp_rows(x: vec4<f32>) -> vec4<f32> { return vec4<f32>(exp_f32(x.x), exp_f32(x.y), exp_f32(x.z), exp_f32(x.w)); }
fn weights_of(scores: vec4<f32>, peak: f32) -> vec4<f32> {
  let x = scores - peak;
  let e = vec4<f32>(exp_f32(x.x), exp_f32(x.y), exp_f32(x.z), exp_f32(x.w));
  return select(vec4<f32>(), e, scores > vec4<f32>(-9e29));
}
fn largest_of(x: vec4<f32>) -> f32 { return max(max(x.x, x.y), max(x.z, x.w)); }
fn sum_of(x: vec4<f32>) -> f32 { return (x.x + x.y) + (x.z + x.w); }

fn log_f32(x: f32) -> f32 {
  let bits = bitcast<i32>(x);
  let k = (bits - 0x3f3504f3) >> 23u;
  let f = bitcast<f32>(bits - (k << 23u)) - 1.0;
  let s = f / (2.0 + f);
  let t = s * s;
  let series = t * fma(t, fma(t, fma(t, 0.22222222, 0.28571429), 0.4), 0.66666667);
  let half_square = 0.5 * f * f;
  let n = f32(k);
  return fma(n, 0.693145752, f - (half_square - fma(s, half_square + series, n * 1.42860677e-6)));
}


fn query_number(query: u32, end: u32, head: u32) -> u32 {
  let row = query / p.per_kv;
  return select(NONE, row * p.heads + head * p.per_kv + query % p.per_kv, query < end);
}
fn attended(row: u32, exists: bool) -> vec4<u32> {
  if (!exists) { return vec4<u32>(); }
  let s = row_segment[row];
  let prefix_begin = segments[s * 5u + 2u];
  let prefix_end = segments[s * 5u + 3u];
  let in_segment = min(row + 1u - segments[s * 5u + 0u], p.window);
  let in_prefix = min(prefix_end - prefix_begin, p.window - in_segment);
  return vec4<u32>(prefix_end - in_prefix, prefix_end, row + 1u - in_segment, row + 1u);
}
@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let number = group.x + group.y * groups.x;
  if (number >= p.count) { return; }
  let x = local % 8u;
  let y = local / 8u;
  let fill = local / 8u;
  let fill_c = local % 8u;
  let head = number % p.kv_heads;
  let first = (p.count - 1u - number) / p.kv_heads * 64u;
  let queries_end = min(first + 64u, p.rows * p.per_kv);
  let first_segment = row_segment[p.row_begin + first / p.per_kv];
  let prefix_begin = segments[first_segment * 5u + 2u];
  let prefix_end = segments[first_segment * 5u + 3u];
  let span_begin = attended(p.row_begin + first / p.per_kv, true).z;
  let span_end = p.row_begin + (queries_end - 1u) / p.per_kv + 1u;
  let prefix_tiles = (prefix_end - prefix_begin + 31u) / 32u;
  let key_tiles = prefix_tiles + (span_end - span_begin + 31u) / 32u;
  let row_at0 = query_number(first + fill, queries_end, head);
let row_at1 = query_number(first + fill + 16u, queries_end, head);
let row_at2 = query_number(first + fill + 32u, queries_end, head);
let row_at3 = query_number(first + fill + 48u, queries_end, head);
  let query0 = first + y + 0u;
  let row0 = query0 / p.per_kv;
  let range0 = attended(p.row_begin + row0, query0 < queries_end);
let query1 = first + y + 16u;
  let row1 = query1 / p.per_kv;
  let range1 = attended(p.row_begin + row1, query1 < queries_end);
let query2 = first + y + 32u;
  let row2 = query2 / p.per_kv;
  let range2 = attended(p.row_begin + row2, query2 < queries_end);
let query3 = first + y + 48u;
  let row3 = query3 / p.per_kv;
  let range3 = attended(p.row_begin + row3, query3 < queries_end);
  var peak = vec4<f32>(-1e30);
  var total = vec4<f32>(0.0);
  var out0_0 = vec4<f32>();
var out0_1 = vec4<f32>();
var out1_0 = vec4<f32>();
var out1_1 = vec4<f32>();
var out2_0 = vec4<f32>();
var out2_1 = vec4<f32>();
var out3_0 = vec4<f32>();
var out3_1 = vec4<f32>();
  for (var t = 0u; t < key_tiles; t++) {
    let in_prefix = t < prefix_tiles;
    let begin = select(span_begin + (t - prefix_tiles) * 32u, prefix_begin + t * 32u, in_prefix);
    let end = select(span_end, prefix_end, in_prefix);
    let column_at0 = select(NONE, (begin + fill) * p.kv_heads + head, begin + fill < end);
let column_at1 = select(NONE, (begin + fill + 16u) * p.kv_heads + head, begin + fill + 16u < end);
  var dot0_0 = 0.0;
var dot0_1 = 0.0;
var dot0_2 = 0.0;
var dot0_3 = 0.0;
var dot1_0 = 0.0;
var dot1_1 = 0.0;
var dot1_2 = 0.0;
var dot1_3 = 0.0;
var dot2_0 = 0.0;
var dot2_1 = 0.0;
var dot2_2 = 0.0;
var dot2_3 = 0.0;
var dot3_0 = 0.0;
var dot3_1 = 0.0;
var dot3_2 = 0.0;
var dot3_3 = 0.0;
  for (var d = 0u; d < 16u; d += 8u) {
tile[0u + (fill) * 9u + fill_c] = load_queries(row_at0, d + fill_c);
tile[0u + (fill + 16u) * 9u + fill_c] = load_queries(row_at1, d + fill_c);
tile[0u + (fill + 32u) * 9u + fill_c] = load_queries(row_at2, d + fill_c);
tile[0u + (fill + 48u) * 9u + fill_c] = load_queries(row_at3, d + fill_c);
tile[576u + (((fill) % 4u) * 8u + (fill) / 4u) * 9u + fill_c] = load_keys(column_at0, d + fill_c);
tile[576u + (((fill + 16u) % 4u) * 8u + (fill + 16u) / 4u) * 9u + fill_c] = load_keys(column_at1, d + fill_c);
    workgroupBarrier();
    let row_slot = y * 9u;
    let column_slot = x * 9u;
    for (var e = 0u; e < 8u; e += 4u) {
{
let a0 = tile[row_slot + e + 0u];
let a1 = tile[row_slot + e + 144u];
let a2 = tile[row_slot + e + 288u];
let a3 = tile[row_slot + e + 432u];
let b0 = tile[column_slot + e + 576u];
let b1 = tile[column_slot + e + 648u];
let b2 = tile[column_slot + e + 720u];
let b3 = tile[column_slot + e + 792u];
dot0_0 = fma(a0.w, b0.w, fma(a0.z, b0.z, fma(a0.y, b0.y, fma(a0.x, b0.x, dot0_0))));
dot0_1 = fma(a0.w, b1.w, fma(a0.z, b1.z, fma(a0.y, b1.y, fma(a0.x, b1.x, dot0_1))));
dot0_2 = fma(a0.w, b2.w, fma(a0.z, b2.z, fma(a0.y, b2.y, fma(a0.x, b2.x, dot0_2))));
dot0_3 = fma(a0.w, b3.w, fma(a0.z, b3.z, fma(a0.y, b3.y, fma(a0.x, b3.x, dot0_3))));
dot1_0 = fma(a1.w, b0.w, fma(a1.z, b0.z, fma(a1.y, b0.y, fma(a1.x, b0.x, dot1_0))));
dot1_1 = fma(a1.w, b1.w, fma(a1.z, b1.z, fma(a1.y, b1.y, fma(a1.x, b1.x, dot1_1))));
dot1_2 = fma(a1.w, b2.w, fma(a1.z, b2.z, fma(a1.y, b2.y, fma(a1.x, b2.x, dot1_2))));
dot1_3 = fma(a1.w, b3.w, fma(a1.z, b3.z, fma(a1.y, b3.y, fma(a1.x, b3.x, dot1_3))));
dot2_0 = fma(a2.w, b0.w, fma(a2.z, b0.z, fma(a2.y, b0.y, fma(a2.x, b0.x, dot2_0))));
dot2_1 = fma(a2.w, b1.w, fma(a2.z, b1.z, fma(a2.y, b1.y, fma(a2.x, b1.x, dot2_1))));
dot2_2 = fma(a2.w, b2.w, fma(a2.z, b2.z, fma(a2.y, b2.y, fma(a2.x, b2.x, dot2_2))));
dot2_3 = fma(a2.w, b3.w, fma(a2.z, b3.z, fma(a2.y, b3.y, fma(a2.x, b3.x, dot2_3))));
dot3_0 = fma(a3.w, b0.w, fma(a3.z, b0.z, fma(a3.y, b0.y, fma(a3.x, b0.x, dot3_0))));
dot3_1 = fma(a3.w, b1.w, fma(a3.z, b1.z, fma(a3.y, b1.y, fma(a3.x, b1.x, dot3_1))));
dot3_2 = fma(a3.w, b2.w, fma(a3.z, b2.z, fma(a3.y, b2.y, fma(a3.x, b2.x, dot3_2))));
dot3_3 = fma(a3.w, b3.w, fma(a3.z, b3.z, fma(a3.y, b3.y, fma(a3.x, b3.x, dot3_3))));
}
{
let a0 = tile[row_slot + e + 1u];
let a1 = tile[row_slot + e + 145u];
let a2 = tile[row_slot + e + 289u];
let a3 = tile[row_slot + e + 433u];
let b0 = tile[column_slot + e + 577u];
let b1 = tile[column_slot + e + 649u];
let b2 = tile[column_slot + e + 721u];
let b3 = tile[column_slot + e + 793u];
dot0_0 = fma(a0.w, b0.w, fma(a0.z, b0.z, fma(a0.y, b0.y, fma(a0.x, b0.x, dot0_0))));
dot0_1 = fma(a0.w, b1.w, fma(a0.z, b1.z, fma(a0.y, b1.y, fma(a0.x, b1.x, dot0_1))));
dot0_2 = fma(a0.w, b2.w, fma(a0.z, b2.z, fma(a0.y, b2.y, fma(a0.x, b2.x, dot0_2))));
dot0_3 = fma(a0.w, b3.w, fma(a0.z, b3.z, fma(a0.y, b3.y, fma(a0.x, b3.x, dot0_3))));
dot1_0 = fma(a1.w, b0.w, fma(a1.z, b0.z, fma(a1.y, b0.y, fma(a1.x, b0.x, dot1_0))));
dot1_1 = fma(a1.w, b1.w, fma(a1.z, b1.z, fma(a1.y, b1.y, fma(a1.x, b1.x, dot1_1))));
dot1_2 = fma(a1.w, b2.w, fma(a1.z, b2.z, fma(a1.y, b2.y, fma(a1.x, b2.x, dot1_2))));
dot1_3 = fma(a1.w, b3.w, fma(a1.z, b3.z, fma(a1.y, b3.y, fma(a1.x, b3.x, dot1_3))));
dot2_0 = fma(a2.w, b0.w, fma(a2.z, b0.z, fma(a2.y, b0.y, fma(a2.x, b0.x, dot2_0))));
dot2_1 = fma(a2.w, b1.w, fma(a2.z, b1.z, fma(a2.y, b1.y, fma(a2.x, b1.x, dot2_1))));
dot2_2 = fma(a2.w, b2.w, fma(a2.z, b2.z, fma(a2.y, b2.y, fma(a2.x, b2.x, dot2_2))));
dot2_3 = fma(a2.w, b3.w, fma(a2.z, b3.z, fma(a2.y, b3.y, fma(a2.x, b3.x, dot2_3))));
dot3_0 = fma(a3.w, b0.w, fma(a3.z, b0.z, fma(a3.y, b0.y, fma(a3.x, b0.x, dot3_0))));
dot3_1 = fma(a3.w, b1.w, fma(a3.z, b1.z, fma(a3.y, b1.y, fma(a3.x, b1.x, dot3_1))));
dot3_2 = fma(a3.w, b2.w, fma(a3.z, b2.z, fma(a3.y, b2.y, fma(a3.x, b2.x, dot3_2))));
dot3_3 = fma(a3.w, b3.w, fma(a3.z, b3.z, fma(a3.y, b3.y, fma(a3.x, b3.x, dot3_3))));
}
{
let a0 = tile[row_slot + e + 2u];
let a1 = tile[row_slot + e + 146u];
let a2 = tile[row_slot + e + 290u];
let a3 = tile[row_slot + e + 434u];
let b0 = tile[column_slot + e + 578u];
let b1 = tile[column_slot + e + 650u];
let b2 = tile[column_slot + e + 722u];
let b3 = tile[column_slot + e + 794u];
dot0_0 = fma(a0.w, b0.w, fma(a0.z, b0.z, fma(a0.y, b0.y, fma(a0.x, b0.x, dot0_0))));
dot0_1 = fma(a0.w, b1.w, fma(a0.z, b1.z, fma(a0.y, b1.y, fma(a0.x, b1.x, dot0_1))));
dot0_2 = fma(a0.w, b2.w, fma(a0.z, b2.z, fma(a0.y, b2.y, fma(a0.x, b2.x, dot0_2))));
dot0_3 = fma(a0.w, b3.w, fma(a0.z, b3.z, fma(a0.y, b3.y, fma(a0.x, b3.x, dot0_3))));
dot1_0 = fma(a1.w, b0.w, fma(a1.z, b0.z, fma(a1.y, b0.y, fma(a1.x, b0.x, dot1_0))));
dot1_1 = fma(a1.w, b1.w, fma(a1.z, b1.z, fma(a1.y, b1.y, fma(a1.x, b1.x, dot1_1))));
dot1_2 = fma(a1.w, b2.w, fma(a1.z, b2.z, fma(a1.y, b2.y, fma(a1.x, b2.x, dot1_2))));
dot1_3 = fma(a1.w, b3.w, fma(a1.z, b3.z, fma(a1.y, b3.y, fma(a1.x, b3.x, dot1_3))));
dot2_0 = fma(a2.w, b0.w, fma(a2.z, b0.z, fma(a2.y, b0.y, fma(a2.x, b0.x, dot2_0))));
dot2_1 = fma(a2.w, b1.w, fma(a2.z, b1.z, fma(a2.y, b1.y, fma(a2.x, b1.x, dot2_1))));
dot2_2 = fma(a2.w, b2.w, fma(a2.z, b2.z, fma(a2.y, b2.y, fma(a2.x, b2.x, dot2_2))));
dot2_3 = fma(a2.w, b3.w, fma(a2.z, b3.z, fma(a2.y, b3.y, fma(a2.x, b3.x, dot2_3))));
dot3_0 = fma(a3.w, b0.w, fma(a3.z, b0.z, fma(a3.y, b0.y, fma(a3.x, b0.x, dot3_0))));
dot3_1 = fma(a3.w, b1.w, fma(a3.z, b1.z, fma(a3.y, b1.y, fma(a3.x, b1.x, dot3_1))));
dot3_2 = fma(a3.w, b2.w, fma(a3.z, b2.z, fma(a3.y, b2.y, fma(a3.x, b2.x, dot3_2))));
dot3_3 = fma(a3.w, b3.w, fma(a3.z, b3.z, fma(a3.y, b3.y, fma(a3.x, b3.x, dot3_3))));
}
{
let a0 = tile[row_slot + e + 3u];
let a1 = tile[row_slot + e + 147u];
let a2 = tile[row_slot + e + 291u];
let a3 = tile[row_slot + e + 435u];
let b0 = tile[column_slot + e + 579u];
let b1 = tile[column_slot + e + 651u];
let b2 = tile[column_slot + e + 723u];
let b3 = tile[column_slot + e + 795u];
dot0_0 = fma(a0.w, b0.w, fma(a0.z, b0.z, fma(a0.y, b0.y, fma(a0.x, b0.x, dot0_0))));
dot0_1 = fma(a0.w, b1.w, fma(a0.z, b1.z, fma(a0.y, b1.y, fma(a0.x, b1.x, dot0_1))));
dot0_2 = fma(a0.w, b2.w, fma(a0.z, b2.z, fma(a0.y, b2.y, fma(a0.x, b2.x, dot0_2))));
dot0_3 = fma(a0.w, b3.w, fma(a0.z, b3.z, fma(a0.y, b3.y, fma(a0.x, b3.x, dot0_3))));
dot1_0 = fma(a1.w, b0.w, fma(a1.z, b0.z, fma(a1.y, b0.y, fma(a1.x, b0.x, dot1_0))));
dot1_1 = fma(a1.w, b1.w, fma(a1.z, b1.z, fma(a1.y, b1.y, fma(a1.x, b1.x, dot1_1))));
dot1_2 = fma(a1.w, b2.w, fma(a1.z, b2.z, fma(a1.y, b2.y, fma(a1.x, b2.x, dot1_2))));
dot1_3 = fma(a1.w, b3.w, fma(a1.z, b3.z, fma(a1.y, b3.y, fma(a1.x, b3.x, dot1_3))));
dot2_0 = fma(a2.w, b0.w, fma(a2.z, b0.z, fma(a2.y, b0.y, fma(a2.x, b0.x, dot2_0))));
dot2_1 = fma(a2.w, b1.w, fma(a2.z, b1.z, fma(a2.y, b1.y, fma(a2.x, b1.x, dot2_1))));
dot2_2 = fma(a2.w, b2.w, fma(a2.z, b2.z, fma(a2.y, b2.y, fma(a2.x, b2.x, dot2_2))));
dot2_3 = fma(a2.w, b3.w, fma(a2.z, b3.z, fma(a2.y, b3.y, fma(a2.x, b3.x, dot2_3))));
dot3_0 = fma(a3.w, b0.w, fma(a3.z, b0.z, fma(a3.y, b0.y, fma(a3.x, b0.x, dot3_0))));
dot3_1 = fma(a3.w, b1.w, fma(a3.z, b1.z, fma(a3.y, b1.y, fma(a3.x, b1.x, dot3_1))));
dot3_2 = fma(a3.w, b2.w, fma(a3.z, b2.z, fma(a3.y, b2.y, fma(a3.x, b2.x, dot3_2))));
dot3_3 = fma(a3.w, b3.w, fma(a3.z, b3.z, fma(a3.y, b3.y, fma(a3.x, b3.x, dot3_3))));
}
    }
    workgroupBarrier();
  }
let dot0 = vec4<f32>(dot0_0, dot0_1, dot0_2, dot0_3);
let dot1 = vec4<f32>(dot1_0, dot1_1, dot1_2, dot1_3);
let dot2 = vec4<f32>(dot2_0, dot2_1, dot2_2, dot2_3);
let dot3 = vec4<f32>(dot3_0, dot3_1, dot3_2, dot3_3);
  let key4 = vec4<u32>(begin + 4u * x) + vec4<u32>(0u, 1u, 2u, 3u);
  let score0 = select(vec4<f32>(-1e30), p.scale * dot0, (key4 < vec4<u32>(end)) & (((key4 >= vec4<u32>(range0.x)) & (key4 < vec4<u32>(range0.y))) | ((key4 >= vec4<u32>(range0.z)) & (key4 < vec4<u32>(range0.w)))));
let score1 = select(vec4<f32>(-1e30), p.scale * dot1, (key4 < vec4<u32>(end)) & (((key4 >= vec4<u32>(range1.x)) & (key4 < vec4<u32>(range1.y))) | ((key4 >= vec4<u32>(range1.z)) & (key4 < vec4<u32>(range1.w)))));
let score2 = select(vec4<f32>(-1e30), p.scale * dot2, (key4 < vec4<u32>(end)) & (((key4 >= vec4<u32>(range2.x)) & (key4 < vec4<u32>(range2.y))) | ((key4 >= vec4<u32>(range2.z)) & (key4 < vec4<u32>(range2.w)))));
let score3 = select(vec4<f32>(-1e30), p.scale * dot3, (key4 < vec4<u32>(end)) & (((key4 >= vec4<u32>(range3.x)) & (key4 < vec4<u32>(range3.y))) | ((key4 >= vec4<u32>(range3.z)) & (key4 < vec4<u32>(range3.w)))));
  row_slots[local] = vec4<f32>(largest_of(score0), largest_of(score1), largest_of(score2), largest_of(score3));
  workgroupBarrier();
  var new_peak = peak;
  new_peak = max(new_peak, row_slots[y * 8u + 0u]);
new_peak = max(new_peak, row_slots[y * 8u + 1u]);
new_peak = max(new_peak, row_slots[y * 8u + 2u]);
new_peak = max(new_peak, row_slots[y * 8u + 3u]);
new_peak = max(new_peak, row_slots[y * 8u + 4u]);
new_peak = max(new_peak, row_slots[y * 8u + 5u]);
new_peak = max(new_peak, row_slots[y * 8u + 6u]);
new_peak = max(new_peak, row_slots[y * 8u + 7u]);
  let shrink = exp_rows(peak - new_peak);
  peak = new_peak;
  let weight0 = weights_of(score0, peak.x);
let weight1 = weights_of(score1, peak.y);
let weight2 = weights_of(score2, peak.z);
let weight3 = weights_of(score3, peak.w);
  total = total * shrink + vec4<f32>(sum_of(weight0), sum_of(weight1), sum_of(weight2), sum_of(weight3));
  out0_0 *= shrink.x;
out0_1 *= shrink.x;
out1_0 *= shrink.y;
out1_1 *= shrink.y;
out2_0 *= shrink.z;
out2_1 *= shrink.z;
out3_0 *= shrink.w;
out3_1 *= shrink.w;
  tile[(y + 0u) * 9u + x] = weight0;
tile[(y + 16u) * 9u + x] = weight1;
tile[(y + 32u) * 9u + x] = weight2;
tile[(y + 48u) * 9u + x] = weight3;
  for (var part = 0u; part < 32u; part += 32u) {
    if (part >= end - begin) { break; }
{ let at = local; tile[576u + at] = load_values(select(NONE, (begin + part + at / 16u) * p.kv_heads + head, begin + part + at / 16u < end), at % 16u); }
{ let at = local + 128u; tile[576u + at] = load_values(select(NONE, (begin + part + at / 16u) * p.kv_heads + head, begin + part + at / 16u < end), at % 16u); }
{ let at = local + 256u; tile[576u + at] = load_values(select(NONE, (begin + part + at / 16u) * p.kv_heads + head, begin + part + at / 16u < end), at % 16u); }
{ let at = local + 384u; tile[576u + at] = load_values(select(NONE, (begin + part + at / 16u) * p.kv_heads + head, begin + part + at / 16u < end), at % 16u); }
    workgroupBarrier();
    let weight_slot = y * 9u + part / 4u;
    for (var e = 0u; e < 8u; e++) {
let w0 = tile[weight_slot + e + 0u];
let w1 = tile[weight_slot + e + 144u];
let w2 = tile[weight_slot + e + 288u];
let w3 = tile[weight_slot + e + 432u];
      let column_slot = 576u + e * 64u + x;
{ let b = tile[column_slot + 0u]; out0_0 = fma(vec4<f32>(w0.x), b, out0_0); out1_0 = fma(vec4<f32>(w1.x), b, out1_0); out2_0 = fma(vec4<f32>(w2.x), b, out2_0); out3_0 = fma(vec4<f32>(w3.x), b, out3_0); }
{ let b = tile[column_slot + 8u]; out0_1 = fma(vec4<f32>(w0.x), b, out0_1); out1_1 = fma(vec4<f32>(w1.x), b, out1_1); out2_1 = fma(vec4<f32>(w2.x), b, out2_1); out3_1 = fma(vec4<f32>(w3.x), b, out3_1); }
{ let b = tile[column_slot + 16u]; out0_0 = fma(vec4<f32>(w0.y), b, out0_0); out1_0 = fma(vec4<f32>(w1.y), b, out1_0); out2_0 = fma(vec4<f32>(w2.y), b, out2_0); out3_0 = fma(vec4<f32>(w3.y), b, out3_0); }
{ let b = tile[column_slot + 24u]; out0_1 = fma(vec4<f32>(w0.y), b, out0_1); out1_1 = fma(vec4<f32>(w1.y), b, out1_1); out2_1 = fma(vec4<f32>(w2.y), b, out2_1); out3_1 = fma(vec4<f32>(w3.y), b, out3_1); }
{ let b = tile[column_slot + 32u]; out0_0 = fma(vec4<f32>(w0.z), b, out0_0); out1_0 = fma(vec4<f32>(w1.z), b, out1_0); out2_0 = fma(vec4<f32>(w2.z), b, out2_0); out3_0 = fma(vec4<f32>(w3.z), b, out3_0); }
{ let b = tile[column_slot + 40u]; out0_1 = fma(vec4<f32>(w0.z), b, out0_1); out1_1 = fma(vec4<f32>(w1.z), b, out1_1); out2_1 = fma(vec4<f32>(w2.z), b, out2_1); out3_1 = fma(vec4<f32>(w3.z), b, out3_1); }
{ let b = tile[column_slot + 48u]; out0_0 = fma(vec4<f32>(w0.w), b, out0_0); out1_0 = fma(vec4<f32>(w1.w), b, out1_0); out2_0 = fma(vec4<f32>(w2.w), b, out2_0); out3_0 = fma(vec4<f32>(w3.w), b, out3_0); }
{ let b = tile[column_slot + 56u]; out0_1 = fma(vec4<f32>(w0.w), b, out0_1); out1_1 = fma(vec4<f32>(w1.w), b, out1_1); out2_1 = fma(vec4<f32>(w2.w), b, out2_1); out3_1 = fma(vec4<f32>(w3.w), b, out3_1); }
    }
    workgroupBarrier();
  }
  }
  workgroupBarrier();
  row_slots[local] = total;
  workgroupBarrier();
  total = vec4<f32>(0.0);
  total += row_slots[y * 8u + 0u];
total += row_slots[y * 8u + 1u];
total += row_slots[y * 8u + 2u];
total += row_slots[y * 8u + 3u];
total += row_slots[y * 8u + 4u];
total += row_slots[y * 8u + 5u];
total += row_slots[y * 8u + 6u];
total += row_slots[y * 8u + 7u];
  if (query0 < queries_end) {
    let at = query_number(query0, queries_end, head);
    let sum = total.x;
    store_outputs(at, x + 0u, out0_0 / sum);
store_outputs(at, x + 8u, out0_1 / sum);
    if (x == 0u) { lses[at] = peak.x + log_f32(sum); }
  }
if (query1 < queries_end) {
    let at = query_number(query1, queries_end, head);
    let sum = total.y;
    store_outputs(at, x + 0u, out1_0 / sum);
store_outputs(at, x + 8u, out1_1 / sum);
    if (x == 0u) { lses[at] = peak.y + log_f32(sum); }
  }
if (query2 < queries_end) {
    let at = query_number(query2, queries_end, head);
    let sum = total.z;
    store_outputs(at, x + 0u, out2_0 / sum);
store_outputs(at, x + 8u, out2_1 / sum);
    if (x == 0u) { lses[at] = peak.z + log_f32(sum); }
  }
if (query3 < queries_end) {
    let at = query_number(query3, queries_end, head);
    let sum = total.w;
    store_outputs(at, x + 0u, out3_0 / sum);
store_outputs(at, x + 8u, out3_1 / sum);
    if (x == 0u) { lses[at] = peak.w + log_f32(sum); }
  }
}