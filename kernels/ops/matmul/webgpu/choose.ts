/**
 * Which kernel computes a product on a GPU: the rule by its shape, and the candidates that the
 * tuner (kernels/tuning/) measures on a card.
 */
import { unknownKernel } from "../../common/unknown_kernel.ts";
import type { ChoicePoint, WebgpuTraits } from "../../common/webgpu_op.ts";
import type { ComputeDtype } from "../../common/compute_dtype.ts";
import type { MatmulArgs } from "../spec.ts";
import { isBlockType, storedWords } from "../../../weights/types.ts";
import type { Rounding } from "./elements.wgsl.ts";
import { unitsFor } from "./matrix_product.ts";
import { sharedBytes, threadsOf, type TileShape } from "./tile.wgsl.ts";

/** Shapes of tiles: from the fastest for large products to the fastest for few outputs. */
export const TILES = {
  large: { bm: 128, bn: 128, tm: 8, tn: 8, bk: 16, slices: 1 },
  medium: { bm: 64, bn: 64, tm: 4, tn: 4, bk: 32, slices: 1 },
  small: { bm: 32, bn: 32, tm: 4, tn: 4, bk: 64, slices: 4 },
  skinny: { bm: 16, bn: 16, tm: 4, tn: 4, bk: 128, slices: 16 },
  // A CPU behind Vulkan takes a second to compile long kernels, and gains little from invocations.
  software: { bm: 32, bn: 32, tm: 4, tn: 4, bk: 16, slices: 1 },
} as const satisfies Record<string, TileShape>;

/** Further shapes that only the tuner takes: wide, and for few rows or columns. */
export const MORE_TILES: readonly TileShape[] = [
  { bm: 128, bn: 64, tm: 8, tn: 4, bk: 16, slices: 1 },
  { bm: 16, bn: 64, tm: 4, tn: 4, bk: 64, slices: 4 },
  { bm: 64, bn: 16, tm: 4, tn: 4, bk: 64, slices: 4 },
];

/**
 * What computes a product: a kernel for few rows (with this number of invocations and of columns,
 * or the rule's), a tile, or the matrix units.
 */
export type Choice = "matrix" | VectorShape | TileShape;

export interface VectorShape {
  vector: true;
  threads?: number;
  columns?: number;
}

/** The kernel for few rows, with the sizes of its rule. */
export const VECTOR: VectorShape = { vector: true };

const VECTORS: readonly VectorShape[] = [64, 256].flatMap((threads) =>
  [8, 16].map((columns) => ({ vector: true as const, threads, columns }))
);

export const isVector = (choice: Choice): choice is VectorShape =>
  typeof choice !== "string" && "vector" in choice;

/**
 * A product uses the largest tile that gives at least this number of workgroups: several for each
 * core.
 */
const ENOUGH_GROUPS = 192;
/** Up to this many rows, the kernels for vectors are used. */
const VECTOR_ROWS = 3;
/**
 * Sums of at least this length may be divided into parts, and these have at least that many terms.
 */
const LONG_SUM = 2048, PART_TERMS = 512;
/** The maximum number of parts that the rule gives a sum; the numbers that the tuner tries. */
const MAX_PARTS = 16, PARTS = [4, 16] as const;
/** With more rows than this, the tuner does not try the tiles for few rows. */
const FEW_ROWS = 512;

/** A tile for the result's shape. */
export function chooseTile(m: number, n: number, software: boolean): TileShape {
  if (software) return TILES.software;
  const { large, medium, small, skinny } = TILES;
  for (const shape of [large, medium, small]) {
    const groups = Math.ceil(m / shape.bm) * Math.ceil(n / shape.bn);
    // A tile that is more than half empty takes longer than smaller ones.
    if (groups >= ENOUGH_GROUPS && 2 * Math.min(m, n) > shape.bm) return shape;
  }
  return skinny;
}

