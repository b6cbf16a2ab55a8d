/** Moving and adding rows on the GPU: tables and sources beyond one binding. */
import assert from "node:assert/strict";
import { rowsCases } from "../../conformance/cases/rows_testing.ts";
import { checkCase } from "../../conformance/runner_testing.ts";
import { testOnWebgpu } from "../../devices/webgpu/testing.ts";

testOnWebgpu(
  "rows beyond one binding are gathered, scattered and added",
  { bindingElements: 64 * 64 },
  async (device) => {
    // Tables of 307 rows, and sources of up to 661 rows.
    const cases = rowsCases().filter(({ name }) => /^(\[(67|301)×64\]|.* of 64)$/.test(name));
    const ops = new Set(cases.map(({ op }) => op));
    assert.deepEqual([...ops], ["gather_rows", "scatter_rows", "scatter_add_rows"]);
    for (const test of cases) await checkCase(device, test);
  },
);
