/**
 * WGSL of the two products of attention (tiles.wgsl.ts) on a card's matrix units, which multiply
 * halves (f16) and add in f32. Attention is float32, so each number is the sum of two halves, with
 * 22 bits together: x = high + low. A product is then high·high + high·low + low·high; what is left
 * out is below the rounding of a float32 sum. The high part has the first 11 bits of x, by a mask:
 * a driver may leave out that a number is rounded to f16 and widened again (Mesa does).
 *
 * All operands are packed into one matrix of halves [rows, depth], first the high parts, then the
 * low ones (`splitSpec`). Each row is multiplied by a power of two that brings its largest element
 * near 2^14, so that low parts do not vanish; `scales` has the inverse factors. A row with an
 * infinity or NaN has halves of zero and the factor NaN: it spoils the rows that attend to it, and
 * no others.
 *
 * A workgroup has four subgroups. A tile has `edge` rows for each of them, and COLUMNS columns.
 * Units give whole matrices only, so scores and mixes go through workgroup memory (`sums`), and the
 * sums of the mix are kept by the invocations: `lanes` neighbours share a row of the tile.
 */
import { entryPoint } from "../common/wgsl/entry.ts";
import type { KernelSpec } from "../common/wgsl/kernel.ts";
import { GROUP, reduceMax } from "../common/wgsl/reduce.ts";
import type { MatrixUnits } from "../common/webgpu_op.ts";

/** Columns of a tile: keys, or queries in the gradient of keys. */
export const COLUMNS = 32;
/** Columns of the mix that are in workgroup memory at once. */
const CHUNK = 64;
/** Gaps at the ends of lines, so that lines begin in different memory banks. */
const SUM_GAP = 4, WEIGHT_GAP = 8;
const WEIGHT_LINE = COLUMNS + WEIGHT_GAP, SCORE_LINE = COLUMNS + SUM_GAP;
const SUBGROUPS = 4;
/** Rows that a workgroup packs; 16 invocations share a row. */
export const SPLIT_ROWS = 16;

export interface MatrixHeads extends MatrixUnits {
  headDim: number;
}

/**
 * Declares `shift_of(exponent)`, the power of two for a row with this largest exponent, and
 * `first_bits(x)`, the number of 11 bits towards zero from x.
 */
const SPLIT = `
fn shift_of(exponent: u32) -> i32 {
  return select(min(141 - i32(exponent), 100), 0, exponent == 0u || exponent == 255u);
}
fn first_bits(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xffffe000u); }
fn power_of_two(n: i32) -> f32 { return bitcast<f32>(u32(n + 127) << 23u); }`;

const range = (n: number) => [...Array(n).keys()];
const lines = (n: number, text: (i: number) => string) => range(n).map(text).join("\n");

/** Packs the vectors of heads: of a key head, or of the query heads that share it, in order. */
export function splitSpec({ headDim, depth }: { headDim: number; depth: number }): KernelSpec {
  return {
    name: "attention.split",
    reads: "f32 vectors",
    writes: "u32 halves, f32 scales",
    params: "u32 count rows padded_rows per_kv heads base low",
    code: `${reduceMax(16)}
${SPLIT}
fn pair_at(at: u32, c: u32, exists: bool) -> vec2f {
  var pair = vec2f();
  if (exists && c < ${headDim}u) { pair.x = vectors[at + c]; }
  if (exists && c + 1u < ${headDim}u) { pair.y = vectors[at + c + 1u]; }
  return pair;
}
fn exponent_of(x: f32) -> u32 { return (bitcast<u32>(x) >> 23u) & 255u; }
${entryPoint(GROUP)}
  let number = (group.x + group.y * groups.x) * ${SPLIT_ROWS}u + local / 16u;
  let lane = local % 16u;
  let head = number / p.padded_rows;
  let row = number % p.padded_rows;
  let exists = number < p.count && row < p.rows;
  let at = ${headDim}u * (row / p.per_kv * p.heads + head * p.per_kv + row % p.per_kv);
  var largest = 0u;
  for (var c = 2u * lane; c < ${depth}u; c += 32u) {
    let pair = pair_at(at, c, exists);
    largest = max(largest, max(exponent_of(pair.x), exponent_of(pair.y)));
  }
  let exponent = u32(reduce_max(local, f32(largest)));
  if (number >= p.count) { return; }
  let shift = shift_of(exponent);
  let scale = power_of_two(shift);
  let spoilt = exponent == 255u;
  if (lane == 0u) {
    let inverse = bitcast<u32>(power_of_two(-shift));
    scales[p.base + number] = bitcast<f32>(select(inverse, 0x7fc00000u, spoilt));
  }
  for (var c = 2u * lane; c < ${depth}u; c += 32u) {
    let pair = scale * pair_at(at, c, exists && !spoilt);
    let high = vec2f(first_bits(pair.x), first_bits(pair.y));
    let to = ((p.base + number) * ${depth}u + c) / 2u;
    halves[to] = pack2x16float(high);
    halves[p.low / 2u + to] = pack2x16float(pair - high);
  }
}`,
  };
}

