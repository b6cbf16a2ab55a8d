/**
 * GPU bindings of the operations on experts. A product has tiles of rows of one expert; how many
 * there are only the card knows, so there are workgroups for the most there can be. Matrices beyond
 * one binding are bound part by part.
 * Left out (the device refuses them): rows beyond one binding.
 */
import type { WeightType } from "../../weights/types.ts";
import { BLOCK_PARAMS, rowBufferType, rowFour, rowParams } from "../../weights/widen.wgsl.ts";
import { elementRounding } from "../matmul/webgpu/choose.ts";
import {
  fourElements,
  rounded,
  roundFunction,
  type Rounding,
} from "../matmul/webgpu/elements.wgsl.ts";
import { inRowParts, inStoredParts } from "../common/webgpu_parts.ts";
import type { WebgpuOp } from "../common/webgpu_op.ts";
import { entryPoint, perElement } from "../common/wgsl/entry.ts";
import { kernel, variants } from "../common/wgsl/kernel.ts";
import type { ExpertGradientArgs, ExpertMatmulArgs, RouteArgs, RouteBackwardArgs } from "./spec.ts";

const ROUTE = "u32 n rows experts chosen normalize";

/** WGSL: `most` and `sum` of row i's logits, so that p_e = exp(logits[at + e] − most) / sum. */
const probabilities = `let at = i * p.experts;
  var most = logits[at];
  for (var e = 1u; e < p.experts; e++) { most = max(most, logits[at + e]); }
  var sum = 0.0;
  for (var e = 0u; e < p.experts; e++) { sum += exp(logits[at + e] - most); }`;

/** One invocation for each row. A logit comes after those that are larger, or equal before it. */
const choose = kernel({
  name: "route.choose",
  reads: "f32 logits",
  writes: "u32 expert_of, f32 gate_of",
  params: ROUTE,
  code: perElement(
    `${probabilities}
  var last = most;
  var last_at = 0u;
  var total = 0.0;
  for (var j = 0u; j < p.chosen; j++) {
    var best = p.experts;
    for (var e = 0u; e < p.experts; e++) {
      let x = logits[at + e];
      let is_left = j == 0u || x < last || (x == last && e > last_at);
      if (is_left && (best == p.experts || x > logits[at + best])) { best = e; }
    }
    best = min(best, p.experts - 1u);
    last = logits[at + best];
    last_at = best;
    let gate = exp(last - most) / sum;
    total += gate;
    expert_of[i * p.chosen + j] = best;
    gate_of[i * p.chosen + j] = gate;
  }
  if (p.normalize == 0u) { return; }
  for (var j = 0u; j < p.chosen; j++) { gate_of[i * p.chosen + j] /= total; }`,
  ),
});

/** One invocation for each expert: its places come after those of all experts before it. */
const place = kernel({
  name: "route.place",
  reads: "u32 expert_of, f32 gate_of",
  writes: "u32 first_of place_of row_of, f32 gates",
  params: ROUTE,
  code: perElement(
    `var next = 0u;
  for (var j = 0u; j < p.rows * p.chosen; j++) { next += u32(expert_of[j] < i); }
  first_of[i] = next;
  for (var j = 0u; j < p.rows * p.chosen; j++) {
    if (expert_of[j] != i) { continue; }
    place_of[j] = next;
    row_of[next] = j / p.chosen;
    gates[next] = gate_of[j];
    next++;
  }
  if (i + 1u == p.experts) { first_of[p.experts] = next; }`,
  ),
});

export const routeWebgpu: WebgpuOp<RouteArgs> = (args, ctx) => {
  const { logits, gates, rowOf, placeOf, expertOf, begin, rows, experts, chosen } = args;
  const params = { rows, experts, chosen, normalize: args.normalize ? 1 : 0 };
  const gateOf = ctx.scratch("float", Math.max(1, rows * chosen), "gates of rows");
  ctx.dispatch({
    kernel: choose,
    buffers: { logits, expert_of: expertOf, gate_of: gateOf },
    params: { n: rows, ...params },
  });
  ctx.dispatch({
    kernel: place,
    buffers: {
      expert_of: expertOf,
      gate_of: gateOf,
      first_of: begin,
      place_of: placeOf,
      row_of: rowOf,
      gates,
    },
    params: { n: experts, ...params },
  });
};

/** One invocation for each row. */
const routeBack = variants(({ balanced }: { balanced: boolean }) => ({
  name: `route_backward${balanced ? ".balanced" : ""}`,
  reads: `f32 logits gates dgates${balanced ? " balance" : ""}, u32 place_of expert_of`,
  writes: "f32 dlogits",
  params: ROUTE,
  code: perElement(
    `${probabilities}
  let first = i * p.chosen;
  var total = 0.0;
  var dot = 0.0;
  for (var j = first; j < first + p.chosen; j++) {
    total += exp(logits[at + expert_of[j]] - most) / sum;
    dot += dgates[place_of[j]] * gates[place_of[j]];
  }
  var mean = 0.0;
  for (var e = 0u; e < p.experts; e++) {
    var q = ${balanced ? "balance[e]" : "0.0"};
    for (var j = first; j < first + p.chosen; j++) {
      if (expert_of[j] != e) { continue; }
      let dgate = dgates[place_of[j]];
      if (p.normalize != 0u) { q += (dgate - dot) / total; } else { q += dgate; }
    }
    dlogits[at + e] = q;
    mean += q * exp(logits[at + e] - most) / sum;
  }
  for (var e = 0u; e < p.experts; e++) {
    dlogits[at + e] = (dlogits[at + e] - mean) * exp(logits[at + e] - most) / sum;
  }`,
  ),
}));

