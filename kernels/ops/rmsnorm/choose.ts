/**
 * How many invocations share a row of a norm (RMSNorm, LayerNorm) on a GPU, and how they add: the
 * rule, and the candidates that the tuner (kernels/tuning/) measures on a card.
 */
import { unknownKernel } from "../common/unknown_kernel.ts";
import { GROUP } from "../common/wgsl/reduce.ts";
import type { Exchange } from "../common/wgsl/subgroups.ts";
import type { ChoicePoint, WebgpuContext, WebgpuTraits } from "../common/webgpu_op.ts";
import type { RmsnormArgs, RmsnormBackwardArgs } from "./spec.ts";

export interface RowShape {
  /** Number of invocations that share a row, a power of two. */
  lanes: number;
  exchange: Exchange;
}

const LANES = [32, 64, 128, GROUP] as const;

/** The rule for rows of d elements. */
function ruleFor(d: number): RowShape {
  return { lanes: d <= 64 ? 32 : d <= 256 ? 64 : d <= 1024 ? 128 : GROUP, exchange: "memory" };
}

const shapeName = ({ lanes, exchange }: RowShape) => `${lanes} ${exchange}`;

const BY_NAME = new Map(
  LANES.flatMap((lanes) =>
    (["memory", "subgroups"] as const).map((exchange) => {
      const shape = { lanes, exchange };
      return [shapeName(shape), shape];
    })
  ),
);

/** What was chosen for this call, else the rule's. */
export function rowShape<Args extends { d: number }>(
  ctx: WebgpuContext,
  point: ChoicePoint<Args>,
  args: Args,
): RowShape {
  const name = ctx.choose(point, args);
  if (name === null) return ruleFor(args.d);
  const found = BY_NAME.get(name);
  if (found === undefined) throw unknownKernel(`norm "${name}"`);
  return found;
}

interface NormArgs {
  rows: number;
  d: number;
}

/** Rows of the small call: more than one workgroup has, for the fewest invocations of a row. */
const SMALL_ROWS = 19;

/** The lengths of those tensors of a call that it has, by how many rows or elements they have. */
export function smallNorm<Args extends NormArgs>(
  args: Args,
  matrices: readonly (keyof Args)[],
  columns: readonly (keyof Args)[],
  rows: readonly (keyof Args)[],
) {
  const { d } = args;
  const of = (names: readonly (keyof Args)[], length: number) =>
    names.flatMap((name) => args[name] === undefined ? [] : [[name, length] as const]);
  return Object.fromEntries([
    ...of(matrices, SMALL_ROWS * d),
    ...of(columns, d),
    ...of(rows, SMALL_ROWS),
    ["rows", SMALL_ROWS],
  ]);
}

/** A choice of how a norm's rows are divided. */
export function normChoice<Args extends NormArgs>(
  op: string,
  outputs: readonly (keyof Args & string)[],
  variant: (args: Args) => string,
  small: (args: Args) => object,
): ChoicePoint<Args> {
  return {
    name: op,
    op,
    outputs,
    classOf: (args) => {
      const { rows, d } = args;
      if (rows * d === 0) return null;
      return `${op} r${2 ** Math.ceil(Math.log2(rows))} d${d}${variant(args)}`;
    },
    candidates: ({ d }, { subgroups }: Pick<WebgpuTraits, "subgroups">) => {
      const others = [...BY_NAME.values()].filter(({ lanes, exchange }) =>
        // An invocation has at least one element, and a row is read in some hundred steps at most.
        lanes <= Math.max(32, 2 * d) && (exchange === "memory" || subgroups)
      );
      return [...new Set([ruleFor(d), ...others].map(shapeName))];
    },
    // A sum of d products, of numbers up to 1.
    tolerance: () => ({ absolute: 1e-5, relative: 2e-5 }),
    small: small as NonNullable<ChoicePoint<Args>["small"]>,
  };
}

/** The parts of a class by what else the operation does. */
export const residual = ({ add }: { add?: unknown }) => add === undefined ? "" : " residual";
export const adds = ({ accumulate }: { accumulate?: boolean }) => accumulate ? " accumulate" : "";
/** The matrices of a norm and of its gradient. */
export const FORWARD = ["x", "add", "sum", "out"] as const;
export const BACKWARD = ["dout", "x", "dx"] as const;

export const rmsnormChoice = normChoice<RmsnormArgs>(
  "rmsnorm",
  ["out", "sum", "rho"],
  residual,
  (args) => smallNorm(args, FORWARD, ["weight"], ["rho"]),
);

export const rmsnormBackwardChoice = normChoice<RmsnormBackwardArgs>(
  "rmsnorm_backward",
  ["dx"],
  adds,
  (args) => smallNorm(args, BACKWARD, ["weight", "dweight"], ["rho"]),
);
