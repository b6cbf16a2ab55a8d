/** Cases of the short convolution over groups, and of its gradients. */
import { NO_ROW } from "../../ops/short_conv/spec.ts";
import { convolutionTables } from "../../ops/short_conv/tables.ts";
import { junk, normals, stream } from "../../testing.ts";
import { type Case, ofLargest, testCase } from "../runner_testing.ts";

/** The row before each row: of one sequence, of a prompt with three branches, of single rows. */
const PREVIOUS: readonly (readonly number[])[] = [
  [],
  [NO_ROW],
  [NO_ROW, 0, 1, 2, 3, 4, 5, 6, 7],
  [NO_ROW, 0, 1, 2, 2, 4, 2, 6, NO_ROW, 8],
  Array.from({ length: 130 }, (_, i) => i % 40 === 0 ? (i === 0 ? NO_ROW : 17) : i - 1),
];

export function shortConvCases(): Case[] {
  return PREVIOUS.flatMap((previous) =>
    ([[1, 2], [7, 3], [16, 3], [37, 7], [64, 3]] as const).flatMap(([d, taps]) => {
      const rows = previous.length, n = rows * d, name = `${rows} rows, d ${d}, ${taps} taps`;
      const random = stream(`short_conv ${name}`);
      const { before, ...reverse } = convolutionTables(Uint32Array.from(previous), taps);
      const x = normals(random, n), weight = normals(random, d * taps), gate = normals(random, n);
      // In decoding, the earlier positions are in another table.
      const table = normals(random, 50 * d);
      const places = before.map((row) => row === NO_ROW ? row : row % 50);
      const dweight = normals(random, d * taps), dout = normals(random, n);
      const forward = (suffix: string, more: object) => {
        const args = { x, table: x, before, weight, out: junk(n), rows, d, taps, ...more };
        return testCase("short_conv", name + suffix, args, { out: ofLargest() });
      };
      const backward = (suffix: string, more: object) => {
        const args = { ...reverse, x, before, weight, rows, d, taps, dout, dx: junk(n), ...more };
        const outputs = ["dx", "dgate", "dweight"].filter((key) => key in args);
        const bounds = Object.fromEntries(outputs.map((key) => [key, ofLargest()]));
        return testCase("short_conv_backward", name + suffix, args, bounds);
      };
      const gatedBack = () => ({ gate, dgate: junk(n) });
      return [
        forward("", { gate }),
        forward(", of a table", { gate, before: places, table }),
        forward(", ungated", {}),
        backward(", ungated", { dweight }),
        backward(", frozen", gatedBack()),
        backward("", { ...gatedBack(), dweight }),
      ];
    })
  );
}
