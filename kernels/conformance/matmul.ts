/**
 * Cases of the matrix product: every transposition over sizes around any tile, and long sums.
 *
 * The bound is 4·2^−24·Σ|a·b| + 1e−7. One running f32 sum of normal products exceeds it once in 10^5
 * elements (5.3·2^−24 was the worst of 1.8·10^6 sums of 8 to 257 terms), and the suite looks at more
 * than that: a kernel passes by adding up blocks.
 */
import { junk, normals, stream } from "../testing.ts";
import { packedLength, PANEL } from "../matmul/spec.ts";
import { type Case, exact, testCase } from "./runner.ts";

const BOUND = 4 * 2 ** -24;

const SMALL = { m: [1, 2, 5, 8, 17], n: [1, 3, 8, 17, 33], k: [1, 4, 7, 33] } as const;

/** [m, n, k]: tile edges, skinny and flat shapes, sums longer than any block, no rows, no sum. */
const LARGER = [
  [65, 129, 257],
  [64, 64, 64],
  [63, 127, 65],
  [1, 577, 1024],
  [3, 255, 640],
  [4, 48, 513],
  [257, 1, 31],
  [31, 16, 2049],
  [17, 33, 321],
  [129, 513, 9],
  [200, 700, 300],
  [41, 43, 2099],
  [0, 5, 3],
  [5, 0, 3],
  [5, 7, 0],
] as const;

export function matmulCases(): Case[] {
  const cases: Case[] = [];
  for (const m of SMALL.m) {
    for (const n of SMALL.n) {
      for (const k of SMALL.k) cases.push(...variants(m, n, k));
    }
  }
  for (const [m, n, k] of LARGER) cases.push(...variants(m, n, k));
  cases.push(...[[1, 1], [16, 4], [17, 5], [33, 64], [700, 300]].map(([n, k]) => packing(n!, k!)));
  return cases;
}

function packing(n: number, k: number): Case {
  const weight = normals(stream(`pack ${n} ${k}`), n * k), out = junk(packedLength(n, k));
  return testCase("pack_weight", `[${n}×${k}]`, { weight, out, n, k }, { out: exact });
}

/** A weight [n, k] in panels, written out once more. */
function inPanels(weight: Float32Array, n: number, k: number): Float32Array {
  const packed = new Float32Array(packedLength(n, k));
  for (let j = 0; j < n; j++) {
    for (let p = 0; p < k; p++) {
      packed[(j - j % PANEL) * k + p * PANEL + j % PANEL] = weight[j * k + p]!;
    }
  }
  return packed;
}

/** The four transpositions, and a packed b with both of a's; alternately overwriting, accumulating and scaled. */
function variants(m: number, n: number, k: number): Case[] {
  const random = stream(`matmul ${m} ${n} ${k}`);
  return [0, 1, 2, 3, 4, 5].map((variant) => {
    const transA = (variant & 1) !== 0, transB = variant === 2 || variant === 3;
    const packedB = variant >= 4;
    const accumulate = random.chance(0.5);
    const alpha = random.choice([undefined, 0.5, -1.75]);
    const a = normals(random, m * k), b = normals(random, k * n);
    const before = accumulate ? normals(random, m * n) : junk(m * n);
    const name =
      `[${m}×${k}]·[${k}×${n}]${transA ? " transA" : ""}${transB ? " transB" : ""}${
        packedB ? " packedB" : ""
      }` +
      `${accumulate ? " accumulate" : ""}${alpha === undefined ? "" : ` alpha ${alpha}`}`;
    return testCase("matmul", name, {
      a,
      b: packedB ? inPanels(b, n, k) : b,
      out: before,
      m,
      n,
      k,
      ...(transA ? { transA } : {}),
      ...(transB ? { transB } : {}),
      ...(packedB ? { packedB } : {}),
      ...(accumulate ? { accumulate } : {}),
      ...(alpha === undefined ? {} : { alpha }),
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
            const kept = accumulate ? Math.abs(before[i * n + j]!) : 0;
            bound[i * n + j] = BOUND * (Math.abs(alpha ?? 1) * sum + kept) + 1e-7;
          }
        }
        return bound;
      },
    });
  });
}
