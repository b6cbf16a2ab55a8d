/**
 * GPU bindings of the gated delta rule and its gradient. An invocation has a column of a head's
 * state. The backward goes through a segment in blocks of positions: it stores the state before
 * each block, computes those of one block again, and then sums over the columns.
 * Left out (the device refuses it): tensors beyond one binding.
 */
import { perElement } from "../common/wgsl/entry.ts";
import { kernel, variants } from "../common/wgsl/kernel.ts";
import { EXP, LOG, SIGMOID } from "../common/wgsl/math.ts";
import type { WebgpuContext, WebgpuOp } from "../common/webgpu_op.ts";
import {
  DELTA_SEGMENT as AT,
  type DeltaRuleArgs,
  type DeltaRuleBackwardArgs,
  deltaWidth,
  NO_STATE,
  NORM_EPS,
} from "./spec.ts";

/** Columns in a workgroup, and positions in a block. */
const COLUMNS = 64, BLOCK = 32;

const PARAMS = "u32 n keyHeads valueHeads keyDim valueDim width";

const sizesOf = (args: DeltaRuleArgs | DeltaRuleBackwardArgs) => {
  const { keyHeads, valueHeads, keyDim, valueDim } = args;
  return { keyHeads, valueHeads, keyDim, valueDim, width: deltaWidth(args) };
};

/** WGSL: the key head of a value head, SiLU and its derivative, and where a value is in x. */
const COMMON = `${EXP}${SIGMOID}
fn key_head(head: u32) -> u32 { return head * p.keyHeads / p.valueHeads; }
fn silu(x: f32) -> f32 { return x * sigmoid_f32(x); }
fn silu_slope(x: f32) -> f32 { let s = sigmoid_f32(x); return s * fma(x, 1.0 - s, 1.0); }
fn value_at(row: u32, head: u32, j: u32) -> u32 {
  return row * p.width + 2u * p.keyHeads * p.keyDim + head * p.valueDim + j;
}`;

/** WGSL: 1/|silu(x)| of the keyDim elements from `first` on. */
const INVERSE_NORM = `
fn inverse_norm(first: u32) -> f32 {
  var sum = 0.0;
  for (var i = 0u; i < p.keyDim; i++) { let y = silu(x[first + i]); sum = fma(y, y, sum); }
  return 1.0 / sqrt(sum + ${NORM_EPS});
}`;

/** One invocation for each row and head of queries and keys. */
const keys = kernel({
  name: "delta_rule.keys",
  reads: "f32 x",
  writes: "f32 qk",
  params: PARAMS,
  code: COMMON + INVERSE_NORM + perElement(`
  let first = i / (2u * p.keyHeads) * p.width + i % (2u * p.keyHeads) * p.keyDim;
  let isQuery = i % (2u * p.keyHeads) < p.keyHeads;
  let scale = inverse_norm(first) * select(1.0, 1.0 / sqrt(f32(p.keyDim)), isQuery);
  for (var c = 0u; c < p.keyDim; c++) { qk[i * p.keyDim + c] = silu(x[first + c]) * scale; }`),
});

/** WGSL: ln(1 + eˣ). */
const SOFTPLUS = `${LOG}
fn softplus(x: f32) -> f32 {
  let y = exp_f32(-abs(x));
  let w = 1.0 + y;
  return max(x, 0.0) + select(log_f32(w) * (y / (w - 1.0)), y, w == 1.0);
}`;

const GATE_INPUTS = "f32 a b aLog dtBias";

const gates = kernel({
  name: "delta_rule.gates",
  reads: GATE_INPUTS,
  writes: "f32 gates",
  params: PARAMS,
  code: COMMON + SOFTPLUS + perElement(`
  let head = i % p.valueHeads;
  let at = i / p.valueHeads * 2u * p.valueHeads + head;
  gates[at] = exp_f32(-exp_f32(aLog[head]) * softplus(a[i] + dtBias[head]));
  gates[at + p.valueHeads] = sigmoid_f32(b[i]);`),
});

