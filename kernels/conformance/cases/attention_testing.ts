/** Cases of attention for many groups and heads: forward, backward and decoding. */
import { BRANCH } from "../../ops/attention_decode/spec.ts";
import { createReferenceDevice } from "../../devices/reference/device.ts";
import type { HostArray } from "../../tensor.ts";
import { junk, largest, type Layout, normals, packLengths, stream, zeros } from "../../testing.ts";
import { type Case, execute, ofLargest, testCase } from "../runner_testing.ts";

/** Groups as [prompt length, branch lengths]. */
type Groups = readonly (readonly [number, readonly number[]])[];
const LAYOUTS: readonly Groups[] = [
  [[1, []]],
  [[1, [1]]],
  [[1, [0]]],
  [[0, [50, 40]]],
  [[2, [1, 1]]],
  [[3, [2, 0, 5]]],
  [[7, [1]], [1, [4, 4]], [5, []]],
  [[16, [15, 17, 1]]],
  [[33, [31, 32, 33]], [8, [0, 0]]],
  [[70, [65, 3, 0, 129]], [64, [64]], [1, [2]]],
];

/** [heads, kvHeads, headDim] */
const HEADS = [
  [1, 1, 8],
  [2, 1, 12],
  [4, 4, 16],
  [6, 2, 64],
  [3, 1, 80],
  [2, 2, 128],
] as const;

/** Small, large and odd head sizes, for a part of the layouts. */
const MORE_HEADS = [
  [4, 2, 2],
  [7, 1, 6],
  [34, 2, 10],
  [2, 1, 256],
  [2, 1, 512],
] as const;

type Heads = typeof HEADS[number] | typeof MORE_HEADS[number];

/** The bound for |v| ~ 1: softmax outputs, plus the rounding of scores of size s, some 2^−24·s. */
const outBound = (scores: number) => 2e-6 + 2 ** -21 * Math.max(0, scores - 10);
const lseBound = (expected: HostArray) =>
  Float64Array.from(expected, (x) => 2e-6 + 2 ** -22 * Math.abs(x));

function forwardArgs(layout: Layout, [heads, kvHeads, headDim]: Heads, steepness: number) {
  const { rows, segmentCount, segments, rowSegment } = layout;
  const random = stream(`attention ${rows} ${segmentCount} ${heads} ${headDim} ${steepness}`);
  return {
    q: normals(random, rows * heads * headDim, steepness),
    k: normals(random, rows * kvHeads * headDim),
    v: normals(random, rows * kvHeads * headDim),
    out: junk(rows * heads * headDim),
    lse: junk(rows * heads),
    segments,
    rowSegment,
    segmentCount,
    rows,
    heads,
    kvHeads,
    headDim,
    scale: 1 / Math.sqrt(headDim),
  };
}

/** Windows of one row, shorter and longer than a tile, and longer than all sequences. */
const WINDOWS = [1, 2, 3, 8, 33, 100, 150, 10_000];
const WINDOWED = LAYOUTS.flatMap((groups, i) =>
  [0, 1, 2].map((w) => {
    const heads = ([...HEADS, ...MORE_HEADS] as const)[(3 * i + w) % 10]!;
    return [groups, heads, WINDOWS[(i + 3 * w) % WINDOWS.length]!] as const;
  })
);

/** Soft caps in the range of the scores, with and without a window. */
const CAPPED = [
  [LAYOUTS[6]!, HEADS[2], { softCap: 2 }],
  [LAYOUTS[9]!, HEADS[3], { softCap: 5, window: 70 }],
  [LAYOUTS[8]!, MORE_HEADS[3], { softCap: 1 }],
  [LAYOUTS[7]!, MORE_HEADS[1], { softCap: 3, window: 8 }],
] as const;

/** Sinks below, among and above the scores, with and without a window. */
const SINKS = [
  [LAYOUTS[6]!, HEADS[2], {}],
  [LAYOUTS[9]!, HEADS[3], { window: 70 }],
  [LAYOUTS[8]!, MORE_HEADS[1], { window: 8 }],
] as const;
const sinksOf = (heads: number) => Float32Array.from({ length: heads }, (_, h) => h % 4 * 5 - 5);

/** With a layout every second size of heads, with the next one the others; with two, all. */
function eachShape(make: (name: string, layout: Layout, heads: Heads) => Case[]): Case[] {
  return LAYOUTS.flatMap((groups, i) =>
    (i % 3 === 1 ? [...HEADS, ...MORE_HEADS] : HEADS).filter((_, h) =>
      (h + i) % 2 === 0 || i % 5 === 4
    )
      .flatMap((heads) =>
        make(`${JSON.stringify(groups)}, heads ${heads}`, packLengths(groups), heads)
      )
  );
}

const OUTPUTS = { out: outBound(0), lse: lseBound };

function variant(groups: Groups, heads: Heads, what: string, more: object, steepness = 1): Case {
  const args = { ...forwardArgs(packLengths(groups), heads, steepness), ...more };
  return testCase("attention", `${JSON.stringify(groups)}, heads ${heads}, ${what}`, args, OUTPUTS);
}

/** The forward of every shape, and with windows and caps. */
function forwards(): Case[] {
  return [
    ...eachShape((name, layout, heads) => [
      testCase("attention", name, forwardArgs(layout, heads, 1), OUTPUTS),
    ]),
    ...WINDOWED.map(([groups, heads, window]) =>
      variant(groups, heads, `window ${window}`, { window })
    ),
    ...CAPPED.map(([groups, heads, more]) => variant(groups, heads, "capped", more, 4)),
  ];
}

