/**
 * WGSL of the two products of attention, over tiles of rows and columns in workgroup memory:
 *
 *   scores  s[m, n] = Σ_c rows[m, c]·columns[n, c]      queries × keys, or keys × queries
 *   mix     o[m, c] += Σ_n weights[m, n]·columns[n, c]  weights × values
 *
 * A workgroup has `across`·`down` invocations. The one at (x, y) computes the rows y + i·down of
 * the tile (`each` of them): of the scores the columns 4x … 4x + 3, of the mix the vec4 x +
 * j·across of the head. The code is unrolled into named variables and loops only over chunks of a
 * sum, because naga adds checks to loops and indices. A matrix is addressed by the index of a row
 * of headDim elements, or by NONE for a row of zeros. A head whose size is no multiple of 4 is read
 * as vec2 and padded with zeros.
 */

import { UsageError } from "../../../core/errors.ts";
import { entryPoint } from "../common/wgsl/entry.ts";

export interface TileSizes {
  across: number;
  down: number;
  /** Number of rows of an invocation: 1, 2 or 4. */
  each: number;
  /** Number of vec4 of the head in workgroup memory while scores are summed; a power of two. */
  depth: number;
  /** Number of columns in workgroup memory while they are mixed; a multiple of 4. */
  inner: number;
}

/** Number of invocations across and down, and of rows of an invocation. */
export type TileShape = readonly [across: number, down: number, each: number];

/** The components of a vector in WGSL. */
const COMPONENTS = ["x", "y", "z", "w"] as const;

/** Number of vec4 that hold one row of a head. */
export function headVectors(headDim: number): number {
  return Math.ceil(headDim / 4);
}

/** Element type of a buffer that holds rows of a head. */
export function headType(headDim: number): string {
  return headDim % 4 === 0 ? "vec4<f32>" : "vec2<f32>";
}

/**
 * WGSL: the component of the vector `name` for an invocation's row i; a scalar if it has one row.
 */
export function rowOf(name: string, each: number, i: number): string {
  return each === 1 ? name : `${name}.${COMPONENTS[i]}`;
}

/** WGSL type that holds a number for each of an invocation's rows. */
export function rowsType(each: number): string {
  return each === 1 ? "f32" : `vec${each}<f32>`;
}

/**
 * The first shape whose tiles fit into `bytes` of workgroup memory, with the largest chunks that
 * fit.
 * @param products number of score products that are computed at once (2 in the backward)
 * @param extraBytes bytes that the kernel needs in addition, by its number of invocations
 */
export function tileSizes(
  shapes: readonly TileShape[],
  headDim: number,
  products: number,
  bytes: number,
  extraBytes: (threads: number) => number = () => 0,
): TileSizes {
  const d4 = headVectors(headDim);
  const depths = d4 <= 4 ? [2 ** Math.ceil(Math.log2(d4))] : d4 % 8 === 0 ? [8, 4] : [4];
  for (const [across, down, each] of shapes) {
    for (const depth of depths) {
      for (let inner = Math.min(32, 4 * across); inner >= 4; inner /= 2) {
        const sizes = { across, down, each, depth, inner };
        const { vectors } = new Tiles(sizes, headDim, products);
        if (16 * vectors + extraBytes(across * down) <= bytes) return sizes;
      }
    }
  }
  throw new UsageError(
    `attention on a graphics card: heads of ${headDim} numbers do not fit into the ${bytes} bytes ` +
      "that a workgroup shares",
    { advice: "Use a model with smaller heads (head_dim), or --device wasm." },
  );
}

/** A product of scores: its matrices of rows and of columns, and the name of the sums. */
export interface Product {
  rows: string;
  columns: string;
  sums: string;
}

/** The WGSL for one choice of sizes and one size of heads. It uses `x`, `y` and `local`. */
export class Tiles {
  /** Number of rows and columns of a tile, and of invocations. */
  readonly m: number;
  readonly n: number;
  readonly threads: number;
  /** Number of vec4 in a row of a head, and of those that an invocation mixes. */
  readonly d4: number;
  readonly mixed: number;
  readonly #rowStride: number;
  readonly #weightStride: number;

  constructor(
    readonly sizes: TileSizes,
    readonly headDim: number,
    readonly products: number,
  ) {
    const { across, down, each, depth } = sizes;
    this.m = down * each;
    this.n = 4 * across;
    this.threads = across * down;
    this.d4 = headVectors(headDim);
    this.mixed = Math.ceil(this.d4 / across);
    // The strides are odd, so that neighbouring invocations read from different memory banks.
    this.#rowStride = depth | 1;
    this.#weightStride = across | 1;
  }

