/** Cases of gathering, scattering and adding rows. */
import { junk, normals, stream } from "../../testing.ts";
import { type Case, exact, ofLargest, testCase } from "../runner_testing.ts";

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
    cases.push(gatheredWords(d), ...scatterAddShape(d));
  }
  return cases;
}

/** Words whose bits are those of small and of large floats, and of none. */
function gatheredWords(d: number): Case {
  const random = stream(`words ${d}`), rows = 70, tableRows = 31;
  const table = Uint32Array.from({ length: tableRows * d }, (_, i) => i * 0x3ff_ffff + i);
  const index = Uint32Array.from({ length: rows }, () => random.below(tableRows));
  const out = new Uint32Array(rows * d).fill(7);
  return testCase("gather_rows", `words [${rows}×${d}]`, { table, index, out, rows, d }, {
    out: exact,
  });
}

/** 55 runs of 0 to 24 rows, enough for several threads. */
const MANY_RUNS = Array.from({ length: 55 }, (_, i) => (i * 7) % 25);

/** Runs of 0, 1 and many rows, in shuffled order. */
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
