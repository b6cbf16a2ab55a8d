/**
 * Generates `tiles.as.ts`: the register tiles of the matrix product (1 to 6 rows × 16 columns) and
 * of dot products for a few rows, unrolled. The file exists only while the compiler runs
 * (kernels/devices/wasm/build.ts); to read it:
 *
 *     deno task build:wasm --print tiles.as.ts
 *
 * The code has the form that V8's revectorizer (`--experimental-wasm-revectorize`) turns into
 * 256-bit instructions: ONE loop without unrolling, neighbouring accumulators, ONE group of stores,
 * all loads of a row before its stores, and of two neighbouring stores the upper one first
 * (otherwise it stores the lower one twice). Other forms are slower by a third to two thirds: a
 * second loop for the rest of an unrolled one, a branch around the stores, loads between the
 * stores. So there is a separate function for every height, layout and way of storing.
 */
const VECTORS = 4;
const MAX_ROWS = 6;

/**
 * How a tile reads its rows. `rows`: row-major, four bytes per term. `columns`: one stride per
 * term. `ahead`: like `rows`, with a packed panel; after every READ_AHEAD terms it also reads a
 * byte that will be needed later.
 */
type Layout = "rows" | "columns" | "ahead";
/**
 * Number of terms between two such bytes; k is a multiple of it. It is a constant, because a
 * variable would cost as much time as reading ahead saves.
 */
const READ_AHEAD = 16;
/** Whether a tile overwrites the block of `out` or adds to it. */
type Store = "set" | "add";

function tile(rows: number, layout: Layout, store: Store): string {
  const row = [...Array(rows).keys()];
  const vector = [...Array(VECTORS).keys()];
  const eachRow = (line: (i: number) => string) => row.map((i) => "  " + line(i)).join("\n");
  const eachVector = (part: (j: number) => string) => vector.map(part).join(" ");
  const storeVector = (j: number, value: string) => `v128.store(c, ${value}, ${16 * j});`;
  const stores = (value: (j: number) => string) =>
    [1, 0, 3, 2].map((j) => storeVector(j, value(j))).join(" ") + " c += cStep;";
  const apart = layout !== "columns", ahead = layout === "ahead";
  const pointer = (i: number) => apart ? `s${i}` : "s";
  const offset = (i: number) => apart ? 0 : 4 * i;
  const block = [
    `export function tile_${layout}_${store}_${rows}(`,
    ahead
      ? "  s: usize, sStep: usize, v: usize, c: usize, cStep: usize, k: i32, alpha: f32,\n" +
        "  ahead: usize, aheadStep: usize,\n): i32 {\n  let read: i32 = 0;"
      : "  s: usize, sStep: usize, v: usize, vStep: usize, c: usize, cStep: usize, k: i32,\n" +
        "  alpha: f32,\n): void {",
    eachRow((i) => eachVector((j) => `let c${i}${j} = f32x4.splat(0);`)),
    ...(apart ? [eachRow((i) => `let s${i} = s + ${i} * sStep;`)] : []),
    ...(ahead
      ? [
        "  for (const last = v + (k as usize) * 64; v < last;) {",
        "  read += load<u8>(ahead);",
        "  ahead += aheadStep;",
        `  for (const end = v + ${64 * READ_AHEAD}; v < end;) {`,
      ]
      : ["  for (; k > 0; k--) {"]),
    "    " + eachVector((j) => `const v${j} = v128.load(v, ${16 * j});`),
    eachRow((i) =>
      `  const a${i} = v128.load32_splat(${pointer(i)}, ${offset(i)}); ` +
      eachVector((j) => `c${i}${j} = f32x4.relaxed_madd(a${i}, v${j}, c${i}${j});`)
    ),
    apart ? "    " + row.map((i) => `s${i} += 4;`).join(" ") : "    s += sStep;",
    ahead ? "    v += 64;\n  }" : "    v += vStep;",
    "  }",
    "  const scale = f32x4.splat(alpha);",
    eachRow((i) =>
      store === "set"
        ? stores((j) => `f32x4.mul(scale, c${i}${j})`)
        : eachVector((j) => `const o${i}${j} = v128.load(c, ${16 * j});`) + "\n    " +
          stores((j) => `f32x4.relaxed_madd(scale, c${i}${j}, o${i}${j})`)
    ),
    ...(ahead ? ["  return read;"] : []),
    "}",
  ];
  return block.join("\n");
}

/** The dot tiles: numbers of rows of x and of rows of w. */
const DOT_TILES = [[1, 4], [2, 4], [3, 2], [4, 2]] as const;

/**
 * Dot products of rows of x with rows of w: eight running sums each, which are stored as they are.
 */
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
    "// Register tiles of the matrix product. Generated by kernels/ops/matmul/wasm/generate.ts.\n" +
    "// c[rows, 16] = or += alpha · Σ_k s[row, k] · v[k, 16]; steps are in bytes. All functions\n" +
    "// are exported because the revectorizer does not widen inlined ones.",
  ];
  for (const layout of ["rows", "columns", "ahead"] as const) {
    for (const store of ["set", "add"] as const) {
      for (let rows = 1; rows <= MAX_ROWS; rows++) parts.push(tile(rows, layout, store));
    }
  }
  for (const [rows, columns] of DOT_TILES) parts.push(dotTile(rows, columns));
  return parts.join("\n\n") + "\n";
}