  /** Number of vec4 of workgroup memory. */
  get vectors(): number {
    const scores = this.products * (this.m + this.n) * this.#rowStride;
    const mix = this.m * this.#weightStride + this.sizes.inner * this.d4;
    return Math.max(scores, mix);
  }

  /** Declarations that stand outside of `main`; `matrices` are the ones that are read by rows. */
  declarations(matrices: readonly string[]): string {
    const { d4, headDim } = this;
    const padded = d4 % this.sizes.depth !== 0;
    const reads = matrices.map((name) => {
      const none = `row == NONE${padded ? ` || c >= ${d4}u` : ""}`;
      const body = headDim % 4 === 0 ? `return ${name}[row * ${d4}u + c];` : `
  let at = row * ${headDim / 2}u + 2u * c;
  var rest = vec2<f32>();
  if (4u * c + 2u < ${headDim}u) { rest = ${name}[at + 1u]; }
  return vec4<f32>(${name}[at], rest);`;
      return `fn load_${name}(row: u32, c: u32) -> vec4<f32> {
  if (${none}) { return vec4<f32>(); }
  ${body}
}`;
    });
    return `const NONE = 0xffffffffu;
var<workgroup> tile: array<vec4<f32>, ${this.vectors}>;
${reads.join("\n")}`;
  }

  /** Declares `store_<name>(row, c, value)`, for a matrix that is written by rows. */
  storing(name: string): string {
    const { d4, headDim } = this;
    const body = headDim % 4 === 0 ? `${name}[row * ${d4}u + c] = value;` : `
  let at = row * ${headDim / 2}u + 2u * c;
  ${name}[at] = value.xy;
  if (4u * c + 2u < ${headDim}u) { ${name}[at + 1u] = value.zw; }`;
    return `fn store_${name}(row: u32, c: u32, value: vec4<f32>) {
  if (c >= ${d4}u) { return; }
  ${body}
}`;
  }

  /**
   * `main` with `x`, `y`, `local` and the workgroup's `number`; the first p.count ones run `body`.
   */
  main(body: string): string {
    const { across } = this.sizes;
    return `${entryPoint(this.threads)}
  let number = group.x + group.y * groups.x;
  if (number >= p.count) { return; }
  let x = local % ${across}u;
  let y = local / ${across}u;
  let fill = local / ${this.sizes.depth}u;
  let fill_c = local % ${this.sizes.depth}u;
  ${body}
}`;
  }

  /** `text` for each row of an invocation. */
  eachRow(text: (i: number) => string): string {
    return lines(this.sizes.each, text);
  }

  /** `text` for each row and each vec4 of the mix of an invocation. */
  eachMixed(text: (i: number, j: number) => string): string {
    return this.eachRow((i) => lines(this.mixed, (j) => text(i, j)));
  }

  /** The row of the tile that an invocation's row i is. */
  tileRow(i: number): string {
    return `y + ${i * this.sizes.down}u`;
  }

  /**
   * Declares which matrix rows an invocation loads as rows of a tile.
   * @param matrixRow the matrix row (or NONE) of row m of the tile
   */
  matrixRowsOfRows(matrixRow: (m: string) => string): string {
    return this.#fills(this.m, (pass, at) => `let row_at${pass} = ${matrixRow(at)};`);
  }

  /** As `matrixRowsOfRows`, for the columns of a tile: `matrixRow` gives the row of column n. */
  matrixRowsOfColumns(matrixRow: (n: string) => string): string {
    return this.#fills(this.n, (pass, at) => `let column_at${pass} = ${matrixRow(at)};`);
  }

  /** Declares the sums of a mix. */
  declareMix(sums: string): string {
    return this.eachMixed((i, j) => `var ${sums}${i}_${j} = vec4<f32>();`);
  }

