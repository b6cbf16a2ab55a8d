struct Params { count: u32, branch_count: u32, heads: u32, kv_heads: u32, per_kv: u32, pieces: u32, first_piece: u32, bound_begin: u32, bound_end: u32, scale: f32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> queries: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> values: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> branches: array<u32>;
@group(0) @binding(5) var<storage, read_write> mixes: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> sums: array<vec2<f32>>;
fn query_number(query: u32, end: u32, head: u32) -> u32 {
  return select(NONE, query / p.per_kv * p.heads + head * p.per_kv + query % p.per_kv, query < end);
}
const NONE = 0xffffffffu;
var<workgroup> tile: array<vec4<f32>, 1056>;
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
fn store_mixes(row: u32, c: u32, value: vec4<f32>) {
  if (c >= 16u) { return; }
  mixes[row * 16u + c] = value;
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

fn piece_length(range: u32) -> u32 {
  let even = (range + p.pieces - 1u) / p.pieces;
  return max(64u, (even + 63u) / 64u * 64u);
}
@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let number = group.x + group.y * groups.x;
  if (number >= p.count) { return; }
  let x = local % 16u;
  let y = local / 16u;
  let fill = local / 8u;
  let fill_c = local % 8u;
  let piece = number % p.pieces;
  let head = number / p.pieces % p.kv_heads;
  let unit = number / p.pieces / p.kv_heads;
  let first = unit * 32u;
  let queries_end = min(first + 32u, p.branch_count * p.per_kv);
  let branches_end = (queries_end - 1u) / p.per_kv + 1u;
  let row_at0 = query_number(first + fill, queries_end, head);
let row_at1 = query_number(first + fill + 16u, queries_end, head);
  let at0 = query_number(first + y + 0u, queries_end, head);
  let branch0 = (first + y + 0u) / p.per_kv;
let at1 = query_number(first + y + 8u, queries_end, head);
  let branch1 = (first + y + 8u) / p.per_kv;
let at2 = query_number(first + y + 16u, queries_end, head);
  let branch2 = (first + y + 16u) / p.per_kv;
let at3 = query_number(first + y + 24u, queries_end, head);
  let branch3 = (first + y + 24u) / p.per_kv;
  var peak = vec4<f32>(-1e30);
  var total = vec4<f32>(0.0);
  var out0_0 = vec4<f32>();
var out1_0 = vec4<f32>();
var out2_0 = vec4<f32>();
var out3_0 = vec4<f32>();
  var branch = first / p.per_kv;
  while (branch < branches_end) {
    let prefix_begin = branches[(branch) * 6u + 0u];
    let prefix_end = branches[(branch) * 6u + 1u];
    var next = branch + 1u;
    while (next < branches_end) {
      let other = branches[(next) * 6u + 0u] != prefix_begin ||
        branches[(next) * 6u + 1u] != prefix_end;
      if (other) { break; }
      next++;
    }
    let range_begin = max(prefix_begin, p.bound_begin);
    let range_end = max(range_begin, min(prefix_end, p.bound_end));
    let length = piece_length(range_end - range_begin);
    let piece_begin = range_begin + piece * length;
    let end = min(piece_begin + length, range_end);
    let end0 = select(0u, end, branch0 >= branch && branch0 < next);
let end1 = select(0u, end, branch1 >= branch && branch1 < next);
let end2 = select(0u, end, branch2 >= branch && branch2 < next);
let end3 = select(0u, end, branch3 >= branch && branch3 < next);
    for (var begin = piece_begin; begin < end; begin += 64u) {
      let column_at0 = select(NONE, ((begin + fill) - p.bound_begin) * p.kv_heads + head, begin + fill < end);
let column_at1 = select(NONE, ((begin + fill + 16u) - p.bound_begin) * p.kv_heads + head, begin + fill + 16u < end);
let column_at2 = select(NONE, ((begin + fill + 32u) - p.bound_begin) * p.kv_heads + head, begin + fill + 32u < end);
let column_at3 = select(NONE, ((begin + fill + 48u) - p.bound_begin) * p.kv_heads + head, begin + fill + 48u < end);
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
tile[288u + (((fill) % 4u) * 16u + (fill) / 4u) * 9u + fill_c] = load_keys(column_at0, d + fill_c);
tile[288u + (((fill + 16u) % 4u) * 16u + (fill + 16u) / 4u) * 9u + fill_c] = load_keys(column_at1, d + fill_c);
tile[288u + (((fill + 32u) % 4u) * 16u + (fill + 32u) / 4u) * 9u + fill_c] = load_keys(column_at2, d + fill_c);
tile[288u + (((fill + 48u) % 4u) * 16u + (fill + 48u) / 4u) * 9u + fill_c] = load_keys(column_at3, d + fill_c);
    workgroupBarrier();
    let row_slot = y * 9u;
    let column_slot = x * 9u;
    for (var e = 0u; e < 8u; e += 4u) {
{
let a0 = tile[row_slot + e + 0u];
let a1 = tile[row_slot + e + 72u];
let a2 = tile[row_slot + e + 144u];
let a3 = tile[row_slot + e + 216u];
let b0 = tile[column_slot + e + 288u];
let b1 = tile[column_slot + e + 432u];
let b2 = tile[column_slot + e + 576u];
let b3 = tile[column_slot + e + 720u];
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
let a1 = tile[row_slot + e + 73u];
let a2 = tile[row_slot + e + 145u];
let a3 = tile[row_slot + e + 217u];
let b0 = tile[column_slot + e + 289u];
let b1 = tile[column_slot + e + 433u];
let b2 = tile[column_slot + e + 577u];
let b3 = tile[column_slot + e + 721u];
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
let a1 = tile[row_slot + e + 74u];
let a2 = tile[row_slot + e + 146u];
let a3 = tile[row_slot + e + 218u];
let b0 = tile[column_slot + e + 290u];
let b1 = tile[column_slot + e + 434u];
let b2 = tile[column_slot + e + 578u];
let b3 = tile[column_slot + e + 722u];
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
let a1 = tile[row_slot + e + 75u];
let a2 = tile[row_slot + e + 147u];
let a3 = tile[row_slot + e + 219u];
let b0 = tile[column_slot + e + 291u];
let b1 = tile[column_slot + e + 435u];
let b2 = tile[column_slot + e + 579u];
let b3 = tile[column_slot + e + 723u];
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
  let score0 = select(vec4<f32>(-1e30), p.scale * dot0, key4 < vec4<u32>(end0));
let score1 = select(vec4<f32>(-1e30), p.scale * dot1, key4 < vec4<u32>(end1));
let score2 = select(vec4<f32>(-1e30), p.scale * dot2, key4 < vec4<u32>(end2));
let score3 = select(vec4<f32>(-1e30), p.scale * dot3, key4 < vec4<u32>(end3));
  row_slots[local] = vec4<f32>(largest_of(score0), largest_of(score1), largest_of(score2), largest_of(score3));
  workgroupBarrier();
  var new_peak = peak;
  new_peak = max(new_peak, row_slots[y * 16u + 0u]);
new_peak = max(new_peak, row_slots[y * 16u + 1u]);
new_peak = max(new_peak, row_slots[y * 16u + 2u]);
new_peak = max(new_peak, row_slots[y * 16u + 3u]);
new_peak = max(new_peak, row_slots[y * 16u + 4u]);
new_peak = max(new_peak, row_slots[y * 16u + 5u]);
new_peak = max(new_peak, row_slots[y * 16u + 6u]);
new_peak = max(new_peak, row_slots[y * 16u + 7u]);
new_peak = max(new_peak, row_slots[y * 16u + 8u]);
new_peak = max(new_peak, row_slots[y * 16u + 9u]);
new_peak = max(new_peak, row_slots[y * 16u + 10u]);
new_peak = max(new_peak, row_slots[y * 16u + 11u]);
new_peak = max(new_peak, row_slots[y * 16u + 12u]);
new_peak = max(new_peak, row_slots[y * 16u + 13u]);
new_peak = max(new_peak, row_slots[y * 16u + 14u]);
new_peak = max(new_peak, row_slots[y * 16u + 15u]);
  let shrink = exp_rows(peak - new_peak);
  peak = new_peak;
  let weight0 = weights_of(score0, peak.x);
let weight1 = weights_of(score1, peak.y);
let weight2 = weights_of(score2, peak.z);
let weight3 = weights_of(score3, peak.w);
  total = total * shrink + vec4<f32>(sum_of(weight0), sum_of(weight1), sum_of(weight2), sum_of(weight3));
  out0_0 *= shrink.x;
out1_0 *= shrink.y;
out2_0 *= shrink.z;
out3_0 *= shrink.w;
  tile[(y + 0u) * 17u + x] = weight0;
tile[(y + 8u) * 17u + x] = weight1;
tile[(y + 16u) * 17u + x] = weight2;
tile[(y + 24u) * 17u + x] = weight3;
  for (var part = 0u; part < 64u; part += 32u) {
    if (part >= end - begin) { break; }
{ let at = local; tile[544u + at] = load_values(select(NONE, ((begin + part + at / 16u) - p.bound_begin) * p.kv_heads + head, begin + part + at / 16u < end), at % 16u); }
{ let at = local + 128u; tile[544u + at] = load_values(select(NONE, ((begin + part + at / 16u) - p.bound_begin) * p.kv_heads + head, begin + part + at / 16u < end), at % 16u); }
{ let at = local + 256u; tile[544u + at] = load_values(select(NONE, ((begin + part + at / 16u) - p.bound_begin) * p.kv_heads + head, begin + part + at / 16u < end), at % 16u); }
{ let at = local + 384u; tile[544u + at] = load_values(select(NONE, ((begin + part + at / 16u) - p.bound_begin) * p.kv_heads + head, begin + part + at / 16u < end), at % 16u); }
    workgroupBarrier();
    let weight_slot = y * 17u + part / 4u;
    for (var e = 0u; e < 8u; e++) {
let w0 = tile[weight_slot + e + 0u];
let w1 = tile[weight_slot + e + 136u];
let w2 = tile[weight_slot + e + 272u];
let w3 = tile[weight_slot + e + 408u];
      let column_slot = 544u + e * 64u + x;
{ let b = tile[column_slot + 0u]; out0_0 = fma(vec4<f32>(w0.x), b, out0_0); out1_0 = fma(vec4<f32>(w1.x), b, out1_0); out2_0 = fma(vec4<f32>(w2.x), b, out2_0); out3_0 = fma(vec4<f32>(w3.x), b, out3_0); }
{ let b = tile[column_slot + 16u]; out0_0 = fma(vec4<f32>(w0.y), b, out0_0); out1_0 = fma(vec4<f32>(w1.y), b, out1_0); out2_0 = fma(vec4<f32>(w2.y), b, out2_0); out3_0 = fma(vec4<f32>(w3.y), b, out3_0); }
{ let b = tile[column_slot + 32u]; out0_0 = fma(vec4<f32>(w0.z), b, out0_0); out1_0 = fma(vec4<f32>(w1.z), b, out1_0); out2_0 = fma(vec4<f32>(w2.z), b, out2_0); out3_0 = fma(vec4<f32>(w3.z), b, out3_0); }
{ let b = tile[column_slot + 48u]; out0_0 = fma(vec4<f32>(w0.w), b, out0_0); out1_0 = fma(vec4<f32>(w1.w), b, out1_0); out2_0 = fma(vec4<f32>(w2.w), b, out2_0); out3_0 = fma(vec4<f32>(w3.w), b, out3_0); }
    }
    workgroupBarrier();
  }
    }
    branch = next;
  }
  workgroupBarrier();
  row_slots[local] = total;
  workgroupBarrier();
  total = vec4<f32>(0.0);
  total += row_slots[y * 16u + 0u];
total += row_slots[y * 16u + 1u];
total += row_slots[y * 16u + 2u];
total += row_slots[y * 16u + 3u];
total += row_slots[y * 16u + 4u];
total += row_slots[y * 16u + 5u];
total += row_slots[y * 16u + 6u];
total += row_slots[y * 16u + 7u];
total += row_slots[y * 16u + 8u];
total += row_slots[y * 16u + 9u];
total += row_slots[y * 16u + 10u];
total += row_slots[y * 16u + 11u];
total += row_slots[y * 16u + 12u];
total += row_slots[y * 16u + 13u];
total += row_slots[y * 16u + 14u];
total += row_slots[y * 16u + 15u];
  let rows = p.branch_count * p.heads;
  let piece_at = (p.first_piece + piece) * rows;
  if (at0 != NONE) {
    let sum = total.x;
    if (x == 0u) { sums[piece_at + at0] = vec2<f32>(peak.x, sum); }
    if (sum > 0.0) {
      store_mixes(piece_at + at0, x + 0u, out0_0);
    }
  }
if (at1 != NONE) {
    let sum = total.y;
    if (x == 0u) { sums[piece_at + at1] = vec2<f32>(peak.y, sum); }
    if (sum > 0.0) {
      store_mixes(piece_at + at1, x + 0u, out1_0);
    }
  }
if (at2 != NONE) {
    let sum = total.z;
    if (x == 0u) { sums[piece_at + at2] = vec2<f32>(peak.z, sum); }
    if (sum > 0.0) {
      store_mixes(piece_at + at2, x + 0u, out2_0);
    }
  }
if (at3 != NONE) {
    let sum = total.w;
    if (x == 0u) { sums[piece_at + at3] = vec2<f32>(peak.w, sum); }
    if (sum > 0.0) {
      store_mixes(piece_at + at3, x + 0u, out3_0);
    }
  }
}