export const routeBackwardWebgpu: WebgpuOp<RouteBackwardArgs> = (args, ctx) => {
  const { logits, gates, placeOf, expertOf, dgates, balance, dlogits } = args;
  const { rows, experts, chosen, normalize } = args;
  ctx.dispatch({
    kernel: routeBack({ balanced: balance !== undefined }),
    buffers: {
      logits,
      gates,
      place_of: placeOf,
      expert_of: expertOf,
      dgates,
      ...(balance === undefined ? {} : { balance }),
      dlogits,
    },
    params: { n: rows, rows, experts, chosen, normalize: normalize ? 1 : 0 },
  });
};

/** Edge of a tile of the result, terms of a step, and invocations, each of which makes 4 × 4. */
const TILE = 32, STEP = 16, THREADS = 64;

/**
 * WGSL: the sums of a tile. `load_a(r, depth)` gives four terms of a row of the tile, `load_b` of a
 * column with `along`, and else four columns of a term; the names are those of fours of 16.
 */
const tileSums = (a: "along" | "across", b: "along" | "across") => `
var<workgroup> tile_a: array<array<f32, ${TILE + 1}>, ${STEP}>;
var<workgroup> tile_b: array<array<f32, ${TILE + 1}>, ${STEP}>;
fn store_a(v: vec4f, line: u32, i: u32) {
  for (var j = 0u; j < 4u; j++) {
    ${a === "along" ? "tile_a[i + j][line] = v[j];" : "tile_a[line][i + j] = v[j];"}
  }
}
fn store_b(v: vec4f, line: u32, i: u32) {
  for (var j = 0u; j < 4u; j++) {
    ${b === "along" ? "tile_b[i + j][line] = v[j];" : "tile_b[line][i + j] = v[j];"}
  }
}
fn add_step(local: u32, sums: ptr<function, mat4x4f>) {
  for (var t = 0u; t < ${STEP}u; t++) {
    let x = local / 8u * 4u;
    let y = local % 8u * 4u;
    let b = vec4f(tile_b[t][y], tile_b[t][y + 1u], tile_b[t][y + 2u], tile_b[t][y + 3u]);
    for (var j = 0u; j < 4u; j++) { (*sums)[j] += tile_a[t][x + j] * b; }
  }
}`;

/** WGSL: calls `load` for the 128 groups of four of a tile's operand: `line` and `i` of each. */
const eachFour = (layout: "along" | "across", load: string) => {
  const fours = (layout === "along" ? STEP : TILE) / 4;
  return `for (var f = local; f < ${TILE * STEP / 4}u; f += ${THREADS}u) {
      let line = f / ${fours}u;
      let i = f % ${fours}u * 4u;
      ${load}
    }`;
};

interface Product {
  transB: boolean;
  type: WeightType | "f32";
  rounding: Rounding;
}

const product = variants(({ transB, type, rounding }: Product) => {
  const b = transB ? "along" : "across", width = transB ? "p.k" : "p.n";
  return {
    name: `expert_matmul.${type}`,
    reads: `f32 mat_a, ${rowBufferType(type)} mat_b, u32 first_of`,
    writes: "f32 mat_out",
    // The rows [first, first + count) of all matrices are bound.
    params: `u32 experts n k add first count, f32 alpha, ${BLOCK_PARAMS}`,
    code: `${roundFunction(rounding)}
${fourElements("a", "mat_a", { type: "f32", aligned: false, rounding })}
${rowFour("mat_b", type)}
${tileSums("along", b)}
fn bound_b(given: u32, i: u32) -> vec4f {
  let row = given - p.first;
  if (row >= p.count || i >= ${width}) { return vec4f(0.0); }
  return ${rounded(rounding, `row_four(row, i, ${width})`)};
}
${entryPoint(THREADS)}
  let columns = (p.n + ${TILE - 1}u) / ${TILE}u;
  let id = group.x + group.y * groups.x;
  let column = id % columns * ${TILE}u;
  var tile = id / columns;
  var e = 0u;
  var start = 0u;
  var end = 0u;
  for (; e < p.experts; e++) {
    start = first_of[e];
    end = first_of[e + 1u];
    let tiles = (end - start + ${TILE - 1}u) / ${TILE}u;
    if (tile < tiles) { break; }
    tile -= tiles;
  }
  if (e == p.experts) { return; }
  start += tile * ${TILE}u;
  var sums = mat4x4f();
  for (var depth = 0u; depth < p.k; depth += ${STEP}u) {
    workgroupBarrier();
    ${
      eachFour(
        "along",
        `store_a(four_a(min(start + line, end - 1u) * p.k, depth + i, p.k), line, i);`,
      )
    }
    ${
      eachFour(
        b,
        transB
          ? `var v = vec4f(0.0);
      if (column + line < p.n) { v = bound_b(e * p.n + column + line, depth + i); }
      store_b(v, line, i);`
          : `var v = vec4f(0.0);
      if (depth + line < p.k) { v = bound_b(e * p.k + depth + line, column + i); }
      store_b(v, line, i);`,
      )
    }
    workgroupBarrier();
    add_step(local, &sums);
  }
  for (var j = 0u; j < 4u; j++) {
    let row = start + local / 8u * 4u + j;
    for (var c = 0u; c < 4u; c++) {
      let at = column + local % 8u * 4u + c;
      if (row >= end || at >= p.n) { continue; }
      var before = 0.0;
      if (p.add != 0u) { before = mat_out[row * p.n + at]; }
      mat_out[row * p.n + at] = before + p.alpha * sums[j][c];
    }
  }
}`,
  };
});