/** The type of both sides of a product: activations in bytes are not rounded once more. */
function roundingOf(
  { activations }: Pick<MatmulArgs, "activations">,
  { computeDtype }: Pick<WebgpuTraits, "computeDtype">,
): ComputeDtype {
  return activations === undefined ? computeDtype : "float32";
}

/** How the elements of both sides are rounded; null = they are not. */
export function elementRounding(
  args: Pick<MatmulArgs, "activations">,
  traits: Pick<WebgpuTraits, "computeDtype">,
): Rounding {
  return ({ float32: null, bfloat16: "bf16", float16: "f16" } as const)[roundingOf(args, traits)];
}

/** The rule. Products of few rows in bfloat16 keep the kernels that they began with. */
export function chooseKernel(
  args: MatmulArgs,
  traits: Pick<WebgpuTraits, "software" | "computeDtype" | "limits" | "matrixUnits">,
): Choice {
  const rounding = elementRounding(args, traits);
  if (rounding !== "bf16" && supportsVector(args)) return VECTOR;
  const onUnits = rounding !== null && unitsFor(args, traits) !== null;
  if (onUnits) return "matrix";
  const tile = chooseTile(args.m, args.n, traits.software);
  if (traits.software || !args.transA) return tile;
  const parts = partsOfSum(args, tile);
  return parts > 1 ? { ...tile, parts } : tile;
}

/** Parts of the sums of an adapter's gradient: few outputs, each the sum over thousands of rows. */
function partsOfSum(args: SumSizes, tile: TileShape): number {
  const groups = Math.ceil(args.m / tile.bm) * Math.ceil(args.n / tile.bn);
  if (groups >= ENOUGH_GROUPS || !isLong(args)) return 1;
  const parts = Math.min(MAX_PARTS, Math.ceil(ENOUGH_GROUPS / groups), args.k / PART_TERMS | 0);
  return parts > 1 ? 2 ** Math.floor(Math.log2(parts)) : 1;
}

type SumSizes = Pick<MatmulArgs, "m" | "n" | "k" | "r">;

/** Whether the sum may be divided into parts. */
const isLong = ({ k, r = 0 }: SumSizes) => k >= LONG_SUM && r === 0;

/** Whether the kernels for few rows can compute a product. */
function supportsVector({ m, transA, transB = false }: MatmulArgs): boolean {
  return m <= VECTOR_ROWS && transB && (!transA || m === 1);
}

/** The name of a kernel, for {@link kernelNamed}. */
export function kernelName(choice: Choice): string {
  if (typeof choice === "string") return choice;
  if (isVector(choice)) {
    const { threads, columns } = choice;
    return threads === undefined ? "vector" : `vector ${threads} x${columns}`;
  }
  const { bm, bn, tm, tn, bk, slices, parts = 1 } = choice;
  return `tile ${bm}x${bn} ${tm}x${tn} k${bk} s${slices}${parts > 1 ? ` p${parts}` : ""}`;
}

/**
 * The kernel of a name that {@link productChoice} gave, also in an earlier version: a checkpoint
 * keeps the kernels of its run. (A tile called "half" kept its operands in two bytes, and
 * "subgroups" had another order of sums.)
 */
export function kernelNamed(name: string): Choice {
  if (name === "matrix") return name;
  const vector = /^vector(?: (64|128|256) x(8|16))?(?: subgroups)?$/.exec(name);
  if (vector !== null) {
    const [, threads, columns] = vector;
    return threads === undefined
      ? VECTOR
      : { vector: true, threads: Number(threads), columns: Number(columns) };
  }
  const tile = /^tile (\d+)x(\d+) ([48])x([48]) k(\d+) s(\d+)(?: p(\d+))?(?: half)?$/.exec(name);
  if (tile === null) throw unknownKernel(`matrix product "${name}"`);
  const [bm, bn, tm, tn, bk, slices] = tile.slice(1, 7).map(Number) as SixNumbers;
  const parts = tile[7] === undefined ? {} : { parts: Number(tile[7]) };
  return { bm, bn, tm, tn, bk, slices, ...parts };
}

