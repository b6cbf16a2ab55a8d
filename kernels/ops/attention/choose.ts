/**
 * The shapes of tiles of attention on a GPU: the rule by the size of the heads, and the candidates
 * that the tuner (kernels/tuning/) measures on a card. Decoding takes its tiles from here, too.
 */
import { unknownKernel } from "../common/unknown_kernel.ts";
import type { ChoicePoint, WebgpuTraits } from "../common/webgpu_op.ts";
import { softmaxBytes } from "./softmax.wgsl.ts";
import {
  type AttentionArgs,
  type AttentionBackwardArgs,
  type AttentionForwardArgs,
  SEGMENT,
} from "./spec.ts";
import { type TileShape, type TileSizes, tileSizes } from "./tiles.wgsl.ts";

/** Max workgroup memory of a kernel: several workgroups should fit on one multiprocessor. */
const MAX_WORKGROUP_BYTES = 32_768;

/** Shapes of tiles by the size of the heads, the fastest first; later ones need less memory. */
const SHAPES: readonly {
  /** Max size of the heads. */
  upTo: number;
  queries: readonly TileShape[];
  keys: readonly TileShape[];
}[] = [
  { upTo: 64, queries: [[8, 16, 4], [8, 16, 2]], keys: [[8, 16, 4], [8, 16, 2]] },
  { upTo: 128, queries: [[8, 16, 4], [8, 16, 2]], keys: [[16, 16, 4], [16, 8, 4], [16, 8, 2]] },
  {
    upTo: Infinity,
    queries: [[16, 16, 4], [16, 16, 2], [16, 8, 2]],
    keys: [[16, 16, 2], [16, 8, 2]],
  },
];

/** What the tuner tries. */
const CANDIDATES: readonly TileShape[] = [
  [8, 8, 4],
  [8, 16, 2],
  [8, 16, 4],
  [16, 8, 2],
  [16, 8, 4],
  [16, 16, 2],
  [16, 16, 4],
];

/** Which rows a tile has, and how many score products a kernel computes at once. */
type Over = "queries" | "keys";

/**
 * The tile for heads of `headDim`.
 * @param products number of score products that the kernel computes at once
 * @param chosen the shape that was chosen, in place of the rule's
 */
export function attentionTile(
  { limits }: Pick<WebgpuTraits, "limits">,
  over: Over,
  headDim: number,
  products: number,
  chosen?: TileShape,
): TileSizes {
  const shapes = chosen === undefined
    ? SHAPES.find(({ upTo }) => headDim <= upTo)![over]
    : [chosen];
  const bytes = Math.min(limits.workgroupBytes, MAX_WORKGROUP_BYTES);
  return tileSizes(shapes, headDim, products, bytes, products === 1 ? softmaxBytes : () => 0);
}

export const tileName = ([across, down, each]: TileShape) => `${across}x${down}x${each}`;

/** @throws RgxError for a name that no candidate has */
export function tileNamed(
  name: string,
  candidates: readonly TileShape[] = CANDIDATES,
): TileShape {
  const found = candidates.find((shape) => tileName(shape) === name);
  if (found === undefined) throw unknownKernel(`tile "${name}"`);
  return found;
}

/** The names of the tiles that fit, the rule's first. */
function kernelNames(
  over: Over,
  { headDim }: AttentionArgs,
  products: number,
  traits: WebgpuTraits,
): string[] {
  const { across, down, each } = attentionTile(traits, over, headDim, products);
  const fitting = CANDIDATES.filter((shape) => {
    if (shape[0] * shape[1] > traits.limits.invocations) return false;
    try {
      attentionTile(traits, over, headDim, products, shape);
      return true;
    } catch {
      return false; // it needs too much workgroup memory
    }
  });
  return [...new Set([[across, down, each] as const, ...fitting].map(tileName))];
}

const sizeClass = (n: number) => 2 ** Math.ceil(Math.log2(n));

function classOf(args: AttentionArgs): string | null {
  const { rows, heads, kvHeads, headDim, window, softCap } = args;
  if (rows === 0) return null;
  return `r${sizeClass(rows)} h${heads}/${kvHeads} d${headDim}${
    window === undefined ? "" : ` w${sizeClass(window)}`
  }${softCap === undefined ? "" : " capped"}`;
}

/** Scores sum products of numbers up to 1, and the softmax weighs values up to 1. */
const FORWARD = { absolute: 2e-5, relative: 2e-5 };
/** A gradient of keys sums over all later rows. */
const BACKWARD = { absolute: 1e-4, relative: 1e-4 };

/** A prompt of 70 rows with two branches, and one of a single row. */
function smallBatch({ heads, kvHeads, headDim }: AttentionArgs) {
  const segments = [
    [0, 70, 0, 0, 120],
    [70, 110, 0, 70, 110],
    [110, 120, 0, 70, 120],
    [120, 121, 120, 120, 121],
  ];
  const rows = 121, keys = rows * kvHeads * headDim, queries = rows * heads * headDim;
  return {
    q: queries,
    k: keys,
    v: keys,
    out: queries,
    lse: rows * heads,
    rows,
    segments: Uint32Array.from(segments.flat()),
    rowSegment: Uint32Array.from(
      segments.flatMap(([begin, end], i) => Array(end! - begin!).fill(i)),
    ),
    segmentCount: segments.flat().length / SEGMENT.columns,
  };
}

export const forwardChoice: ChoicePoint<AttentionForwardArgs> = {
  name: "attention",
  op: "attention",
  outputs: ["out", "lse"],
  classOf: (args) => {
    const shape = classOf(args);
    return shape === null ? null : `attention ${shape}`;
  },
  candidates: (args, traits) => kernelNames("queries", args, 1, traits),
  tolerance: () => FORWARD,
  small: smallBatch,
};

/** A choice of the gradient: its kernels over queries and over keys do not depend on each other. */
function gradientChoice(over: Over): ChoicePoint<AttentionBackwardArgs> {
  const name = `attention_backward.${over}`;
  return {
    name,
    op: "attention_backward",
    outputs: ["dq", "dk", "dv"],
    classOf: (args) => {
      const shape = classOf(args);
      return shape === null ? null : `${name} ${shape}`;
    },
    candidates: (args, traits) => kernelNames(over, args, 2, traits),
    tolerance: () => BACKWARD,
    small: (args) => {
      const { q, k, v, ...rest } = smallBatch(args);
      return { ...rest, q, k, v, dout: q, dq: q, dk: k, dv: v };
    },
  };
}

export const backwardQueriesChoice = gradientChoice("queries");
export const backwardKeysChoice = gradientChoice("keys");
