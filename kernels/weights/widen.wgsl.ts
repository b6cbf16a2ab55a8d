/**
 * WGSL that reads stored weights (types.ts); there is one description of each type for all kernels.
 * Panels are read as vectors of four words: the same word of four neighbouring rows. Kernels read 4
 * rows × 4 elements at a time, which take one to four loads. Four rows are shifted, masked and
 * converted side by side.
 *
 * The rounding is that of types.ts whether or not the driver fuses a product with a sum, because
 * where the reference rounds a product before it adds, the product is exact.
 */
import {
  BLOCK_SHAPES,
  type BlockType,
  FP4_LEVELS,
  isBlockType,
  NF4_GROUP,
  NF4_LEVELS,
  panelWords,
  recordWords,
  type WeightType,
} from "./types.ts";

/** WGSL: the two halves of a word as a vec2f. */
export function widenPair(type: "f16" | "bf16", word: string): string {
  return type === "f16"
    ? `unpack2x16float(${word})`
    : `vec2f(bitcast<f32>(${word} << 16u), bitcast<f32>(${word} & 0xffff0000u))`;
}

/** The parameters that {@link widenBlocks} reads. */
export const BLOCK_PARAMS = "u32 b_base b_panel b_groups";

/**
 * Their values for rows of k elements.
 * @param words number of words in the binding before the first panel
 */
export function blockParams(type: BlockType, k: number, words: number): Record<string, number> {
  const records = k / BLOCK_SHAPES[type].weights * recordWords(type);
  return { b_base: words / 4, b_panel: panelWords(type, k) / 4, b_groups: records / 4 };
}

/**
 * A type in WGSL. The code may use `i`, the first of the four elements (a multiple of four),
 * `quad`, the number of the four rows in their panel, `panel`, where the panel begins in `words`,
 * and `at`, where the record begins.
 */
interface BlockText {
  /** The loads by name; each is a vector of words of the four rows. */
  loads: Readonly<Record<string, string>>;
  /**
   * Statements that make the codes and scales of the elements from the loads, which are `w.<name>`.
   */
  scales: string;
  /** Expression of element i + j of the four rows. */
  element: (j: number) => string;
}

/** Loads word `w` of the rows. */
const loadWord = (w: string) => `words[at + 4u * (${w}) + quad]`;
/** Loads the 16-bit tails after `full` words, into the lower halves. */
const halfTail = (full: number) =>
  `words[at + ${4 * full}u + (quad & 1u)] >> vec4u((quad >> 1u) << 4u)`;

/** `code`: the nibbles of the elements i … i + 3 are its lower 16 bits. */
const NIBBLES = "let code = w.code >> vec4u((i & 4u) << 2u);\n  ";
/** `code`: the bytes of the elements i … i + 3. */
const BYTES = "let code = w.code;\n  ";
/** The 4-bit code of element j, unsigned. */
const nibble = (j: number) =>
  `vec4f(${j > 0 ? `(code >> vec4u(${4 * j}u))` : "code"} & vec4u(15u))`;
/** Byte j of `code`, signed. */
const signedByte = (j: number) =>
  j === 3
    ? `vec4f(bitcast<vec4i>(code) >> vec4u(24u))`
    : `vec4f(bitcast<vec4i>(code << vec4u(${24 - 8 * j}u)) >> vec4u(24u))`;

/**
 * The bits of `high` (of element i from bit 4 on) that are added to the 4-bit code of element j.
 */
const highBits = (j: number, bits: 1 | 2) =>
  `(high >> vec4u(${8 * (j >> 1) + bits * (j & 1)}u)) & vec4u(${bits === 1 ? 16 : 48}u)`;

/**
 * Loads the word that holds the nibbles (or the bytes) of the elements; `mask`: number of words −
 * 1.
 */
const loadNibbles = (mask: number) => loadWord(`(i >> 3u) & ${mask}u`);
const loadBytes = (mask: number) => loadWord(`(i >> 2u) & ${mask}u`);

