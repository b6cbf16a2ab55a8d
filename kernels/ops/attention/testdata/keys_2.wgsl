struct Params { count: u32, rows: u32, row_begin: u32, heads: u32, kv_heads: u32, per_kv: u32, window: u32, scale: f32, parts: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> queries: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read> keys: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> values: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read> douts: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> stats: array<vec2<f32>>;
@group(0) @binding(6) var<storage, read> limits: array<u32>;
@group(0) @binding(7) var<storage, read_write> dkeys: array<vec2<f32>>;
@group(0) @binding(8) var<storage, read_write> dvalues: array<vec2<f32>>;
const NONE = 0xffffffffu;
var<workgroup> tile: array<vec4<f32>, 608>;
fn load_queries(row: u32, c: u32) -> vec4<f32> {
  if (row == NONE) { return vec4<f32>(); }
  
  let at = row * 1u + 2u * c;
  var rest = vec2<f32>();
  if (4u * c + 2u < 2u) { rest = queries[at + 1u]; }
  return vec4<f32>(queries[at], rest);
}
fn load_keys(row: u32, c: u32) -> vec4<f32> {
  if (row == NONE) { return vec4<f32>(); }
  
  let at = row * 1u + 2u * c;
  var rest = vec2<f32>();
  if (4u * c + 2u < 2u) { rest = keys[at + 1u]; }
  return vec4<f32>(keys[at], rest);
}
fn load_values(row: u32, c: u32) -> vec4<f32> {
  if (row == NONE) { return vec4<f32>(); }
  
  let at = row * 1u + 2u * c;
  var rest = vec2<f32>();
  if (4u * c + 2u < 2u) { rest = values[at + 1u]; }
  return vec4<f32>(values[at], rest);
}
fn load_douts(row: u32, c: u32) -> vec4<f32> {
  if (row == NONE) { return vec4<f32>(); }
  
  let at = row * 1u + 2u * c;
  var rest = vec2<f32>();
  if (4u * c + 2u < 2u) { rest = douts[at + 1u]; }
  return vec4<f32>(douts[at], rest);
}
fn store_dkeys(row: u32, c: u32, value: vec4<f32>) {
  if (c >= 1u) { return; }
  
  let at = row * 1u + 2u * c;
  dkeys[at] = value.xy;
  if (4u * c + 2u < 2u) { dkeys[at + 1u] = value.zw; }
}
fn store_dvalues(row: u32, c: u32, value: vec4<f32>) {
  if (c >= 1u) { return; }
  
  let at = row * 1u + 2u * c;
  dvalues[at] = value.xy;
  if (4u * c + 2u < 2u) { dvalues[at + 1u] = value.zw; }
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

fn exp4(x: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(exp_f32(x.x), exp_f32(x.y), exp_f32(x.z), exp_f32(x.w));
}
fn part_rows(range: u32) -> u32 {
  return max(128u, (range + p.parts - 1u) / p.parts);
}
fn query_row(query: u32, head: u32) -> u32 {
  return query / p.per_kv * p.heads + head * p.per_kv + query % p.per_kv;
}
fn limit_of(key: u32) -> u32 {
  if (key >= p.rows) { return 0u; }
  return limits[key];
}
fn key_number(key: u32, head: u32) -> u32 {
  return select(NONE, key * p.kv_heads + head, key < p.rows);
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let number = group.x + group.y * groups.x;
  if (number >= p.count) { return; }
  let x = local % 8u;
  let y = local / 8u;
  let fill = local / 1u;
  let fill_c = local % 1u;
  let piece = number % p.parts;
  let head = number / p.parts % p.kv_heads;
  let key_tile = number / p.parts / p.kv_heads;
  let first = key_tile * 64u;
  let last_limit = limits[p.rows + key_tile];
  let length = part_rows(last_limit - first);
  let from_row = first + piece * length;
  if (from_row >= last_limit) { return; }
  let queries_end = min(from_row + length, last_limit) * p.per_kv;
  let row_at0 = key_number(first + fill, head);
  let key0 = first + y + 0u;
  let limit0 = limit_of(key0);
let key1 = first + y + 16u;
  let limit1 = limit_of(key1);
let key2 = first + y + 32u;
  let limit2 = limit_of(key2);
let key3 = first + y + 48u;
  let limit3 = limit_of(key3);
  var dk0_0 = vec4<f32>();
var dk1_0 = vec4<f32>();
var dk2_0 = vec4<f32>();
var dk3_0 = vec4<f32>();
  var dv0_0 = vec4<f32>();
var dv1_0 = vec4<f32>();
var dv2_0 = vec4<f32>();
var dv3_0 = vec4<f32>();
  for (var begin = from_row * p.per_kv; begin < queries_end; begin += 32u) {
    let column_at0 = select(NONE, query_row(begin + fill, head), begin + fill < queries_end);
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
var slope0_0 = 0.0;
var slope0_1 = 0.0;
var slope0_2 = 0.0;
var slope0_3 = 0.0;
var slope1_0 = 0.0;
var slope1_1 = 0.0;
var slope1_2 = 0.0;
var slope1_3 = 0.0;
var slope2_0 = 0.0;
var slope2_1 = 0.0;
var slope2_2 = 0.0;
var slope2_3 = 0.0;
var slope3_0 = 0.0;
var slope3_1 = 0.0;
var slope3_2 = 0.0;
var slope3_3 = 0.0;
  for (var d = 0u; d < 1u; d += 1u) {
if (fill < 64u) { tile[0u + (fill) * 1u + fill_c] = load_keys(row_at0, d + fill_c); }
if (fill < 32u) { tile[64u + (((fill) % 4u) * 8u + (fill) / 4u) * 1u + fill_c] = load_queries(column_at0, d + fill_c); }
if (fill < 64u) { tile[96u + (fill) * 1u + fill_c] = load_values(row_at0, d + fill_c); }
if (fill < 32u) { tile[160u + (((fill) % 4u) * 8u + (fill) / 4u) * 1u + fill_c] = load_douts(column_at0, d + fill_c); }
    workgroupBarrier();
    let row_slot = y * 1u;
    let column_slot = x * 1u;
    for (var e = 0u; e < 1u; e += 1u) {
{
let a0 = tile[row_slot + e + 0u];
let a1 = tile[row_slot + e + 16u];
let a2 = tile[row_slot + e + 32u];
let a3 = tile[row_slot + e + 48u];
let b0 = tile[column_slot + e + 64u];
let b1 = tile[column_slot + e + 72u];
let b2 = tile[column_slot + e + 80u];
let b3 = tile[column_slot + e + 88u];
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
let a0 = tile[row_slot + e + 96u];
let a1 = tile[row_slot + e + 112u];
let a2 = tile[row_slot + e + 128u];
let a3 = tile[row_slot + e + 144u];
let b0 = tile[column_slot + e + 160u];
let b1 = tile[column_slot + e + 168u];
let b2 = tile[column_slot + e + 176u];
let b3 = tile[column_slot + e + 184u];
slope0_0 = fma(a0.w, b0.w, fma(a0.z, b0.z, fma(a0.y, b0.y, fma(a0.x, b0.x, slope0_0))));
slope0_1 = fma(a0.w, b1.w, fma(a0.z, b1.z, fma(a0.y, b1.y, fma(a0.x, b1.x, slope0_1))));
slope0_2 = fma(a0.w, b2.w, fma(a0.z, b2.z, fma(a0.y, b2.y, fma(a0.x, b2.x, slope0_2))));
slope0_3 = fma(a0.w, b3.w, fma(a0.z, b3.z, fma(a0.y, b3.y, fma(a0.x, b3.x, slope0_3))));
slope1_0 = fma(a1.w, b0.w, fma(a1.z, b0.z, fma(a1.y, b0.y, fma(a1.x, b0.x, slope1_0))));
slope1_1 = fma(a1.w, b1.w, fma(a1.z, b1.z, fma(a1.y, b1.y, fma(a1.x, b1.x, slope1_1))));
slope1_2 = fma(a1.w, b2.w, fma(a1.z, b2.z, fma(a1.y, b2.y, fma(a1.x, b2.x, slope1_2))));
slope1_3 = fma(a1.w, b3.w, fma(a1.z, b3.z, fma(a1.y, b3.y, fma(a1.x, b3.x, slope1_3))));
slope2_0 = fma(a2.w, b0.w, fma(a2.z, b0.z, fma(a2.y, b0.y, fma(a2.x, b0.x, slope2_0))));
slope2_1 = fma(a2.w, b1.w, fma(a2.z, b1.z, fma(a2.y, b1.y, fma(a2.x, b1.x, slope2_1))));
slope2_2 = fma(a2.w, b2.w, fma(a2.z, b2.z, fma(a2.y, b2.y, fma(a2.x, b2.x, slope2_2))));
slope2_3 = fma(a2.w, b3.w, fma(a2.z, b3.z, fma(a2.y, b3.y, fma(a2.x, b3.x, slope2_3))));
slope3_0 = fma(a3.w, b0.w, fma(a3.z, b0.z, fma(a3.y, b0.y, fma(a3.x, b0.x, slope3_0))));
slope3_1 = fma(a3.w, b1.w, fma(a3.z, b1.z, fma(a3.y, b1.y, fma(a3.x, b1.x, slope3_1))));
slope3_2 = fma(a3.w, b2.w, fma(a3.z, b2.z, fma(a3.y, b2.y, fma(a3.x, b2.x, slope3_2))));
slope3_3 = fma(a3.w, b3.w, fma(a3.z, b3.z, fma(a3.y, b3.y, fma(a3.x, b3.x, slope3_3))));
}
    }
    workgroupBarrier();
  }
let dot0 = vec4<f32>(dot0_0, dot0_1, dot0_2, dot0_3);
let dot1 = vec4<f32>(dot1_0, dot1_1, dot1_2, dot1_3);
let dot2 = vec4<f32>(dot2_0, dot2_1, dot2_2, dot2_3);
let dot3 = vec4<f32>(dot3_0, dot3_1, dot3_2, dot3_3);
let slope0 = vec4<f32>(slope0_0, slope0_1, slope0_2, slope0_3);
let slope1 = vec4<f32>(slope1_0, slope1_1, slope1_2, slope1_3);
let slope2 = vec4<f32>(slope2_0, slope2_1, slope2_2, slope2_3);
let slope3 = vec4<f32>(slope3_0, slope3_1, slope3_2, slope3_3);
    let query4 = vec4<u32>(begin + 4u * x) + vec4<u32>(0u, 1u, 2u, 3u);
    let inside = query4 < vec4<u32>(queries_end);
    let row4 = query4 / p.per_kv;
    var stat_x = vec2<f32>();
    if (inside.x) { stat_x = stats[query_row(query4.x, head)]; }
var stat_y = vec2<f32>();
    if (inside.y) { stat_y = stats[query_row(query4.y, head)]; }
var stat_z = vec2<f32>();
    if (inside.z) { stat_z = stats[query_row(query4.z, head)]; }
var stat_w = vec2<f32>();
    if (inside.w) { stat_w = stats[query_row(query4.w, head)]; }
    let lse4 = vec4<f32>(stat_x.x, stat_y.x, stat_z.x, stat_w.x);
    let delta4 = vec4<f32>(stat_x.y, stat_y.y, stat_z.y, stat_w.y);
    
    let attended0 = inside & (row4 >= vec4<u32>(key0)) & (row4 < vec4<u32>(limit0));
    let weight0 = select(vec4<f32>(), exp4(p.scale * dot0 - lse4), attended0);
    let ds0 = weight0 * (slope0 - delta4);
let attended1 = inside & (row4 >= vec4<u32>(key1)) & (row4 < vec4<u32>(limit1));
    let weight1 = select(vec4<f32>(), exp4(p.scale * dot1 - lse4), attended1);
    let ds1 = weight1 * (slope1 - delta4);
let attended2 = inside & (row4 >= vec4<u32>(key2)) & (row4 < vec4<u32>(limit2));
    let weight2 = select(vec4<f32>(), exp4(p.scale * dot2 - lse4), attended2);
    let ds2 = weight2 * (slope2 - delta4);
let attended3 = inside & (row4 >= vec4<u32>(key3)) & (row4 < vec4<u32>(limit3));
    let weight3 = select(vec4<f32>(), exp4(p.scale * dot3 - lse4), attended3);
    let ds3 = weight3 * (slope3 - delta4);
    tile[(y + 0u) * 9u + x] = weight0;
tile[(y + 16u) * 9u + x] = weight1;
tile[(y + 32u) * 9u + x] = weight2;
tile[(y + 48u) * 9u + x] = weight3;
    for (var part = 0u; part < 32u; part += 32u) {
    if (part >= queries_end - begin) { break; }
if (local < 32u) { let at = local; tile[576u + at] = load_douts(select(NONE, query_row(begin + part + at / 1u, head), begin + part + at / 1u < queries_end), at % 1u); }
    workgroupBarrier();
    let weight_slot = y * 9u + part / 4u;
    for (var e = 0u; e < 8u; e++) {
let w0 = tile[weight_slot + e + 0u];
let w1 = tile[weight_slot + e + 144u];
let w2 = tile[weight_slot + e + 288u];
let w3 = tile[weight_slot + e + 432u];
      let column_slot = 576u + e * 4u + x;
{ let b = tile[column_slot + 0u]; dv0_0 = fma(vec4<f32>(w0.x), b, dv0_0); dv1_0 = fma(vec4<f32>(w1.x), b, dv1_0); dv2_0 = fma(vec4<f32>(w2.x), b, dv2_0); dv3_0 = fma(vec4<f32>(w3.x), b, dv3_0); }
{ let b = tile[column_slot + 1u]; dv0_0 = fma(vec4<f32>(w0.y), b, dv0_0); dv1_0 = fma(vec4<f32>(w1.y), b, dv1_0); dv2_0 = fma(vec4<f32>(w2.y), b, dv2_0); dv3_0 = fma(vec4<f32>(w3.y), b, dv3_0); }
{ let b = tile[column_slot + 2u]; dv0_0 = fma(vec4<f32>(w0.z), b, dv0_0); dv1_0 = fma(vec4<f32>(w1.z), b, dv1_0); dv2_0 = fma(vec4<f32>(w2.z), b, dv2_0); dv3_0 = fma(vec4<f32>(w3.z), b, dv3_0); }
{ let b = tile[column_slot + 3u]; dv0_0 = fma(vec4<f32>(w0.w), b, dv0_0); dv1_0 = fma(vec4<f32>(w1.w), b, dv1_0); dv2_0 = fma(vec4<f32>(w2.w), b, dv2_0); dv3_0 = fma(vec4<f32>(w3.w), b, dv3_0); }
    }
    workgroupBarrier();
  }
    tile[(y + 0u) * 9u + x] = ds0;
tile[(y + 16u) * 9u + x] = ds1;
tile[(y + 32u) * 9u + x] = ds2;
tile[(y + 48u) * 9u + x] = ds3;
    for (var part = 0u; part < 32u; part += 32u) {
    if (part >= queries_end - begin) { break; }
if (local < 32u) { let at = local; tile[576u + at] = load_queries(select(NONE, query_row(begin + part + at / 1u, head), begin + part + at / 1u < queries_end), at % 1u); }
    workgroupBarrier();
    let weight_slot = y * 9u + part / 4u;
    for (var e = 0u; e < 8u; e++) {
let w0 = tile[weight_slot + e + 0u];
let w1 = tile[weight_slot + e + 144u];
let w2 = tile[weight_slot + e + 288u];
let w3 = tile[weight_slot + e + 432u];
      let column_slot = 576u + e * 4u + x;
{ let b = tile[column_slot + 0u]; dk0_0 = fma(vec4<f32>(w0.x), b, dk0_0); dk1_0 = fma(vec4<f32>(w1.x), b, dk1_0); dk2_0 = fma(vec4<f32>(w2.x), b, dk2_0); dk3_0 = fma(vec4<f32>(w3.x), b, dk3_0); }
{ let b = tile[column_slot + 1u]; dk0_0 = fma(vec4<f32>(w0.y), b, dk0_0); dk1_0 = fma(vec4<f32>(w1.y), b, dk1_0); dk2_0 = fma(vec4<f32>(w2.y), b, dk2_0); dk3_0 = fma(vec4<f32>(w3.y), b, dk3_0); }
{ let b = tile[column_slot + 2u]; dk0_0 = fma(vec4<f32>(w0.z), b, dk0_0); dk1_0 = fma(vec4<f32>(w1.z), b, dk1_0); dk2_0 = fma(vec4<f32>(w2.z), b, dk2_0); dk3_0 = fma(vec4<f32>(w3.z), b, dk3_0); }
{ let b = tile[column_slot + 3u]; dk0_0 = fma(vec4<f32>(w0.w), b, dk0_0); dk1_0 = fma(vec4<f32>(w1.w), b, dk1_0); dk2_0 = fma(vec4<f32>(w2.w), b, dk2_0); dk3_0 = fma(vec4<f32>(w3.w), b, dk3_0); }
    }
    workgroupBarrier();
  }
  }
  let part_at = piece * p.rows * p.kv_heads;
  if (key0 < p.rows) {
    let at = part_at + key0 * p.kv_heads + head;
    store_dkeys(at, x + 0u, p.scale * dk0_0);
    store_dvalues(at, x + 0u, dv0_0);
  }
if (key1 < p.rows) {
    let at = part_at + key1 * p.kv_heads + head;
    store_dkeys(at, x + 0u, p.scale * dk1_0);
    store_dvalues(at, x + 0u, dv1_0);
  }
if (key2 < p.rows) {
    let at = part_at + key2 * p.kv_heads + head;
    store_dkeys(at, x + 0u, p.scale * dk2_0);
    store_dvalues(at, x + 0u, dv2_0);
  }
if (key3 < p.rows) {
    let at = part_at + key3 * p.kv_heads + head;
    store_dkeys(at, x + 0u, p.scale * dk3_0);
    store_dvalues(at, x + 0u, dv3_0);
  }
}