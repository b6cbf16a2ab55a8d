/**
 * WGSL of top-k and top-p: one workgroup for each row finds the lowest key (`ordered_key` of a
 * logit) that is kept, digit by digit from the top. For each digit, one pass sums in workgroup
 * memory how many keys (or how much weight) have each value of the digit. Then a search goes
 * through these sums from the largest value down. Counts and weights are added as 64-bit integers
 * (a weight of 1 is 2^42), so the sums are the same in any order.
 */
import { variants } from "../common/wgsl/kernel.ts";
import { EXP } from "../common/wgsl/math.ts";
import { MUL_HIGH } from "../common/wgsl/philox.ts";
import { prefixSum } from "../common/wgsl/prefix.ts";
import { reduceMax } from "../common/wgsl/reduce.ts";
import { FINITE, numberedEntry, ORDERED_KEY } from "./kernels.wgsl.ts";

/** WGSL: 64-bit integers as (low, high). */
const WIDE = `
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
`;

export interface ThresholdOptions {
  invocations: number;
  /** Number of bits of each digit, from the top; 32 in total. */
  digits: readonly number[];
  /** Number of logits that an invocation loads before it uses the first: the loads overlap. */
  loads: number;
  /** These are one vector of four logits: the vocabulary is a multiple of four. */
  vectors: boolean;
  topK: boolean;
  topP: boolean;
}

/**
 * WGSL: `sums_from_top`, and `search`, which finds the digit where the sum from the largest value
 * down reaches `wanted`. It stores that digit, and how much is still wanted within it, in workgroup
 * variables.
 */
function searchDigits({ invocations }: ThresholdOptions): string {
  const add = (a: string, b: string) => `wide_sum(${a}, ${b})`;
  return `${prefixSum({ name: "wide_prefix", type: "vec2u", add, invocations })}
var<workgroup> found_digit: u32;
var<workgroup> found_rest: vec2u;
fn bin(digit: u32) -> vec2u { return vec2u(atomicLoad(&low[digit]), atomicLoad(&high[digit])); }
/** Sum from digit \`size\` − 1 down to the last of this invocation's \`each\` digits. */
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
`;
}

/**
 * WGSL: `digit_at(pass)`: a digit's shift, its number of values, and a mask of the bits above it.
 */
function digitTable(digits: readonly number[]): string {
  let shift = 32;
  const cases = digits.map((bits, pass) => {
    const above = shift === 32 ? 0 : 2 ** 32 - 2 ** shift;
    shift -= bits;
    const digit = `return vec3u(${shift}u, ${2 ** bits}u, ${above}u);`;
    return pass === digits.length - 1 ? digit : `if (pass_number == ${pass}u) { ${digit} }`;
  });
  return `
fn digit_at(pass_number: u32) -> vec3u {
  ${cases.join("\n  ")}
}
`;
}

/**
 * WGSL that finds the key `name`: the largest one for which the keys that are not less have the
 * wanted count or weight.
 * @param skip condition on the keys that count, beginning with " && ", or ""
 * @param add WGSL that adds the key to the sums of its digit
 * @param wanted WGSL expression of the wanted count or weight
 */
