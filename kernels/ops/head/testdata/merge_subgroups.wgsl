struct Params { rows: u32, row: u32, width: u32, first: u32, last: u32, d: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> logits: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> pair_start: array<u32>;
@group(0) @binding(3) var<storage, read> targets: array<u32>;
@group(0) @binding(4) var<storage, read_write> running: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> logp: array<f32>;
@group(0) @binding(6) var<storage, read_write> lse: array<f32>;
@group(0) @binding(7) var<storage, read_write> entropy: array<f32>;

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

var<workgroup> reduce_slots: array<f32, 256>;
fn reduce_sum(local: u32, value: f32) -> f32 {
  workgroupBarrier();
  reduce_slots[local] = value;
  workgroupBarrier();
  let column = (local & 4294967040u) + (local & 31u);
  var result = (((reduce_slots[column] + reduce_slots[column + 128u]) + (reduce_slots[column + 64u] + reduce_slots[column + 192u])) + ((reduce_slots[column + 32u] + reduce_slots[column + 160u]) + (reduce_slots[column + 96u] + reduce_slots[column + 224u])));
  if (subgroup_lanes > 16u) { result = result + subgroupShuffleXor(result, 16u); } else {
    workgroupBarrier();
    reduce_slots[local] = result;
    workgroupBarrier();
    result = result + reduce_slots[local ^ 16u];
  }
  if (subgroup_lanes > 8u) { result = result + subgroupShuffleXor(result, 8u); } else {
    workgroupBarrier();
    reduce_slots[local] = result;
    workgroupBarrier();
    result = result + reduce_slots[local ^ 8u];
  }
  if (subgroup_lanes > 4u) { result = result + subgroupShuffleXor(result, 4u); } else {
    workgroupBarrier();
    reduce_slots[local] = result;
    workgroupBarrier();
    result = result + reduce_slots[local ^ 4u];
  }
  result = result + subgroupShuffleXor(result, 2u);
  result = result + subgroupShuffleXor(result, 1u);
  return result;
}

var<workgroup> max_slots: array<f32, 256>;
fn reduce_max(local: u32, value: f32) -> f32 {
  workgroupBarrier();
  max_slots[local] = value;
  workgroupBarrier();
  let column = (local & 4294967040u) + (local & 31u);
  var result = (max((max((max(max_slots[column], max_slots[column + 128u])), (max(max_slots[column + 64u], max_slots[column + 192u])))), (max((max(max_slots[column + 32u], max_slots[column + 160u])), (max(max_slots[column + 96u], max_slots[column + 224u]))))));
  if (subgroup_lanes > 16u) { result = max(result, subgroupShuffleXor(result, 16u)); } else {
    workgroupBarrier();
    max_slots[local] = result;
    workgroupBarrier();
    result = max(result, max_slots[local ^ 16u]);
  }
  if (subgroup_lanes > 8u) { result = max(result, subgroupShuffleXor(result, 8u)); } else {
    workgroupBarrier();
    max_slots[local] = result;
    workgroupBarrier();
    result = max(result, max_slots[local ^ 8u]);
  }
  if (subgroup_lanes > 4u) { result = max(result, subgroupShuffleXor(result, 4u)); } else {
    workgroupBarrier();
    max_slots[local] = result;
    workgroupBarrier();
    result = max(result, max_slots[local ^ 4u]);
  }
  result = max(result, subgroupShuffleXor(result, 2u));
  result = max(result, subgroupShuffleXor(result, 1u));
  return result;
}

alias Load = vec4f;
fn exp_load(x: vec4f) -> vec4f {
  return vec4f(exp_f32(x.x), exp_f32(x.y), exp_f32(x.z), exp_f32(x.w));
}
fn sum_load(x: vec4f) -> f32 { return (x.x + x.y) + (x.z + x.w); }
fn max_load(x: vec4f) -> f32 { return max(max(x.x, x.y), max(x.z, x.w)); }

var<private> subgroup_lanes: u32;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32, @builtin(subgroup_size) subgroup_size: u32) {
  subgroup_lanes = subgroup_size;
  let number = group.x + group.y * groups.x;
  if (number >= p.rows) { return; }
  let row = p.row + number;
  let begin = number * (p.width / 4u);
  let end = begin + (p.width / 4u);
  let pair_end = pair_start[row + 1u];
  for (var pair = pair_start[row] + local; pair < pair_end; pair += 256u) {
    let column = targets[pair] - p.first;
    if (column < p.width) { logp[pair] = logits[begin + (column >> 2u)][column & 3u]; }
  }
  var before = vec4f(-3.0e38, 0.0, 0.0, 0.0);
  if (p.first > 0u) { before = running[number]; }
  var high = Load(-3.0e38);
  for (var i = begin + local; i < end; i += 256u) { high = max(high, logits[i]); }
  let m = max(before.x, reduce_max(local, max_load(high)));
  var sums = Load(0.0);
  var shifted = Load(0.0);
  for (var i = begin + local; i < end; i += 256u) { let x = logits[i] - Load(m);
    let e = exp_load(x);
    sums += e;
    shifted = fma(e, x, shifted); }
  let fade = exp_f32(before.x - m);
  let l = reduce_sum(local, sum_load(sums)) + fade * before.y;
  let s = reduce_sum(local, sum_load(shifted)) + fade * fma(before.x - m, before.y, before.z);
  // Nothing is overwritten before all invocations have read `before` and the targets' logits.
  storageBarrier();
  if (local == 0u) { running[number] = vec4f(m, l, s, 0.0); }
  
  if (p.last == 0u) { return; }
  let log_l = log_f32(l);
  if (local == 0u) {
    lse[row] = m + log_l;
    entropy[row] = log_l - s / l;
  }
  for (var pair = pair_start[row] + local; pair < pair_end; pair += 256u) {
    logp[pair] = (logp[pair] - m) - log_l;
  }
}