/**
 * WGSL of the passes that the fused head makes between its matrix products: one workgroup for each
 * row of a chunk of logits. Where the width of the chunk allows it, four logits are loaded at a
 * time.
 */
import { entryPoint } from "../common/wgsl/entry.ts";
import { variants } from "../common/wgsl/kernel.ts";
import type { WeightType } from "../../weights/types.ts";
import { BLOCK_PARAMS, rowBufferType, rowFour } from "../../weights/widen.wgsl.ts";
import { EXP, LOG } from "../common/wgsl/math.ts";
import { reduceMax, reduceSum } from "../common/wgsl/reduce.ts";

export interface RowOptions {
  invocations: number;
  /** Four logits are loaded at a time: the width is a multiple of four. */
  vectors: boolean;
}

/** WGSL: the entry point and `number`, the row of the chunk that this workgroup does. */
function rowEntry(invocations: number): string {
  return `${entryPoint(invocations)}
  let number = group.x + group.y * groups.x;
  if (number >= p.rows) { return; }
  let row = p.row + number;`;
}

/** WGSL that accesses a row of logits, by loads of one or of four of them. */
function logitAccess({ invocations, vectors }: RowOptions) {
  const width = vectors ? "(p.width / 4u)" : "p.width";
  return {
    /** Type of a load. */
    loadType: vectors ? "vec4<f32>" : "f32",
    /** Declares `begin` and `end` of the row, in loads. */
    rowRange: `let begin = number * ${width};
  let end = begin + ${width};`,
    /** The loop over the loads that this invocation does. */
    eachLoad: (body: string) =>
      `for (var i = begin + local; i < end; i += ${invocations}u) { ${body} }`,
    /** The logit of `column`. */
    columnLogit: vectors ? "logits[begin + (column >> 2u)][column & 3u]" : "logits[begin + column]",
    /** The invocation whose loop includes `column`. */
    columnOwner: `${vectors ? "(column >> 2u)" : "column"} % ${invocations}u`,
    /** Declares the functions of a load. */
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
 * Merges a chunk of logits, the columns from p.first on, into the running values of its rows: the
 * largest logit m, Σ e^(z−m) and Σ e^(z−m)·(z−m). It also stores the logits of the targets. The
 * last chunk gives the results.
 * With `mean` it also replaces the logits by e^(z−m), and scales the mean over the earlier columns
 * to the new m. In the last chunk both are divided by the total sum: then their product only has to
 * be added to the mean.
 */
export const mergeLogits = variants((options: RowOptions & { mean: boolean }) => {
  const { invocations, mean } = options;
  const { loadType, rowRange, eachLoad, columnLogit, functions } = logitAccess(options);
  return {
    name: `head.merge${mean ? "_mean" : ""}`,
    reads: `u32 pair_start targets${mean ? "" : `, ${loadType} logits`}`,
    writes: `vec4<f32> running, f32 logp lse entropy${mean ? ` means, ${loadType} logits` : ""}`,
    params: "u32 rows row width first last d",
    code: `${EXP}${LOG}${reduceSum(invocations, invocations)}${
      reduceMax(invocations, invocations)
    }${functions}
${rowEntry(invocations)}
  ${rowRange}
  let pair_end = pair_start[row + 1u];
  for (var pair = pair_start[row] + local; pair < pair_end; pair += ${invocations}u) {
    let column = targets[pair] - p.first;
    if (column < p.width) { logp[pair] = ${columnLogit}; }
  }
  var before = vec4f(-3.0e38, 0.0, 0.0, 0.0);
  if (p.first > 0u) { before = running[number]; }
  var high = Load(-3.0e38);
  ${eachLoad("high = max(high, logits[i]);")}
  let m = max(before.x, reduce_max(local, max_load(high)));
  var sums = Load(0.0);
  var shifted = Load(0.0);
  ${
      eachLoad(`let x = logits[i] - Load(m);
    let e = exp_load(x);
    sums += e;
    shifted = fma(e, x, shifted);`)
    }
  let fade = exp_f32(before.x - m);
  let l = reduce_sum(local, sum_load(sums)) + fade * before.y;
  let s = reduce_sum(local, sum_load(shifted)) + fade * fma(before.x - m, before.y, before.z);
  // Nothing is overwritten before all invocations have read \`before\` and the targets' logits.
  storageBarrier();
  if (local == 0u) { running[number] = vec4f(m, l, s, 0.0); }
  ${
      mean
        ? `let share = select(1.0, 1.0 / l, p.last == 1u);
  ${eachLoad("logits[i] = exp_load(logits[i] - Load(m)) * share;")}
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

/**
 * Replaces a chunk of logits, the columns from p.first on, by the derivative of the loss by them.
 */
export const logitSlopes = variants((options: RowOptions & { dentropy: boolean }) => {
  const { invocations, dentropy } = options;
  const { loadType, rowRange, eachLoad, columnLogit, columnOwner, functions } = logitAccess(
    options,
  );
  return {
    name: "head_backward.slopes",
    reads: `u32 pair_start targets, f32 lse entropy dlogp${dentropy ? " dentropy" : ""}`,
    writes: `${loadType} logits`,
    params: "u32 rows row width first",
    code: `${EXP}${functions}
${rowEntry(invocations)}
  ${rowRange}
  ${ALPHA}
  let shift = lse[row];
  ${
      dentropy
        ? `let slope = -dentropy[row];
  let level = fma(slope, entropy[row], -alpha);
  ${
          eachLoad(`let x = logits[i] - Load(shift);
    logits[i] = exp_load(x) * fma(Load(slope), x, Load(level));`)
        }`
        : eachLoad("logits[i] = exp_load(logits[i] - Load(shift)) * -alpha;")
    }
  for (var pair = pair_begin; pair < pair_end; pair++) {
    let column = targets[pair] - p.first;
    if (column < p.width && ${columnOwner} == local) { ${columnLogit} += dlogp[pair]; }
  }
}`,
  };
});

/**
 * dhidden = scale·(Σ_pairs dlogp·weight[target] − (Σ_pairs dlogp)·mean), with one workgroup for
 * each row. The weight's rows of p.tokens tokens from p.first on are bound. The call with p.first =
 * 0 begins the sum, later ones add to it.
 */
export const fromMean = variants(
  ({ invocations, type }: { invocations: number; type: WeightType | "f32" }) => {
    const stored = type !== "f32";
    return {
      name: "head_backward.from_mean",
      reads: `${
        stored ? rowBufferType(type) : "f32"
      } weight, u32 pair_start targets, f32 dlogp means`,
      writes: "f32 dhidden",
      params: `u32 rows row d first tokens, f32 scale${stored ? `, ${BLOCK_PARAMS}` : ""}`,
      code: `${stored ? rowFour("weight", type) : ""}${rowEntry(invocations)}
  ${ALPHA}
${stored ? fourColumns(invocations) : oneColumn(invocations)}
}`,
    };
  },
);

/** WGSL: the loop of {@link fromMean} over the columns of a row, for a weight of floats. */
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

/** The loop over columns for a stored weight, which reads four elements at once. */
function fourColumns(invocations: number): string {
  const eachLane = (code: (lane: string, at: string) => string) =>
    ["x", "y", "z", "w"].map((lane, k) =>
      `    if (j + ${k}u < p.d) { ${code(`sum.${lane}`, `[at + ${k}u]`)} }`
    ).join("\n");
  return `  for (var j = 4u * local; j < p.d; j += ${4 * invocations}u) {
    let at = number * p.d + j;
    var sum = vec4f(0.0);
${
    eachLane((sum, at) =>
      `if (p.first == 0u) { ${sum} = -alpha * p.scale * means${at}; } ` +
      `else { ${sum} = dhidden${at}; }`
    )
  }
    for (var pair = pair_begin; pair < pair_end; pair++) {
      let token = targets[pair] - p.first;
      if (token < p.tokens) {
        sum = fma(vec4f(dlogp[pair] * p.scale), row_four(token, j, p.d), sum);
      }
    }
${eachLane((sum, at) => `dhidden${at} = ${sum};`)}
  }`;
}
