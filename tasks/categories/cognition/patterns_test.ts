import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { entriesOf } from "../../testing.ts";

/** The values for each cell. Powers are exact, from a table. */
const FUNCTIONS: Record<string, (x: bigint, y: bigint) => bigint> = {
  sum: (x, y) => x + y,
  diff: (x, y) => x > y ? x - y : y - x,
  prod: (x, y) => x * y,
  pow: (x, y) => x ** y,
};

function lines(question: string, marks: RegExp): string[] {
  return question.split("\n").filter((line) => marks.test(line));
}

Deno.test("the hidden cells of a modulo grid follow from the cells that are shown", () => {
  const options = [
    { seed: 1, size: 60, size_x: 8, size_y: 11, max_divisor: 9, max_target: 8, max_holes: 2 },
    { seed: 2, size: 40, size_x: 12, size_y: 7, max_divisor: 20, max_target: 20, max_holes: 9 },
    { seed: 3, size: 10, size_x: 6, size_y: 6, max_divisor: 2, max_target: 1, max_holes: 1 },
  ];
  let decided = 0, entries = 0;
  for (const option of options) {
    const residues = new Map<string, string>();
    const cellText = (name: string, divisor: number, x: number, y: number) => {
      const key = [name, divisor, x, y].join();
      let value = residues.get(key);
      if (value === undefined) {
        value = String(FUNCTIONS[name]!(BigInt(x), BigInt(y)) % BigInt(divisor));
        residues.set(key, value);
      }
      return value;
    };
    for (const entry of createDataset("modulo_grid", option)) {
      const shown = lines(entry.question, /^[✅❌❔]+$/).map((line) => [...line]);
      assert.equal(shown.length, option.size_y);
      assert.equal(shown[0]!.length, option.size_x);
      const completions = new Set<string>();
      for (const name of Object.keys(FUNCTIONS)) {
        for (let divisor = 2; divisor <= option.max_divisor; divisor++) {
          const grid = shown.map((row, y) => row.map((_, x) => cellText(name, divisor, x, y)));
          const targets = new Set(grid.flat());
          for (const target of targets) {
            const complete = grid.map((row) => row.map((cell) => cell === target ? "✅" : "❌"));
            const fits = shown.every((row, y) =>
              row.every((mark, x) => mark === "❔" || mark === complete[y]![x])
            );
            if (fits) completions.add(complete.map((row) => row.join("")).join("\n"));
          }
        }
      }
      assert.ok(completions.has(entry.answer!), entry.question);
      const holes = shown.flat().filter((mark) => mark === "❔").length;
      assert.ok(holes >= 1 && holes <= option.max_holes);
      decided += completions.size === 1 ? 1 : 0;
      entries++;
      const { operation, divisor, target } = entry.metadata as Record<string, unknown>;
      assert.equal(
        entry.answer!.split("\n")[3]![2] === "✅",
        cellText(operation as string, divisor as number, 2, 3) === String(target),
      );
    }
  }
  assert.ok(decided > 0.9 * entries, `${decided} of ${entries} grids have one completion`);
});

function nextTerm(rule: string, shown: readonly bigint[]): bigint {
  let value = shown.at(-1)!;
  for (const step of rule.split(" then ")) {
    const number = BigInt(/-?\d+$/.exec(step)?.[0] ?? 0);
    if (step.startsWith("add previous")) value += shown.at(-2) ?? 0n;
    else if (step.startsWith("add")) value += number;
    else if (step.startsWith("multiply")) value *= number;
    else if (step === "square") value *= value;
    else if (step === "double") value <<= 1n;
    else if (step === "halve") value >>= 1n;
    else assert.fail(step);
  }
  return value;
}

Deno.test("every term of a number sequence follows from the rule", () => {
  const options = [
    { seed: 1 },
    { seed: 2, min_terms: 4, max_terms: 4, max_complexity: 1 },
    { seed: 3, min_terms: 12, max_terms: 16, max_complexity: 5 },
  ];
  const seen = new Set<string>();
  for (const entry of entriesOf("number_sequence", options, { size: 80 })) {
    const shown = /^(-?\d+(?:, -?\d+)+), \?$/m.exec(entry.question)![1]!.split(", ").map(BigInt);
    const rule = entry.metadata["rule"] as string;
    for (let i = 1; i < shown.length; i++) {
      assert.equal(nextTerm(rule, shown.slice(0, i)), shown[i], `${rule}: ${shown}`);
    }
    assert.equal(String(nextTerm(rule, shown)), entry.answer);
    assert.deepEqual([...shown.map(Number), Number(entry.answer)], entry.metadata["sequence"]);
    assert.ok(rule.split(" then ").length <= (entry.metadata["complexity"] as number) + 1);
    assert.ok(new Set(shown).size > 1);
    for (const step of rule.split(" then ")) seen.add(step.replace(/-?\d+/, "n"));
  }
  assert.equal(seen.size, 6, [...seen].join());
});

/**
 * Takes the drawing apart into outlines and counts them; null when that fails within the remaining
 * steps.
 */
function takeApart(drawn: number[][], left: number[][], steps: { left: number }): number | null {
  const top = left.findIndex((row) => row.some((n) => n > 0));
  if (top < 0) return 0;
  if (steps.left-- < 0) return null;
  // The first cell can only be an upper left corner.
  const start = left[top]!.findIndex((n) => n > 0), row = left[top]!;
  for (let right = start + 1; (row[right] ?? 0) > 0; right++) {
    if (right - start < 2) continue;
    for (
      let bottom = top + 1;
      (left[bottom]?.[start] ?? 0) > 0 && left[bottom]![right]! > 0;
      bottom++
    ) {
      if (bottom - top < 2) continue;
      // Corners are on no other outline.
      const corners = [row, left[bottom]!].flatMap((cells, i) =>
        [start, right].map((x) => cells[x] === 1 && drawn[i === 0 ? top : bottom]![x] === 1)
      );
      if (corners.includes(false)) continue;
      if (left[bottom]!.slice(start, right + 1).some((n) => n === 0)) continue;
      const rest = left.map((cells, y) =>
        cells.map((n, x) => {
          const inside = x >= start && x <= right && y >= top && y <= bottom;
          const edge = x === start || x === right || y === top || y === bottom;
          return inside && edge ? n - 1 : n;
        })
      );
      const others = takeApart(drawn, rest, steps);
      if (others !== null) return others + 1;
    }
  }
  return null;
}

Deno.test("the drawing consists of as many rectangles as the answer says", () => {
  const options = [
    { seed: 1, size: 60, width: 30, height: 20, max_rectangles: 6 },
    { seed: 2, size: 40, width: 10, height: 10, max_rectangles: 4 },
    { seed: 3, size: 20, width: 50, height: 12, max_rectangles: 9 },
  ];
  let solved = 0;
  for (const option of options) {
    for (const entry of createDataset("rectangle_count", option)) {
      const drawing = lines(entry.question, /^[ #█]+$/);
      assert.equal(drawing.length, option.height);
      assert.equal(drawing.join("\n") + "\n", entry.metadata["puzzle"]);
      const counts = drawing.map((line) => [...line].map((mark) => " #█".indexOf(mark)));
      assert.ok(counts.every((row) => row.length === option.width));
      const found = takeApart(counts, counts, { left: 400 });
      if (found === null) continue;
      solved++;
      assert.equal(String(found), entry.answer, entry.question);
    }
  }
  assert.ok(solved >= 117, `${solved} of 120`);
});
