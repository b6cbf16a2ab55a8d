struct Params { rows: u32, vocab: u32, chunks: u32, inverse: f32, top_k: u32, top_p: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> stats: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> row_limits: array<u32>;

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

fn mul_high(a: u32, b: u32) -> u32 {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let t = ah * bl + ((al * bl) >> 16u);
  let w = al * bh + (t & 0xffffu);
  return ah * bh + (t >> 16u) + (w >> 16u);
}

fn finite(x: f32) -> f32 { return max(x, -3.0e38); }

fn ordered_key(x: f32) -> u32 {
  let raw = bitcast<u32>(x);
  let bits = select(raw, 0u, (raw << 1u) == 0u);
  return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}

var<workgroup> max_slots: array<f32, 1024>;
fn reduce_max(local: u32, value: f32) -> f32 {
  workgroupBarrier();
  max_slots[local] = value;
  workgroupBarrier();
  if (local < 512u) { max_slots[local] = max(max_slots[local], max_slots[local + 512u]); }
  workgroupBarrier();
  if (local < 256u) { max_slots[local] = max(max_slots[local], max_slots[local + 256u]); }
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
var<workgroup> low: array<atomic<u32>, 1024>;
var<workgroup> high: array<atomic<u32>, 1024>;
fn wide_sum(a: vec2u, b: vec2u) -> vec2u {
  let low = a.x + b.x;
  return vec2u(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn wide_difference(a: vec2u, b: vec2u) -> vec2u {
  return vec2u(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}
fn wide_below(a: vec2u, b: vec2u) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}

var<workgroup> wide_prefix_slots: array<vec2u, 1024>;
var<workgroup> wide_prefix_blocks: array<vec2u, 32>;
fn wide_prefix_sum(local: u32, value: vec2u) -> vec2u {
  workgroupBarrier();
  wide_prefix_slots[local] = value;
  workgroupBarrier();
  if ((local & 1u) != 0u) { wide_prefix_slots[local] = wide_sum(wide_prefix_slots[local], wide_prefix_slots[(local & 4294967294u) + 0u]); }
  workgroupBarrier();
  if ((local & 2u) != 0u) { wide_prefix_slots[local] = wide_sum(wide_prefix_slots[local], wide_prefix_slots[(local & 4294967292u) + 1u]); }
  workgroupBarrier();
  if ((local & 4u) != 0u) { wide_prefix_slots[local] = wide_sum(wide_prefix_slots[local], wide_prefix_slots[(local & 4294967288u) + 3u]); }
  workgroupBarrier();
  if ((local & 8u) != 0u) { wide_prefix_slots[local] = wide_sum(wide_prefix_slots[local], wide_prefix_slots[(local & 4294967280u) + 7u]); }
  workgroupBarrier();
  if ((local & 16u) != 0u) { wide_prefix_slots[local] = wide_sum(wide_prefix_slots[local], wide_prefix_slots[(local & 4294967264u) + 15u]); }
  workgroupBarrier();
  if ((local & 31u) == 31u) { wide_prefix_blocks[local / 32u] = wide_prefix_slots[local]; }
  workgroupBarrier();
  if (local < 32u && (local & 1u) != 0u) { wide_prefix_blocks[local] = wide_sum(wide_prefix_blocks[local], wide_prefix_blocks[(local & 4294967294u) + 0u]); }
  workgroupBarrier();
  if (local < 32u && (local & 2u) != 0u) { wide_prefix_blocks[local] = wide_sum(wide_prefix_blocks[local], wide_prefix_blocks[(local & 4294967292u) + 1u]); }
  workgroupBarrier();
  if (local < 32u && (local & 4u) != 0u) { wide_prefix_blocks[local] = wide_sum(wide_prefix_blocks[local], wide_prefix_blocks[(local & 4294967288u) + 3u]); }
  workgroupBarrier();
  if (local < 32u && (local & 8u) != 0u) { wide_prefix_blocks[local] = wide_sum(wide_prefix_blocks[local], wide_prefix_blocks[(local & 4294967280u) + 7u]); }
  workgroupBarrier();
  if (local < 32u && (local & 16u) != 0u) { wide_prefix_blocks[local] = wide_sum(wide_prefix_blocks[local], wide_prefix_blocks[(local & 4294967264u) + 15u]); }
  workgroupBarrier();
  if (local >= 32u) {
    wide_prefix_slots[local] = wide_sum(wide_prefix_slots[local], wide_prefix_blocks[local / 32u - 1u]);
  }
  workgroupBarrier();
  return wide_prefix_slots[local];
}

var<workgroup> found_digit: u32;
var<workgroup> found_rest: vec2u;
fn bin(digit: u32) -> vec2u { return vec2u(atomicLoad(&low[digit]), atomicLoad(&high[digit])); }
/** Sum from digit `size` − 1 down to the last of this invocation's `each` digits. */
fn sums_from_top(local: u32, size: u32, each: u32) -> vec2u {
  var upto = vec2u(0u);
  for (var j = 0u; j < each; j++) {
    let place = local * each + j;
    if (place < size) { upto = wide_sum(upto, bin(size - 1u - place)); }
  }
  return wide_prefix_sum(local, upto);
}
fn search(local: u32, size: u32, each: u32, upto: vec2u, wanted: vec2u) {
  var above = vec2u(0u);
  if (local > 0u) { above = wide_prefix_slots[local - 1u]; }
  if (wide_below(above, wanted) && !wide_below(upto, wanted)) {
    for (var j = 0u; j < each; j++) {
      let digit = size - 1u - (local * each + j);
      let next = wide_sum(above, bin(digit));
      if (!wide_below(next, wanted)) {
        found_digit = digit;
        found_rest = wide_difference(wanted, above);
        break;
      }
      above = next;
    }
  }
  workgroupBarrier();
}

fn digit_at(pass_number: u32) -> vec3u {
  if (pass_number == 0u) { return vec3u(25u, 128u, 0u); }
  if (pass_number == 1u) { return vec3u(18u, 128u, 4261412864u); }
  if (pass_number == 2u) { return vec3u(9u, 512u, 4294705152u); }
  return vec3u(0u, 512u, 4294966784u);
}

const SMALLEST = 989855744u;
fn spread_digit(key: u32) -> u32 {
  let positive = key >= 0x80000000u;
  let magnitude = select(~key, key, positive) & 0x7fffffffu;
  let index = (clamp(magnitude, SMALLEST, SMALLEST + 134217727u) - SMALLEST) >> 18u;
  return select(511u - index, 512u + index, positive);
}
fn spread_prefix(digit: u32) -> vec2u {
  let positive = digit >= 512u;
  let index = select(511u - digit, digit - 512u, positive);
  let key = 0x80000000u | (SMALLEST + (index << 18u));
  let inside = index > 0u && index < 511u;
  return vec2u(select(~key, key, positive) & 4294705152u, u32(inside));
}

/** p.top_p (in steps of 2^-32) of the total weight; at least the smallest weight. */
fn share(total: vec2u) -> vec2u {
  let product = vec2u(total.y * p.top_p, mul_high(total.y, p.top_p));
  let wanted = wide_sum(product, vec2u(mul_high(total.x, p.top_p), 0u));
  return select(wanted, vec2u(1u, 0u), all(wanted == vec2u(0u)));
}
@compute @workgroup_size(1024)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let number = group.x + group.y * groups.x;
  if (number >= p.rows) { return; }
  let begin = number * p.vocab;
  let end = begin + p.vocab;
  var highest = -3.0e38;
  for (var c = local; c < p.chunks; c += 1024u) {
    highest = max(highest, stats[number * p.chunks + c].x);
  }
  let best = reduce_max(local, highest);
  var lowest_by_count = 0u;
  var lowest_by_count_rest = vec2u(0u);
  var lowest_by_count_round = 0u;
  {
    for (var b = local; b < 1024u; b += 1024u) {
      atomicStore(&low[b], 0u);
      atomicStore(&high[b], 0u);
    }
    workgroupBarrier();
    for (var i = begin + local; i < end; i += 4096u) {
      let x0 = finite(logits[min(i, end - 1u)]);
      let x1 = finite(logits[min(i + 1024u, end - 1u)]);
      let x2 = finite(logits[min(i + 2048u, end - 1u)]);
      let x3 = finite(logits[min(i + 3072u, end - 1u)]);
      {
        let x = x0;
        let key = ordered_key(x);
        if (i < end) {
          let digit = spread_digit(key);
          atomicAdd(&low[digit], 1u);
        }
      }
      {
        let x = x1;
        let key = ordered_key(x);
        if (i + 1024u < end) {
          let digit = spread_digit(key);
          atomicAdd(&low[digit], 1u);
        }
      }
      {
        let x = x2;
        let key = ordered_key(x);
        if (i + 2048u < end) {
          let digit = spread_digit(key);
          atomicAdd(&low[digit], 1u);
        }
      }
      {
        let x = x3;
        let key = ordered_key(x);
        if (i + 3072u < end) {
          let digit = spread_digit(key);
          atomicAdd(&low[digit], 1u);
        }
      }
    }
    workgroupBarrier();
    let each = (1024u + 1023u) / 1024u;
    let upto = sums_from_top(local, 1024u, each);
    lowest_by_count_rest = vec2u(p.top_k, 0u);
    search(local, 1024u, each, upto, lowest_by_count_rest);
    let prefix = spread_prefix(found_digit);
    if (prefix.y == 1u) {
      lowest_by_count = prefix.x;
      lowest_by_count_rest = found_rest;
      lowest_by_count_round = 2u;
    }
    workgroupBarrier();
  }
  for (var pass_number = lowest_by_count_round; pass_number < 4u; pass_number++) {
    let place = digit_at(pass_number);
    for (var b = local; b < place.y; b += 1024u) {
      atomicStore(&low[b], 0u);
      atomicStore(&high[b], 0u);
    }
    workgroupBarrier();
    for (var i = begin + local; i < end; i += 4096u) {
      let x0 = finite(logits[min(i, end - 1u)]);
      let x1 = finite(logits[min(i + 1024u, end - 1u)]);
      let x2 = finite(logits[min(i + 2048u, end - 1u)]);
      let x3 = finite(logits[min(i + 3072u, end - 1u)]);
      {
        let x = x0;
        let key = ordered_key(x);
        if (i < end && (key & place.z) == lowest_by_count) {
          let digit = (key >> place.x) & (place.y - 1u);
          atomicAdd(&low[digit], 1u);
        }
      }
      {
        let x = x1;
        let key = ordered_key(x);
        if (i + 1024u < end && (key & place.z) == lowest_by_count) {
          let digit = (key >> place.x) & (place.y - 1u);
          atomicAdd(&low[digit], 1u);
        }
      }
      {
        let x = x2;
        let key = ordered_key(x);
        if (i + 2048u < end && (key & place.z) == lowest_by_count) {
          let digit = (key >> place.x) & (place.y - 1u);
          atomicAdd(&low[digit], 1u);
        }
      }
      {
        let x = x3;
        let key = ordered_key(x);
        if (i + 3072u < end && (key & place.z) == lowest_by_count) {
          let digit = (key >> place.x) & (place.y - 1u);
          atomicAdd(&low[digit], 1u);
        }
      }
    }
    workgroupBarrier();
    let each = (place.y + 1023u) / 1024u;
    let upto = sums_from_top(local, place.y, each);
    
    search(local, place.y, each, upto, lowest_by_count_rest);
    lowest_by_count |= found_digit << place.x;
    lowest_by_count_rest = found_rest;
    workgroupBarrier();
  }
  var lowest_by_mass = 0u;
  var lowest_by_mass_rest = vec2u(0u);
  var lowest_by_mass_round = 0u;
  {
    for (var b = local; b < 1024u; b += 1024u) {
      atomicStore(&low[b], 0u);
      atomicStore(&high[b], 0u);
    }
    workgroupBarrier();
    for (var i = begin + local; i < end; i += 4096u) {
      let x0 = finite(logits[min(i, end - 1u)]);
      let x1 = finite(logits[min(i + 1024u, end - 1u)]);
      let x2 = finite(logits[min(i + 2048u, end - 1u)]);
      let x3 = finite(logits[min(i + 3072u, end - 1u)]);
      {
        let x = x0;
        let key = ordered_key(x);
        if (i < end && key >= lowest_by_count) {
          let digit = spread_digit(key);
          let weight = exp_f32((x - best) * p.inverse) * 1024.0;
    let whole = floor(weight);
    let fraction = u32((weight - whole) * 4294967296.0);
    if (weight >= 2.3283064365386963e-10) {
      let old = atomicAdd(&low[digit], fraction);
      let carried = u32(whole) + select(0u, 1u, old + fraction < old);
      if (carried > 0u) { atomicAdd(&high[digit], carried); }
    }
        }
      }
      {
        let x = x1;
        let key = ordered_key(x);
        if (i + 1024u < end && key >= lowest_by_count) {
          let digit = spread_digit(key);
          let weight = exp_f32((x - best) * p.inverse) * 1024.0;
    let whole = floor(weight);
    let fraction = u32((weight - whole) * 4294967296.0);
    if (weight >= 2.3283064365386963e-10) {
      let old = atomicAdd(&low[digit], fraction);
      let carried = u32(whole) + select(0u, 1u, old + fraction < old);
      if (carried > 0u) { atomicAdd(&high[digit], carried); }
    }
        }
      }
      {
        let x = x2;
        let key = ordered_key(x);
        if (i + 2048u < end && key >= lowest_by_count) {
          let digit = spread_digit(key);
          let weight = exp_f32((x - best) * p.inverse) * 1024.0;
    let whole = floor(weight);
    let fraction = u32((weight - whole) * 4294967296.0);
    if (weight >= 2.3283064365386963e-10) {
      let old = atomicAdd(&low[digit], fraction);
      let carried = u32(whole) + select(0u, 1u, old + fraction < old);
      if (carried > 0u) { atomicAdd(&high[digit], carried); }
    }
        }
      }
      {
        let x = x3;
        let key = ordered_key(x);
        if (i + 3072u < end && key >= lowest_by_count) {
          let digit = spread_digit(key);
          let weight = exp_f32((x - best) * p.inverse) * 1024.0;
    let whole = floor(weight);
    let fraction = u32((weight - whole) * 4294967296.0);
    if (weight >= 2.3283064365386963e-10) {
      let old = atomicAdd(&low[digit], fraction);
      let carried = u32(whole) + select(0u, 1u, old + fraction < old);
      if (carried > 0u) { atomicAdd(&high[digit], carried); }
    }
        }
      }
    }
    workgroupBarrier();
    let each = (1024u + 1023u) / 1024u;
    let upto = sums_from_top(local, 1024u, each);
    lowest_by_mass_rest = share(wide_prefix_slots[1023]);
    search(local, 1024u, each, upto, lowest_by_mass_rest);
    let prefix = spread_prefix(found_digit);
    if (prefix.y == 1u) {
      lowest_by_mass = prefix.x;
      lowest_by_mass_rest = found_rest;
      lowest_by_mass_round = 2u;
    }
    workgroupBarrier();
  }
  for (var pass_number = lowest_by_mass_round; pass_number < 4u; pass_number++) {
    let place = digit_at(pass_number);
    for (var b = local; b < place.y; b += 1024u) {
      atomicStore(&low[b], 0u);
      atomicStore(&high[b], 0u);
    }
    workgroupBarrier();
    for (var i = begin + local; i < end; i += 4096u) {
      let x0 = finite(logits[min(i, end - 1u)]);
      let x1 = finite(logits[min(i + 1024u, end - 1u)]);
      let x2 = finite(logits[min(i + 2048u, end - 1u)]);
      let x3 = finite(logits[min(i + 3072u, end - 1u)]);
      {
        let x = x0;
        let key = ordered_key(x);
        if (i < end && (key & place.z) == lowest_by_mass && key >= lowest_by_count) {
          let digit = (key >> place.x) & (place.y - 1u);
          let weight = exp_f32((x - best) * p.inverse) * 1024.0;
    let whole = floor(weight);
    let fraction = u32((weight - whole) * 4294967296.0);
    if (weight >= 2.3283064365386963e-10) {
      let old = atomicAdd(&low[digit], fraction);
      let carried = u32(whole) + select(0u, 1u, old + fraction < old);
      if (carried > 0u) { atomicAdd(&high[digit], carried); }
    }
        }
      }
      {
        let x = x1;
        let key = ordered_key(x);
        if (i + 1024u < end && (key & place.z) == lowest_by_mass && key >= lowest_by_count) {
          let digit = (key >> place.x) & (place.y - 1u);
          let weight = exp_f32((x - best) * p.inverse) * 1024.0;
    let whole = floor(weight);
    let fraction = u32((weight - whole) * 4294967296.0);
    if (weight >= 2.3283064365386963e-10) {
      let old = atomicAdd(&low[digit], fraction);
      let carried = u32(whole) + select(0u, 1u, old + fraction < old);
      if (carried > 0u) { atomicAdd(&high[digit], carried); }
    }
        }
      }
      {
        let x = x2;
        let key = ordered_key(x);
        if (i + 2048u < end && (key & place.z) == lowest_by_mass && key >= lowest_by_count) {
          let digit = (key >> place.x) & (place.y - 1u);
          let weight = exp_f32((x - best) * p.inverse) * 1024.0;
    let whole = floor(weight);
    let fraction = u32((weight - whole) * 4294967296.0);
    if (weight >= 2.3283064365386963e-10) {
      let old = atomicAdd(&low[digit], fraction);
      let carried = u32(whole) + select(0u, 1u, old + fraction < old);
      if (carried > 0u) { atomicAdd(&high[digit], carried); }
    }
        }
      }
      {
        let x = x3;
        let key = ordered_key(x);
        if (i + 3072u < end && (key & place.z) == lowest_by_mass && key >= lowest_by_count) {
          let digit = (key >> place.x) & (place.y - 1u);
          let weight = exp_f32((x - best) * p.inverse) * 1024.0;
    let whole = floor(weight);
    let fraction = u32((weight - whole) * 4294967296.0);
    if (weight >= 2.3283064365386963e-10) {
      let old = atomicAdd(&low[digit], fraction);
      let carried = u32(whole) + select(0u, 1u, old + fraction < old);
      if (carried > 0u) { atomicAdd(&high[digit], carried); }
    }
        }
      }
    }
    workgroupBarrier();
    let each = (place.y + 1023u) / 1024u;
    let upto = sums_from_top(local, place.y, each);
    
    search(local, place.y, each, upto, lowest_by_mass_rest);
    lowest_by_mass |= found_digit << place.x;
    lowest_by_mass_rest = found_rest;
    workgroupBarrier();
  }
  if (local == 0u) {
    row_limits[2u * number] = max(lowest_by_count, lowest_by_mass);
    row_limits[2u * number + 1u] = bitcast<u32>(best);
  }
}