export const expertMatmulWebgpu: WebgpuOp<ExpertMatmulArgs> = (args, ctx) => {
  const { a, b, out, begin, experts, rows, n, k, transB = false, alpha = 1 } = args;
  if (rows === 0) return;
  const { weightType: type = "f32" } = args, [height, width] = transB ? [n, k] : [k, n];
  const rounding = elementRounding({}, ctx);
  const tiles = Math.ceil(rows / TILE) + Math.min(experts, rows);
  inStoredParts(
    ctx,
    { weight: b, type, rows: experts * height, d: width },
    (matrices, count, first) =>
      ctx.dispatch({
        kernel: product({ transB, type, rounding }),
        buffers: { mat_a: a, mat_b: matrices, first_of: begin, mat_out: out },
        params: {
          experts,
          n,
          k,
          add: args.accumulate || first > 0 ? 1 : 0,
          alpha,
          first,
          count,
          ...rowParams(type, width),
        },
        groups: tiles * Math.ceil(n / TILE),
        flops: 2 * rows * n * k,
      }),
  );
};

const gradient = variants(({ rounding }: { rounding: Rounding }) => ({
  name: "expert_gradient",
  reads: "f32 mat_a mat_b, u32 first_of",
  writes: "f32 mat_out",
  params: "u32 m n first count, f32 alpha",
  code: `${roundFunction(rounding)}
${fourElements("a", "mat_a", { type: "f32", aligned: false, rounding })}
${fourElements("b", "mat_b", { type: "f32", aligned: false, rounding })}
${tileSums("across", "across")}
${entryPoint(THREADS)}
  let columns = (p.n + ${TILE - 1}u) / ${TILE}u;
  let lines = (p.m + ${TILE - 1}u) / ${TILE}u;
  let id = group.x + group.y * groups.x;
  let column = id % columns * ${TILE}u;
  let top = id / columns % lines * ${TILE}u;
  let e = id / columns / lines + p.first / p.m;
  // The last workgroups of a folded grid have no expert.
  if (e * p.m >= p.first + p.count) { return; }
  let start = first_of[e];
  let end = first_of[e + 1u];
  var sums = mat4x4f();
  for (var depth = start; depth < end; depth += ${STEP}u) {
    workgroupBarrier();
    ${
    eachFour(
      "across",
      `let row = min(depth + line, end - 1u);
      let is_there = f32(depth + line < end);
      store_a(four_a(row * p.m, top + i, p.m) * is_there, line, i);
      store_b(four_b(row * p.n, column + i, p.n) * is_there, line, i);`,
    )
  }
    workgroupBarrier();
    add_step(local, &sums);
  }
  for (var j = 0u; j < 4u; j++) {
    let line = top + local / 8u * 4u + j;
    let row = e * p.m + line - p.first;
    for (var c = 0u; c < 4u; c++) {
      let at = column + local % 8u * 4u + c;
      if (line < p.m && at < p.n && row < p.count) {
        mat_out[row * p.n + at] += p.alpha * sums[j][c];
      }
    }
  }
}`,
}));

export const expertGradientWebgpu: WebgpuOp<ExpertGradientArgs> = (args, ctx) => {
  const { a, b, out, begin, experts, rows, m, n, alpha = 1 } = args;
  if (rows === 0) return;
  const rounding = elementRounding({}, ctx);
  inRowParts(ctx, experts * m, n, (part, count, first) => {
    const few = Math.ceil((first + count) / m) - Math.floor(first / m);
    ctx.dispatch({
      kernel: gradient({ rounding }),
      buffers: { mat_a: a, mat_b: b, first_of: begin, mat_out: part(out, n) },
      params: { m, n, alpha, first, count },
      groups: few * Math.ceil(m / TILE) * Math.ceil(n / TILE),
      flops: 2 * rows * m * n,
    });
  });
};
