struct Params { n: u32, keep: f32, beta1: f32, rest1: f32, beta2: f32, rest2: f32, eps: f32, step: f32, root2: f32, grad_scale: f32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> weight: array<f32>;
@group(0) @binding(2) var<storage, read> grad: array<f32>;
@group(0) @binding(3) var<storage, read_write> first: array<u32>;
@group(0) @binding(4) var<storage, read_write> second: array<u32>;
@group(0) @binding(5) var<storage, read_write> first_max: array<f32>;
@group(0) @binding(6) var<storage, read_write> second_max: array<f32>;
@group(0) @binding(7) var<storage, read> tables: array<u32>;

var<workgroup> maps: array<f32, 1024>;

var<workgroup> max_slots: array<f32, 256>;
fn reduce_max(local: u32, value: f32) -> f32 {
  workgroupBarrier();
  max_slots[local] = value;
  workgroupBarrier();
  if ((local & 63u) < 32u) { max_slots[local] = max(max_slots[local], max_slots[local + 32u]); }
  workgroupBarrier();
  if ((local & 63u) < 16u) { max_slots[local] = max(max_slots[local], max_slots[local + 16u]); }
  workgroupBarrier();
  if ((local & 63u) < 8u) { max_slots[local] = max(max_slots[local], max_slots[local + 8u]); }
  workgroupBarrier();
  if ((local & 63u) < 4u) { max_slots[local] = max(max_slots[local], max_slots[local + 4u]); }
  workgroupBarrier();
  if ((local & 63u) < 2u) { max_slots[local] = max(max_slots[local], max_slots[local + 2u]); }
  workgroupBarrier();
  if ((local & 63u) < 1u) { max_slots[local] = max(max_slots[local], max_slots[local + 1u]); }
  workgroupBarrier();
  return max_slots[local & 4294967232u];
}


fn signed_magnitude(x: f32) -> u32 {
  var k = 0u;
  if (k + 128u <= 128u && maps[512u + k + 127u] < x) { k += 128u; }
  if (k + 64u <= 128u && maps[512u + k + 63u] < x) { k += 64u; }
  if (k + 32u <= 128u && maps[512u + k + 31u] < x) { k += 32u; }
  if (k + 16u <= 128u && maps[512u + k + 15u] < x) { k += 16u; }
  if (k + 8u <= 128u && maps[512u + k + 7u] < x) { k += 8u; }
  if (k + 4u <= 128u && maps[512u + k + 3u] < x) { k += 4u; }
  if (k + 2u <= 128u && maps[512u + k + 1u] < x) { k += 2u; }
  if (k + 1u <= 128u && maps[512u + k + 0u] < x) { k += 1u; }
  return k;
}

fn unsigned_magnitude(x: f32) -> u32 {
  var k = 0u;
  if (k + 128u <= 255u && maps[768u + k + 127u] < x) { k += 128u; }
  if (k + 64u <= 255u && maps[768u + k + 63u] < x) { k += 64u; }
  if (k + 32u <= 255u && maps[768u + k + 31u] < x) { k += 32u; }
  if (k + 16u <= 255u && maps[768u + k + 15u] < x) { k += 16u; }
  if (k + 8u <= 255u && maps[768u + k + 7u] < x) { k += 8u; }
  if (k + 4u <= 255u && maps[768u + k + 3u] < x) { k += 4u; }
  if (k + 2u <= 255u && maps[768u + k + 1u] < x) { k += 2u; }
  if (k + 1u <= 255u && maps[768u + k + 0u] < x) { k += 1u; }
  return k;
}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  for (var i = local; i < 1024u; i += 256u) {
    maps[i] = bitcast<f32>(tables[i]);
  }
  workgroupBarrier();
  let lane = local & 63u;
  let start = (group.x + group.y * groups.x) * 16u + local / 64u;
  for (var round = 0u; round < 4u; round++) {
    let block = start + round * 4u;
    let at = block * 256u + lane * 4u;
    var m = vec4f(0.0);
    var v = vec4f(0.0);
    if (at < p.n) {
      let codes1 = first[at / 4u];
      let codes2 = second[at / 4u];
      let max1 = first_max[block];
      let max2 = second_max[block];
      if (at + 0u < p.n) {
        let g = grad[at + 0u] * p.grad_scale;
        let old1 = maps[(codes1 >> 0u) & 255u] * max1;
        let old2 = maps[256u + ((codes2 >> 0u) & 255u)] * max2;
        m[0] = fma(p.beta1, old1, p.rest1 * g);
        v[0] = fma(p.beta2, old2, p.rest2 * g * g);
        let divisor = fma(sqrt(v[0]), p.root2, p.eps);
        weight[at + 0u] = fma(-p.step, m[0] / divisor, weight[at + 0u] * p.keep);
      }
      if (at + 1u < p.n) {
        let g = grad[at + 1u] * p.grad_scale;
        let old1 = maps[(codes1 >> 8u) & 255u] * max1;
        let old2 = maps[256u + ((codes2 >> 8u) & 255u)] * max2;
        m[1] = fma(p.beta1, old1, p.rest1 * g);
        v[1] = fma(p.beta2, old2, p.rest2 * g * g);
        let divisor = fma(sqrt(v[1]), p.root2, p.eps);
        weight[at + 1u] = fma(-p.step, m[1] / divisor, weight[at + 1u] * p.keep);
      }
      if (at + 2u < p.n) {
        let g = grad[at + 2u] * p.grad_scale;
        let old1 = maps[(codes1 >> 16u) & 255u] * max1;
        let old2 = maps[256u + ((codes2 >> 16u) & 255u)] * max2;
        m[2] = fma(p.beta1, old1, p.rest1 * g);
        v[2] = fma(p.beta2, old2, p.rest2 * g * g);
        let divisor = fma(sqrt(v[2]), p.root2, p.eps);
        weight[at + 2u] = fma(-p.step, m[2] / divisor, weight[at + 2u] * p.keep);
      }
      if (at + 3u < p.n) {
        let g = grad[at + 3u] * p.grad_scale;
        let old1 = maps[(codes1 >> 24u) & 255u] * max1;
        let old2 = maps[256u + ((codes2 >> 24u) & 255u)] * max2;
        m[3] = fma(p.beta1, old1, p.rest1 * g);
        v[3] = fma(p.beta2, old2, p.rest2 * g * g);
        let divisor = fma(sqrt(v[3]), p.root2, p.eps);
        weight[at + 3u] = fma(-p.step, m[3] / divisor, weight[at + 3u] * p.keep);
      }
    }
    let size = abs(m);
    let large1 = reduce_max(local, max(max(size.x, size.y), max(size.z, size.w)));
    let large2 = reduce_max(local, max(max(v.x, v.y), max(v.z, v.w)));
    if (at < p.n) {
      if (lane == 0u) {
        first_max[block] = large1;
        second_max[block] = large2;
      }
      let part1 = select(1.0, large1, large1 > 0.0);
      let part2 = select(1.0, large2, large2 > 0.0);
      var codes1 = 0u;
      var codes2 = 0u;
      {
        let k1 = signed_magnitude(min(1.0, size[0] / part1));
        let code = select(127u + k1, 127u - min(k1, 127u), m[0] < 0.0);
        codes1 |= code << 0u;
        codes2 |= unsigned_magnitude(min(1.0, v[0] / part2)) << 0u;
      }
      {
        let k1 = signed_magnitude(min(1.0, size[1] / part1));
        let code = select(127u + k1, 127u - min(k1, 127u), m[1] < 0.0);
        codes1 |= code << 8u;
        codes2 |= unsigned_magnitude(min(1.0, v[1] / part2)) << 8u;
      }
      {
        let k1 = signed_magnitude(min(1.0, size[2] / part1));
        let code = select(127u + k1, 127u - min(k1, 127u), m[2] < 0.0);
        codes1 |= code << 16u;
        codes2 |= unsigned_magnitude(min(1.0, v[2] / part2)) << 16u;
      }
      {
        let k1 = signed_magnitude(min(1.0, size[3] / part1));
        let code = select(127u + k1, 127u - min(k1, 127u), m[3] < 0.0);
        codes1 |= code << 24u;
        codes2 |= unsigned_magnitude(min(1.0, v[3] / part2)) << 24u;
      }
      first[at / 4u] = codes1;
      second[at / 4u] = codes2;
    }
  }
}