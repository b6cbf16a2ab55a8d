struct Params { rows: u32, vocab: u32, chunks: u32, size: u32, inverse: f32, log_min_p: f32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> scored: array<f32>;
@group(0) @binding(3) var<storage, read> stats: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read> all_stats: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read> counters: array<u32>;
@group(0) @binding(6) var<storage, read_write> tokens: array<u32>;
@group(0) @binding(7) var<storage, read_write> logp: array<f32>;

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

fn finite(x: f32) -> f32 { return max(x, -3.0e38); }


fn mul_high(a: u32, b: u32) -> u32 {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let t = ah * bl + ((al * bl) >> 16u);
  let w = al * bh + (t & 0xffffu);
  return ah * bh + (t >> 16u) + (w >> 16u);
}

fn philox_round(c: vec4u, k: vec2u) -> vec4u {
  return vec4u(
    mul_high(0xcd9e8d57u, c.z) ^ c.y ^ k.x,
    0xcd9e8d57u * c.z,
    mul_high(0xd2511f53u, c.x) ^ c.w ^ k.y,
    0xd2511f53u * c.x,
  );
}
fn philox(counter: vec4u, key: vec2u) -> vec4u {
  var c = counter;
  c = philox_round(c, key + vec2u(0u, 0u));
  c = philox_round(c, key + vec2u(2654435769u, 3144134277u));
  c = philox_round(c, key + vec2u(1013904242u, 1993301258u));
  c = philox_round(c, key + vec2u(3668340011u, 842468239u));
  c = philox_round(c, key + vec2u(2027808484u, 3986602516u));
  c = philox_round(c, key + vec2u(387276957u, 2835769497u));
  c = philox_round(c, key + vec2u(3041712726u, 1684936478u));
  c = philox_round(c, key + vec2u(1401181199u, 534103459u));
  c = philox_round(c, key + vec2u(4055616968u, 3678237736u));
  c = philox_round(c, key + vec2u(2415085441u, 2527404717u));
  return c;
}


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

var<workgroup> prefix_slots: array<f32, 256>;
var<workgroup> prefix_blocks: array<f32, 8>;
fn prefix_sum(local: u32, value: f32) -> f32 {
  workgroupBarrier();
  prefix_slots[local] = value;
  workgroupBarrier();
  if ((local & 1u) != 0u) { prefix_slots[local] = prefix_slots[local] + prefix_slots[(local & 4294967294u) + 0u]; }
  workgroupBarrier();
  if ((local & 2u) != 0u) { prefix_slots[local] = prefix_slots[local] + prefix_slots[(local & 4294967292u) + 1u]; }
  workgroupBarrier();
  if ((local & 4u) != 0u) { prefix_slots[local] = prefix_slots[local] + prefix_slots[(local & 4294967288u) + 3u]; }
  workgroupBarrier();
  if ((local & 8u) != 0u) { prefix_slots[local] = prefix_slots[local] + prefix_slots[(local & 4294967280u) + 7u]; }
  workgroupBarrier();
  if ((local & 16u) != 0u) { prefix_slots[local] = prefix_slots[local] + prefix_slots[(local & 4294967264u) + 15u]; }
  workgroupBarrier();
  if ((local & 31u) == 31u) { prefix_blocks[local / 32u] = prefix_slots[local]; }
  workgroupBarrier();
  if (local < 8u && (local & 1u) != 0u) { prefix_blocks[local] = prefix_blocks[local] + prefix_blocks[(local & 4294967294u) + 0u]; }
  workgroupBarrier();
  if (local < 8u && (local & 2u) != 0u) { prefix_blocks[local] = prefix_blocks[local] + prefix_blocks[(local & 4294967292u) + 1u]; }
  workgroupBarrier();
  if (local < 8u && (local & 4u) != 0u) { prefix_blocks[local] = prefix_blocks[local] + prefix_blocks[(local & 4294967288u) + 3u]; }
  workgroupBarrier();
  if (local >= 32u) {
    prefix_slots[local] = prefix_slots[local] + prefix_blocks[local / 32u - 1u];
  }
  workgroupBarrier();
  return prefix_slots[local];
}

var<workgroup> first_beyond: atomic<u32>;
var<workgroup> last_with_any: atomic<u32>;
/**
 * The first invocation with a value whose prefix sum exceeds aim, else the last one with a value.
 */
fn pick(local: u32, value: f32, upto: f32, aim: f32) -> u32 {
  workgroupBarrier();
  if (local == 0u) {
    atomicStore(&first_beyond, 256u);
    atomicStore(&last_with_any, 0u);
  }
  workgroupBarrier();
  if (value > 0.0) {
    if (upto > aim) { atomicMin(&first_beyond, local); }
    atomicMax(&last_with_any, local);
  }
  workgroupBarrier();
  let beyond = atomicLoad(&first_beyond);
  return select(atomicLoad(&last_with_any), beyond, beyond < 256u);
}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let number = group.x + group.y * groups.x;
  if (number >= p.rows) { return; }
  let row = number;
  let begin = row * p.vocab;
  let here = local < p.chunks;
  let chunk = row * p.chunks + min(local, p.chunks - 1u);
  let whole = all_stats[chunk];
  let scored_best = reduce_max(local, whole.x);
  let scored_mass = select(0.0, whole.y * exp_f32((whole.x - scored_best) * p.inverse), here);
  let scored_total = reduce_sum(local, scored_mass);
  let part = stats[chunk];
  let best = reduce_max(local, part.x);
  
  let mass = select(0.0, part.y * exp_f32((part.x - best) * p.inverse), here);
  let upto = prefix_sum(local, mass);
  let key = 5u * row;
  let c = vec4u(0u, counters[key], counters[key + 1u], counters[key + 2u]);
  let word = philox(c, vec2u(counters[key + 3u], counters[key + 4u])).x;
  let aim = (f32(word >> 9u) + 0.5) * 1.1920928955078125e-7 * prefix_slots[255];
  let chosen = pick(local, mass, upto, aim);
  var before = 0.0;
  if (chosen > 0u) { before = prefix_slots[chosen - 1u]; }
  let rest = aim - before;

  let span = p.size / 256u;
  let first = begin + chosen * p.size + local * span;
  let end = min(begin + p.vocab, first + span);
  var span_mass = 0.0;
  for (var i = first; i < end; i++) {
    let x = finite(logits[i]);
    span_mass += exp_f32((x - best) * p.inverse);
  }
  let upto_span = prefix_sum(local, span_mass);
  let winner = pick(local, span_mass, upto_span, rest);
  if (local != winner) { return; }
  var sum = 0.0;
  if (winner > 0u) { sum = prefix_slots[winner - 1u]; }
  var drawn = first;
  for (var i = first; i < end; i++) {
    let x = finite(logits[i]);
    let weight = exp_f32((x - best) * p.inverse);
    if (weight == 0.0) { continue; }
    drawn = i;
    sum += weight;
    if (sum > rest) { break; }
  }
  tokens[row] = drawn - begin;
  logp[row] = (finite(scored[drawn]) - scored_best) * p.inverse - log_f32(scored_total);
}