/** Cases of the fused head, forward and backward. */
import { createReferenceDevice } from "../../devices/reference/device.ts";
import { junk, normals, stream, zeros } from "../../testing.ts";
import { type Case, execute, ofLargest, testCase } from "../runner_testing.ts";

/** [vocab, d]: vocabularies that are no multiples of a chunk, some of them close to one. */
const SIZES = [
  [1, 1],
  [2, 8],
  [7, 3],
  [63, 17],
  [65, 64],
  [100, 16],
  [1023, 24],
  [1025, 33],
  [4099, 8],
  [16_387, 4],
] as const;

/** The number of pairs of each row: of one row, and of several. */
const ONE_ROW = [[1], [0]] as const, ROWS = [[3, 0, 1], [8, 1, 1, 1, 0, 2, 1]] as const;

function inputs(pairCounts: readonly number[], vocab: number, d: number, sharpness = 2) {
  const rows = pairCounts.length;
  const random = stream(`head ${pairCounts} ${vocab} ${d} ${sharpness}`);
  const pairStart = [0];
  for (const n of pairCounts) pairStart.push(pairStart.at(-1)! + n);
  const pairs = pairStart.at(-1)!;
  return {
    hidden: normals(random, rows * d),
    weight: normals(random, vocab * d, sharpness / Math.sqrt(d)),
    pairStart: Uint32Array.from(pairStart),
    targets: Uint32Array.from({ length: pairs }, () => random.below(vocab)),
    logp: junk(pairs),
    lse: junk(rows),
    entropy: junk(rows),
    rows,
    pairs,
    vocab,
    d,
    temperature: random.choice([1, 0.7, 1.5]),
  };
}

type Inputs = ReturnType<typeof inputs>;
type Logits = Pick<Inputs, "hidden" | "weight" | "rows" | "vocab" | "d" | "temperature">;

function allInputs(): [name: string, Inputs][] {
  const list: [string, Inputs][] = [];
  for (const [i, [vocab, d]] of SIZES.entries()) {
    for (const pairCounts of [ONE_ROW[i % 2]!, ROWS[i % 2]!]) {
      list.push([`pairs [${pairCounts}], vocab ${vocab}, d ${d}`, inputs(pairCounts, vocab, d)]);
    }
  }
  // More rows than any row chunk; large enough for several threads.
  const many = Array.from({ length: 530 }, (_, i) => i % 3);
  list.push(["530 rows, vocab 37, d 12", inputs(many, 37, 12)]);
  list.push(["40 rows, vocab 1500, d 64", inputs(many.slice(0, 40), 1500, 64)]);
  // More than the part of the vocabulary that a device packs or computes together.
  list.push(["vocab 2100, d 1100", inputs([2, 0, 1], 2100, 1100)]);
  list.push(["no rows", inputs([], 10, 4)]);
  return list;
}

/** The bound 5e−6 + 2^−22·max|z| for logits z. */
export function headBound({ hidden, weight, rows, vocab, d, temperature }: Logits): number {
  let max = 0;
  for (let r = 0; r < rows; r++) {
    for (let t = 0; t < vocab; t++) {
      let z = 0;
      for (let j = 0; j < d; j++) z += hidden[r * d + j]! * weight[t * d + j]!;
      max = Math.max(max, Math.abs(z / temperature));
    }
  }
  return 5e-6 + 2 ** -22 * max;
}

/** The adapter of a head, as the difference that it makes to the weight, and as arguments. */
function lowRank({ rows, vocab, d }: Inputs, r: number) {
  const random = stream(`head adapter ${rows} ${vocab} ${d} ${r}`);
  return {
    xa: normals(random, rows * r),
    loraB: normals(random, vocab * r, 1 / Math.sqrt(r)),
    r,
    loraScale: random.choice([2, 0.5]),
  };
}

/** Some inputs with adapters of several ranks. */
function adaptedInputs(): [string, Inputs & ReturnType<typeof lowRank>][] {
  const ranks = [1, 8, 3, 16, 20];
  return allInputs().filter(([name], i) => i % 2 === 1 || !name.startsWith("pairs"))
    .map(([name, args], i) => {
      const r = ranks[i % ranks.length]!;
      return [`${name}, adapter of rank ${r}`, { ...args, ...lowRank(args, r) }];
    });
}

