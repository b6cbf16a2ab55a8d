/**
 * The text of `tiles.as.ts`: the register tiles of the matrix product, 1 to 6 rows × 16 columns, unrolled, and
 * those of dot products for a few rows.
 *
 *     deno run -A kernels/ops/matmul/wasm/generate.ts
 *
 * The shape of the code is what V8's revectorizer (`--experimental-wasm-revectorize`) turns into 256-bit
 * instructions: ONE loop without unrolling, neighbouring accumulators, ONE group of stores, all loads of a
 * row before its stores, and of two stores the upper first (else it stores the lower one twice). Anything
 * else (a second loop for the rest of an unrolled one, a branch around the stores, loads between them) costs
 * a third to two thirds of the speed. So every height, layout and way of storing is a function of its own.
 */
const VECTORS = 4;
export const MOST_ROWS = 6;

/**
 * How the tile reads its rows: `rows`: row-major, four bytes a step; `columns`: a stride a step. `ahead`: as `rows`, of
 * a packed panel; every READ_AHEAD steps it also reads a byte of what another tile will need.
 */
type Layout = "rows" | "columns" | "ahead";
/** Steps between two such bytes; k is a multiple of it. A variable in its place costs what reading ahead gains. */
const READ_AHEAD = 16;
/** What it does with the block of `out`: overwrite it, or add to it. */
type Store = "set" | "add";

function tile(rows: number, layout: Layout, store: Store): string {
  const row = [...Array(rows).keys()];
  const vector = [...Array(VECTORS).keys()];
  const all = (line: (i: number) => string) => row.map((i) => "  " + line(i)).join("\n");
  const each = (part: (j: number) => string) => vector.map(part).join(" ");
  const put = (j: number, value: string) => `v128.store(c, ${value}, ${16 * j});`;
  const stores = (value: (j: number) => string) =>
    [1, 0, 3, 2].map((j) => put(j, value(j))).join(" ") + " c += cStep;";
  const apart = layout !== "columns", ahead = layout === "ahead";
  const pointer = (i: number) => apart ? `s${i}` : "s";
  const offset = (i: number) => apart ? 0 : 4 * i;
  const block = [
    `export function tile_${layout}_${store}_${rows}(`,
    ahead
      ? "  s: usize, sStep: usize, v: usize, c: usize, cStep: usize, k: i32, alpha: f32, ahead: usize,\n" +
        "  aheadStep: usize,\n): i32 {\n  let read: i32 = 0;"
      : "  s: usize, sStep: usize, v: usize, vStep: usize, c: usize, cStep: usize, k: i32, alpha: f32,\n" +
        "): void {",
    all((i) => each((j) => `let c${i}${j} = f32x4.splat(0);`)),
    ...(apart ? [all((i) => `let s${i} = s + ${i} * sStep;`)] : []),
    ...(ahead
      ? [
        "  for (const last = v + (k as usize) * 64; v < last;) {",
        "  read += load<u8>(ahead);",
        "  ahead += aheadStep;",
        `  for (const end = v + ${64 * READ_AHEAD}; v < end;) {`,
      ]
      : ["  for (; k > 0; k--) {"]),
    "    " + each((j) => `const v${j} = v128.load(v, ${16 * j});`),
    all((i) =>
      `  const a${i} = v128.load32_splat(${pointer(i)}, ${offset(i)}); ` +
      each((j) => `c${i}${j} = f32x4.relaxed_madd(a${i}, v${j}, c${i}${j});`)
    ),
    apart ? "    " + row.map((i) => `s${i} += 4;`).join(" ") : "    s += sStep;",
    ahead ? "    v += 64;\n  }" : "    v += vStep;",
    "  }",
    "  const scale = f32x4.splat(alpha);",
    all((i) =>
      store === "set"
        ? stores((j) => `f32x4.mul(scale, c${i}${j})`)
        : each((j) => `const o${i}${j} = v128.load(c, ${16 * j});`) + "\n    " +
          stores((j) => `f32x4.relaxed_madd(scale, c${i}${j}, o${i}${j})`)
    ),
    ...(ahead ? ["  return read;"] : []),
    "}",
  ];
  return block.join("\n");
}

/** Rows of x × rows of w whose products one dot tile sums. */
export const DOT_TILES = [[1, 4], [2, 4], [3, 2], [4, 2]] as const;

/** Dot products along rows that both lie in order: eight running sums each, stored unreduced. */
function dotTile(rows: number, columns: number): string {
  const row = [...Array(rows).keys()];
  const column = [...Array(columns).keys()];
  const pairs = row.flatMap((i) => column.map((j) => [i, j] as const));
  const block = [
    `export function tile_dot_${rows}(`,
    "  x: usize, xStep: usize, w: usize, wStep: usize, sums: usize, k: i32,",
    "): void {",
    ...row.map((i) => `  let x${i} = x + ${i} * xStep;`),
    ...column.map((j) => `  let w${j} = w + ${j} * wStep;`),
    ...pairs.map(([i, j]) => `  let c${i}${j} = f32x4.splat(0); let d${i}${j} = f32x4.splat(0);`),
    "  for (; k > 0; k -= 8) {",
    ...column.map((j) => `    const a${j} = v128.load(w${j}); const b${j} = v128.load(w${j}, 16);`),
    ...row.map((i) =>
      `    const e${i} = v128.load(x${i}); const f${i} = v128.load(x${i}, 16); ` +
      column.map((j) =>
        `c${i}${j} = f32x4.relaxed_madd(e${i}, a${j}, c${i}${j}); ` +
        `d${i}${j} = f32x4.relaxed_madd(f${i}, b${j}, d${i}${j});`
      ).join(" ")
    ),
    "    " + row.map((i) => `x${i} += 32;`).join(" ") + " " +
    column.map((j) => `w${j} += 32;`).join(" "),
    "  }",
    ...pairs.map(([i, j], at) =>
      `  v128.store(sums, c${i}${j}, ${32 * at}); v128.store(sums, d${i}${j}, ${32 * at + 16});`
    ),
    "}",
  ];
  return block.join("\n");
}

/** The whole generated file. */
export function tilesSource(): string {
  const parts = [
    "// Register tiles of the matrix product. Generated by kernels/ops/matmul/wasm/generate.ts; do not edit.\n" +
    "// c[rows, 16] = or += alpha · Σ_k s[row, k] · v[k, 16]; steps in bytes. All are exported because an\n" +
    "// exported function is not inlined into its only caller, which would stop the revectorizer.",
  ];
  for (const layout of ["rows", "columns", "ahead"] as const) {
    for (const store of ["set", "add"] as const) {
      for (let rows = 1; rows <= MOST_ROWS; rows++) parts.push(tile(rows, layout, store));
    }
  }
  for (const [rows, columns] of DOT_TILES) parts.push(dotTile(rows, columns));
  return parts.join("\n\n") + "\n";
}