/** Queries, keys and gates of all rows. */
function prepared(args: DeltaRuleArgs | DeltaRuleBackwardArgs, ctx: WebgpuContext) {
  const { x, a, b, aLog, dtBias, rows, keyHeads, valueHeads, keyDim } = args;
  const qk = ctx.scratch("float", 2 * rows * keyHeads * keyDim, "delta.qk");
  const gate = ctx.scratch("float", 2 * rows * valueHeads, "delta.gates");
  const run = (
    kernel: typeof keys,
    n: number,
    buffers: Parameters<typeof ctx.dispatch>[0]["buffers"],
  ) =>
    ctx.dispatch({
      kernel,
      buffers,
      params: { n, ...sizesOf(args) },
    });
  run(keys, 2 * rows * keyHeads, { x, qk });
  run(gates, rows * valueHeads, { a, b, aLog, dtBias, gates: gate });
  return { qk, gates: gate, run };
}

const forward = variants(({ keyDim }: { keyDim: number }) => ({
  name: "delta_rule",
  reads: "f32 x qk gates, u32 segments",
  writes: "f32 state mixed",
  params: `u32 first, ${PARAMS}`,
  code: `${COMMON}
@compute @workgroup_size(${COLUMNS})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {
  let unit = group.x + group.y * groups.x;
  let blocks = (p.valueDim + ${COLUMNS - 1}u) / ${COLUMNS}u;
  let j = unit % blocks * ${COLUMNS}u + local;
  if (unit >= p.n || j >= p.valueDim) { return; }
  let head = unit / blocks % p.valueHeads;
  let segment = (p.first + unit / blocks / p.valueHeads) * ${AT.columns}u;
  let origin = segments[segment + ${AT.from}u];
  let to = segments[segment + ${AT.to}u];
  var s: array<f32, ${keyDim}>;
  for (var i = 0u; i < ${keyDim}u; i++) {
    s[i] = 0.0;
    if (origin != ${NO_STATE}u) {
      s[i] = state[((origin * p.valueHeads + head) * ${keyDim}u + i) * p.valueDim + j];
    }
  }
  for (var row = segments[segment]; row < segments[segment + ${AT.end}u]; row++) {
    let q = (row * 2u * p.keyHeads + key_head(head)) * ${keyDim}u;
    let k = q + p.keyHeads * ${keyDim}u;
    let gamma = gates[row * 2u * p.valueHeads + head];
    let beta = gates[(row * 2u + 1u) * p.valueHeads + head];
    var u = 0.0;
    for (var i = 0u; i < ${keyDim}u; i++) { s[i] *= gamma; u = fma(qk[k + i], s[i], u); }
    let delta = beta * (silu(x[value_at(row, head, j)]) - u);
    var sum = 0.0;
    for (var i = 0u; i < ${keyDim}u; i++) {
      s[i] = fma(qk[k + i], delta, s[i]);
      sum = fma(qk[q + i], s[i], sum);
    }
    mixed[(row * p.valueHeads + head) * p.valueDim + j] = sum;
  }
  if (to == ${NO_STATE}u) { return; }
  for (var i = 0u; i < ${keyDim}u; i++) {
    state[((to * p.valueHeads + head) * ${keyDim}u + i) * p.valueDim + j] = s[i];
  }
}`,
}));

export const deltaRuleWebgpu: WebgpuOp<DeltaRuleArgs> = (args, ctx) => {
  const { x, segments, segmentCount, roots, state, out, rows, keyDim, valueHeads, valueDim } = args;
  if (rows === 0) return;
  const { qk, gates } = prepared(args, ctx);
  const units = valueHeads * Math.ceil(valueDim / COLUMNS);
  for (const [first, end] of [[0, roots], [roots, segmentCount]] as const) {
    const n = (end - first) * units;
    ctx.dispatch({
      kernel: forward({ keyDim }),
      buffers: { x, qk, gates, segments, state, mixed: out },
      params: { n, ...sizesOf(args), first },
      groups: n,
    });
  }
};