/** The bound of logits with an adapter, which count as if hidden·weightᵀ were one product. */
function adaptedBound(args: Inputs & ReturnType<typeof lowRank>): number {
  const { hidden, weight, xa, loraB, r, loraScale, rows, vocab, d } = args, width = d + r;
  const joined = (left: Float32Array, right: Float32Array, n: number, factor: number) => {
    const out = new Float32Array(n * width);
    for (let i = 0; i < n; i++) {
      out.set(left.subarray(i * d, (i + 1) * d), i * width);
      out.set(right.subarray(i * r, (i + 1) * r).map((x) => factor * x), i * width + d);
    }
    return out;
  };
  return headBound({
    ...args,
    hidden: joined(hidden, xa, rows, loraScale),
    weight: joined(weight, loraB, vocab, 1),
    d: width,
  });
}

export function headCases(): Case[] {
  const list = allInputs();
  // For logits near ±200, only a shifted sum keeps the digits of the entropy.
  list.push(["sharp, vocab 1025, d 16", inputs([1, 2, 0], 1025, 16, 60)]);
  const adapted = adaptedInputs().map(([name, args]) => {
    const limit = adaptedBound(args);
    return testCase("head", name, args, { logp: limit, lse: limit, entropy: limit });
  });
  const withCap = (name: string, args: Inputs, limit: () => number) => {
    const outputs = { logp: limit, lse: limit, entropy: limit };
    return testCase("head", `${name}, capped`, { ...args, softCap: 1.5 }, outputs);
  };
  const capped = [
    ...adaptedInputs().map(([name, args]) => withCap(name, args, () => adaptedBound(args))),
    ...allInputs().map(([name, args]) => withCap(name, args, () => headBound(args))),
  ].filter((_, i) => i % 3 === 0);
  return [
    ...adapted,
    ...capped,
    ...list.flatMap(([name, args]) => {
      const limit = () => headBound(args), outputs = { logp: limit, lse: limit, entropy: limit };
      const mean = junk(args.rows * args.d);
      return [
        testCase("head", name, args, outputs),
        testCase("head", `${name}, mean`, { ...args, mean }, { ...outputs, mean: ofLargest() }),
      ];
    }),
  ];
}

export async function headBackwardCases(): Promise<Case[]> {
  const device = createReferenceDevice({ float: "f64" });
  const cases: Case[] = [];
  for (const [name, args] of allInputs()) {
    const mean = new Float64Array(args.rows * args.d);
    const forward = await execute(device, testCase("head", name, { ...args, mean }, {}));
    const { logp: _, ...shared } = args;
    const random = stream(`head_backward ${name}`);
    const base = {
      ...shared,
      lse: Float32Array.from(forward.get("lse")!),
      entropy: Float32Array.from(forward.get("entropy")!),
      dlogp: normals(random, args.pairs),
    };
    const dentropy = normals(random, args.rows);
    const dweight = () => ({ dweight: normals(random, args.weight.length) });
    const back = (what: string, more: object, limit = ofLargest()) => {
      const outputs = { dhidden: limit, ...("dweight" in more ? { dweight: limit } : {}) };
      const all = { ...base, dhidden: junk(args.hidden.length), ...more };
      return testCase("head_backward", name + what, all, outputs);
    };
    const withoutFirst = base.dlogp.map((x, i) => i === 0 ? 0 : x);
    cases.push(
      back(", frozen", {}),
      back(", from the mean", { mean: Float32Array.from(forward.get("mean")!) }),
      back(", entropy, dweight", { dentropy, ...dweight() }),
      back(", dlogp 0", { dlogp: zeros(args.pairs), ...dweight() }, 0),
      back(", dlogp 0 for the first pair", { dlogp: withoutFirst, ...dweight() }),
    );
  }
  const caps = adaptedInputs().map(([name, args], i) =>
    [`${name}, capped`, { ...args, softCap: i + 0.5 }] as const
  );
  for (const [name, args] of [...adaptedInputs(), ...caps]) {
    const forward = await execute(device, testCase("head", name, args, {}));
    const { logp: _, ...shared } = args, random = stream(`head_backward ${name}`);
    const base = {
      ...shared,
      lse: Float32Array.from(forward.get("lse")!),
      entropy: Float32Array.from(forward.get("entropy")!),
      dlogp: normals(random, args.pairs),
      dentropy: normals(random, args.rows),
      dhidden: junk(args.hidden.length),
      dxa: junk(args.xa.length),
    };
    const frozen = { dhidden: ofLargest(), dxa: ofLargest() };
    const dloraB = normals(random, args.loraB.length);
    const all = { ...base, dloraB, dweight: normals(random, args.weight.length) };
    cases.push(
      testCase("head_backward", `${name}, frozen`, base, frozen),
      testCase("head_backward", name, { ...base, dloraB }, { ...frozen, dloraB: ofLargest() }),
      testCase("head_backward", `${name}, dweight`, all, {
        ...frozen,
        dloraB: ofLargest(),
        dweight: ofLargest(),
      }),
    );
  }
  device.close();
  return cases;
}
