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

/** Its gradients take as long as those of all others together. */
const isLarge = ({ weight }: Inputs) => weight.length > 2 ** 20;

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

/** Bounds of the outputs: 5e−6, and the rounding of logits, which are up to 20 here. */
export const HEAD_OUTPUTS = { logp: 1e-5, lse: 1e-5, entropy: 1e-5 };
/** For logits of up to 450. */
const SHARP_OUTPUTS = { logp: 1e-4, lse: 1e-4, entropy: 1e-4 };

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

export function headCases(): Case[] {
  const ofAdapters = adaptedInputs(), all = allInputs();
  const capped = [...ofAdapters, ...all].filter((_, i) => i % 3 === 0).map(([name, args]) =>
    testCase("head", `${name}, capped`, { ...args, softCap: 1.5 }, HEAD_OUTPUTS)
  );
  const plain = (name: string, args: Inputs, outputs = HEAD_OUTPUTS) => [
    testCase("head", name, args, outputs),
    testCase("head", `${name}, mean`, { ...args, mean: junk(args.rows * args.d) }, {
      ...outputs,
      mean: ofLargest(),
    }),
  ];
  return [
    ...ofAdapters.map(([name, args]) => testCase("head", name, args, HEAD_OUTPUTS)),
    ...capped,
    ...all.flatMap(([name, args]) => plain(name, args)),
    // For such logits, only a shifted sum keeps the digits of the entropy.
    ...plain("sharp, vocab 1025, d 16", inputs([1, 2, 0], 1025, 16, 60), SHARP_OUTPUTS),
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
    cases.push(back(", frozen", {}), back(", entropy, dweight", { dentropy, ...dweight() }));
    if (isLarge(args)) continue;
    cases.push(
      back(", from the mean", { mean: Float32Array.from(forward.get("mean")!) }),
      back(", dlogp 0", { dlogp: zeros(args.pairs), ...dweight() }, 0),
      back(", dlogp 0 for the first pair", { dlogp: withoutFirst, ...dweight() }),
    );
  }
  const ofAdapters = adaptedInputs();
  const caps = ofAdapters.filter(([, args]) => !isLarge(args)).map(([name, args], i) =>
    [`${name}, capped`, { ...args, softCap: i + 0.5 }] as const
  );
  for (const [name, args] of [...ofAdapters, ...caps]) {
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
    cases.push(
      testCase("head_backward", name, { ...base, dloraB }, { ...frozen, dloraB: ofLargest() }),
    );
    if (isLarge(args)) continue;
    const all = { ...base, dloraB, dweight: normals(random, args.weight.length) };
    cases.push(
      testCase("head_backward", `${name}, frozen`, base, frozen),
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