type SixNumbers = [number, number, number, number, number, number];

/** Sizes of a class: n itself up to 4, then the next power of two. */
const sizeClass = (n: number) => n <= 4 ? n : 2 ** Math.ceil(Math.log2(n));

export const productChoice: ChoicePoint<MatmulArgs> = {
  name: "matmul",
  op: "matmul",
  outputs: ["out"],
  classOf(args, traits) {
    const { m, n, k, transA, transB, weightType = "f32", r = 0, activations } = args;
    if (m * n * k === 0) return null;
    const layout = `${transA ? "t" : "n"}${transB ? "t" : "n"}`;
    const dtype = roundingOf(args, traits);
    return `matmul ${sizeClass(m)}x${sizeClass(n)}x${sizeClass(k)} ${layout} ${weightType}` +
      `${r > 0 ? " lora" : ""}${activations ? ` ${activations}` : ""}` +
      `${dtype === "float32" ? "" : ` ${dtype}`}`;
  },
  candidates(args, traits) {
    const { limits: { workgroupBytes, invocations } } = traits, { m, n } = args;
    const fits = (shape: TileShape) =>
      threadsOf(shape) <= invocations && sharedBytes(shape) <= workgroupBytes;
    const few = Math.min(m, n) <= FEW_ROWS;
    const { software: _, ...tiles } = TILES;
    const shapes: TileShape[] = [...Object.values(tiles), ...MORE_TILES];
    const useful = shapes.filter((shape) =>
      fits(shape) && (few || shape.slices === 1) &&
      // A tile that is three quarters empty is not worth a measurement.
      4 * Math.min(m, n) >= Math.min(shape.bm, shape.bn)
    );
    const { large, medium } = TILES;
    const split = isLong(args)
      ? useful.filter((shape) =>
        Math.ceil(m / shape.bm) * Math.ceil(n / shape.bn) < ENOUGH_GROUPS &&
        shape !== large && shape !== medium
      ).flatMap((shape) => PARTS.map((parts) => ({ ...shape, parts })))
      : [];
    const vectors = supportsVector(args) ? [VECTOR, ...vectorsFor(args)] : [];
    const names = [chooseKernel(args, traits), ...vectors, ...useful, ...split].map(kernelName);
    return [...new Set(names)];
  },
  tolerance({ k, r = 0, alpha = 1, loraScale = 1 }) {
    // A sum in blocks errs by a few units in the last place of the sum of magnitudes.
    const magnitudes = Math.abs(alpha) * k + Math.abs(loraScale) * r + 1;
    return { absolute: 2 ** -20 * magnitudes, relative: 0 };
  },
  small(args) {
    const { transB, weightType, r = 0 } = args;
    const inBlocks = weightType !== undefined && isBlockType(weightType);
    const rows = (n: number, most: number) => n <= most + 4 ? n : most + n % 4;
    // The rows of a stored weight keep a whole number of blocks, of at most 256 values.
    const long = (n: number) => n <= 1024 ? n : 512 + n % 512;
    const m = rows(args.m, 36), n = inBlocks && !transB ? long(args.n) : rows(args.n, 132);
    const k = long(args.k);
    const b = weightType !== undefined
      ? storedWords(weightType, transB ? n : k, transB ? k : n)
      : n * k;
    return { m, n, k, a: m * k, b, out: m * n, ...(r > 0 ? { xa: m * r, loraB: n * r } : {}) };
  },
  stored({ n, k, transB, weightType }) {
    if (weightType === undefined) return null;
    return { name: "b", type: weightType, rows: transB ? n : k, length: transB ? k : n };
  },
};

/** Kernels for few rows that differ from one another for this weight. */
function vectorsFor({ k, weightType }: MatmulArgs): VectorShape[] {
  const panels = weightType !== undefined && isBlockType(weightType);
  return VECTORS.filter(({ threads, columns }) =>
    // Rows of a weight are always done four at a time.
    (panels || columns === 8) && threads! <= Math.max(64, k)
  );
}
