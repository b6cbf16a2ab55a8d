/**
 * Generates `codes.as.ts`: the loops over codes of stored weights, unrolled. A word of a panel has
 * codes of one row, so four rows (eight with V8's revectorizer) are shifted, masked and converted
 * side by side. The form that the revectorizer needs is described in docs/log/matrix-products.md.
 * To read the generated file, which exists only while the compiler runs:
 *
 *     deno task build:wasm --print codes.as.ts
 */
import { each, range } from "./generate_text.ts";

const VECTORS = 4;

/**
 * The types whose scales are read together with the codes, record after record: bytes of the codes
 * of a record, and of the whole record (types.ts).
 */
export const RECORDS = {
  q4_0: { codes: 256, bytes: 288 },
  q4_1: { codes: 256, bytes: 320 },
  q8_0: { codes: 512, bytes: 544 },
  int8: { codes: 1024, bytes: 1088 },
} as const;
type RecordType = keyof typeof RECORDS;

/** Byte i of a word times 2^24. */
function byte(word: string, i: number): string {
  if (i === 0) return `i32x4.shl(${word}, 24)`;
  return i === 3 ? `v128.and(${word}, mask)` : `v128.and(i32x4.shl(${word}, ${24 - 8 * i}), mask)`;
}

const loadWords = (name: string, at: number, vectors = VECTORS) =>
  each(vectors, (j) => `const ${name}${j} = v128.load(codes, ${at + 16 * j});`);
const loadScales = (name: string, at: number, vectors = VECTORS) =>
  each(vectors, (j) => `const ${name}${j} = v128.load(scales, ${at + 16 * j});`);

/** The sum, in order, of the accumulators of row r of x and vector j. */
function chainSum(r: number, j: number, chains: number): string {
  const c = (i: number) => `c${r}_${i}_${j}`;
  return chains === 2
    ? `f32x4.add(${c(0)}, ${c(1)})`
    : `f32x4.add(f32x4.add(${c(0)}, ${c(1)}), f32x4.add(${c(2)}, ${c(3)}))`;
}

interface Dot {
  /** Number of rows of x. */
  rows: number;
  /** Number of vectors of four rows of the panel. */
  vectors: number;
  /** Number of accumulators for each row of x and each vector. */
  chains: number;
}

/** Code that dot products over nibbles and over bytes share. */
function dotParts({ rows, vectors, chains }: Dot) {
  const eachSum = (part: (r: number, j: number) => string) =>
    range(rows).map((r) => each(vectors, (j) => part(r, j))).join("\n    ");
  const step = (i: number, code: (j: number) => string, at: number) => {
    const madd = (r: number, j: number) => {
      const c = `c${r}_${i % chains}_${j}`;
      return `${c} = f32x4.relaxed_madd(a${i}_${r}, q${i}${j}, ${c});`;
    };
    return "      " +
      each(vectors, (j) => `const q${i}${j} = f32x4.convert_i32x4_s(${code(j)});`) + "\n" +
      range(rows).map((r) =>
        `      const a${i}_${r} = v128.load32_splat(x${r}, ${at}); ` +
        each(vectors, (j) => madd(r, j))
      ).join("\n");
  };
  return {
    pointers: each(rows, (r) => `let x${r} = x + ${r} * xStep;`),
    loadTotals: eachSum((r, j) => `let t${r}${j} = v128.load(totals, ${64 * r + 16 * j});`),
    clear: eachSum((r, j) => each(chains, (c) => `let c${r}_${c}_${j} = f32x4.splat(0);`)),
    step,
    scaled: eachSum((r, j) =>
      `t${r}${j} = f32x4.relaxed_madd(s${j}, ${chainSum(r, j, chains)}, t${r}${j});`
    ),

    storeTotals: range(rows).map((r) =>
      each(vectors / 2, (h) =>
        `v128.store(totals, t${r}${2 * h + 1}, ${64 * r + 32 * h + 16}); ` +
        `v128.store(totals, t${r}${2 * h}, ${64 * r + 32 * h});`)
    ).join("\n  "),
    advance: (bytes: number) => each(rows, (r) => `x${r} += ${bytes};`),
  };
}

function dotBytes(rows: number): string {
  const part = dotParts({ rows, vectors: VECTORS, chains: 2 });
  const step = (i: number) => part.step(i, (j) => byte(`w${j}`, i), 4 * i);
  return `/**
 * Adds to the totals of 16 rows of a panel for ${rows} of x; blocks of 4·\`words\` terms, scales as
 * those of scales.as.ts.
 */
export function dot_bytes_${rows}(
  codes: usize, scales: usize, x: usize, xStep: usize, totals: usize, blocks: i32, words: i32,
): void {
  const mask = v128.load32_splat(MASKS, 16);
  ${part.pointers}
    ${part.loadTotals}
  for (; blocks > 0; blocks--) {
    ${part.clear}
    for (let word = 0; word < words; word++) {
      ${loadWords("w", 0)}
${range(4).map(step).join("\n")}
      codes += 64;
      ${part.advance(16)}
    }
    ${loadScales("s", 0)}
    ${part.scaled}
    scales += 64;
  }
  ${part.storeTotals}
}`;
}

