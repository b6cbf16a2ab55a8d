/**
 * WGSL of sampling: the weights of chunks of a row, and the draw. A row is divided into chunks, at
 * most as many as a workgroup has invocations, so that many workgroups share a long row. Each chunk
 * outputs its largest logit and its Σ e^((x − largest)/T). Then one workgroup for each row merges
 * these, chooses the chunk by a prefix sum, and the token within it by another. All sums are fixed
 * trees. The exponents are differences of logits, so that every temperature is safe.
 */
import { COUNTER_WORDS } from "./spec.ts";
import { entryPoint } from "../common/wgsl/entry.ts";
import { variants } from "../common/wgsl/kernel.ts";
import { EXP, LOG } from "../common/wgsl/math.ts";
import { MUL_HIGH, PHILOX } from "../common/wgsl/philox.ts";
import { prefixSum } from "../common/wgsl/prefix.ts";
import { reduceMax, reduceSum } from "../common/wgsl/reduce.ts";

/** WGSL: `ordered_key(x)`, u32 numbers in the order of x; −0 counts as 0. */
export const ORDERED_KEY = `
fn ordered_key(x: f32) -> u32 {
  let raw = bitcast<u32>(x);
  let bits = select(raw, 0u, (raw << 1u) == 0u);
  return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}
`;

/** WGSL: `finite(x)`: −∞ (a forbidden token) becomes the lowest number, whose weight is 0, too. */
export const FINITE = `
fn finite(x: f32) -> f32 { return max(x, -3.0e38); }
`;

/** WGSL: the entry point and `number`, the number of this workgroup. */
export function numberedEntry(invocations: number): string {
  return `${entryPoint(invocations)}
  let number = group.x + group.y * groups.x;`;
}

/**
 * WGSL: `kept`, whether the filters keep a token. The limits of a row are its lowest key that is
 * kept, and the bits of its largest logit (threshold.wgsl.ts).
 */
const KEPT = `
fn kept(x: f32, best: f32, lowest: u32) -> bool {
  return ordered_key(x) >= lowest && (x - best) * p.inverse >= p.log_min_p;
}
`;

/** Parameters of the kernels that work in chunks of a row. */
const CHUNK_PARAMS = "u32 rows vocab chunks size, f32 inverse log_min_p";

export interface WeighOptions {
  invocations: number;
  /** There are row limits. */
  filtered: boolean;
  /** Four logits are loaded at a time: the vocabulary is a multiple of four. */
  vectors: boolean;
}

/**
 * Largest logit and weight of each chunk. With `filtered`: the row's largest logit, and the weight
 * of the kept tokens relative to it.
 */
export const weighChunks = variants(({ invocations, filtered, vectors }: WeighOptions) => {
  const lanes = vectors ? [".x", ".y", ".z", ".w"] : [""];
  const [type, divided] = vectors ? ["vec4<f32>", " / 4u"] : ["f32", ""];
  const eachLoad = (body: string) =>
    `for (var i = first${divided} + local; i < end${divided}; i += ${invocations}u) { ${body} }`;
  const weights = lanes.map((lane) => {
    const weight = `exp_f32((finite(x${lane}) - best) * p.inverse)`;
    return filtered ? `select(0.0, ${weight}, kept(finite(x${lane}), best, lowest))` : weight;
  });
  return {
    name: `sample.${filtered ? "weigh_kept" : "weigh"}`,
    reads: `${type} logits${filtered ? ", u32 row_limits" : ""}`,
    writes: "vec2<f32> stats",
    params: CHUNK_PARAMS,
    code: `${EXP}${FINITE}${reduceSum(invocations, invocations)}${
      filtered ? `${ORDERED_KEY}${KEPT}` : reduceMax(invocations, invocations)
    }
${numberedEntry(invocations)}
  if (number >= p.rows * p.chunks) { return; }
  let row = number / p.chunks;
  let begin = row * p.vocab;
  let first = begin + (number - row * p.chunks) * p.size;
  let end = min(begin + p.vocab, first + p.size);
  ${
      filtered
        ? `let lowest = row_limits[2u * row];
  let best = bitcast<f32>(row_limits[2u * row + 1u]);`
        : `var high = ${type}(-3.0e38);
  ${eachLoad("high = max(high, logits[i]);")}
  let best = reduce_max(local, ${
          vectors ? "max(max(high.x, high.y), max(high.z, high.w))" : "high"
        });`
    }
  var sum = ${type}(0.0);
  ${eachLoad(`let x = logits[i]; sum += ${type}(${weights.join(", ")});`)}
  let weight = reduce_sum(local, ${vectors ? "(sum.x + sum.y) + (sum.z + sum.w)" : "sum"});
  if (local == 0u) { stats[number] = vec2f(best, weight); }
}`,
  };
});

