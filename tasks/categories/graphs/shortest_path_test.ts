import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { readGoldenLines } from "../../../tests/golden.ts";
import type { Entry } from "../../types.ts";
import { shortestPath } from "./shortest_path.ts";

/**
 * The distance from * to #, by relaxing all cells until nothing changes; Infinity without a path.
 */
function distance(matrix: string[][]): number {
  const steps = matrix.map((row) => row.map((cell) => cell === "*" ? 0 : Infinity));
  for (let changed = true; changed;) {
    changed = false;
    matrix.forEach((row, r) =>
      row.forEach((cell, c) => {
        if (cell === "X") return;
        const around = [steps[r - 1]?.[c], steps[r + 1]?.[c], steps[r]![c - 1], steps[r]![c + 1]];
        const best = Math.min(...around.map((value) => (value ?? Infinity) + 1));
        if (best < steps[r]![c]!) steps[r]![c] = best, changed = true;
      })
    );
  }
  const row = matrix.findIndex((cells) => cells.includes("#"));
  return steps[row]![matrix[row]!.indexOf("#")]!;
}

Deno.test("paths are legal and shortest; unreachable goals are infeasible", () => {
  let infeasible = 0;
  for (const p_blocked of [0, 0.4, 0.7]) {
    const options = { seed: 9, size: 200, min_rows: 1, min_cols: 2, p_blocked };
    for (const { question, answer, metadata } of createDataset("shortest_path", options)) {
      const matrix = metadata["matrix"] as string[][], solution = metadata["solution"] as string[];
      assert.equal(matrix.flat().filter((cell) => cell === "*" || cell === "#").length, 2);
      assert.ok(question.includes(matrix.map((row) => row.join(" ")).join("\n")));
      const shortest = distance(matrix);
      if (shortest === Infinity) {
        assert.equal(answer, "infeasible");
        assert.deepEqual(solution, []);
        infeasible++;
      } else {
        assert.equal(solution.length, shortest);
        assert.equal(answer, solution.join(" "));
      }
    }
  }
  assert.ok(infeasible > 50);
});

Deno.test("recorded grids are solved with as many steps as recorded", () => {
  for (const { metadata } of readGoldenLines<Entry>("reasoning-gym/items/shortest_path.jsonl")) {
    const path = shortestPath(metadata["matrix"] as string[][]);
    assert.equal(path?.length ?? 0, (metadata["solution"] as string[]).length);
  }
});
