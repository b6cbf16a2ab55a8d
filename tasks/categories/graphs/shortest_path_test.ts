import assert from "node:assert/strict";
import { readGoldenLines } from "../../../tests/golden.ts";
import { distances, entriesOf } from "../../testing.ts";
import type { Entry } from "../../types.ts";
import { shortestPath } from "./shortest_path.ts";

Deno.test("paths are legal and shortest; unreachable goals are infeasible", () => {
  let infeasible = 0;
  const sets = [0, 0.4, 0.7].map((p_blocked) => ({ min_rows: 1, min_cols: 2, p_blocked }));
  for (const { question, answer, metadata } of entriesOf("shortest_path", sets, { size: 100 })) {
    const matrix = metadata["matrix"] as string[][], solution = metadata["solution"] as string[];
    assert.equal(matrix.flat().filter((cell) => cell === "*" || cell === "#").length, 2);
    assert.ok(question.includes(matrix.map((row) => row.join(" ")).join("\n")));
    const steps = distances(matrix, (cell) => cell === "*", (cell) => cell !== "X");
    const row = matrix.findIndex((cells) => cells.includes("#"));
    const shortest = steps[row]![matrix[row]!.indexOf("#")]!;
    if (shortest === Infinity) {
      assert.equal(answer, "infeasible");
      assert.deepEqual(solution, []);
      infeasible++;
    } else {
      assert.equal(solution.length, shortest);
      assert.equal(answer, solution.join(" "));
    }
  }
  assert.ok(infeasible > 30);
});

Deno.test("recorded grids are solved with as many steps as recorded", () => {
  for (const { metadata } of readGoldenLines<Entry>("reasoning-gym/items/shortest_path.jsonl")) {
    const path = shortestPath(metadata["matrix"] as string[][]);
    assert.equal(path?.length ?? 0, (metadata["solution"] as string[]).length);
  }
});