export function attentionCases(): Case[] {
  return [
    ...forwards(),
    ...SINKS.map(([groups, heads, more]) =>
      variant(groups, heads, "sinks", { ...more, sinks: sinksOf(heads[0]) })
    ),
    // Scores around ±60: e^score would overflow without the shift, and most weights underflow.
    testCase("attention", "steep", forwardArgs(packLengths(LAYOUTS[9]!), HEADS[3], 20), {
      out: outBound(80),
      lse: (expected) => 2e-6 + 2 ** -21 * largest(expected),
    }),
  ];
}

export async function attentionBackwardCases(): Promise<Case[]> {
  const device = createReferenceDevice({ float: "f64" });
  const cases: Case[] = [];
  for (const test of forwards()) {
    const args = test.args as unknown as ReturnType<typeof forwardArgs>;
    const forward = await execute(device, test);
    const random = stream(`attention_backward ${test.name}`);
    const backward = {
      ...args,
      out: Float32Array.from(forward.get("out")!),
      lse: Float32Array.from(forward.get("lse")!),
      dout: normals(random, args.q.length),
      dq: junk(args.q.length),
      dk: junk(args.k.length),
      dv: junk(args.k.length),
    };
    const outputs = { dq: ofLargest(), dk: ofLargest(), dv: ofLargest() };
    cases.push(testCase("attention_backward", test.name, backward, outputs));
    if (args.headDim !== 12) continue;
    const { rows, heads, headDim } = args, { out, lse, dout } = backward;
    const ofSinks = { out, lse, dout, rows, heads, headDim, sinks: sinksOf(heads) };
    const dsinks = normals(random, heads);
    cases.push(testCase("sinks_backward", `${test.name}, sinks`, { ...ofSinks, dsinks }, {
      dsinks: ofLargest(),
    }));
    const nothing = { ...backward, dout: zeros(args.q.length) };
    cases.push(testCase("attention_backward", `${test.name}, dout 0`, nothing, outputs));
  }
  device.close();
  return cases;
}

/** Branches as [prefixBegin, prefixEnd, slot, length], with no shared prefix. */
const DECODES: readonly {
  slots: number;
  maxNew: number;
  promptRows: number;
  branches: number[][];
  /** In place of the sizes that take turns. */
  only?: readonly Heads[];
}[] = [
  { slots: 1, maxNew: 1, promptRows: 1, branches: [[0, 1, 0, 1]] },
  { slots: 2, maxNew: 4, promptRows: 3, branches: [[0, 3, 1, 4], [1, 1, 0, 1]] },
  { slots: 1, maxNew: 3, promptRows: 0, branches: [[0, 0, 0, 2]] },
  {
    slots: 7,
    maxNew: 40,
    promptRows: 90,
    branches: [[0, 17, 3, 1], [0, 17, 0, 39], [17, 90, 6, 40], [17, 90, 1, 33], [17, 90, 2, 16]],
  },
  {
    slots: 3,
    maxNew: 270,
    promptRows: 600,
    branches: [[1, 257, 2, 257], [344, 600, 0, 255], [0, 600, 1, 270]],
  },
  {
    // More branches than one tile has rows for.
    slots: 20,
    maxNew: 3,
    promptRows: 9,
    branches: Array.from({ length: 20 }, (_, i) => [i % 2, 9, 19 - i, 1 + i % 3]),
    only: [MORE_HEADS[1], HEADS[2]],
  },
];

export function attentionDecodeCases(): Case[] {
  return DECODES.flatMap(({ slots, maxNew, promptRows, branches, only }, i) =>
    (only ?? (i % 3 === 1 ? [...HEADS, ...MORE_HEADS] : HEADS)).flatMap(
      ([heads, kvHeads, headDim], h) => {
        const count = branches.length, width = kvHeads * headDim;
        const name = `${count} branches, prompt ${promptRows}, new ${maxNew}, ` +
          `heads ${[heads, kvHeads, headDim]}`;
        const random = stream(`attention_decode ${name}`);
        // Rows of a slot beyond the branch's length are NaN: they must not be read.
        const branchK = junk(slots * maxNew * width), branchV = junk(slots * maxNew * width);
        for (const branch of branches) {
          const from = branch[BRANCH.slot]! * maxNew * width, size = branch[BRANCH.length]! * width;
          branchK.set(normals(random, size), from);
          branchV.set(normals(random, size), from);
        }
        const args = {
          q: normals(random, count * heads * headDim),
          prefixK: normals(random, promptRows * width),
          prefixV: normals(random, promptRows * width),
          branchK,
          branchV,
          out: junk(count * heads * headDim),
          branches: Uint32Array.from(branches.flatMap((branch) => [...branch, 0, 0])),
          count,
          maxNew,
          heads,
          kvHeads,
          headDim,
          scale: 1 / Math.sqrt(headDim),
        };
        const make = (what: string, more: object) =>
          testCase("attention_decode", name + what, { ...args, ...more }, { out: outBound(0) });
        const q = args.q.map((x) => 4 * x),
          everySecond = (_: unknown, w: number) => (w + h) % 2 === 0;
        return [
          ...[{ softCap: 2 }, { softCap: 1, window: 17 }].filter(everySecond)
            .map((more) => make(", capped", { q, ...more })),
          make("", {}),
          make(", sinks", { sinks: sinksOf(heads) }),
          ...[1, 3, 17, 200].filter(everySecond)
            .map((window) => make(`, window ${window}`, { window })),
        ];
      },
    )
  );
}
