/**
 * The tiles of attention while decoding on a GPU, and how many pieces keep a card busy: the rule,
 * and the candidates that the tuner (kernels/tuning/) measures on a card.
 */
import { tileName, tileNamed } from "../attention/choose.ts";
import { softmaxBytes } from "../attention/softmax.wgsl.ts";
import { type TileShape, type TileSizes, tileSizes } from "../attention/tiles.wgsl.ts";
import type { ChoicePoint, WebgpuTraits } from "../common/webgpu_op.ts";
import { type AttentionDecodeArgs, BRANCH } from "./spec.ts";

/** Max workgroup memory of a kernel. */
const MAX_WORKGROUP_BYTES = 32_768;

/** Shapes of tiles by the number of queries (at most `upTo`), the fastest first. */
const SHAPES: readonly { upTo: number; shapes: readonly TileShape[] }[] = [
  { upTo: 4, shapes: [[32, 4, 1], [16, 4, 1]] },
  { upTo: 8, shapes: [[16, 8, 1]] },
  { upTo: 16, shapes: [[16, 8, 2], [16, 8, 1]] },
  { upTo: Infinity, shapes: [[16, 8, 4], [16, 8, 2], [16, 8, 1]] },
];

/** What the tuner tries. */
const CANDIDATES: readonly TileShape[] = [
  [32, 4, 1],
  [32, 8, 1],
  [16, 4, 1],
  [16, 8, 1],
  [16, 8, 2],
  [16, 8, 4],
];

/** Number of workgroups that keep a device busy: a card, and a software adapter. */
const BUSY = { card: 1024, software: 16 } as const;
const BUSY_CANDIDATES = [256, 1024, 4096] as const;

/** A tile, and the number of workgroups that the pieces of the keys should give. */
export interface DecodeShape {
  sizes: TileSizes;
  busy: number;
}

/**
 * The rule for this number of queries of a head of keys, or what was chosen by name.
 * @throws Error for an unknown name, and where the tile does not fit the workgroup memory
 */
export function decodeShape(
  queries: number,
  headDim: number,
  { limits, software }: Pick<WebgpuTraits, "limits" | "software">,
  chosen: string | null = null,
): DecodeShape {
  const bytes = Math.min(limits.workgroupBytes, MAX_WORKGROUP_BYTES);
  const [tile, busy] = chosen?.split(" ") ?? [];
  const shapes = tile === undefined
    ? SHAPES.find(({ upTo }) => queries <= upTo)!.shapes
    : [tileNamed(tile, CANDIDATES)];
  return {
    sizes: tileSizes(shapes, headDim, 1, bytes, softmaxBytes),
    busy: busy === undefined ? BUSY[software ? "software" : "card"] : Number(busy),
  };
}

const shapeName = ({ sizes: { across, down, each }, busy }: DecodeShape) =>
  `${tileName([across, down, each])} ${busy}`;

/** The choice for the keys of prompts, whose queries are of all branches, or of each branch. */
function decodeChoice(
  keys: "prefix" | "branch",
  queriesOf: (args: AttentionDecodeArgs) => number,
): ChoicePoint<AttentionDecodeArgs> {
  return {
    name: `attention_decode.${keys}`,
    op: "attention_decode",
    outputs: ["out"],
    classOf({ count, maxNew, heads, kvHeads, headDim, prefixK, window }) {
      const rows = keys === "branch" ? maxNew : prefixK.length / (kvHeads * headDim);
      if (count === 0 || rows === 0) return null;
      const [many, long] = [count, rows].map((n) => 2 ** Math.ceil(Math.log2(n)));
      return `attention_decode.${keys} b${many} n${long} h${heads}/${kvHeads} d${headDim}` +
        `${window === undefined ? "" : " w"}`;
    },
    candidates(args, traits) {
      const rule = decodeShape(queriesOf(args), args.headDim, traits);
      const shapes = CANDIDATES.flatMap((shape) =>
        BUSY_CANDIDATES.flatMap((busy) => {
          try {
            return decodeShape(
              queriesOf(args),
              args.headDim,
              traits,
              `${tileName(shape)} ${busy}`,
            );
          } catch {
            return []; // the tile needs too much workgroup memory
          }
        })
      );
      return [...new Set([rule, ...shapes].map(shapeName))];
    },
    tolerance: () => ({ absolute: 2e-5, relative: 2e-5 }),
    small: smallDecoding,
  };
}

/** Five branches after prompts of 90 and 20 rows, with up to 40 tokens of their own. */
function smallDecoding({ heads, kvHeads, headDim }: AttentionDecodeArgs) {
  const maxNew = 40, row = kvHeads * headDim, lengths = [40, 1, 17, 33, 8];
  const prefixes = [[0, 90], [0, 90], [0, 90], [90, 110], [90, 110]];
  const branches = new Uint32Array(lengths.length * BRANCH.columns);
  lengths.forEach((length, b) => {
    const [begin, end] = prefixes[b]!;
    branches.set([begin!, end!, b, length], b * BRANCH.columns);
  });
  const count = lengths.length, queries = count * heads * headDim;
  return {
    q: queries,
    out: queries,
    prefixK: 110 * row,
    prefixV: 110 * row,
    branchK: count * maxNew * row,
    branchV: count * maxNew * row,
    branches,
    count,
    maxNew,
  };
}

export const prefixChoice = decodeChoice(
  "prefix",
  ({ count, heads, kvHeads }) => count * heads / kvHeads,
);
export const branchChoice = decodeChoice("branch", ({ heads, kvHeads }) => heads / kvHeads);