function searchKey(
  name: string,
  { invocations, digits, loads, vectors }: ThresholdOptions,
  skip: string,
  add: string,
  wanted: string,
): string {
  const logitIndex = (load: number) => load === 0 ? "i" : `i + ${load * invocations}u`;
  const loadNumbers = Array.from({ length: loads }, (_, load) => load);
  const loadAll = vectors
    ? ["let four = logits[i];", ...loadNumbers.map((k) => `let x${k} = finite(four[${k}]);`)]
    : loadNumbers.map((load) =>
      `let x${load} = finite(logits[min(${logitIndex(load)}, end - 1u)]);`
    );
  const isInside = (load: number) => vectors ? "true" : `${logitIndex(load)} < end`;
  const eachLoad = vectors
    ? `for (var i = begin / 4u + local; i < end / 4u; i += ${invocations}u)`
    : `for (var i = begin + local; i < end; i += ${loads * invocations}u)`;
  const uses = loadNumbers.map((load) =>
    `{
        let x = x${load};
        let key = ordered_key(x);
        if (${isInside(load)} && (key & place.z) == ${name}${skip}) {
          let digit = (key >> place.x) & (place.y - 1u);
          ${add}
        }
      }`
  );
  return `var ${name} = 0u;
  var ${name}_rest = vec2u(0u);
  for (var pass_number = 0u; pass_number < ${digits.length}u; pass_number++) {
    let place = digit_at(pass_number);
    for (var b = local; b < place.y; b += ${invocations}u) {
      atomicStore(&low[b], 0u);
      atomicStore(&high[b], 0u);
    }
    workgroupBarrier();
    ${eachLoad} {
      ${loadAll.join("\n      ")}
      ${uses.join("\n      ")}
    }
    workgroupBarrier();
    let each = (place.y + ${invocations - 1}u) / ${invocations}u;
    let upto = sums_from_top(local, place.y, each);
    if (pass_number == 0u) { ${name}_rest = ${wanted}; }
    search(local, place.y, each, upto, ${name}_rest);
    ${name} |= found_digit << place.x;
    ${name}_rest = found_rest;
    workgroupBarrier();
  }`;
}

/**
 * The limits of each row: the lowest key that is kept (0: all), and the bits of the largest logit.
 */
export const rowLimits = variants((options: ThresholdOptions) => {
  const { invocations, digits, topK, topP, vectors } = options;
  const bins = 2 ** Math.max(...digits);
  const byCount = topK
    ? searchKey("lowest_by_count", options, "", "atomicAdd(&low[digit], 1u);", "vec2u(p.top_k, 0u)")
    : "let lowest_by_count = 0u;";
  const byMass = topP
    ? searchKey(
      "lowest_by_mass",
      options,
      topK ? " && key >= lowest_by_count" : "",
      `let weight = exp_f32((x - best) * p.inverse) * 1024.0;
    let whole = floor(weight);
    let fraction = u32((weight - whole) * 4294967296.0);
    if (weight >= ${1 / 2 ** 32}) {
      let old = atomicAdd(&low[digit], fraction);
      let carried = u32(whole) + select(0u, 1u, old + fraction < old);
      if (carried > 0u) { atomicAdd(&high[digit], carried); }
    }`,
      `share(wide_prefix_slots[${invocations - 1}])`,
    )
    : "let lowest_by_mass = 0u;";
  return {
    name: `sample.limits${topK ? ".top_k" : ""}${topP ? ".top_p" : ""}`,
    reads: `${vectors ? "vec4<f32>" : "f32"} logits, vec2<f32> stats`,
    writes: "u32 row_limits",
    params: "u32 rows vocab chunks top_k top_p, f32 inverse",
    code: `${topP ? `${EXP}${MUL_HIGH}` : ""}${FINITE}${ORDERED_KEY}${
      reduceMax(invocations, invocations)
    }${
      topK || topP
        ? `var<workgroup> low: array<atomic<u32>, ${bins}>;
var<workgroup> high: array<atomic<u32>, ${bins}>;${WIDE}${searchDigits(options)}${
          digitTable(digits)
        }`
        : ""
    }
${
      topP
        ? `/** p.top_p (in steps of 2^-32) of the total weight; at least the smallest weight. */
fn share(total: vec2u) -> vec2u {
  let product = vec2u(total.y * p.top_p, mul_high(total.y, p.top_p));
  let wanted = wide_sum(product, vec2u(mul_high(total.x, p.top_p), 0u));
  return select(wanted, vec2u(1u, 0u), all(wanted == vec2u(0u)));
}`
        : ""
    }
${numberedEntry(invocations)}
  if (number >= p.rows) { return; }
  let begin = number * p.vocab;
  let end = begin + p.vocab;
  var highest = -3.0e38;
  for (var c = local; c < p.chunks; c += ${invocations}u) {
    highest = max(highest, stats[number * p.chunks + c].x);
  }
  let best = reduce_max(local, highest);
  ${byCount}
  ${byMass}
  if (local == 0u) {
    row_limits[2u * number] = max(lowest_by_count, lowest_by_mass);
    row_limits[2u * number + 1u] = bitcast<u32>(best);
  }
}`,
  };
});
