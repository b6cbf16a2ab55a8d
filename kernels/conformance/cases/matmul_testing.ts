/**
 * Cases of the matrix product: sizes around tiles with all transpositions, small ones with two that
 * take turns (ops/matmul/wasm_test.ts has more of them), and long sums.
 *
 * The bound is 4·2^−24·Σ|a·b| + 1e−7. A single running f32 sum of normal products exceeds it for
 * one in 10^5 elements (the worst of 1.8·10^6 sums of 8 to 257 terms was 5.3·2^−24), and the suite
 * has more elements. So a kernel must add the sums of blocks to pass.
 */
import type { RandomStream } from "../../../core/philox.ts";
import { unpackStored } from "../../weights/layout.ts";
import { packedLength, PANEL, type WeightType } from "../../ops/matmul/spec.ts";
import { junk, normals, stream } from "../../testing.ts";
import { type Case, exact, testCase } from "../runner_testing.ts";
import { randomStored } from "../../weights/random_stored.ts";

const BOUND = 4 * 2 ** -24;

const SMALL = { m: [1, 2, 5, 8, 17], n: [1, 3, 8, 17, 33], k: [1, 4, 7, 33] } as const;

/** [m, n, k]: tile edges, narrow and flat shapes, sums longer than any block, m, n or k of 0. */
const LARGER = [
  [65, 129, 257],
  [64, 64, 64],
  [63, 127, 65],
  [1, 577, 1024],
  [3, 255, 640],
  [3, 40, 300],
  [4, 48, 513],
  [257, 1, 31],
  [31, 16, 2049],
  [17, 33, 321],
  [129, 513, 9],
  [200, 700, 68],
  [41, 43, 2099],
  [0, 5, 3],
  [5, 0, 3],
  [5, 7, 0],
  // Multiples of four, which GPUs read as vectors.
  [1, 36, 1028],
  [2, 68, 128],
  [12, 132, 392],
  [132, 68, 36],
] as const;

/** [m, n, k, r]: products with an adapter of rank r (0: without) and stored weights; k is even. */
const STORED = [
  [1, 36, 64, 8],
  [1, 577, 1024, 3],
  [3, 33, 2050, 16],
  [8, 96, 64, 0],
  [7, 48, 130, 5],
  [17, 35, 6, 33],
  [70, 130, 68, 8],
  [200, 64, 320, 4],
  [33, 20, 2, 1],
  [4, 4, 0, 2],
  [0, 8, 4, 2],
] as const;

/**
 * @param isWanted chooses the products by their shapes, `[m×k]·[k×n]`, before their data is made
 */
export function matmulCases(isWanted: (shape: string) => boolean = () => true): Case[] {
  const cases: Case[] = [], wants = (m: number, n: number, k: number) => isWanted(shapeOf(m, n, k));
  let turn = 0;
  for (const m of SMALL.m) {
    for (const n of SMALL.n) {
      for (const k of SMALL.k) {
        const layouts = LAYOUTS.filter((_, i) => (i + turn) % 3 === 0);
        turn++;
        if (wants(m, n, k)) cases.push(...variants(m, n, k, layouts));
      }
    }
  }
  for (const [m, n, k] of LARGER) if (wants(m, n, k)) cases.push(...variants(m, n, k));
  for (const [m, n, k, r] of STORED) {
    if (!wants(m, n, k)) continue;
    const random = stream(`stored ${m} ${n} ${k} ${r}`);
    for (const weightType of ["f16", "bf16"] as const) {
      cases.push(productCase(random, { m, n, k, r: 0, transB: true, weightType }));
      cases.push(productCase(random, { m, n, k, r, transB: true, weightType }));
    }
    for (const layout of LAYOUTS) cases.push(productCase(random, { m, n, k, r, ...layout }));
  }
  cases.push(...[[1, 1], [16, 4], [17, 5], [33, 64], [700, 300]].map(([n, k]) => packing(n!, k!)));
  return cases;
}

function packing(n: number, k: number): Case {
  const weight = normals(stream(`pack ${n} ${k}`), n * k), out = junk(packedLength(n, k));
  return testCase("pack_weight", `[${n}×${k}]`, { weight, out, n, k }, { out: exact });
}

/** Whether cards compute a case: they do not pack weights. */
export const isForCards = ({ op, args }: Case): boolean =>
  op !== "pack_weight" && !("packedB" in args);

