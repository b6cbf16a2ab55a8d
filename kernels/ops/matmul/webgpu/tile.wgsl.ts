/**
 * WGSL of the tiled matrix product. A workgroup makes a block of bm × bn outputs. It loops over
 * tiles of bk terms, which are in workgroup memory as lines [k][row] of both operands. For each
 * term, every invocation adds tm × tn products to named accumulators. An invocation loads blocks of
 * 4 × 4 elements (operands.wgsl.ts), so that vectors are read along either direction and stored
 * along rows. The blocks of the next tile are loaded while this one is multiplied. A weight in
 * blocks (kernels/weights/) is loaded as words, which are widened just before they are stored in
 * workgroup memory.
 *
 * The sum consists of blocks of terms: after every `flush` tiles the accumulators are added to the
 * output and set to zero. That limits the rounding error without a second set of registers, and a
 * product that is divided along k has the same bits.
 *
 * `slices` groups of invocations share the terms of a tile. If there is more than one, their sums
 * are added before they are output. So a product with few outputs and long sums still fills a
 * workgroup.
 *
 * A LoRA product is done by further tiles of the same loop, with other operands and another scale.
 */
import {
  bufferType,
  type Elements,
  fourElements,
  roundFunction,
  type Rounding,
} from "./elements.wgsl.ts";
import { blockFunction, type Layout, operandB } from "./operands.wgsl.ts";
import { entryPoint } from "../../common/wgsl/entry.ts";
import type { KernelSpec } from "../../common/wgsl/kernel.ts";
import { isBlockType, type WeightType } from "../../../weights/types.ts";

/** The shape of a tile. bm and bn are multiples of 4·(invocations across), tm and tn of 4. */
export interface TileShape {
  /** Outputs of a workgroup (bm × bn) and of an invocation (tm × tn). */
  bm: number;
  bn: number;
  tm: number;
  tn: number;
  /** Number of terms in workgroup memory; a multiple of 4 and of `slices`. */
  bk: number;
  slices: number;
  /**
   * Number of parts of the sum, each of which has workgroups of its own; default 1. Their sums are
   * added in order by another kernel (split.wgsl.ts).
   */
  parts?: number;
}

export interface TileOptions extends Omit<TileShape, "parts"> {
  /** Whether the sum is computed in parts. It is not where there is an adapter. */
  split?: boolean;
  a: Layout;
  b: Layout;
  bType: "f32" | WeightType;
  /** All matrices can be read and written as vectors of four (a weight in blocks always can). */
  aligned: boolean;
  lora: boolean;
  /** How operands are rounded; default: not at all. */
  rounding?: Rounding;
}

export function threadsOf({ bm, bn, tm, tn, slices }: Omit<TileShape, "parts">): number {
  return (bm / tm) * (bn / tn) * slices;
}

/**
 * Number of vec4 of workgroup memory: for the tiles of both operands, or for the sums of the
 * slices.
 */
function sharedVectors(shape: Omit<TileShape, "parts">): number {
  const { bm, bn, bk, slices } = shape;
  return Math.max(bk * (bm + bn), slices > 1 ? bm * bn * slices : 0) / 4;
}

/** Bytes of workgroup memory. */
export function sharedBytes(shape: Omit<TileShape, "parts">): number {
  return 16 * sharedVectors(shape);
}

const range = (n: number) => [...Array(n).keys()];

export function tileKernel(options: TileOptions): KernelSpec {
  const { bm, bn, bk, a, b, bType, aligned, lora, rounding = null, split = false } = options;
  const f32: Elements = { type: "f32", aligned, rounding };
  const readB = operandB(bType, b, aligned, rounding);
  const slices = options.slices > 1 ? `s${options.slices}` : "";
  return {
    name: `matmul.${bm}x${bn}x${bk}${slices}${split ? ".parts" : ""}${lora ? ".lora" : ""}${
      rounding === null ? "" : `.${rounding}`
    }`,
    reads: `${bufferType(f32)} mat_a${lora ? " lora_x lora_w" : ""}, ${readB.buffer} mat_b`,
    writes: `${bufferType(f32)} mat_out`,
    params: `u32 m n k lda ldo a_base out_base flush add m_first, f32 alpha, ${readB.params}${
      split ? ", u32 parts part_tiles" : ""
    }${lora ? ", u32 r x_base w_base, f32 lora_scale" : ""}`,
    code: [
      `var<workgroup> lines: array<vec4f, ${sharedVectors(options)}>;`,
      ...(rounding === null ? [] : [roundFunction(rounding)]),
      fourElements("a", "mat_a", f32),
      blockFunction("a", a, "m", "p.a_base", "p.lda", "p.k"),
      readB.code,
      ...(lora
        ? [
          fourElements("x", "lora_x", f32),
          blockFunction("x", "along", "m", "p.x_base", "p.r", "p.r"),
          fourElements("w", "lora_w", f32),
          blockFunction("w", "along", "n", "p.w_base", "p.r", "p.r"),
        ]
        : []),
      ...(split ? ["var<private> part_base: u32;"] : []),
      putFunction(aligned, split),
      mainFunction(options),
    ].join("\n"),
  };
}