/** One workgroup for each value head. */
const backward = kernel({
  name: "delta_rule_backward",
  reads: "f32 x dout qk gates, u32 segments",
  writes: "f32 dqk dgates dx work",
  params: `u32 first segmentCount states blocks each, ${PARAMS}`,
  code: `${COMMON}
var<private> head: u32;
fn query_at(row: u32) -> u32 { return (row * 2u * p.keyHeads + key_head(head)) * p.keyDim; }
fn key_at(row: u32) -> u32 { return query_at(row) + p.keyHeads * p.keyDim; }
fn gamma_at(row: u32) -> f32 { return gates[row * 2u * p.valueHeads + head]; }
fn beta_at(row: u32) -> f32 { return gates[(row * 2u + 1u) * p.valueHeads + head]; }
/* v − u of a column, whose state is at \`before\`. */
fn rest_of(row: u32, j: u32, before: u32) -> f32 {
  var u = 0.0;
  for (var i = 0u; i < p.keyDim; i++) {
    u = fma(qk[key_at(row) + i], work[before + i * p.valueDim + j], u);
  }
  return silu(x[value_at(row, head, j)]) - gamma_at(row) * u;
}
fn advance(row: u32, j: u32, before: u32, after: u32) {
  let delta = beta_at(row) * rest_of(row, j, before);
  let gamma = gamma_at(row);
  for (var i = 0u; i < p.keyDim; i++) {
    let at = i * p.valueDim + j;
    work[after + at] = fma(qk[key_at(row) + i], delta, gamma * work[before + at]);
  }
}
fn copy_column(j: u32, source: u32, to: u32, exists: bool) {
  for (var i = 0u; i < p.keyDim; i++) {
    let at = i * p.valueDim + j;
    var s = 0.0;
    if (exists) { s = work[source + at]; }
    work[to + at] = s;
  }
}
@compute @workgroup_size(${COLUMNS})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
  head = p.first + group.x;
  let size = p.keyDim * p.valueDim;
  let states = group.x * p.each; // of a block, after each position
  let slopes = states + ${BLOCK + 1}u * size; // derivatives by them
  let starts = slopes + ${BLOCK}u * size; // the states before blocks
  let ends = starts + p.blocks * size; // of segments
  let back = ends + p.states * size; // derivatives by them
  let D = back + p.states * size;
  let columns = D + size; // δ, du, and parts of dγ and dβ
  let line = ${BLOCK}u * p.valueDim;
  for (var j = local; j < p.valueDim; j += ${COLUMNS}u) {
    for (var s = 0u; s < p.states; s++) {
      copy_column(j, 0u, back + s * size, false);
      copy_column(j, 0u, ends + s * size, false);
    }
    for (var s = 0u; s < p.segmentCount; s++) {
      let to = segments[s * ${AT.columns}u + ${AT.to}u];
      if (to == ${NO_STATE}u) { continue; }
      for (var row = segments[s * ${AT.columns}u]; row < segments[s * ${AT.columns}u + 1u]; row++) {
        advance(row, j, ends + to * size, ends + to * size);
      }
    }
  }
  for (var last = p.segmentCount; last > 0u; last--) {
    let segment = (last - 1u) * ${AT.columns}u;
    let begin = segments[segment];
    let end = segments[segment + ${AT.end}u];
    let origin = segments[segment + ${AT.from}u];
    let to = segments[segment + ${AT.to}u];
    for (var j = local; j < p.valueDim; j += ${COLUMNS}u) {
      copy_column(j, back + to * size, D, to != ${NO_STATE}u);
      copy_column(j, ends + origin * size, starts, origin != ${NO_STATE}u);
      for (var row = begin; row + 1u < end; row++) {
        let after = starts + ((row - begin + 1u) / ${BLOCK}u) * size;
        let block = starts + ((row - begin) / ${BLOCK}u) * size;
        // The running state of a block is kept where its states will be.
        let before = select(states, block, (row - begin) % ${BLOCK}u == 0u);
        advance(row, j, before, select(states, after, after != block));
      }
    }
    for (var block = (end - begin + ${BLOCK - 1}u) / ${BLOCK}u; block > 0u; block--) {
      let first = begin + (block - 1u) * ${BLOCK}u;
      let count = min(${BLOCK}u, end - first);
      for (var j = local; j < p.valueDim; j += ${COLUMNS}u) {
        copy_column(j, starts + (block - 1u) * size, states, true);
        for (var t = 0u; t < count; t++) {
          advance(first + t, j, states + t * size, states + (t + 1u) * size);
        }
        for (var next = count; next > 0u; next--) {
          let t = next - 1u;
          let row = first + t;
          let before = states + t * size;
          let rest = rest_of(row, j, before);
          let beta = beta_at(row);
          let gamma = gamma_at(row);
          let dy = dout[(row * p.valueHeads + head) * p.valueDim + j];
          var ddelta = 0.0;
          for (var i = 0u; i < p.keyDim; i++) {
            let at = i * p.valueDim + j;
            let d = fma(qk[query_at(row) + i], dy, work[D + at]);
            work[slopes + t * size + at] = d;
            ddelta = fma(d, qk[key_at(row) + i], ddelta);
          }
          let du = -beta * ddelta;
          var dgamma = 0.0;
          for (var i = 0u; i < p.keyDim; i++) {
            let at = i * p.valueDim + j;
            let through = fma(qk[key_at(row) + i], du, work[slopes + t * size + at]);
            dgamma = fma(work[before + at], through, dgamma);
            work[D + at] = through * gamma;
          }
          let at = columns + t * p.valueDim + j;
          work[at] = beta * rest;
          work[at + line] = du * gamma;
          work[at + 2u * line] = dgamma;
          work[at + 3u * line] = ddelta * rest;
          let v = value_at(row, head, j);
          dx[v] = beta * ddelta * silu_slope(x[v]);
        }
      }
      storageBarrier();
      for (var e = local; e < count * p.keyDim; e += ${COLUMNS}u) {
        let t = e / p.keyDim;
        let i = e % p.keyDim;
        let row = first + t;
        let before = states + t * size + i * p.valueDim;
        let slope = slopes + t * size + i * p.valueDim;
        let at = columns + t * p.valueDim;
        let y = (row * p.valueHeads + head) * p.valueDim;
        var dq = 0.0;
        var dk = 0.0;
        for (var j = 0u; j < p.valueDim; j++) {
          dq = fma(work[before + size + j], dout[y + j], dq);
          dk = fma(work[slope + j], work[at + j], fma(work[before + j], work[at + line + j], dk));
        }
        let to = (row * p.valueHeads + head) * 2u * p.keyDim + i;
        dqk[to] = dq;
        dqk[to + p.keyDim] = dk;
      }
      for (var e = local; e < 2u * count; e += ${COLUMNS}u) {
        let at = columns + (2u + e % 2u) * line + e / 2u * p.valueDim;
        var sum = 0.0;
        for (var j = 0u; j < p.valueDim; j++) { sum += work[at + j]; }
        dgates[((first + e / 2u) * 2u + e % 2u) * p.valueHeads + head] = sum;
      }
      storageBarrier();
    }
    if (origin == ${NO_STATE}u) { continue; }
    for (var j = local; j < p.valueDim; j += ${COLUMNS}u) {
      for (var i = 0u; i < p.keyDim; i++) {
        let at = i * p.valueDim + j;
        work[back + origin * size + at] += work[D + at];
      }
    }
  }
}`,
});

