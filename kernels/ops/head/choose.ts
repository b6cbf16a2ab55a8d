/**
 * The sizes of the head's chunks on a GPU, and how a workgroup goes through a row of logits: the
 * rules, and the candidates that the tuner (kernels/tuning/) measures on a card.
 */
import { unknownKernel } from "../common/unknown_kernel.ts";
import { storedAlignment } from "../common/webgpu_parts.ts";
import type { ChoicePoint, WebgpuTraits } from "../common/webgpu_op.ts";
import type { Exchange } from "../common/wgsl/subgroups.ts";
import { VIEW_ALIGNMENT } from "../../tensor.ts";
import { storedWords } from "../../weights/types.ts";
import type { HeadArgs, HeadBackwardArgs } from "./spec.ts";

/**
 * Max number of rows and of logits in a chunk. On a card a chunk has up to 64 MiB: enough
 * workgroups for each of its products, while writing and reading it takes a few percent of the
 * products' time.
 */
const MAX_CHUNK = {
  card: { rows: 4096, logits: 2 ** 24 },
  software: { rows: 256, logits: 2 ** 18 },
};

/** Smaller chunks that the tuner tries; larger ones would not be in the plan of the memory. */
const SMALLER = [1 / 2, 1 / 4, 1 / 8] as const;

type Sizes = Pick<HeadArgs, "rows" | "vocab" | "d" | "r" | "weightType">;

/** Rows and tokens of a chunk. */
export interface ChunkSize {
  rows: number;
  width: number;
}

/**
 * Sizes of the chunks: multiples of the alignment of views (of the weight's views, for tokens), or
 * all.
 * @param chosen the maximum number of logits that was chosen, as text
 */
export function chunkSizes(
  { rows, vocab, d, r = 0, weightType }: Sizes,
  { limits: { bindingElements }, software }: Pick<WebgpuTraits, "limits" | "software">,
  chosen: string | null = null,
): ChunkSize {
  const max = software ? MAX_CHUNK.software : MAX_CHUNK.card;
  const logits = chosen === null ? max.logits : Math.min(max.logits, Number(chosen));
  const unit = weightType === undefined ? VIEW_ALIGNMENT : storedAlignment(weightType);
  const aligned = (n: number, unit: number) => Math.max(1, Math.floor(n / unit)) * unit;
  const narrowest = Math.min(vocab, unit);
  const fittingRows = aligned(bindingElements / Math.max(d, r, narrowest), VIEW_ALIGNMENT);
  const count = Math.min(rows, max.rows, fittingRows);
  const fitting = aligned(Math.min(logits, bindingElements) / Math.max(1, count), unit);
  const even = vocab / Math.ceil(vocab / fitting);
  return { rows: count, width: Math.min(vocab, Math.ceil(even / unit) * unit) };
}

function classOf({ rows, vocab, d, r = 0, weightType }: Sizes): string | null {
  if (rows === 0) return null;
  return `r${2 ** Math.ceil(Math.log2(rows))} v${vocab} d${d} ${weightType ?? "f32"}${
    r > 0 ? " lora" : ""
  }`;
}

/** The maximum numbers of logits that give different chunks. */
function candidates(args: Sizes, traits: WebgpuTraits): string[] {
  const { logits } = traits.software ? MAX_CHUNK.software : MAX_CHUNK.card;
  const found = new Map<number, string>();
  for (const part of [1, ...SMALLER]) {
    const name = String(logits * part), { width } = chunkSizes(args, traits, name);
    if (!found.has(width)) found.set(width, name);
  }
  return [...found.values()];
}

/** Rows with two, no, one and two targets. */
const PAIR_START = [0, 2, 2, 3, 5];

/** How a workgroup reads a row of a chunk, and how its invocations exchange what they found. */
export interface RowShape {
  invocations: number;
  /** Four logits are loaded at a time. */
  vectors: boolean;
  exchange: Exchange;
}

const ROW_INVOCATIONS = [64, 128, 256, 512, 1024] as const;

const rowName = ({ invocations, vectors, exchange }: RowShape) =>
  `${invocations} x${vectors ? 4 : 1}${exchange === "memory" ? "" : ` ${exchange}`}`;

const ROW_SHAPES = new Map(
  ROW_INVOCATIONS.flatMap((invocations) =>
    [true, false].flatMap((vectors) =>
      (["memory", "subgroups"] as const).map((exchange) => {
        const shape: RowShape = { invocations, vectors, exchange };
        return [rowName(shape), shape] as const;
      })
    )
  ),
);

/**
 * The rule for a chunk of this width, or what was chosen by name.
 * @throws RgxError for an unknown name
 */
