/** Cases of the operations that work element by element or row by row. */
import { junk, normals, stream, zeros } from "../testing.ts";
import { SUM_CHUNK } from "../ops/optimizer/spec.ts";
import { type Case, exact, ofLargest, relative, testCase } from "./runner.ts";

/** Around vector widths, and one that is dealt to several threads. */
const LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 1009, 100_003] as const;

export function elementwiseCases(): Case[] {
  return LENGTHS.flatMap((n) => {
    const random = stream(`elementwise ${n}`);
    const a = normals(random, n), b = normals(random, n), same = normals(random, n);
    const ids = Uint32Array.from({ length: n }, () => random.u32());
    const bound = relative();
    const copyExactly = { out: exact };
    return [
      testCase("add", `${n}`, { a, b, out: junk(n), n }, { out: bound }),
      testCase("add", `${n} scaled`, { a, b, out: junk(n), n, scale: -0.3 }, { out: bound }),
      testCase("add", `${n} into a`, { a: same, b, out: same, n, scale: 2 }, { out: bound }),
      testCase("add", `${n} into b`, { a, b: same, out: same, n, scale: 2 }, { out: bound }),
      testCase("add", `${n} to itself`, { a: same, b: same, out: same, n }, { out: bound }),
      testCase("copy", `${n}`, { src: a, out: junk(n), n }, copyExactly),
      testCase("copy", `${n} u32`, { src: ids, out: new Uint32Array(n), n }, copyExactly),
      testCase("fill", `${n}`, { out: junk(n), n, value: 0.1 }, { out: relative(6e-8, 0) }),
      testCase("fill", `${n} zero`, { out: junk(n), n, value: 0 }, { out: exact }),
    ];
  });
}

export function swigluCases(): Case[] {
  return LENGTHS.flatMap((n) => {
    const random = stream(`swiglu ${n}`);
    const gate = normals(random, n), up = normals(random, n), dout = normals(random, n);
    // Far out on both sides, where e^−a or e^a overflows in f32.
    const steep = Float32Array.from(
      { length: n },
      (_, i) => [-120, -88.5, -30, 0, 30, 89, 120][i % 7]!,
    );
    const inGate = normals(random, n), inUp = normals(random, n);
    const bound = relative();
    const both = { dgate: ofLargest(), dup: ofLargest() };
    return [
      testCase("swiglu", `${n}`, { gate, up, out: junk(n), n }, { out: bound }),
      testCase("swiglu", `${n} steep`, { gate: steep, up, out: junk(n), n }, { out: bound }),
      testCase("swiglu", `${n} into gate`, { gate: inGate, up, out: inGate, n }, { out: bound }),
      testCase("swiglu", `${n} into up`, { gate, up: inUp, out: inUp, n }, { out: bound }),
      testCase(
        "swiglu_backward",
        `${n}`,
        { dout, gate, up, dgate: junk(n), dup: junk(n), n },
        both,
      ),
      testCase(
        "swiglu_backward",
        `${n} steep`,
        { dout, gate: steep, up, dgate: junk(n), dup: junk(n), n },
        both,
      ),
      testCase(
        "swiglu_backward",
        `${n} and forward`,
        { dout, gate, up, dgate: junk(n), dup: junk(n), activated: junk(n), n },
        { ...both, activated: relative() },
      ),
      testCase(
        "swiglu_backward",
        `${n} in place`,
        { dout, gate: inGate, up: inUp, dgate: inGate, dup: inUp, n },
        both,
      ),
    ];
  });
}

export function rmsnormCases(): Case[] {
  const cases: Case[] = [];
  for (const d of [1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 288, 577]) {
    for (const rows of [0, 1, 2, 7, 33]) cases.push(...rmsnormShape(rows, d));
  }
  // Many rows: work for several threads, and a long sum over rows in dweight.
  cases.push(...rmsnormShape(1031, 100));
  return cases;
}

function rmsnormShape(rows: number, d: number): Case[] {
  const random = stream(`rmsnorm ${rows} ${d}`);
  const size = rows * d, shape = `[${rows}×${d}]`;
  const x = normals(random, size, 3), add = normals(random, size), weight = normals(random, d);
  const residual = normals(random, size), dout = normals(random, size);
  const rho = Float32Array.from({ length: rows }, (_, r) => {
    let squares = 0;
    for (let j = 0; j < d; j++) squares += x[r * d + j]! ** 2;
    return 1 / Math.sqrt(squares / d + 1e-5);
  });
  const sizes = { rows, d, eps: 1e-5 };
  const fresh = () => ({ out: junk(size), rho: junk(rows) });
  const outputs = { out: relative(), rho: relative() };
  const withSum = { ...outputs, sum: relative() };
  const backward = { dout, x, weight, rho, rows, d };
  return [
    testCase("rmsnorm", shape, { x, weight, ...fresh(), ...sizes }, outputs),
    testCase(
      "rmsnorm",
      `${shape} with residual`,
      { x, add, sum: junk(size), weight, ...fresh(), ...sizes },
      withSum,
    ),
    testCase(
      "rmsnorm",
      `${shape} with residual in place`,
      { x: residual, add, sum: residual, weight, ...fresh(), ...sizes },
      withSum,
    ),
    testCase(
      "rmsnorm",
      `${shape} of zeros`,
      { x: zeros(size), weight, ...fresh(), ...sizes },
      outputs,
    ),
    testCase(
      "rmsnorm_backward",
      `${shape} frozen weight`,
      { ...backward, dx: junk(size) },
      { dx: ofLargest() },
    ),
    testCase(
      "rmsnorm_backward",
      `${shape} accumulate`,
      { ...backward, dx: normals(random, size), accumulate: true, dweight: normals(random, d) },
      { dx: ofLargest(), dweight: ofLargest() },
    ),
  ];
}

