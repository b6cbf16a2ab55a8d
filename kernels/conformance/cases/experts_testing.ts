/** Cases of the choice of experts, of products with their matrices, and of the gradients. */
import { route } from "../../ops/experts/choose.ts";
import { junk, normals, stream } from "../../testing.ts";
import { randomStored } from "../../weights/random_stored.ts";
import { type Case, exact, ofLargest, testCase } from "../runner_testing.ts";

/** Rows, experts, chosen; the last has experts without rows and one with most of them. */
const CHOICES = [[0, 4, 2], [1, 4, 4], [5, 3, 1], [70, 8, 2], [129, 37, 5]] as const;

/** The places of random rows. */
function places(rows: number, experts: number, chosen: number, normalize = true) {
  const logits = normals(stream(`choice ${rows} ${experts}`), rows * experts),
    count = rows * chosen;
  // Equal logits: the first is chosen.
  for (let row = 1; row < rows; row += 3) {
    logits.fill(logits[row]!, row * experts, row * experts + 3);
  }
  const of = {
    gates: new Float32Array(count),
    rowOf: new Uint32Array(count),
    placeOf: new Uint32Array(count),
    expertOf: new Uint32Array(count),
    begin: new Uint32Array(experts + 1),
  };
  const shape = { rows, experts, chosen, normalize };
  route({ ...shape, ...of, logits });
  return { shape, logits, ...of };
}

export function expertCases(): Case[] {
  return [
    ...CHOICES.flatMap((choice) => [true, false].flatMap((n) => routeCases(choice, n))),
    ...CHOICES.flatMap(([rows, experts, chosen]) => productCases(rows, experts, chosen)),
    ...storedProducts(),
  ];
}

function routeCases([rows, experts, chosen]: typeof CHOICES[number], normalize: boolean): Case[] {
  const { shape, logits, ...of } = places(rows, experts, chosen, normalize);
  const name = `${chosen} of ${experts} for ${rows} rows${normalize ? "" : ", not normalized"}`;
  const random = stream(name), count = rows * chosen;
  const empty = () => new Uint32Array(count).fill(7);
  const { gates, placeOf, expertOf } = of, dgates = normals(random, count);
  const back = {
    ...shape,
    logits,
    gates,
    placeOf,
    expertOf,
    dgates,
    dlogits: junk(rows * experts),
  };
  return [
    testCase("route", name, {
      ...shape,
      logits,
      gates: junk(count),
      rowOf: empty(),
      placeOf: empty(),
      expertOf: empty(),
      begin: new Uint32Array(experts + 1).fill(7),
    }, { gates: ofLargest(), rowOf: exact, placeOf: exact, expertOf: exact, begin: exact }),
    testCase("route_backward", name, back, { dlogits: ofLargest() }),
    testCase(
      "route_backward",
      `${name}, balanced`,
      { ...back, balance: normals(random, experts) },
      {
        dlogits: ofLargest(),
      },
    ),
  ];
}

function productCases(given: number, experts: number, chosen: number): Case[] {
  const { begin } = places(given, experts, chosen), rows = given * chosen;
  return ([[1, 1], [17, 5], [48, 64], [37, 129]] as const).flatMap(([n, k]) => {
    const name = `${rows} rows of ${experts} experts, ${n} × ${k}`, random = stream(name);
    const shape = { begin, experts, rows, n, k };
    const a = normals(random, rows * k), b = normals(random, experts * n * k);
    const before = normals(random, rows * n), matrices = normals(random, experts * n * k);
    const limit = { out: ofLargest() };
    return [
      testCase("expert_matmul", name, { ...shape, a, b, out: junk(rows * n), transB: true }, limit),
      testCase(
        "expert_matmul",
        `${name}, not transposed, added`,
        { ...shape, a, b, out: before, alpha: -0.5, accumulate: true },
        limit,
      ),
      testCase(
        "expert_gradient",
        name,
        { begin, experts, rows, a, b: before, out: matrices, m: k, n, alpha: 0.5 },
        limit,
      ),
    ];
  });
}

function storedProducts(): Case[] {
  const { begin, shape: { experts } } = places(70, 8, 2), rows = 140;
  return (["bf16", "q8_0", "q4_k", "nf4", "mxfp4"] as const).flatMap((weightType) =>
    [true, false].map((transB) => {
      const [n, k] = transB ? [32, 256] : [256, 32], width = 256;
      const name = `${weightType}${transB ? "" : ", not transposed"}`, random = stream(name);
      return testCase("expert_matmul", name, {
        a: normals(random, rows * k),
        b: randomStored(random, weightType, experts * 32, width),
        out: junk(rows * n),
        begin,
        experts,
        rows,
        n,
        k,
        transB,
        weightType,
      }, { out: ofLargest() });
    })
  );
}