/** A weight [n, k] in panels; a second implementation of pack_weight. */
export function inPanels(weight: Float32Array, n: number, k: number): Float32Array {
  const packed = new Float32Array(packedLength(n, k));
  for (let j = 0; j < n; j++) {
    for (let p = 0; p < k; p++) {
      packed[(j - j % PANEL) * k + p * PANEL + j % PANEL] = weight[j * k + p]!;
    }
  }
  return packed;
}

const shapeOf = (m: number, n: number, k: number) => `[${m}×${k}]·[${k}×${n}]`;

/** The four transpositions, and packed b with both transpositions of a. */
const LAYOUTS = [
  {},
  { transA: true },
  { transB: true },
  { transA: true, transB: true },
  { packedB: true },
  { transA: true, packedB: true },
] as const;

type Layout = typeof LAYOUTS[number];

function variants(m: number, n: number, k: number, layouts: readonly Layout[] = LAYOUTS): Case[] {
  const random = stream(`matmul ${m} ${n} ${k}`);
  return layouts.map((layout) => productCase(random, { m, n, k, r: 0, ...layout }));
}

export interface Product {
  m: number;
  n: number;
  k: number;
  /** Rank of the adapter; 0 = none. */
  r: number;
  transA?: true;
  transB?: true;
  packedB?: true;
  weightType?: WeightType;
  activations?: "int8";
}

/** A product that randomly overwrites or accumulates, with random scales. */
export function productCase(random: RandomStream, product: Product): Case {
  const { m, n, k, r, transA, transB, packedB, weightType, activations } = product;
  const accumulate = random.chance(0.5);
  const alpha = random.choice([undefined, 0.5, -1.75]);
  const loraScale = r > 0 ? random.choice([undefined, 2, -0.25]) : undefined;
  const a = normals(random, m * k);
  const [rows, along] = transB ? [n, k] : [k, n];
  const stored = weightType === undefined ? null : randomStored(random, weightType, rows, along);
  const b = stored === null
    ? normals(random, k * n)
    : unpackStored(weightType!, rows, along, stored);
  const before = accumulate ? normals(random, m * n) : junk(m * n);
  const xa = normals(random, m * r), loraB = normals(random, n * r);
  const flags = Object.entries({ transA, transB, packedB, accumulate })
    .filter(([, set]) => set).map(([flag]) => ` ${flag}`);
  const name = `${shapeOf(m, n, k)}${flags.join("")}` +
    `${alpha === undefined ? "" : ` alpha ${alpha}`}${weightType ? ` ${weightType}` : ""}${
      activations ? " int8" : ""
    }` +
    `${r > 0 ? ` + ${loraScale ?? 1}·[${m}×${r}]·[${r}×${n}]` : ""}`;
  return testCase("matmul", name, {
    a,
    b: stored ?? (packedB ? inPanels(b, n, k) : b),
    out: before,
    m,
    n,
    k,
    ...(transA ? { transA } : {}),
    ...(transB ? { transB } : {}),
    ...(packedB ? { packedB } : {}),
    ...(accumulate ? { accumulate } : {}),
    ...(alpha === undefined ? {} : { alpha }),
    ...(weightType === undefined ? {} : { weightType }),
    ...(activations === undefined ? {} : { activations }),
    ...(r > 0 ? { xa, loraB, r } : {}),
    ...(loraScale === undefined ? {} : { loraScale }),
  }, {
    out: () => {
      const bound = new Float64Array(m * n);
      for (let i = 0; i < m; i++) {
        for (let j = 0; j < n; j++) {
          let sum = 0; // Σ|a·b|
          for (let p = 0; p < k; p++) {
            const x = a[transA ? p * m + i : i * k + p]!;
            const y = b[transB || packedB ? j * k + p : p * n + j]!;
            sum += Math.abs(x * y);
          }
          let added = 0; // Σ|xa·loraB|
          for (let p = 0; p < r; p++) added += Math.abs(xa[i * r + p]! * loraB[j * r + p]!);
          const kept = accumulate ? Math.abs(before[i * n + j]!) : 0;
          const whole = Math.abs(alpha ?? 1) * sum + Math.abs(loraScale ?? 1) * added + kept;
          bound[i * n + j] = BOUND * whole + 1e-7;
        }
      }
      return bound;
    },
  });
}
