/** Cases of the bias of projections, forward and backward. */
import { normals, stream } from "../../testing.ts";
import { type Case, ofLargest, relative, testCase } from "../runner_testing.ts";
import { ROW_SHAPES } from "./layernorm_testing.ts";

export function biasCases(): Case[] {
  return ROW_SHAPES.flatMap(([rows, d]) => {
    const random = stream(`bias ${rows} ${d}`), shape = `[${rows}×${d}]`;
    const bias = normals(random, d), dout = normals(random, rows * d);
    const x = normals(random, rows * d), dbias = normals(random, d);
    return [
      testCase("add_bias", shape, { x, bias, rows, d }, { x: relative() }),
      testCase("add_bias", `${shape} · 0.3`, { x, bias, rows, d, scale: 0.3 }, { x: relative() }),
      testCase("add_bias_backward", shape, { dout, dbias, rows, d }, { dbias: ofLargest() }),
      testCase("add_bias_backward", `${shape} · 0.3`, { dout, dbias, rows, d, scale: 0.3 }, {
        dbias: ofLargest(),
      }),
    ];
  });
}