export function ropeCases(): Case[] {
  const cases: Case[] = [];
  const maxPositions = 41;
  for (const headDim of [2, 8, 12, 16, 64, 80, 128]) {
    for (const [rows, heads] of [[0, 1], [1, 1], [2, 3], [17, 2], [301, 4]] as const) {
      const random = stream(`rope ${headDim} ${rows} ${heads}`);
      const half = headDim / 2;
      const angles = Array.from(
        { length: maxPositions * half },
        (_, i) => Math.floor(i / half) * 10_000 ** (-(i % half) / half),
      );
      const cos = Float32Array.from(angles, Math.cos), sin = Float32Array.from(angles, Math.sin);
      const positions = Uint32Array.from({ length: rows }, () => random.below(maxPositions));
      for (const inverse of [false, true]) {
        const x = normals(random, rows * heads * headDim);
        const name = `[${rows}×${heads}×${headDim}]${inverse ? " inverse" : ""}`;
        const args = { x, cos, sin, positions, rows, heads, headDim };
        cases.push(
          testCase("rope", name, inverse ? { ...args, inverse } : args, {
            x: relative(1e-6, 3e-7),
          }),
        );
      }
    }
  }
  return cases;
}

export function rowsCases(): Case[] {
  const cases: Case[] = [];
  for (const d of [1, 3, 4, 17, 64, 96, 577]) {
    for (const rows of [0, 1, 2, 5, 67, 301]) {
      const random = stream(`rows ${rows} ${d}`);
      const tableRows = 307, shape = `[${rows}×${d}]`;
      const table = normals(random, tableRows * d), src = normals(random, rows * d);
      const index = Uint32Array.from({ length: rows }, () => random.below(tableRows));
      const everyRow = Array.from({ length: tableRows }, (_, i) => i);
      const distinct = Uint32Array.from(random.sample(everyRow, rows));
      cases.push(
        testCase("gather_rows", shape, { table, index, out: junk(rows * d), rows, d }, {
          out: exact,
        }),
        testCase(
          "scatter_rows",
          shape,
          { src, index: distinct, table: table.slice(), rows, d },
          { table: exact },
        ),
      );
    }
    cases.push(...scatterAddShape(d));
  }
  return cases;
}

/** 55 runs of 0 to 24 rows: work for several threads. */
const MANY_RUNS = Array.from({ length: 55 }, (_, i) => (i * 7) % 25);

/** Runs of length 0, 1 and many, in an order that is not that of the rows. */
function scatterAddShape(d: number): Case[] {
  return [[], [1], [0], [3, 0, 1, 5], [1, 2, 40, 1, 1, 7, 0], MANY_RUNS].map((lengths) => {
    const random = stream(`scatter_add_rows ${lengths} ${d}`);
    const entries = lengths.reduce((sum, n) => sum + n, 0), tableRows = 61;
    const order = random.shuffle(Array.from({ length: entries }, (_, i) => i));
    const runs = [0];
    for (const n of lengths) runs.push(runs.at(-1)! + n);
    const everyRow = Array.from({ length: tableRows }, (_, i) => i);
    return testCase("scatter_add_rows", `runs [${lengths}] of ${d}`, {
      src: normals(random, entries * d),
      order: Uint32Array.from(order),
      runs: Uint32Array.from(runs),
      target: Uint32Array.from(random.sample(everyRow, lengths.length)),
      table: normals(random, tableRows * d),
      runCount: lengths.length,
      d,
    }, { table: ofLargest(1e-6) });
  });
}

export function optimizerCases(): Case[] {
  return [0, 1, 3, 4, 17, 64, 1009, SUM_CHUNK - 1, SUM_CHUNK, SUM_CHUNK + 1, 100_003].flatMap(
    (n) => {
      const random = stream(`optimizer ${n}`);
      const x = normals(random, n);
      const chunks = Math.ceil(n / SUM_CHUNK);
      return [
        testCase("sum_squares", `${n}`, { x, partial: junk(chunks), n }, {
          partial: relative(2e-6),
        }),
        ...[1, 2, 1000].map((step) =>
          testCase("adamw", `${n}, step ${step}`, {
            param: normals(random, n),
            grad: normals(random, n, 0.1),
            m: step === 1 ? zeros(n) : normals(random, n, 0.05),
            v: step === 1 ? zeros(n) : normals(random, n, 0.1).map((y) => y * y),
            n,
            lr: 3e-3,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weightDecay: step === 2 ? 0 : 0.1,
            correction1: 1 - 0.9 ** step,
            correction2: 1 - 0.999 ** step,
            gradScale: step === 1 ? 1 : 0.37,
          }, { param: relative(1e-6, 1e-7), m: relative(), v: relative(1e-6, 1e-9) })
        ),
      ];
    },
  );
}