  /**
   * Scores of a tile, as one vec4 `<sums>0`, `<sums>1` … for each row. Needs the declarations of
   * matrixRowsOfRows and matrixRowsOfColumns.
   */
  scores(products: readonly Product[]): string {
    const { each, depth, down, across } = this.sizes;
    const stride = this.#rowStride, part = (this.m + this.n) * stride;
    const unroll = Math.min(depth, products.length === 1 ? 4 : 2);
    const declared = products.map(({ sums }) =>
      this.eachRow((i) => lines(4, (j) => `var ${sums}${i}_${j} = 0.0;`))
    );
    const fills = products.map(({ rows, columns }, k) => {
      const rowsFrom = k * part, columnsFrom = rowsFrom + this.m * stride;
      const fillRow = (pass: number, at: string) =>
        `tile[${rowsFrom}u + (${at}) * ${stride}u + fill_c] = ` +
        `load_${rows}(row_at${pass}, d + fill_c);`;
      const fillColumn = (pass: number, at: string) => {
        const column = `((${at}) % 4u) * ${across}u + (${at}) / 4u`;
        return `tile[${columnsFrom}u + (${column}) * ${stride}u + fill_c] = ` +
          `load_${columns}(column_at${pass}, d + fill_c);`;
      };
      return this.#fills(this.m, fillRow) + "\n" + this.#fills(this.n, fillColumn);
    });
    const dots = lines(unroll, (u) =>
      products.map(({ sums }, k) => {
        const a = k * part + u, b = a + this.m * stride;
        return `{
${lines(each, (i) => `let a${i} = tile[row_slot + e + ${a + i * down * stride}u];`)}
${lines(4, (j) => `let b${j} = tile[column_slot + e + ${b + j * across * stride}u];`)}
${
          lines(
            each,
            (i) =>
              lines(
                4,
                (j) => `${sums}${i}_${j} = ${addDot(`a${i}`, `b${j}`, `${sums}${i}_${j}`)};`,
              ),
          )
        }
}`;
      }).join("\n"));
    const chunks = Math.ceil(this.d4 / depth);
    return `${declared.join("\n")}
  for (var d = 0u; d < ${chunks * depth}u; d += ${depth}u) {
${fills.join("\n")}
    workgroupBarrier();
    let row_slot = y * ${stride}u;
    let column_slot = x * ${stride}u;
    for (var e = 0u; e < ${depth}u; e += ${unroll}u) {
${dots}
    }
    workgroupBarrier();
  }
${
      products.map(({ sums }) =>
        this.eachRow((i) =>
          `let ${sums}${i} = vec4<f32>(${[0, 1, 2, 3].map((j) => `${sums}${i}_${j}`).join(", ")});`
        )
      ).join("\n")
    }`;
  }

  /**
   * Stores the vec4 `<weights>0` … of the rows for a mix. A barrier must stand between the last
   * read of `tile` and this.
   */
  storeWeights(weights: string): string {
    const stride = this.#weightStride;
    return this.eachRow((i) => `tile[(${this.tileRow(i)}) * ${stride}u + x] = ${weights}${i};`);
  }

  /**
   * Adds Σ weights·columns to `sums`, over the first `count` columns (an expression that is the
   * same in all invocations). Ends with a barrier.
   * @param matrixRow the matrix row (or NONE) of column n
   */
  mix(sums: string, columns: string, count: string, matrixRow: (n: string) => string): string {
    const { each, inner, down, across } = this.sizes;
    const { d4, threads, mixed } = this, stride = this.#weightStride, from = this.m * stride;
    const size = inner * d4;
    const fills = lines(Math.ceil(size / threads), (pass) => {
      const index = pass === 0 ? "local" : `local + ${pass * threads}u`;
      const fill = `let at = ${index}; tile[${from}u + at] = ` +
        `load_${columns}(${matrixRow(`part + at / ${d4}u`)}, at % ${d4}u);`;
      return (pass + 1) * threads > size ? `if (${index} < ${size}u) { ${fill} }` : `{ ${fill} }`;
    });
    return `for (var part = 0u; part < ${this.n}u; part += ${inner}u) {
    if (part >= ${count}) { break; }
${fills}
    workgroupBarrier();
    let weight_slot = y * ${stride}u + part / 4u;
    for (var e = 0u; e < ${inner / 4}u; e++) {
${lines(each, (i) => `let w${i} = tile[weight_slot + e + ${i * down * stride}u];`)}
      let column_slot = ${from}u + e * ${4 * d4}u + x;
${
      lines(4, (c) =>
        lines(mixed, (j) =>
          `{ let b = tile[column_slot + ${c * d4 + j * across}u]; ${
            Array.from({ length: each }, (_, i) =>
              `${sums}${i}_${j} = fma(vec4<f32>(w${i}.${COMPONENTS[c]}), b, ${sums}${i}_${j});`)
              .join(" ")
          } }`))
    }
    }
    workgroupBarrier();
  }`;
  }

  /** `text` for each pass in which the invocations load the `count` rows of a chunk of scores. */
  #fills(count: number, text: (pass: number, at: string) => string): string {
    const rows = this.threads / this.sizes.depth;
    return lines(Math.ceil(count / rows), (pass) => {
      const at = pass === 0 ? "fill" : `fill + ${pass * rows}u`;
      const line = text(pass, at);
      const whole = (pass + 1) * rows <= count || line.startsWith("let ");
      return whole ? line : `if (${at} < ${count}u) { ${line} }`;
    });
  }
}

/** WGSL: a·b + sum, one component after the other. */
function addDot(a: string, b: string, sum: string): string {
  return COMPONENTS.reduce((inner, c) => `fma(${a}.${c}, ${b}.${c}, ${inner})`, sum);
}

function lines(count: number, text: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => text(i)).join("\n");
}
