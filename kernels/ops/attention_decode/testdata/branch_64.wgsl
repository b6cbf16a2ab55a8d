struct Params { count: u32, branch_count: u32, heads: u32, kv_heads: u32, per_kv: u32, pieces: u32, first_piece: u32, bound_begin: u32, bound_end: u32, scale: f32, max_new: u32, window: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> queries: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> values: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> branches: array<u32>;
@group(0) @binding(5) var<storage, read_write> mixes: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> sums: array<vec2<f32>>;
const NONE = 0xffffffffu;
var<workgroup> tile: array<vec4<f32>, 648>;
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

var<workgroup> row_slots: array<f32, 128>;
fn exp_rows(x: f32) -> f32 { return f32(exp_f32(x)); }
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
  let head_tiles = (p.per_kv + 7u) / 8u;
  let branch = unit / head_tiles;
  let slot = branches[(branch) * 6u + 2u];
  if (slot < p.bound_begin || slot >= p.bound_end) { return; }
  let first = unit % head_tiles * 8u;
  let first_query = branch * p.heads + head * p.per_kv + first;
  let length = branches[(branch) * 6u + 3u];
  let visible = min(length, p.window);
  let cache_row = (slot - p.bound_begin) * p.max_new;
  let row_at0 = select(NONE, first_query + fill, first + fill < p.per_kv);
  let at0 = select(NONE, first_query + y + 0u, first + y + 0u < p.per_kv);
  var peak = f32(-1e30);
  var total = f32(0.0);
  var out0_0 = vec4<f32>();
  let piece_begin = length - visible + piece * piece_length(visible);
  let end = min(piece_begin + piece_length(visible), length);
  for (var begin = piece_begin; begin < end; begin += 64u) {
    let column_at0 = select(NONE, (cache_row + (begin + fill)) * p.kv_heads + head, begin + fill < end);
let column_at1 = select(NONE, (cache_row + (begin + fill + 16u)) * p.kv_heads + head, begin + fill + 16u < end);
let column_at2 = select(NONE, (cache_row + (begin + fill + 32u)) * p.kv_heads + head, begin + fill + 32u < end);
let column_at3 = select(NONE, (cache_row + (begin + fill + 48u)) * p.kv_heads + head, begin + fill + 48u < end);
  var dot0_0 = 0.0;
var dot0_1 = 0.0;
var dot0_2 = 0.0;
var dot0_3 = 0.0;
  for (var d = 0u; d < 16u; d += 8u) {
if (fill < 8u) { tile[0u + (fill) * 9u + fill_c] = load_queries(row_at0, d + fill_c); }
tile[72u + (((fill) % 4u) * 16u + (fill) / 4u) * 9u + fill_c] = load_keys(column_at0, d + fill_c);
tile[72u + (((fill + 16u) % 4u) * 16u + (fill + 16u) / 4u) * 9u + fill_c] = load_keys(column_at1, d + fill_c);
tile[72u + (((fill + 32u) % 4u) * 16u + (fill + 32u) / 4u) * 9u + fill_c] = load_keys(column_at2, d + fill_c);
tile[72u + (((fill + 48u) % 4u) * 16u + (fill + 48u) / 4u) * 9u + fill_c] = load_keys(column_at3, d + fill_c);
    workgroupBarrier();
    let row_slot = y * 9u;
    let column_slot = x * 9u;
    for (var e = 0u; e < 8u; e += 4u) {
{
let a0 = tile[row_slot + e + 0u];
let b0 = tile[column_slot + e + 72u];
let b1 = tile[column_slot + e + 216u];
let b2 = tile[column_slot + e + 360u];
let b3 = tile[column_slot + e + 504u];
dot0_0 = fma(a0.w, b0.w, fma(a0.z, b0.z, fma(a0.y, b0.y, fma(a0.x, b0.x, dot0_0))));
dot0_1 = fma(a0.w, b1.w, fma(a0.z, b1.z, fma(a0.y, b1.y, fma(a0.x, b1.x, dot0_1))));
dot0_2 = fma(a0.w, b2.w, fma(a0.z, b2.z, fma(a0.y, b2.y, fma(a0.x, b2.x, dot0_2))));
dot0_3 = fma(a0.w, b3.w, fma(a0.z, b3.z, fma(a0.y, b3.y, fma(a0.x, b3.x, dot0_3))));
}
{
let a0 = tile[row_slot + e + 1u];
let b0 = tile[column_slot + e + 73u];
let b1 = tile[column_slot + e + 217u];
let b2 = tile[column_slot + e + 361u];
let b3 = tile[column_slot + e + 505u];
dot0_0 = fma(a0.w, b0.w, fma(a0.z, b0.z, fma(a0.y, b0.y, fma(a0.x, b0.x, dot0_0))));
dot0_1 = fma(a0.w, b1.w, fma(a0.z, b1.z, fma(a0.y, b1.y, fma(a0.x, b1.x, dot0_1))));
dot0_2 = fma(a0.w, b2.w, fma(a0.z, b2.z, fma(a0.y, b2.y, fma(a0.x, b2.x, dot0_2))));
dot0_3 = fma(a0.w, b3.w, fma(a0.z, b3.z, fma(a0.y, b3.y, fma(a0.x, b3.x, dot0_3))));
}
{
let a0 = tile[row_slot + e + 2u];
let b0 = tile[column_slot + e + 74u];
let b1 = tile[column_slot + e + 218u];
let b2 = tile[column_slot + e + 362u];
let b3 = tile[column_slot + e + 506u];
dot0_0 = fma(a0.w, b0.w, fma(a0.z, b0.z, fma(a0.y, b0.y, fma(a0.x, b0.x, dot0_0))));
dot0_1 = fma(a0.w, b1.w, fma(a0.z, b1.z, fma(a0.y, b1.y, fma(a0.x, b1.x, dot0_1))));
dot0_2 = fma(a0.w, b2.w, fma(a0.z, b2.z, fma(a0.y, b2.y, fma(a0.x, b2.x, dot0_2))));
dot0_3 = fma(a0.w, b3.w, fma(a0.z, b3.z, fma(a0.y, b3.y, fma(a0.x, b3.x, dot0_3))));
}
{
let a0 = tile[row_slot + e + 3u];
let b0 = tile[column_slot + e + 75u];
let b1 = tile[column_slot + e + 219u];
let b2 = tile[column_slot + e + 363u];
let b3 = tile[column_slot + e + 507u];
dot0_0 = fma(a0.w, b0.w, fma(a0.z, b0.z, fma(a0.y, b0.y, fma(a0.x, b0.x, dot0_0))));
dot0_1 = fma(a0.w, b1.w, fma(a0.z, b1.z, fma(a0.y, b1.y, fma(a0.x, b1.x, dot0_1))));
dot0_2 = fma(a0.w, b2.w, fma(a0.z, b2.z, fma(a0.y, b2.y, fma(a0.x, b2.x, dot0_2))));
dot0_3 = fma(a0.w, b3.w, fma(a0.z, b3.z, fma(a0.y, b3.y, fma(a0.x, b3.x, dot0_3))));
}
    }
    workgroupBarrier();
  }
let dot0 = vec4<f32>(dot0_0, dot0_1, dot0_2, dot0_3);
  let key4 = vec4<u32>(begin + 4u * x) + vec4<u32>(0u, 1u, 2u, 3u);
  let score0 = select(vec4<f32>(-1e30), p.scale * dot0, key4 < vec4<u32>(end));
  row_slots[local] = f32(largest_of(score0));
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
  let weight0 = weights_of(score0, peak);
  total = total * shrink + f32(sum_of(weight0));
  out0_0 *= shrink;
  tile[(y + 0u) * 17u + x] = weight0;
  for (var part = 0u; part < 64u; part += 32u) {
    if (part >= end - begin) { break; }
{ let at = local; tile[136u + at] = load_values(select(NONE, (cache_row + (begin + part + at / 16u)) * p.kv_heads + head, begin + part + at / 16u < end), at % 16u); }
{ let at = local + 128u; tile[136u + at] = load_values(select(NONE, (cache_row + (begin + part + at / 16u)) * p.kv_heads + head, begin + part + at / 16u < end), at % 16u); }
{ let at = local + 256u; tile[136u + at] = load_values(select(NONE, (cache_row + (begin + part + at / 16u)) * p.kv_heads + head, begin + part + at / 16u < end), at % 16u); }
{ let at = local + 384u; tile[136u + at] = load_values(select(NONE, (cache_row + (begin + part + at / 16u)) * p.kv_heads + head, begin + part + at / 16u < end), at % 16u); }
    workgroupBarrier();
    let weight_slot = y * 17u + part / 4u;
    for (var e = 0u; e < 8u; e++) {
let w0 = tile[weight_slot + e + 0u];
      let column_slot = 136u + e * 64u + x;
{ let b = tile[column_slot + 0u]; out0_0 = fma(vec4<f32>(w0.x), b, out0_0); }
{ let b = tile[column_slot + 16u]; out0_0 = fma(vec4<f32>(w0.y), b, out0_0); }
{ let b = tile[column_slot + 32u]; out0_0 = fma(vec4<f32>(w0.z), b, out0_0); }
{ let b = tile[column_slot + 48u]; out0_0 = fma(vec4<f32>(w0.w), b, out0_0); }
    }
    workgroupBarrier();
  }
  }
  workgroupBarrier();
  row_slots[local] = total;
  workgroupBarrier();
  total = f32(0.0);
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
    let sum = total;
    if (x == 0u) { sums[piece_at + at0] = vec2<f32>(peak, sum); }
    if (sum > 0.0) {
      store_mixes(piece_at + at0, x + 0u, out0_0);
    }
  }
}