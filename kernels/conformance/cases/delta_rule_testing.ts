/** Cases of the gated delta rule over prompts with branches and states, and of its gradient. */
import { deltaWidth, NO_STATE, stateSize } from "../../ops/delta_rule/spec.ts";
import { junk, normals, stream } from "../../testing.ts";
import { type Case, ofLargest, testCase } from "../runner_testing.ts";

const N = NO_STATE;

/** Rows [begin, end) and the states before and after them; the first ones are roots. */
export interface DeltaTree {
  segments: readonly (readonly [begin: number, end: number, from: number, to: number])[];
  roots: number;
}

/** Nothing; a row; a text; two prompts, one with three branches, of which one is empty. */
export const DELTA_TREES: readonly DeltaTree[] = [
  { segments: [], roots: 0 },
  { segments: [[0, 1, N, N]], roots: 1 },
  { segments: [[0, 70, N, N]], roots: 1 },
  {
    segments: [[0, 35, N, 1], [68, 75, N, N], [35, 36, 1, N], [36, 68, 1, N], [68, 68, 1, N]],
    roots: 2,
  },
];

/** Rows that decode: each goes on from a state, and one leaves it where it is. */
const STEP: DeltaTree = { segments: [[0, 1, 2, 0], [1, 2, 2, 3], [2, 3, 1, 1]], roots: 3 };

const SIZES = [[1, 1, 1, 1], [1, 2, 7, 5], [2, 4, 16, 16], [2, 2, 33, 70]] as const;

/** Random arguments of both operations. */
export function deltaInputs(
  name: string,
  { segments }: DeltaTree,
  [keyHeads, valueHeads, keyDim, valueDim]: readonly [number, number, number, number],
) {
  const random = stream(`delta rule ${name}`), sizes = { keyHeads, valueHeads, keyDim, valueDim };
  const rows = segments.reduce((most, [, end]) => Math.max(most, end), 0);
  const floats = (n: number) => normals(random, n);
  return {
    ...sizes,
    rows,
    segments: Uint32Array.from(segments.flat()),
    segmentCount: segments.length,
    x: floats(rows * deltaWidth(sizes)),
    a: floats(rows * valueHeads),
    b: floats(rows * valueHeads),
    aLog: floats(valueHeads),
    dtBias: floats(valueHeads),
    state: floats(4 * stateSize(sizes)),
    dout: floats(rows * valueHeads * valueDim),
  };
}

export function deltaRuleCases(): Case[] {
  return [...DELTA_TREES, STEP].flatMap((tree) =>
    SIZES.flatMap((sizes) => {
      const name = `${tree.segments.length} segments, sizes ${sizes}`;
      const { state, dout, ...inputs } = deltaInputs(name, tree, sizes), { rows } = inputs;
      const gates = rows * inputs.valueHeads, n = gates * inputs.valueDim;
      const forward = { ...inputs, roots: tree.roots, state, out: junk(n) };
      const bound = ofLargest(1e-5), longest = rows, bounds = { dx: bound, da: bound, db: bound };
      const outputs = { da: junk(gates), db: junk(gates), dlog: junk(gates) };
      const back = { ...inputs, dout, dx: junk(inputs.x.length), ...outputs, states: 2, longest };
      return [
        testCase("delta_rule", name, forward, { out: bound, state: bound }),
        ...(tree === STEP
          ? []
          : [testCase("delta_rule_backward", name, back, { ...bounds, dlog: bound })]),
      ];
    })
  );
}