/** A product of scores: the packed rows of its first row and of its first column. */
export interface MatrixProduct {
  rows: string;
  columns: string;
}

/** The WGSL for one size of heads. Its text uses `local`, `sub`, `row`, `lane` of {@link main}. */
export class MatrixTiles {
  /** Rows and columns of a tile, under the names of tiles.wgsl.ts. */
  readonly m: number;
  readonly n = COLUMNS;
  readonly threads: number;
  /** Invocations that share a row. */
  readonly lanes: number;
  /** The size of a head, padded to whole matrices. */
  readonly depth: number;
  /** Columns of a tile that an invocation has: lane, lane + lanes … */
  readonly each: number;
  /** Elements of a row's mix that an invocation has. */
  readonly mixed: number;
  readonly #edge: number;
  readonly #sumLine: number;

  constructor({ edge, subgroup, headDim }: MatrixHeads, readonly products: number) {
    this.#edge = edge;
    this.m = SUBGROUPS * edge;
    this.threads = SUBGROUPS * subgroup;
    this.lanes = subgroup / edge;
    this.depth = Math.ceil(headDim / edge) * edge;
    this.each = COLUMNS / this.lanes;
    this.mixed = this.depth / this.lanes;
    this.#sumLine = Math.min(CHUNK, this.depth) + SUM_GAP;
  }

  get #sums(): number {
    return this.m * Math.max(this.products * SCORE_LINE, this.#sumLine);
  }

  /** Bytes of workgroup memory. */
  get bytes(): number {
    return 4 * this.#sums + 2 * 2 * this.m * WEIGHT_LINE + 4 * this.threads;
  }

  /** Declarations that stand outside of `main`. */
  get declarations(): string {
    return `${SPLIT}
var<workgroup> sums: array<f32, ${this.#sums}>;
var<workgroup> weights_high: array<f16, ${this.m * WEIGHT_LINE}>;
var<workgroup> weights_low: array<f16, ${this.m * WEIGHT_LINE}>;
var<workgroup> row_slots: array<f32, ${this.threads}>;`;
  }

  /** `main`; the first p.count workgroups run `body`. */
  main(body: string): string {
    return `@compute @workgroup_size(${this.threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32, @builtin(subgroup_id) sub: u32) {
  let number = group.x + group.y * groups.x;
  if (number >= p.count) { return; }
  let row = local / ${this.lanes}u;
  let lane = local % ${this.lanes}u;
  ${body}
}`;
  }

  /** `text` for each column of an invocation; column i of it is `columnOf(i)` of the tile. */
  eachColumn(text: (i: number) => string): string {
    return lines(this.each, text);
  }

  columnOf(i: number): string {
    return `lane + ${i * this.lanes}u`;
  }

  /** `text` for each element of a row's mix; element i is `elementOf(i)` of the head. */
  eachMixed(text: (i: number) => string): string {
    return lines(this.mixed, text);
  }

  elementOf(i: number): string {
    return `lane + ${i * this.lanes}u`;
  }

  /** The sum of product k for an invocation's column i, without the rows' factors. */
  score(k: number, i: number): string {
    return `sums[row * ${SCORE_LINE}u + lane + ${k * this.m * SCORE_LINE + i * this.lanes}u]`;
  }