export function rowShape(width: number, chosen: string | null = null): RowShape {
  const vectors = width % 4 === 0;
  if (chosen === null) {
    return { invocations: width <= 512 ? 64 : 256, vectors, exchange: "memory" };
  }
  const found = ROW_SHAPES.get(chosen);
  if (found === undefined) throw unknownKernel(`rows of logits "${chosen}"`);
  return { ...found, vectors: vectors && found.vectors };
}

/** @param exchanges whether the kernel exchanges anything */
function rowCandidates(args: Sizes, traits: WebgpuTraits, exchanges: boolean): string[] {
  const { width } = chunkSizes(args, traits), rule = rowShape(width);
  const others = [...ROW_SHAPES.values()].filter(({ invocations, vectors, exchange }) =>
    invocations <= traits.limits.invocations && (!vectors || rule.vectors) &&
    // More than half of the invocations have a load.
    invocations < Math.max(128, 2 * width / (vectors ? 4 : 1)) &&
    (exchange === "memory" || (exchanges && traits.subgroups === true))
  );
  return [...new Set([rule, ...others].map(rowName))];
}

function smallHead({ vocab: whole, d, r = 0, weightType }: Sizes) {
  const rows = PAIR_START.length - 1, pairs = PAIR_START.at(-1)!, vocab = Math.min(whole, 640);
  return {
    rows,
    pairs,
    vocab,
    hidden: rows * d,
    lse: rows,
    entropy: rows,
    weight: weightType === undefined ? vocab * d : storedWords(weightType, vocab, d),
    pairStart: Uint32Array.from(PAIR_START),
    targets: Uint32Array.from({ length: pairs }, (_, i) => (97 * i) % vocab),
    ...(r > 0 ? { xa: rows * r, loraB: vocab * r } : {}),
  };
}

const stored = ({ vocab, d, weightType }: Sizes) =>
  weightType === undefined ? null : { name: "weight", type: weightType, rows: vocab, length: d };

/** Logits are sums of d products, and their bounds grow with them. */
const tolerance = ({ d }: Sizes) => ({ absolute: 2 ** -18 * d, relative: 2e-5 });

export const chunkChoice: ChoicePoint<HeadArgs> = {
  name: "head",
  op: "head",
  outputs: ["logp", "lse", "entropy", "mean"],
  classOf: (args) => {
    const shape = classOf(args);
    return shape === null ? null : `head ${shape}${args.mean === undefined ? "" : " mean"}`;
  },
  candidates,
  tolerance,
  small: (args) => {
    const small = smallHead(args);
    const mean = args.mean === undefined ? {} : { mean: small.rows * args.d };
    return { ...small, ...mean, logp: small.pairs };
  },
  stored,
};

/** How the forward goes through the rows of its chunks. */
export const rowChoice: ChoicePoint<HeadArgs> = {
  ...chunkChoice,
  name: "head.rows",
  classOf: (args) => {
    const shape = classOf(args);
    return shape === null ? null : `head.rows ${shape}${args.mean === undefined ? "" : " mean"}`;
  },
  candidates: (args, traits) => rowCandidates(args, traits, true),
  timed: ["head.merge"],
};

export const backwardChunkChoice: ChoicePoint<HeadBackwardArgs> = {
  name: "head_backward",
  op: "head_backward",
  outputs: ["dhidden", "dweight", "dxa", "dloraB"],
  classOf: (args) => {
    // From the mean, no logits are computed.
    const shape = args.mean === undefined ? classOf(args) : null;
    return shape === null ? null : `head_backward ${shape}`;
  },
  candidates,
  tolerance,
  small: (args) => {
    const small = smallHead(args), { d, r = 0 } = args, { rows, vocab, pairs } = small;
    return {
      ...small,
      dlogp: pairs,
      dhidden: rows * d,
      ...(args.dentropy === undefined ? {} : { dentropy: rows }),
      ...(args.dweight === undefined ? {} : { dweight: vocab * d }),
      ...(args.dxa === undefined ? {} : { dxa: rows * r }),
      ...(args.dloraB === undefined ? {} : { dloraB: vocab * r }),
    };
  },
  stored,
};

/** The same for the backward, whose invocations exchange nothing. */
export const backwardRowChoice: ChoicePoint<HeadBackwardArgs> = {
  ...backwardChunkChoice,
  name: "head_backward.rows",
  classOf: (args) => {
    const shape = args.mean === undefined ? classOf(args) : null;
    return shape === null ? null : `head_backward.rows ${shape}`;
  },
  candidates: (args, traits) => rowCandidates(args, traits, false),
  timed: ["head_backward.slopes"],
};
