/** Cases of dropout. The bounds are only relative, so all devices must drop the same elements. */
import { junk, normals, stream } from "../../testing.ts";
import { COLUMNS, SITES } from "../../ops/dropout/spec.ts";
import { type Bound, type Case, exact, ofLargest, relative, testCase } from "../runner_testing.ts";

const SHAPES = [
  ...[1, 2, 3, 4, 5, 7, 15, 16, 17, 31, 32, 33, 63, 65, 288, 577].flatMap((d) =>
    [0, 1, 2, 7].map((rows) => [rows, d] as const)
  ),
  [3, 0],
  // Large enough for several threads; a block number above 2^16.
  [301, 300],
  [1, COLUMNS],
] as const;

export function dropoutCases(): Case[] {
  return SHAPES.flatMap(([rows, d], i) => {
    const random = stream(`dropout ${rows} ${d}`), n = rows * d;
    const x = normals(random, n), keys = Uint32Array.from({ length: 3 * rows }, () => random.u32());
    const seed = { seedLow: random.u32(), seedHigh: random.u32() };
    const site = i % 2 === 0 ? i : SITES - 1 - i;
    const args = { x, out: junk(n), keys, rows, d, p: 0.3, site, ...seed };
    const make = (
      name: string,
      more: Partial<typeof args> & { accumulate?: boolean },
      out: Bound,
    ) => testCase("dropout", `[${rows}×${d}]${name}`, { ...args, ...more }, { out });
    const same = normals(random, n), bound = relative(3e-7, 0), plain = make("", {}, bound);
    // What else there is does not depend on the number of a block.
    if (n > 10 ** 5) return [plain];
    return [
      plain,
      make(" in place", { x: same, out: same }, bound),
      make(" accumulate", { out: normals(random, n), accumulate: true }, ofLargest(1e-6)),
      make(" of nothing", { p: 0 }, exact),
      make(" of nearly all", { p: 1 - 2 ** -10 }, bound),
    ];
  });
}