const BLOCKS: Readonly<Record<BlockType, BlockText>> = {
  q4_0: {
    loads: { code: loadNibbles(3), tail: halfTail(4) },
    scales: `${NIBBLES}let s = halves(w.tail);`,
    element: (j) => `(${nibble(j)} - 8.0) * s`,
  },
  q4_1: {
    loads: { code: loadNibbles(3), pair: loadWord("4u") },
    scales: `${NIBBLES}let s = halves(w.pair);\n  let m = halves(w.pair >> vec4u(16u));`,
    element: (j) => `${nibble(j)} * s + m`,
  },
  q5_0: {
    loads: { code: loadNibbles(3), top: loadWord("4u"), tail: halfTail(5) },
    scales: `${NIBBLES}let s = halves(w.tail);
  let high = (w.top >> vec4u(((i & 4u) << 2u) + ((i & 24u) >> 2u))) << vec4u(4u);`,
    element: (j) => `(${nibble(j)} + vec4f(${highBits(j, 1)}) - 16.0) * s`,
  },
  q8_0: {
    loads: { code: loadBytes(7), tail: halfTail(8) },
    scales: `${BYTES}let s = halves(w.tail);`,
    element: (j) => `${signedByte(j)} * s`,
  },
  q4_k: {
    loads: {
      code: loadNibbles(31),
      pair: loadWord("32u + ((i >> 6u) & 3u)"),
      both: loadWord("36u"),
    },
    scales: `${NIBBLES}let steps = w.pair >> vec4u((i & 32u) >> 1u);
  let s = halves(w.both) * vec4f(steps & vec4u(255u));
  let m = halves(w.both >> vec4u(16u)) * vec4f((steps >> vec4u(8u)) & vec4u(255u));`,
    element: (j) => `${nibble(j)} * s - m`,
  },
  q6_k: {
    loads: {
      code: loadNibbles(31),
      top: loadWord("32u + ((i >> 4u) & 15u)"),
      steps: loadWord("48u + ((i >> 6u) & 3u)"),
      tail: halfTail(52),
    },
    scales:
      `${NIBBLES}let step = bitcast<vec4i>(w.steps << vec4u(24u - ((i & 48u) >> 1u))) >> vec4u(24u);
  let s = halves(w.tail) * vec4f(step);
  let high = (w.top >> vec4u(((i & 4u) << 2u) + ((i & 8u) >> 1u))) << vec4u(4u);`,
    element: (j) => `(${nibble(j)} + vec4f(${highBits(j, 2)}) - 32.0) * s`,
  },
  int8: {
    loads: { code: loadBytes(15), scale: loadWord("16u") },
    scales: `${BYTES}let s = bitcast<vec4f>(w.scale);`,
    element: (j) => `${signedByte(j)} * s`,
  },
  nf4: {
    loads: {
      code: loadNibbles(7),
      tail: "words[at + 32u] >> vec4u(quad << 3u)",
      group: `words[panel + p.b_groups + i / ${64 * NF4_GROUP}u]`,
    },
    scales: `${NIBBLES}let step = bitcast<f32>(w.group.x);
  let s = step * vec4f(w.tail & vec4u(255u)) + bitcast<f32>(w.group.y);`,
    element: (j) => `level(code >> vec4u(${4 * j}u)) * s`,
  },
  mxfp4: {
    loads: { code: loadNibbles(3), tail: "words[at + 16u] >> vec4u(quad << 3u)" },
    scales: `${NIBBLES}let s = bitcast<vec4f>((w.tail & vec4u(255u)) << vec4u(23u)) * 0.5;`,
    element: (j) => `level(code >> vec4u(${4 * j}u)) * s`,
  },
};

/** WGSL: the level of a code, from a table of bytes, four in each word. */
function levelOf(table: readonly number[]): string {
  const words = [0, 4, 8, 12].map((first) => {
    const [a, b, c, d] = table.slice(first, first + 4).map((level) => level & 255);
    return `vec4u(${(a! | b! << 8 | c! << 16 | d! << 24) >>> 0}u)`;
  });
  return `
fn level(code: vec4u) -> vec4f {
  let second = (code & vec4u(4u)) != vec4u(0u);
  let low = select(${words[0]}, ${words[1]}, second);
  let high = select(${words[2]}, ${words[3]}, second);
  let levels = select(low, high, (code & vec4u(8u)) != vec4u(0u));
  let shifts = vec4u(24u) - ((code & vec4u(3u)) << vec4u(3u));
  return vec4f(bitcast<vec4i>(levels << shifts) >> vec4u(24u));
}`;
}