export interface DrawOptions {
  invocations: number;
  /** There are row limits. */
  filtered: boolean;
  /** Takes the first largest logit instead of drawing. */
  greedy: boolean;
}

/**
 * One workgroup for each row. `stats` are the weights of the chunks that are drawn from,
 * `all_stats` those of `scored`.
 */
export const drawTokens = variants((options: DrawOptions) => {
  const { invocations, filtered, greedy } = options;
  const tokenWeight = greedy
    ? "select(0.0, 1.0, x == best)"
    : filtered
    ? "select(0.0, exp_f32((x - best) * p.inverse), kept(x, best, lowest))"
    : "exp_f32((x - best) * p.inverse)";
  return {
    name: `sample.draw${greedy ? "_greedy" : filtered ? "_kept" : ""}`,
    reads: `f32 logits scored, vec2<f32> stats all_stats, u32${filtered ? " row_limits" : ""}${
      greedy ? "" : " counters"
    }`,
    writes: "u32 tokens, f32 logp",
    params: CHUNK_PARAMS,
    code: `${EXP}${LOG}${FINITE}${filtered ? `${ORDERED_KEY}${KEPT}` : ""}
${greedy ? "" : `${MUL_HIGH}${PHILOX}`}
${reduceSum(invocations, invocations)}${reduceMax(invocations, invocations)}${
      prefixSum({
        name: "prefix",
        type: "f32",
        add: (a, b) => `${a} + ${b}`,
        invocations,
      })
    }
var<workgroup> first_beyond: atomic<u32>;
var<workgroup> last_with_any: atomic<u32>;
/**
 * The first invocation with a value whose prefix sum exceeds aim, else the last one with a value.
 */
fn pick(local: u32, value: f32, upto: f32, aim: f32) -> u32 {
  workgroupBarrier();
  if (local == 0u) {
    atomicStore(&first_beyond, ${invocations}u);
    atomicStore(&last_with_any, 0u);
  }
  workgroupBarrier();
  if (value > 0.0) {
    if (upto > aim) { atomicMin(&first_beyond, local); }
    atomicMax(&last_with_any, local);
  }
  workgroupBarrier();
  let beyond = atomicLoad(&first_beyond);
  return select(atomicLoad(&last_with_any), beyond, beyond < ${invocations}u);
}
${numberedEntry(invocations)}
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
  ${filtered ? "let lowest = row_limits[2u * row];" : ""}
  let mass = select(0.0, ${
      greedy ? "select(0.0, 1.0, part.x == best)" : "part.y * exp_f32((part.x - best) * p.inverse)"
    }, here);
  let upto = prefix_sum(local, mass);
  ${
      greedy ? "let aim = 0.0;" : `let key = ${COUNTER_WORDS}u * row;
  let c = vec4u(0u, counters[key], counters[key + 1u], counters[key + 2u]);
  let word = philox(c, vec2u(counters[key + 3u], counters[key + 4u])).x;
  let aim = (f32(word >> 9u) + 0.5) * ${2 ** -23} * prefix_slots[${invocations - 1}];`
    }
  let chosen = pick(local, mass, upto, aim);
  var before = 0.0;
  if (chosen > 0u) { before = prefix_slots[chosen - 1u]; }
  let rest = aim - before;

  let span = p.size / ${invocations}u;
  let first = begin + chosen * p.size + local * span;
  let end = min(begin + p.vocab, first + span);
  var span_mass = 0.0;
  for (var i = first; i < end; i++) {
    let x = finite(logits[i]);
    span_mass += ${tokenWeight};
  }
  let upto_span = prefix_sum(local, span_mass);
  let winner = pick(local, span_mass, upto_span, rest);
  if (local != winner) { return; }
  var sum = 0.0;
  if (winner > 0u) { sum = prefix_slots[winner - 1u]; }
  var drawn = first;
  for (var i = first; i < end; i++) {
    let x = finite(logits[i]);
    let weight = ${tokenWeight};
    if (weight == 0.0) { continue; }
    drawn = i;
    sum += weight;
    if (sum > rest) { break; }
  }
  tokens[row] = drawn - begin;
  logp[row] = (finite(scored[drawn]) - scored_best) * p.inverse - log_f32(scored_total);
}`,
  };
});