/** fn put(row, column, value, scale, add): stores four outputs. */
function putFunction(aligned: boolean, split: boolean): string {
  const base = split ? "p.out_base + part_base" : "p.out_base";
  const signature = "fn put(row: u32, column: u32, value: vec4f, scale: f32, add: bool) {";
  if (aligned) {
    return `${signature}
  if (row >= p.m || column >= p.n) { return; }
  let at = (${base} + row * p.ldo + column) >> 2u;
  if (add) { mat_out[at] = fma(vec4f(scale), value, mat_out[at]); }
  else { mat_out[at] = scale * value; }
}`;
  }
  return `
fn put_one(at: u32, value: f32, scale: f32, add: bool) {
  if (add) { mat_out[at] = fma(scale, value, mat_out[at]); } else { mat_out[at] = scale * value; }
}
${signature}
  if (row >= p.m) { return; }
  let at = ${base} + row * p.ldo + column;
${
    ["x", "y", "z", "w"].map((lane, j) =>
      `  if (column + ${j}u < p.n) { put_one(at + ${j}u, value.${lane}, scale, add); }`
    ).join("\n")
  }
}`;
}

/** A round of loads, number q: each invocation loads a block of 4 × 4 elements of a or of b. */
interface Round {
  /** WGSL: the declarations before the loop. */
  setup: string;
  /**
   * WGSL: loads `block<q>` (or `fetched<q>`, to be widened) for the tile that begins at this term.
   */
  fetch: (operands: readonly [string, string], depth: string) => string;
  /** WGSL: makes `block<q>` of what was loaded for `tile`. */
  widen: string;
  /** WGSL: stores the block in workgroup memory. */
  store: string;
}

function rounds(options: TileOptions): Round[] {
  const { bm, bn, bk } = options;
  const threads = threadsOf(options), inA = bm * bk / 16, all = inA + bn * bk / 16;
  const later = isBlockType(options.bType);
  return range(Math.ceil(all / threads)).map((q) => {
    const from = q * threads, to = from + threads;
    const hasA = from < inA, hasB = to > inA, partial = to > all;
    const isA = hasA && hasB ? `id${q} < ${inA}u` : `${hasA}`;
    const choose = (left: string, right: string) =>
      !hasB ? left : !hasA ? right : left === right ? left : `select(${right}, ${left}, in_a${q})`;
    const [rowA, termA] = placeInTile(`id${q}`, bm, bk, options.a);
    const [rowB, termB] = placeInTile(hasA ? `(id${q} - ${inA}u)` : `id${q}`, bn, bk, options.b);
    const shift = hasA ? "" : ` - ${inA}u`;
    const guard = (code: string) =>
      partial ? `if (id${q} + ${hasA ? 0 : inA}u < ${all}u) { ${code} }` : code;
    const stride = `stride${q}`;
    return {
      setup: `  let id${q} = local + ${from}u${shift};
  let in_a${q} = ${isA};
  let row${q} = 4u * ${choose(rowA, rowB)};
  let term${q} = 4u * ${choose(termA, termB)};
  let ${stride} = ${choose(`${bm / 4}u`, `${bn / 4}u`)};
  let place${q} = ${choose("0u", `${bm * bk / 4}u`)} + term${q} * ${stride} + row${q} / 4u;
  let first${q} = row${q} + ${choose("origin_m", "origin_n")};
  var ${later ? `fetched${q} = Fetched()` : `block${q} = mat4x4f()`};`,
      fetch: ([left, right], depth) => {
        const fetchFrom = (name: string) => {
          const block = `block_${name}(first${q}, ${depth} + term${q})`;
          if (!later) return `block${q} = ${block};`;
          if (name !== "b") return `fetched${q} = fetched_floats(${block});`;
          return `fetched${q} = fetch_b(first${q}, ${depth} + term${q});`;
        };
        const code = !hasB
          ? fetchFrom(left)
          : !hasA
          ? fetchFrom(right)
          : `if (in_a${q}) { ${fetchFrom(left)} } else { ${fetchFrom(right)} }`;
        return guard(code);
      },
      widen: !later ? "" : widenRound(q, hasA, hasB, options),
      store: guard(
        range(4).map((i) => `lines[place${q} + ${i}u * ${stride}] = block${q}[${i}];`).join(" "),
      ),
    };
  });
}

