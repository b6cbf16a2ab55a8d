/**
 * WGSL of what the fused head does between its matrix products: one workgroup goes through a row of a chunk of
 * logits. Where the width of the chunk allows it, four logits are loaded at a time.
 */
import { entryPoint } from "../common/wgsl/entry.ts";
import { variants } from "../common/wgsl/kernel.ts";
import type { WeightType } from "../../weights/types.ts";
import { BLOCK_PARAMS, rowBufferType, rowFour } from "../../weights/widen.wgsl.ts";
import { EXP, LOG } from "../common/wgsl/math.ts";
import { reduceMax, reduceSum } from "../common/wgsl/reduce.ts";

export interface RowOptions {
  invocations: number;
  /** The width is a multiple of four. */
  vectors: boolean;
}

/** WGSL: the entry point and `number`, the row of the chunk that this workgroup has. */
function entry(invocations: number): string {
  return `${entryPoint(invocations)}
  let number = group.x + group.y * groups.x;
  if (number >= p.rows) { return; }
  let row = p.row + number;`;
}

/** How logits are reached: the type of one load, a loop over the row's, one logit, and functions of a load. */
function access({ invocations, vectors }: RowOptions) {
  const width = vectors ? "(p.width / 4u)" : "p.width";
  return {
    type: vectors ? "vec4<f32>" : "f32",
    /** `begin` and `end` of the row in loads. */
    range: `let begin = number * ${width};
  let end = begin + ${width};`,
    loop: (body: string) =>
      `for (var i = begin + local; i < end; i += ${invocations}u) { ${body} }`,
    one: vectors ? "logits[begin + (column >> 2u)][column & 3u]" : "logits[begin + column]",
    /** Which invocation of the loop has the logit `column`. */
    owner: `${vectors ? "(column >> 2u)" : "column"} % ${invocations}u`,
    functions: `
alias Load = ${vectors ? "vec4f" : "f32"};
${
      vectors
        ? `fn exp_load(x: vec4f) -> vec4f {
  return vec4f(exp_f32(x.x), exp_f32(x.y), exp_f32(x.z), exp_f32(x.w));
}
fn sum_load(x: vec4f) -> f32 { return (x.x + x.y) + (x.z + x.w); }
fn max_load(x: vec4f) -> f32 { return max(max(x.x, x.y), max(x.z, x.w)); }`
        : `fn exp_load(x: f32) -> f32 { return exp_f32(x); }
fn sum_load(x: f32) -> f32 { return x; }
fn max_load(x: f32) -> f32 { return x; }`
    }
`,
  };
}

/**
 * Merges a chunk of logits, columns p.first …, into the running values of its rows (largest logit m, Σ e^(z−m),
 * Σ e^(z−m)·(z−m)), and takes the targets' logits; with the last chunk come the results. `mean`: leaves e^(z−m) in
 * place of the logits, and brings the mean of the columns before to the new m; with the last chunk both are
 * divided by the whole sum, so that adding their product makes the mean.
 */
export const mergeLogits = variants((options: RowOptions & { mean: boolean }) => {
  const { invocations, mean } = options;
  const { type, range, loop, one, functions } = access(options);
  return {
    name: `head.merge${mean ? "_mean" : ""}`,
    buffers: {
      logits: `${mean ? "write" : "read"} ${type}`,
      pair_start: "read u32",
      targets: "read u32",
      running: "write vec4<f32>",
      logp: "write f32",
      lse: "write f32",
      entropy: "write f32",
      ...(mean ? { means: "write f32" } : {}),
    },
    params: {
      rows: "u32" as const,
      row: "u32" as const,
      width: "u32" as const,
      first: "u32" as const,
      last: "u32" as const,
      d: "u32" as const,
    },
    code: `${EXP}${LOG}${reduceSum(invocations, invocations)}${
      reduceMax(invocations, invocations)
    }${functions}
${entry(invocations)}
  ${range}
  let pair_end = pair_start[row + 1u];
  for (var pair = pair_start[row] + local; pair < pair_end; pair += ${invocations}u) {
    let column = targets[pair] - p.first;
    if (column < p.width) { logp[pair] = ${one}; }
  }
  var before = vec4f(-3.0e38, 0.0, 0.0, 0.0);
  if (p.first > 0u) { before = running[number]; }
  var high = Load(-3.0e38);
  ${loop("high = max(high, logits[i]);")}
  let m = max(before.x, reduce_max(local, max_load(high)));
  var sums = Load(0.0);
  var shifted = Load(0.0);
  ${
      loop(`let x = logits[i] - Load(m);
    let e = exp_load(x);
    sums += e;
    shifted = fma(e, x, shifted);`)
    }
  let fade = exp_f32(before.x - m);
  let l = reduce_sum(local, sum_load(sums)) + fade * before.y;
  let s = reduce_sum(local, sum_load(shifted)) + fade * fma(before.x - m, before.y, before.z);
  // All have read \`before\`, and the targets' logits, when anyone overwrites them.
  storageBarrier();
  if (local == 0u) { running[number] = vec4f(m, l, s, 0.0); }
  ${
      mean
        ? `let share = select(1.0, 1.0 / l, p.last == 1u);
  ${loop("logits[i] = exp_load(logits[i] - Load(m)) * share;")}
  if (p.first > 0u) {
    for (var j = local; j < p.d; j += ${invocations}u) { means[number * p.d + j] *= fade * share; }
  }`
        : ""
    }
  if (p.last == 0u) { return; }
  let log_l = log_f32(l);
  if (local == 0u) {
    lse[row] = m + log_l;
    entropy[row] = log_l - s / l;
  }
  for (var pair = pair_start[row] + local; pair < pair_end; pair += ${invocations}u) {
    logp[pair] = (logp[pair] - m) - log_l;
  }
}`,
  };
});