  /** A packed row in fours: of single halves, compilers make a load for each (Mesa does). */
  get #fours(): number {
    return this.depth / 4;
  }

  /** Computes scores of a tile. It ends with a barrier. */
  scores(products: readonly MatrixProduct[]): string {
    const e = this.#edge, parts = COLUMNS / e, fours = this.#fours;
    const load = (name: string, call: string, use: string, at: string, from = "") =>
      `let ${name} = coopLoad${call}<coop_mat${e}x${e}<f16, ${use}>>(&halves[${from}${at}], ` +
      `${fours}u);`;
    const text = products.map(({ rows, columns }, k) =>
      `{
    let rows_at = (${rows} + sub * ${e}u) * ${fours}u;
    let columns_at = (${columns}) * ${fours}u;
${lines(parts, (j) => `    var c${j} = coop_mat${e}x${e}<f32, C>();`)}
    for (var d = 0u; d < ${fours}u; d += ${e / 4}u) {
      ${load("row_high", "T", "A", "rows_at + d")}
      ${load("row_low", "T", "A", "rows_at + d", "p.low / 4u + ")}
${
        lines(parts, (j) => {
          const at = `columns_at + ${j * e * fours}u + d`;
          return `      ${load(`high${j}`, "", "B", at)}
      ${load(`low${j}`, "", "B", at, "p.low / 4u + ")}
      ${threeProducts(`c${j}`, "row", `high${j}`, `low${j}`)}`;
        })
      }
    }
    let to = sub * ${e * SCORE_LINE}u + ${k * this.m * SCORE_LINE}u;
${lines(parts, (j) => `    coopStoreT(c${j}, &sums[to + ${j * e}u], ${SCORE_LINE}u);`)}
  }`
    );
    return `${text.join("\n")}
  workgroupBarrier();`;
  }

  /** Declares `name`: the largest `value` of the row's invocations. It contains barriers. */
  largestOfRow(name: string, value: string): string {
    if (this.lanes === 1) return `let ${name} = ${value};`;
    const slots = range(this.lanes).map((i) => `row_slots[row * ${this.lanes}u + ${i}u]`);
    return `row_slots[local] = ${value};
  workgroupBarrier();
  let ${name} = ${slots.reduce((a, b) => `max(${a}, ${b})`)};
  workgroupBarrier();`;
  }

  /** Declares `name`: the sum of `value` over the row's invocations. It contains barriers. */
  sumOfRow(name: string, value: string): string {
    if (this.lanes === 1) return `let ${name} = ${value};`;
    const slots = range(this.lanes).map((i) => `row_slots[row * ${this.lanes}u + ${i}u]`);
    return `row_slots[local] = ${value};
  workgroupBarrier();
  let ${name} = ${slots.join(" + ")};
  workgroupBarrier();`;
  }

  /** Declares the sums of a mix. */
  declareMix(name: string): string {
    return this.eachMixed((i) => `var ${name}${i} = 0.0;`);
  }

  /**
   * Adds Σ weights·columns to the sums of a mix: of the weights `weight(i)`, which include the
   * columns' factors. It ends with a barrier.
   * @param columns the packed row of the tile's first column
   * @param before what a sum becomes before the addition
   */
  mix(
    name: string,
    columns: string,
    weight: (i: number) => string,
    before = (sum: string) => sum,
  ): string {
    const largest = range(this.each).map((i) => `abs(${weight(i)})`)
      .reduce((a, b) => `max(${a}, ${b})`);
    const chunks = range(Math.ceil(this.depth / CHUNK)).map((chunk) => {
      const from = chunk * CHUNK, width = Math.min(CHUNK, this.depth - from);
      return `${this.#mixChunk(columns, from, width)}
  workgroupBarrier();
${
        lines(width / this.lanes, (i) => {
          const sum = `${name}${from / this.lanes + i}`;
          const value = `sums[row * ${this.#sumLine}u + lane + ${i * this.lanes}u]`;
          return `  ${sum} = fma(down, ${value}, ${before(sum)});`;
        })
      }
  workgroupBarrier();`;
    });
    return `{
  ${this.largestOfRow("largest", largest)}
  let shift = shift_of((bitcast<u32>(largest) >> 23u) & 255u);
  let up = power_of_two(shift);
  let down = power_of_two(-shift);
  let to = row * ${WEIGHT_LINE}u + lane;
${
      this.eachColumn((i) =>
        `  { let x = up * ${weight(i)};
    let high = first_bits(x);
    weights_high[to + ${i * this.lanes}u] = f16(high);
    weights_low[to + ${i * this.lanes}u] = f16(x - high); }`
      )
    }
  workgroupBarrier();
  ${chunks.join("\n")}
  }`;
  }

  /** Elements [from, from + width) of a mix, into `sums`. */
  #mixChunk(columns: string, from: number, width: number): string {
    const e = this.#edge, parts = width / e, fours = this.#fours, line = this.#sumLine;
    const matrix = (use: string) => `coopLoadT<coop_mat${e}x${e}<f16, ${use}>>`;
    const weights = (part: string) =>
      `let weight_${part} = ${matrix("A")}` +
      `(&weights_${part}[sub * ${e * WEIGHT_LINE}u + k], ${WEIGHT_LINE}u);`;
    return `{
${lines(parts, (j) => `    var c${j} = coop_mat${e}x${e}<f32, C>();`)}
    for (var k = 0u; k < ${COLUMNS}u; k += ${e}u) {
      ${weights("high")}
      ${weights("low")}
      let columns_at = (${columns} + k) * ${fours}u + ${from / 4}u;
${
      lines(parts, (j) => {
        const at = `columns_at + ${j * e / 4}u`;
        return `      let high${j} = ${matrix("B")}(&halves[${at}], ${fours}u);
      let low${j} = ${matrix("B")}(&halves[p.low / 4u + ${at}], ${fours}u);
      ${threeProducts(`c${j}`, "weight", `high${j}`, `low${j}`)}`;
      })
    }
    }
${
      lines(
        parts,
        (j) => `    coopStoreT(c${j}, &sums[sub * ${e * line}u + ${j * e}u], ${line}u);`,
      )
    }
  }`;
  }
}

/** Adds the product of two split matrices to `sum`, the small parts first. */
function threeProducts(sum: string, left: string, high: string, low: string): string {
  return [[`${left}_low`, high], [`${left}_high`, low], [`${left}_high`, high]]
    .map(([a, b]) => `${sum} = coopMultiplyAdd(${a}, ${b}, ${sum});`).join(" ");
}
