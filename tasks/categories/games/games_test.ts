import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { readGoldenLines } from "../../../tests/golden.ts";
import type { Entry } from "../../types.ts";
import { isUniqueLatin } from "./latin_testing.ts";

/**
 * The minimum number of moves, by breadth-first search over all placements. Disk d is on the peg of
 * digit d.
 */
function fewestMoves(disks: number, pegs: number, start: number, target: number): number {
  const first = new Array(disks).fill(start).join(""),
    last = new Array(disks).fill(target).join("");
  const seen = new Set([first]);
  for (let level = [first], moves = 0;; moves++) {
    const next: string[] = [];
    for (const state of level) {
      if (state === last) return moves;
      for (let disk = 0; disk < disks; disk++) {
        if (state.slice(0, disk).includes(state[disk]!)) continue;
        for (let peg = 1; peg <= pegs; peg++) {
          if (state.slice(0, disk).includes(String(peg))) continue;
          const moved = state.slice(0, disk) + peg + state.slice(disk + 1);
          if (!seen.has(moved)) seen.add(moved), next.push(moved);
        }
      }
    }
    level = next;
  }
}

Deno.test("towers are moved in the minimum number of moves", () => {
  const options = { seed: 1, size: 60, min_disks: 1, max_disks: 6, max_pegs: 5 };
  for (const { answer, metadata } of createDataset("tower_of_hanoi", options)) {
    const { num_disks, num_pegs, start_peg, target_peg, solution_length } = metadata as Record<
      string,
      number
    >;
    assert.equal(
      fewestMoves(num_disks!, num_pegs!, start_peg!, target_peg!),
      solution_length,
      `${num_disks} disks, ${num_pegs} pegs`,
    );
    assert.equal(answer!.split("\n").length, solution_length);
    assert.deepEqual(
      [...metadata["auxiliary_pegs"] as number[], start_peg, target_peg].sort(),
      Array.from({ length: num_pegs! }, (_, i) => i + 1),
    );
  }
});

Deno.test("recorded towers have the length that the solver finds", () => {
  for (const { metadata } of readGoldenLines<Entry>("reasoning-gym/items/tower_of_hanoi.jsonl")) {
    const { num_disks, num_pegs, start_peg, target_peg, solution_length } = metadata as Record<
      string,
      number
    >;
    const options = {
      seed: 1,
      min_disks: num_disks,
      max_disks: num_disks,
      min_pegs: num_pegs,
      max_pegs: num_pegs,
    };
    const ours = createDataset("tower_of_hanoi", options).entry(0);
    assert.equal(ours.metadata["solution_length"], solution_length);
    assert.equal(fewestMoves(num_disks!, num_pegs!, start_peg!, target_peg!), solution_length);
  }
});

Deno.test("visualize adds the pegs after every move", () => {
  const { metadata } = createDataset("tower_of_hanoi", { seed: 1, visualize: true }).entry(0);
  const states = metadata["states"] as number[][][], disks = metadata["num_disks"] as number;
  assert.equal(states.length, metadata["solution_length"] as number + 1);
  assert.equal(states.at(-1)![metadata["target_peg"] as number - 1]!.length, disks);
  for (const pegs of states) {
    assert.equal(pegs.flat().length, disks);
    for (const peg of pegs) assert.deepEqual(peg, peg.toSorted((a, b) => b - a));
  }
});

Deno.test("small sudokus have exactly one solution and the wanted number of empty cells", () => {
  const seen = new Set<number>();
  const options = { seed: 5, size: 150, min_empty: 0, max_empty: 12 };
  const blockOf = (row: number, column: number) => (row & 2) + (column >> 1);
  for (const { question, metadata } of createDataset("mini_sudoku", options)) {
    const puzzle = metadata["puzzle"] as number[][];
    assert.ok(isUniqueLatin(puzzle, metadata["solution"] as number[][], [], blockOf));
    assert.equal(puzzle.flat().filter((digit) => digit === 0).length, metadata["num_empty"]);
    assert.ok(question.includes(puzzle.map((r) => r.map((d) => d || "_").join(" ")).join("\n")));
    seen.add(metadata["num_empty"] as number);
  }
  assert.equal(seen.size, 13);
});