/**
 * WGSL: makes floats of what a round loaded. What was loaded of a or of an adapter is floats
 * already.
 */
function widenRound(q: number, hasA: boolean, hasB: boolean, { bk, lora }: TileOptions): string {
  const floats = `    var block${q} = floats_of(fetched${q});`;
  if (!hasB) return `${floats}\n`;
  const inB = [...(hasA ? [`!in_a${q}`] : []), ...(lora ? ["tile < tiles_k"] : [])];
  const widened = `widened_b(fetched${q}, first${q}, tile * ${bk}u + term${q})`;
  return inB.length === 0
    ? `    let block${q} = ${widened};\n`
    : `${floats}\n    if (${inB.join(" && ")}) { block${q} = ${widened}; }\n`;
}

/**
 * WGSL: the position (row, term), both in units of four, of block number `id` in a tile of `rows` ×
 * bk. Neighbouring blocks are neighbours in memory. For rows along k, eight rows come first, so
 * that the stores of eight invocations use all memory banks.
 */
function placeInTile(id: string, rows: number, bk: number, layout: Layout): [string, string] {
  const high = rows / 4, deep = bk / 4;
  if (layout !== "along") return [`(${id} % ${high}u)`, `(${id} / ${high}u)`];
  const wide = Math.min(8, high);
  return [
    `(${id} % ${wide}u + ${wide}u * (${id} / ${wide * deep}u))`,
    `(${id} / ${wide}u % ${deep}u)`,
  ];
}

function mainFunction(options: TileOptions): string {
  const { bm, bn, bk, tm, tn, slices, lora, split = false } = options;
  const threads = threadsOf(options), lanes = threads / slices, wide = bn / tn;
  const rows = range(tm), columns = range(tn / 4);
  const sums = rows.flatMap((i) => columns.map((j) => `c${i}_${j}`));
  const fetching = rounds(options);
  const fetchAll = (tile: string, indent: string) => {
    const from = (operands: readonly [string, string], depth: string) =>
      fetching.map(({ fetch }) => `${indent}${fetch(operands, depth)}`).join("\n");
    if (!lora) return from(["a", "b"], `(${tile}) * ${bk}u`);
    return `${indent}if (${tile} < tiles_k) {
${from(["a", "b"], `(${tile}) * ${bk}u`)}
${indent}} else {
${from(["x", "w"], `(${tile} - tiles_k) * ${bk}u`)}
${indent}}`;
  };
  return `
${entryPoint(threads)}
  ${split ? "let place" : "let number"} = group.x + group.y * groups.x;
  let tiles_m = (p.m + ${bm - 1}u) / ${bm}u;
  let tiles_n = (p.n + ${bn - 1}u) / ${bn}u;
  ${
    split
      ? `let number = place % (tiles_m * tiles_n);
  let part = place / (tiles_m * tiles_n);
  if (part >= p.parts) { return; }
  part_base = part * p.m * p.n;`
      : "if (number >= tiles_m * tiles_n) { return; }"
  }
  let tile_m = select(number / tiles_n, number % tiles_m, p.m_first != 0u);
  let tile_n = select(number % tiles_n, number / tiles_m, p.m_first != 0u);
  let origin_m = tile_m * ${bm}u;
  let origin_n = tile_n * ${bn}u;
  ${
    lora
      ? `let tiles_k = (p.k + ${bk - 1}u) / ${bk}u;
  let tiles = tiles_k + (p.r + ${bk - 1}u) / ${bk}u;`
      : split
      ? `let begin = part * p.part_tiles;
  let tiles = min(begin + p.part_tiles, (p.k + ${bk - 1}u) / ${bk}u);`
      : `let tiles = max(1u, (p.k + ${bk - 1}u) / ${bk}u);`
  }
${fetching.map(({ setup }) => setup).join("\n")}
  let lane = local % ${lanes}u;
  let slice = local / ${lanes}u;
  let ty = lane / ${wide}u;
  let tx = lane % ${wide}u;
  var stored = p.add != 0u;
${sums.map((c) => `  var ${c} = vec4f(0.0);`).join("\n")}
${fetchAll(split ? "begin" : "0u", "  ")}
  for (var tile = ${split ? "begin" : "0u"}; tile < tiles; tile++) {
${fetching.map(({ widen }) => widen).join("")}    workgroupBarrier();
${fetching.map(({ store }) => `    ${store}`).join("\n")}
    workgroupBarrier();
    if (tile + 1u < tiles) {
${fetchAll("tile + 1u", "      ")}
    }
${range(bk / slices).map((step) => multiplyTerm(options, step)).join("\n")}
    if (tile + 1u == tiles${
    lora ? " || tile + 1u == tiles_k" : ""
  } || (tile + 1u) % p.flush == 0u) {
      ${
    lora ? "let scale = select(p.alpha, p.lora_scale, tile >= tiles_k);" : "let scale = p.alpha;"
  }
${slices === 1 ? putSums(options) : addSlices(options)}
      stored = true;
${sums.map((c) => `      ${c} = vec4f(0.0);`).join("\n")}
    }
  }
}`;
}