/** WGSL: α, the sum of the row's dlogp in the order of its pairs. */
const ALPHA = `let pair_begin = pair_start[row];
  let pair_end = pair_start[row + 1u];
  var alpha = 0.0;
  for (var pair = pair_begin; pair < pair_end; pair++) { alpha += dlogp[pair]; }`;

/** Turns a chunk of logits, columns p.first …, into the loss's derivative by them. */
export const logitSlopes = variants((options: RowOptions & { dentropy: boolean }) => {
  const { invocations, dentropy } = options;
  const { type, range, loop, one, owner, functions } = access(options);
  return {
    name: "head_backward.slopes",
    buffers: {
      logits: `write ${type}`,
      pair_start: "read u32",
      targets: "read u32",
      lse: "read f32",
      entropy: "read f32",
      dlogp: "read f32",
      ...(dentropy ? { dentropy: "read f32" } : {}),
    },
    params: {
      rows: "u32" as const,
      row: "u32" as const,
      width: "u32" as const,
      first: "u32" as const,
    },
    code: `${EXP}${functions}
${entry(invocations)}
  ${range}
  ${ALPHA}
  let shift = lse[row];
  ${
      dentropy
        ? `let slope = -dentropy[row];
  let level = fma(slope, entropy[row], -alpha);
  ${
          loop(`let x = logits[i] - Load(shift);
    logits[i] = exp_load(x) * fma(Load(slope), x, Load(level));`)
        }`
        : loop("logits[i] = exp_load(logits[i] - Load(shift)) * -alpha;")
    }
  for (var pair = pair_begin; pair < pair_end; pair++) {
    let column = targets[pair] - p.first;
    if (column < p.width && ${owner} == local) { ${one} += dlogp[pair]; }
  }
}`,
  };
});

/**
 * dhidden = scale·(Σ_pairs dlogp·weight[target] − (Σ_pairs dlogp)·mean): one workgroup a row. p.tokens rows of the
 * weight from token p.first on are bound; the call with the first ones begins the sum.
 */
export const fromMean = variants(
  ({ invocations, type }: { invocations: number; type: WeightType | "f32" }) => {
    const stored = type !== "f32";
    return {
      name: "head_backward.from_mean",
      buffers: {
        weight: `read ${stored ? rowBufferType(type) : "f32"}`,
        pair_start: "read u32",
        targets: "read u32",
        dlogp: "read f32",
        means: "read f32",
        dhidden: "write f32",
      },
      params: {
        rows: "u32" as const,
        row: "u32" as const,
        d: "u32" as const,
        first: "u32" as const,
        tokens: "u32" as const,
        scale: "f32" as const,
        ...(stored ? BLOCK_PARAMS : {}),
      },
      code: `${stored ? rowFour("weight", type) : ""}${entry(invocations)}
  ${ALPHA}
${stored ? fourColumns(invocations) : oneColumn(invocations)}
}`,
    };
  },
);

/** WGSL: the loop of {@link fromMean} over a row's columns, where floats are read. */
function oneColumn(invocations: number): string {
  return `  for (var j = local; j < p.d; j += ${invocations}u) {
    let at = number * p.d + j;
    var sum = 0.0;
    if (p.first == 0u) { sum = -alpha * p.scale * means[at]; } else { sum = dhidden[at]; }
    for (var pair = pair_begin; pair < pair_end; pair++) {
      let token = targets[pair] - p.first;
      if (token < p.tokens) { sum = fma(dlogp[pair] * p.scale, weight[token * p.d + j], sum); }
    }
    dhidden[at] = sum;
  }`;
}

/** The same where stored weights are read, four elements at once. */
function fourColumns(invocations: number): string {
  const lanes = (code: (lane: string, at: string) => string) =>
    ["x", "y", "z", "w"].map((lane, k) =>
      `    if (j + ${k}u < p.d) { ${code(`sum.${lane}`, `[at + ${k}u]`)} }`
    ).join("\n");
  return `  for (var j = 4u * local; j < p.d; j += ${4 * invocations}u) {
    let at = number * p.d + j;
    var sum = vec4f(0.0);
${
    lanes((sum, at) =>
      `if (p.first == 0u) { ${sum} = -alpha * p.scale * means${at}; } else { ${sum} = dhidden${at}; }`
    )
  }
    for (var pair = pair_begin; pair < pair_end; pair++) {
      let token = targets[pair] - p.first;
      if (token < p.tokens) {
        sum = fma(vec4f(dlogp[pair] * p.scale), row_four(token, j, p.d), sum);
      }
    }
${lanes((sum, at) => `dhidden${at} = ${sum};`)}
  }`;
}
