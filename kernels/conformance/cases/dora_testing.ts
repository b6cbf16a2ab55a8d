/** Cases of DoRA's magnitudes, forward and backward. */
import { normals, stream } from "../../testing.ts";
import { type Case, ofLargest, relative, testCase } from "../runner_testing.ts";
import { ROW_SHAPES } from "./layernorm_testing.ts";

export function doraCases(): Case[] {
  return ROW_SHAPES.flatMap(([rows, d]) => {
    const random = stream(`dora ${rows} ${d}`), shape = `[${rows}×${d}]`, r = 1 + rows % 5;
    const floats = (n: number) => normals(random, n), n = rows * d;
    const squares = floats(d).map((x) => 8 * r + x * x);
    squares[0] = 0; // with b = 0 below: a row of zeros
    const q = floats(r * d), b = floats(d * r).map((x) => x / 2), x = floats(n);
    b.fill(0, 0, r);
    const gain = floats(d), byRow = floats(rows), magnitude = floats(d);
    const empty = (n: number) => new Float32Array(n);
    return [
      testCase("dora_gain", shape, {
        squares,
        q,
        b,
        magnitude,
        rho: empty(d),
        gain: empty(d),
        r,
        d,
      }, { rho: relative(), gain: relative() }),
      testCase("scale_columns", shape, { x, gain, out: empty(n), rows, d }, { out: relative() }),
      testCase(
        "scale_columns",
        `${shape} by row`,
        { x, gain: byRow, out: empty(n), rows, d, byRow: true },
        { out: relative() },
      ),
      testCase("scale_columns_backward", shape, {
        dout: floats(n),
        x,
        rho: floats(d),
        dmagnitude: floats(d),
        rows,
        d,
      }, { dmagnitude: ofLargest() }),
    ];
  });
}