/**
 * Scales from the upper halves of words, as `<name>0`, `<name>1` …
 * @param factor offset in MASKS of the factor that corrects their exponent
 */
function halfScales(words: readonly string[], name: string, factor: number): string {
  const parts = words.map((word, j) =>
    `const ${name}${j} = f32x4.mul(v128.and(i32x4.shr_s(${word}, 3), half), factor);`
  );
  return "const half = v128.load32_splat(MASKS, 24), " +
    `factor = v128.load32_splat(MASKS, ${factor});\n      ` + parts.join(" ");
}

/** Loads the scales s0, s1 and the minima m0, m1 of 8 rows of a record of q4_0 or q4_1. */
function halfRecordScales(type: "q4_0" | "q4_1", vectors: number): string {
  if (type === "q4_1") {
    return [
      "const scales = codes + 256;",
      each(vectors, (j) => `const d${j} = v128.load(scales, ${16 * j});`),
      halfScales(range(vectors).map((j) => `i32x4.shl(d${j}, 16)`), "s", 28),
      each(
        vectors,
        (j) => `const m${j} = f32x4.mul(v128.and(i32x4.shr_s(d${j}, 3), half), factor);`,
      ),
    ].join("\n      ");
  }
  // A word has the scales of the rows r and r + 8. Read from two bytes lower, r is in the upper
  // half.
  return [
    "const scales = record + 254 + (rows >> 4);",
    each(vectors, (j) => `const d${j} = v128.load(scales, ${16 * j});`),
    halfScales(range(vectors).map((j) => `d${j}`), "s", 28),
    "const eight = v128.load32_splat(MASKS, 36);",
    each(vectors, (j) => `const m${j} = f32x4.mul(s${j}, eight);`),
  ].join("\n      ");
}

/**
 * Dot products with nibbles. Of every 32 terms 8 rows are done, then the other 8: so the records
 * are read in order, and the prefetcher has the next ones. Of q4_k, whose scales are after 256
 * terms, only the sums of codes are made.
 */
function dotNibbles(type: "q4_0" | "q4_1" | "q4_k", rows: number): string {
  const vectors = 2, part = dotParts({ rows, vectors, chains: 4 }), sumsOnly = type === "q4_k";
  const step = (i: number) => {
    const shift = i === 4
      ? "      " + each(vectors, (j) => `const h${j} = i32x4.shr_u(w${j}, 16);`) + "\n"
      : "";
    const code = (j: number) => `v128.and(${i < 4 ? "w" : "h"}${j}, mask${i % 4})`;
    return shift + part.step(i, code, 4 * i);
  };
  const scaledSum = (r: number) =>
    `const y${r} = v128.load32_splat(sums + ${r} * sumStep);\n      ` +
    each(
      vectors,
      (j) =>
        `const t${r}${j} = f32x4.relaxed_madd(m${j}, y${r}, f32x4.relaxed_madd(s${j}, ` +
        `${chainSum(r, j, 4)}, v128.load(to, ${64 * r + 16 * j})));`,
    );
  const plainSum = (r: number) => each(vectors, (j) => `const t${r}${j} = ${chainSum(r, j, 4)};`);
  const storeSum = (r: number) =>
    `v128.store(to, t${r}1, ${64 * r + 16}); v128.store(to, t${r}0, ${64 * r});`;
  const storeSums = range(rows).map((r) =>
    `${sumsOnly ? plainSum(r) : scaledSum(r)}\n      ${storeSum(r)}`
  );
  const about = sumsOnly
    ? `Sums of codes times ${rows} of x, to \`totals\`: [${rows}][16] for each of \`blocks\`\n` +
      " * blocks of 32 terms. Element i of x is multiplied by 16^−(i mod 4)."
    : `Adds to the totals of a panel for ${rows} of x; records of ${type}. Element i of x is\n` +
      " * multiplied by 16^−(i mod 4); `sums` are the sums of its blocks.";
  return `/**
 * ${about}
 */
export function dot_${type}_${rows}(
  record: usize, x: usize, xStep: usize, ${
    sumsOnly ? "" : "sums: usize, sumStep: usize, "
  }totals: usize, blocks: i32,
): void {
  const mask0 = v128.load32_splat(MASKS), mask1 = v128.load32_splat(MASKS, 4);
  const mask2 = v128.load32_splat(MASKS, 8), mask3 = v128.load32_splat(MASKS, 12);
  for (; blocks > 0; blocks--) {
    for (let rows: usize = 0; rows < 64; rows += 32) {
      const codes = record + rows, to = totals + rows;
      ${part.pointers}
      ${part.clear}
      for (let word = codes, end = codes + 256; word < end; word += 64) {
        ${each(vectors, (j) => `const w${j} = v128.load(word, ${16 * j});`)}
${range(8).map(step).join("\n")}
        ${part.advance(32)}
      }
      ${[...sumsOnly ? [] : [halfRecordScales(type, vectors)], ...storeSums].join("\n      ")}
    }
    record += ${sumsOnly ? 256 : RECORDS[type].bytes};
    x += 128;
    ${sumsOnly ? `totals += ${64 * rows};` : "sums += 4;"}
  }
}`;
}