/** The derivatives by queries and keys before their norm, summed over value heads. */
const keysBackward = kernel({
  name: "delta_rule_backward.keys",
  reads: "f32 x dqk",
  writes: "f32 dx",
  params: PARAMS,
  code: COMMON + INVERSE_NORM + `
fn slope_at(first: u32, c: u32) -> f32 {
  var sum = 0.0;
  for (var j = 0u; j < p.valueHeads / p.keyHeads; j++) { sum += dqk[first + j * 2u * p.keyDim + c]; }
  return sum;
}` + perElement(`
  let row = i / (2u * p.keyHeads);
  let head = i % (2u * p.keyHeads);
  let isKey = head / p.keyHeads;
  let count = p.valueHeads / p.keyHeads;
  let first = row * p.width + head * p.keyDim;
  let place = ((row * p.valueHeads + head % p.keyHeads * count) * 2u + isKey) * p.keyDim;
  let inverse = inverse_norm(first);
  let scale = inverse * select(1.0, 1.0 / sqrt(f32(p.keyDim)), isKey == 0u);
  var along = 0.0;
  for (var c = 0u; c < p.keyDim; c++) {
    along = fma(silu(x[first + c]), slope_at(place, c), along);
  }
  along *= inverse * inverse;
  for (var c = 0u; c < p.keyDim; c++) {
    let y = x[first + c];
    dx[first + c] = (slope_at(place, c) - silu(y) * along) * scale * silu_slope(y);
  }`),
});