/** WGSL: one term of every product of an invocation. */
function multiplyTerm({ bm, bn, bk, tm, tn, slices }: TileOptions, step: number): string {
  const lineAt = (lines: number, offset: number, thread: string) => {
    // Neighbouring slices do neighbouring terms, whose lines are in different memory banks.
    const slice = slices > 1 ? ` + slice * ${lines}u` : "";
    return `lines[${thread}${slice} + ${offset + step * slices * lines}u]`;
  };
  const a = range(tm / 4).map((g) =>
    `    let a${step}_${g} = ${lineAt(bm / 4, g * (bm / tm), "ty")};`
  );
  const b = range(tn / 4).map((h) =>
    `    let b${step}_${h} = ${lineAt(bn / 4, bm * bk / 4 + h * (bn / tn), "tx")};`
  );
  const madds = range(tm).flatMap((i) =>
    range(tn / 4).map((h) => {
      const x = `vec4f(a${step}_${i >> 2}.${"xyzw"[i & 3]})`;
      return `    c${i}_${h} = fma(${x}, b${step}_${h}, c${i}_${h});`;
    })
  );
  return [...a, ...b, ...madds].join("\n");
}

/** WGSL: the row and column of accumulator (i, h) within the block of outputs. */
function outputAt({ bm, bn, tm, tn }: TileShape, i: number, h: number): [string, string] {
  return [
    `4u * (ty + ${(i >> 2) * (bm / tm)}u) + ${i & 3}u`,
    `4u * (tx + ${h * (bn / tn)}u)`,
  ];
}

function putSums(options: TileOptions): string {
  const { tm, tn } = options;
  return range(tm).flatMap((i) =>
    range(tn / 4).map((h) => {
      const [row, column] = outputAt(options, i, h);
      return `      put(origin_m + ${row}, origin_n + ${column}, c${i}_${h}, scale, stored);`;
    })
  ).join("\n");
}

/**
 * WGSL: stores the sums of the slices as [slice][row][column], adds them in order, and outputs
 * them.
 */
function addSlices(options: TileOptions): string {
  const { bm, bn, tm, tn, slices } = options;
  const block = bm * bn / 4, wide = bn / 4, threads = threadsOf(options);
  const storeSums = range(tm).flatMap((i) =>
    range(tn / 4).map((h) => {
      const [row, column] = outputAt(options, i, h);
      const at = `slice * ${block}u + (${row}) * ${wide}u + (${column}) / 4u`;
      return `      lines[${at}] = c${i}_${h};`;
    })
  );
  const outputs = range(Math.ceil(block / threads)).map((q) => {
    const at = `at${q}`;
    const others = range(slices - 1).map((s) => ` + lines[${at} + ${(s + 1) * block}u]`);
    const code = `put(origin_m + ${at} / ${wide}u, origin_n + 4u * (${at} % ${wide}u), ` +
      `lines[${at}]${others.join("")}, scale, stored);`;
    const guard = (q + 1) * threads > block ? `if (${at} < ${block}u) { ${code} }` : code;
    return `      let ${at} = local + ${q * threads}u;\n      ${guard}`;
  });
  const barrier = "      workgroupBarrier();";
  return [barrier, ...storeSums, barrier, ...outputs].join("\n");
}