/** The scales of 16 rows from their place in the record: s0 … s3, and of nibbles m0 … m3. */
export function recordScales(type: RecordType): string {
  const load = (name: string, count: number, at: number) =>
    each(count, (j) => `const ${name}${j} = v128.load(record, ${at + 16 * j});`);
  const four = range(VECTORS);
  switch (type) {
    case "q4_1":
      return [
        load("d", 4, 256),
        halfScales(four.map((j) => `i32x4.shl(d${j}, 16)`), "s", 28),
        each(4, (j) => `const m${j} = f32x4.mul(v128.and(i32x4.shr_s(d${j}, 3), half), factor);`),
      ].join("\n      ");
    case "int8":
      return [
        "const factor = v128.load32_splat(MASKS, 40);",
        each(4, (j) => `const s${j} = f32x4.mul(v128.load(record, ${1024 + 16 * j}), factor);`),
      ].join("\n      ");
    default: {
      const nibbles = type === "q4_0";
      const words = ["i32x4.shl(d0, 16)", "i32x4.shl(d1, 16)", "d0", "d1"];
      return [
        load("d", 2, RECORDS[type].codes),
        halfScales(words, "s", nibbles ? 28 : 32),
        ...nibbles
          ? [
            "const eight = v128.load32_splat(MASKS, 36);",
            each(4, (j) => `const m${j} = f32x4.mul(s${j}, eight);`),
          ]
          : [],
      ].join("\n      ");
    }
  }
}

/** Dot products with bytes, whose scales are in the record. */
function dotRecordBytes(type: "q8_0" | "int8", rows: number): string {
  const part = dotParts({ rows, vectors: VECTORS, chains: 2 });
  const step = (i: number) => part.step(i, (j) => byte(`w${j}`, i), 4 * i);
  const { codes, bytes } = RECORDS[type];
  return `/** Adds to the totals of 16 rows of a panel for ${rows} of x; records of ${type}. */
export function dot_${type}_${rows}(
  record: usize, x: usize, xStep: usize, totals: usize, blocks: i32,
): void {
  const mask = v128.load32_splat(MASKS, 16);
  ${part.pointers}
    ${part.loadTotals}
  for (; blocks > 0; blocks--) {
    ${part.clear}
    for (let codes = record, end = record + ${codes}; codes < end; codes += 64) {
      ${loadWords("w", 0)}
${range(4).map(step).join("\n")}
      ${part.advance(16)}
    }
      ${recordScales(type)}
    ${part.scaled}
    record += ${bytes};
  }
  ${part.storeTotals}
}`;
}

/** The whole generated file. */
export function codesSource(): string {
  return [
    "// Loops over the codes of stored weights. Generated by kernels/weights/generate.ts.\n" +
    "// `codes`: words of 16 rows, 64 bytes for each word. Widened weights: 16 rows, 64 bytes\n" +
    "// for each term. All functions are exported because the revectorizer does not widen\n" +
    "// inlined ones.",
    "/**\n * Masks of codes and of halves; 2^112 and 2^88 (they correct exponents of f16), −8,\n" +
    " * 2^−24.\n */\n" +
    "export const MASKS = memory.data<u32>(\n  [\n    0xf, 0xf0, 0xf00, 0xf000, 0xff000000, " +
    "0xffff0000, 0x8fffe000,\n    0x77800000, 0x6b800000, 0xc1000000, 0x33800000,\n  ],\n  64,\n);",
    ...[1, 2].map(dotBytes),
    ...[1, 2].flatMap((rows) => [
      dotNibbles("q4_0", rows),
      dotNibbles("q4_1", rows),
      dotNibbles("q4_k", rows),
      dotRecordBytes("q8_0", rows),
      dotRecordBytes("int8", rows),
    ]),
  ].join("\n\n") + "\n";
}