const gatesBackward = kernel({
  name: "delta_rule_backward.gates",
  reads: `${GATE_INPUTS} gates dgates`,
  writes: "f32 da db dlog",
  params: PARAMS,
  code: COMMON + SOFTPLUS + perElement(`
  let head = i % p.valueHeads;
  let at = i / p.valueHeads * 2u * p.valueHeads + head;
  let shifted = a[i] + dtBias[head];
  let slope = -dgates[at] * gates[at] * exp_f32(aLog[head]);
  let beta = gates[at + p.valueHeads];
  dlog[i] = slope * softplus(shifted);
  da[i] = slope * sigmoid_f32(shifted);
  db[i] = dgates[at + p.valueHeads] * beta * (1.0 - beta);`),
});

export const deltaRuleBackwardWebgpu: WebgpuOp<DeltaRuleBackwardArgs> = (args, ctx) => {
  const { x, a, b, aLog, dtBias, dout, dx, da, db, dlog, segments, segmentCount, states } = args;
  const { rows, keyHeads, valueHeads, keyDim, valueDim, longest } = args;
  if (rows === 0) return;
  const { run, ...ready } = prepared(args, ctx), size = keyDim * valueDim;
  const dqk = ctx.scratch("float", 2 * rows * valueHeads * keyDim, "delta.dqk");
  const dgates = ctx.scratch("float", 2 * rows * valueHeads, "delta.dgates");
  const blocks = Math.ceil(longest / BLOCK) + 1;
  const each = (2 * BLOCK + 2 + blocks + 2 * states) * size + 4 * BLOCK * valueDim;
  const heads = Math.min(valueHeads, Math.max(1, Math.floor(ctx.limits.bindingElements / each)));
  const work = ctx.scratch("float", heads * each, "delta.work");
  for (let first = 0; first < valueHeads; first += heads) {
    ctx.dispatch({
      kernel: backward,
      buffers: { x, dout, ...ready, segments, dqk, dgates, dx, work },
      params: { n: 0, ...sizesOf(args), first, segmentCount, states, blocks, each },
      groups: Math.min(heads, valueHeads - first),
    });
  }
  run(keysBackward, 2 * rows * keyHeads, { x, dqk, dx });
  run(gatesBackward, rows * valueHeads, {
    a,
    b,
    aLog,
    dtBias,
    gates: ready.gates,
    dgates,
    da,
    db,
    dlog,
  });
};
