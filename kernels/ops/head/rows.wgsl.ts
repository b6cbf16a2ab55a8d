/**
 * WGSL of the passes that the fused head makes between its matrix products: one workgroup for each
 * row of a chunk of logits.
 */
import { entryPoint } from "../common/wgsl/entry.ts";
import { variants } from "../common/wgsl/kernel.ts";
import type { WeightType } from "../../weights/types.ts";
import { BLOCK_PARAMS, rowBufferType, rowFour } from "../../weights/widen.wgsl.ts";
import { EXP, LOG } from "../common/wgsl/math.ts";
import { reduceMax, reduceSum } from "../common/wgsl/reduce.ts";

/** WGSL: the entry point and `number`, the row of the chunk that this workgroup does. */
function rowEntry(invocations: number): string {
  return `${entryPoint(invocations)}
  let number = group.x + group.y * groups.x;
  if (number >= p.rows) { return; }
  let row = p.row + number;`;
}

/** WGSL: `begin` and `end` of the row's logits. */
const ROW_RANGE = `let begin = number * p.width;
  let end = begin + p.width;`;

/** WGSL: the loop over the logits that this invocation does. */
const eachLogit = (invocations: number, body: string) =>
  `for (var i = begin + local; i < end; i += ${invocations}u) { ${body} }`;

/**
 * Merges a chunk of logits, the columns from p.first on, into the running values of its rows: the
 * largest logit m, Σ e^(z−m) and Σ e^(z−m)·(z−m). It also stores the logits of the targets. The
 * last chunk gives the results.
 * With `mean` it also replaces the logits by e^(z−m), and scales the mean over the earlier columns
 * to the new m. In the last chunk both are divided by the total sum: then their product only has to
 * be added to the mean.
 */
export const mergeLogits = variants(
  ({ invocations, mean }: { invocations: number; mean: boolean }) => {
    const each = (body: string) => eachLogit(invocations, body);
    return {
      name: `head.merge${mean ? "_mean" : ""}`,
      reads: `u32 pair_start targets${mean ? "" : ", f32 logits"}`,
      writes: `vec4<f32> running, f32 logp lse entropy${mean ? " means logits" : ""}`,
      params: "u32 rows row width first last d",
      code: `${EXP}${LOG}${reduceSum(invocations, invocations)}${
        reduceMax(invocations, invocations)
      }
${rowEntry(invocations)}
  ${ROW_RANGE}
  let pair_end = pair_start[row + 1u];
  for (var pair = pair_start[row] + local; pair < pair_end; pair += ${invocations}u) {
    let column = targets[pair] - p.first;
    if (column < p.width) { logp[pair] = logits[begin + column]; }
  }
  var before = vec4f(-3.0e38, 0.0, 0.0, 0.0);
  if (p.first > 0u) { before = running[number]; }
  var high = -3.0e38;
  ${each("high = max(high, logits[i]);")}
  let m = max(before.x, reduce_max(local, high));
  var sums = 0.0;
  var shifted = 0.0;
  ${
        each(`let x = logits[i] - m;
    let e = exp_f32(x);
    sums += e;
    shifted = fma(e, x, shifted);`)
      }
  let fade = exp_f32(before.x - m);
  let l = reduce_sum(local, sums) + fade * before.y;
  let s = reduce_sum(local, shifted) + fade * fma(before.x - m, before.y, before.z);
  // Nothing is overwritten before all invocations have read \`before\` and the targets' logits.
  storageBarrier();
  if (local == 0u) { running[number] = vec4f(m, l, s, 0.0); }
  ${
        mean
          ? `let share = select(1.0, 1.0 / l, p.last == 1u);
  ${each("logits[i] = exp_f32(logits[i] - m) * share;")}
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
  },
);

/** WGSL: α, the sum of the row's dlogp in the order of its pairs. */
const ALPHA = `let pair_begin = pair_start[row];
  let pair_end = pair_start[row + 1u];
  var alpha = 0.0;
  for (var pair = pair_begin; pair < pair_end; pair++) { alpha += dlogp[pair]; }`;

/**
 * Replaces a chunk of logits, the columns from p.first on, by the derivative of the loss by them.
 */
export const logitSlopes = variants(
  ({ invocations, dentropy }: { invocations: number; dentropy: boolean }) => {
    const each = (body: string) => eachLogit(invocations, body);
    return {
      name: "head_backward.slopes",
      reads: `u32 pair_start targets, f32 lse entropy dlogp${dentropy ? " dentropy" : ""}`,
      writes: "f32 logits",
      params: "u32 rows row width first",
      code: `${EXP}
${rowEntry(invocations)}
  ${ROW_RANGE}
  ${ALPHA}
  let shift = lse[row];
  ${
        dentropy
          ? `let slope = -dentropy[row];
  let level = fma(slope, entropy[row], -alpha);
  ${
            each(`let x = logits[i] - shift;
    logits[i] = exp_f32(x) * fma(slope, x, level);`)
          }`
          : each("logits[i] = exp_f32(logits[i] - shift) * -alpha;")
      }
  for (var pair = pair_begin; pair < pair_end; pair++) {
    let column = targets[pair] - p.first;
    if (column < p.width && column % ${invocations}u == local) {
      logits[begin + column] += dlogp[pair];
    }
  }
}`,
    };
  },
);

/**
 * dhidden = scale·(Σ_pairs dlogp·weight[target] − (Σ_pairs dlogp)·mean), with one workgroup for
 * each row. The weight's rows of p.tokens tokens from p.first on are bound. The call with p.first =
 * 0 begins the sum, later ones add to it.
 */
export const fromMean = variants(
  ({ invocations, type }: { invocations: number; type: WeightType | "f32" }) => {
    return {
      name: "head_backward.from_mean",
      reads: `${rowBufferType(type)} weight, u32 pair_start targets, f32 dlogp means`,
      writes: "f32 dhidden",
      params: `u32 rows row d first tokens, f32 scale, ${BLOCK_PARAMS}`,
      code: `${rowFour("weight", type)}${rowEntry(invocations)}
  ${ALPHA}
${fourColumns(invocations)}
}`,
    };
  },
);

/** WGSL: the loop of {@link fromMean} over the columns of a row, four at a time. */
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