const HALVES = `
fn halves(words: vec4u) -> vec4f {
  return vec4f(unpack2x16float(words.x).x, unpack2x16float(words.y).x,
               unpack2x16float(words.z).x, unpack2x16float(words.w).x);
}`;

/** The functions that the text of a type calls, where it is not {@link HALVES}. */
const FUNCTIONS: Partial<Record<BlockType, string>> = {
  int8: "",
  nf4: levelOf(NF4_LEVELS),
  mxfp4: levelOf(FP4_LEVELS),
};

/**
 * WGSL that reads one type in blocks from `buffer` (vec4<u32>), with the parameters
 * {@link BLOCK_PARAMS}. row and i are multiples of four, within the panels and the rows:
 *   fn block_words(row, i) -> BlockWords    loads the elements i … i + 3 of the rows row … row + 3
 *   fn block_values(words, i) -> mat4x4f    their values: column j has element i + j of the four
 *                                           rows
 */
export function widenBlocks(buffer: string, type: BlockType): string {
  const { loads, scales, element } = BLOCKS[type];
  const names = blockWordNames(type), { weights } = BLOCK_SHAPES[type];
  const texts = Object.values(loads).map((text) => text.replace("words[", `${buffer}[`));
  return `${FUNCTIONS[type] ?? HALVES}
struct BlockWords { ${names.map((name) => `${name}: vec4u`).join(", ")} }
fn block_words(row: u32, i: u32) -> BlockWords {
  let quad = (row >> 2u) & 3u;
  let panel = p.b_base + (row >> 4u) * p.b_panel;
  let at = panel + i / ${weights}u * ${recordWords(type) / 4}u;
  return BlockWords(
    ${texts.join(",\n    ")});
}
fn block_values(w: BlockWords, i: u32) -> mat4x4f {
  ${scales}
  return mat4x4f(
    ${[0, 1, 2, 3].map(element).join(",\n    ")});
}`;
}

/**
 * The members of BlockWords: at most four, each a vec4u. If all are zero, the elements are zeros.
 */
export function blockWordNames(type: BlockType): string[] {
  return Object.keys(BLOCKS[type].loads);
}

/** Element type of the buffer in a kernel that reads rows. */
export function rowBufferType(type: WeightType | "f32"): string {
  return isBlockType(type) ? "vec4<u32>" : type === "f32" ? type : "u32";
}

/**
 * WGSL: fn row_four(row, i, end): the elements i … i + 3 of a row; those from `end` (the length of
 * a row) on are zero. i is a multiple of four. `buffer` begins with the first row. Needs {@link
 * BLOCK_PARAMS}.
 */
export function rowFour(buffer: string, type: WeightType | "f32"): string {
  const signature = "fn row_four(row: u32, i: u32, end: u32) -> vec4f {";
  if (isBlockType(type)) {
    return `${widenBlocks(buffer, type)}
${signature}
  let values = block_values(block_words(row & ~3u, i), i);
  let lane = row & 3u;
  return vec4f(values[0][lane], values[1][lane], values[2][lane], values[3][lane]);
}`;
  }
  if (type === "f32") {
    const lanes = [0, 1, 2, 3].map((j) =>
      `  if (i + ${j}u < end) { v[${j}] = ${buffer}[row * end + i + ${j}u]; }`
    );
    return `
${signature}
  var v = vec4f(0.0);
${lanes.join("\n")}
  return v;
}`;
  }
  return `
${signature}
  let at = (row * end + i) >> 1u;
  let first = ${buffer}[at];
  var v = vec4f(${widenPair(type, "first")}, 0.0, 0.0);
  if (i + 2u < end) {
    let second = ${buffer}[at + 1u];
    v = vec4f(v.xy, ${widenPair(type, "second")});
  }
  return v;
}`;
}

/** Parameters of {@link rowFour} for rows of k elements. */
export function rowParams(type: WeightType | "f32", k: number): Record<string, number> {
  return isBlockType(type) ? blockParams(type, k, 0) : { b_base: 0, b_panel: 0, b_groups: 0 };
}
