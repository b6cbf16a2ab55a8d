struct Params { rows: u32, vocab: u32, chunks: u32, size: u32, inverse: f32, log_min_p: f32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> logits: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> stats: array<vec2<f32>>;

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

fn finite(x: f32) -> f32 { return max(x, -3.0e38); }

var<workgroup> reduce_slots: array<f32, 256>;
fn reduce_sum(local: u32, value: f32) -> f32 {
  workgroupBarrier();
  reduce_slots[local] = value;
  workgroupBarrier();
  if (local < 128u) { reduce_slots[local] = reduce_slots[local] + reduce_slots[local + 128u]; }
  workgroupBarrier();
  if (local < 64u) { reduce_slots[local] = reduce_slots[local] + reduce_slots[local + 64u]; }
  workgroupBarrier();
  if (local < 32u) { reduce_slots[local] = reduce_slots[local] + reduce_slots[local + 32u]; }
  workgroupBarrier();
  if (local < 16u) { reduce_slots[local] = reduce_slots[local] + reduce_slots[local + 16u]; }
  workgroupBarrier();
  if (local < 8u) { reduce_slots[local] = reduce_slots[local] + reduce_slots[local + 8u]; }
  workgroupBarrier();
  if (local < 4u) { reduce_slots[local] = reduce_slots[local] + reduce_slots[local + 4u]; }
  workgroupBarrier();
  if (local < 2u) { reduce_slots[local] = reduce_slots[local] + reduce_slots[local + 2u]; }
  workgroupBarrier();
  if (local < 1u) { reduce_slots[local] = reduce_slots[local] + reduce_slots[local + 1u]; }
  workgroupBarrier();
  return reduce_slots[0u];
}

var<workgroup> max_slots: array<f32, 256>;
fn reduce_max(local: u32, value: f32) -> f32 {
  workgroupBarrier();
  max_slots[local] = value;
  workgroupBarrier();
  if (local < 128u) { max_slots[local] = max(max_slots[local], max_slots[local + 128u]); }
  workgroupBarrier();
  if (local < 64u) { max_slots[local] = max(max_slots[local], max_slots[local + 64u]); }
  workgroupBarrier();
  if (local < 32u) { max_slots[local] = max(max_slots[local], max_slots[local + 32u]); }
  workgroupBarrier();
  if (local < 16u) { max_slots[local] = max(max_slots[local], max_slots[local + 16u]); }
  workgroupBarrier();
  if (local < 8u) { max_slots[local] = max(max_slots[local], max_slots[local + 8u]); }
  workgroupBarrier();
  if (local < 4u) { max_slots[local] = max(max_slots[local], max_slots[local + 4u]); }
  workgroupBarrier();
  if (local < 2u) { max_slots[local] = max(max_slots[local], max_slots[local + 2u]); }
  workgroupBarrier();
  if (local < 1u) { max_slots[local] = max(max_slots[local], max_slots[local + 1u]); }
  workgroupBarrier();
  return max_slots[0u];
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let number = group.x + group.y * groups.x;
  if (number >= p.rows * p.chunks) { return; }
  let row = number / p.chunks;
  let begin = row * p.vocab;
  let first = begin + (number - row * p.chunks) * p.size;
  let end = min(begin + p.vocab, first + p.size);
  var high = vec4<f32>(-3.0e38);
  for (var i = first / 4u + local; i < end / 4u; i += 256u) { high = max(high, logits[i]); }
  let best = reduce_max(local, max(max(high.x, high.y), max(high.z, high.w)));
  var sum = vec4<f32>(0.0);
  for (var i = first / 4u + local; i < end / 4u; i += 256u) { let x = logits[i]; sum += vec4<f32>(exp_f32((finite(x.x) - best) * p.inverse), exp_f32((finite(x.y) - best) * p.inverse), exp_f32((finite(x.z) - best) * p.inverse), exp_f32((finite(x.w) - best) * p.inverse)); }
  let weight = reduce_sum(local, (sum.x + sum.y) + (sum.z + sum.w));
  if (local == 0u) { stats[number] = vec2f(best, weight); }
}