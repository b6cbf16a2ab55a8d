/** Solves the questions of the tasks on patterns, words and space again. */
import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { entriesOf } from "../../testing.ts";
import { fontNames } from "./figlet_font.ts";
import { scoreTaskAnswer } from "../../registry.ts";

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

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** The lines of the drawing in a question. */
function drawing(question: string): string[] {
  return question.slice(question.indexOf("\n\n") + 2, question.lastIndexOf("\n\n")).split("\n");
}

/** The columns of a part of a drawing as texts. Lines are padded to the longest one. */
function columns(part: readonly string[]): string[] {
  const width = Math.max(...part.map((line) => line.length));
  return Array.from({ length: width }, (_, x) => part.map((line) => line[x] ?? " ").join(""));
}

/**
 * The words that a row of letters can show. The columns of each letter follow those of the one
 * before.
 */
function readLetters(part: readonly string[], alphabet: ReadonlyMap<string, string[]>): string[] {
  const all = columns(part), blank = " ".repeat(part.length);
  const at = (x: number) => all[x] ?? blank;
  const readings: { text: string; x: number }[] = [{ text: "", x: 0 }], found: string[] = [];
  while (readings.length > 0) {
    const { text, x } = readings.pop()!;
    if (x >= all.length) {
      found.push(text);
      continue;
    }
    for (const [letter, shape] of alphabet) {
      if (!shape.every((column, i) => column === at(x + i))) continue;
      // The question trims blank columns at the right end of a letter, so its width is unknown.
      for (let gap = 0; gap <= 12; gap++) {
        const next = x + shape.length + gap;
        if (gap > 0 && at(next - 1) !== blank) break;
        readings.push({ text: text + letter, x: next });
        if (next >= all.length) break;
      }
    }
  }
  return found;
}

Deno.test("drawn words can be read with the letters of their font", () => {
  let words = 0, unique = 0;
  const names = fontNames().filter((_, i) => i % 9 === 4);
  for (const font of names) {
    const draw = (options: Record<string, unknown>) =>
      createDataset("figlet_font", { seed: 8, size: 9, static_font: font, ...options });
    const alphabet = new Map([...LETTERS].map((letter) => {
      const [entry] = [...draw({ static_word: letter, size: 1 })];
      return [letter, columns(drawing(entry!.question))];
    }));
    const height = alphabet.get("A")![0]!.length;
    for (const entry of draw({ max_word_len: 5 })) {
      const lines = drawing(entry.question);
      assert.equal(entry.metadata["font"], font);
      assert.equal(lines.length % height, 0, font);
      let texts = [""];
      for (let top = 0; top < lines.length; top += height) {
        const read = readLetters(lines.slice(top, top + height), alphabet);
        texts = texts.flatMap((start) => [...new Set(read)].map((rest) => start + rest));
      }
      assert.ok(texts.includes(entry.answer!), `${font}: ${texts} for ${entry.answer}`);
      words++;
      unique += texts.length === 1 ? 1 : 0;
    }
  }
  assert.ok(words >= 200 && unique > 0.9 * words, `${unique} of ${words}`);
});

Deno.test("words have the given lengths, even beyond the longest in the list", () => {
  const lengths = (min_word_len: number, max_word_len: number) => {
    const options = { seed: 1, size: 300, min_word_len, max_word_len };
    return [...createDataset("figlet_font", options)].map(({ answer }) => {
      assert.match(answer!, /^[A-Z]+$/);
      return answer!.length;
    });
  };
  for (const [min, max] of [[3, 3], [1, 4], [7, 11], [10, 15], [20, 30], [12, 12]] as const) {
    const found = lengths(min, max);
    assert.equal(Math.min(...found), Math.max(3, min));
    assert.equal(Math.max(...found), max);
  }
});

Deno.test("exactly one statement of a haystack answers the question", () => {
  const options = [
    { seed: 1, size: 150 },
    { seed: 2, size: 60, min_num_statements: 1, max_num_statements: 3 },
    { seed: 3, size: 20, min_num_statements: 1000, max_num_statements: 1000 },
  ];
  for (const entry of entriesOf("needle_haystack", options)) {
    const at = entry.question.lastIndexOf("\n");
    const asked = entry.question.slice(at + 1);
    assert.equal(asked, entry.metadata["question"]);
    const predicate = /^Who (.+)\? Answer with the name only\.$/.exec(asked)![1]!;
    const statements = entry.question.slice(0, at).split(/(?<=\.) /);
    assert.equal(statements.length, entry.metadata["num_statements"]);
    assert.equal(new Set(statements).size, statements.length);
    const names = statements.filter((statement) => statement.endsWith(` ${predicate}.`))
      .map((statement) => statement.slice(0, statement.indexOf(" ")));
    assert.deepEqual(names, [entry.answer]);
  }
});

type Vector = [number, number, number];

const SIDES: Record<string, Vector> = {
  top: [0, 0, 1],
  bottom: [0, 0, -1],
  front: [0, -1, 0],
  back: [0, 1, 0],
  left: [-1, 0, 0],
  right: [1, 0, 0],
};

/** The cross product. */
function cross(a: Vector, b: Vector): Vector {
  return [
    a[1] * b[2] - a[2] * b[1],
    a[2] * b[0] - a[0] * b[2],
    a[0] * b[1] - a[1] * b[0],
  ];
}

function dot(a: Vector, b: Vector): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/** Turns `v` counterclockwise by 90° about the unit vector `axis`. */
function turned(v: Vector, axis: Vector): Vector {
  const along = dot(v, axis), side = cross(axis, v);
  return [0, 1, 2].map((i) => axis[i]! * along + side[i]!) as Vector;
}

Deno.test("the colours of a turned cube follow from the question by turning vectors", () => {
  const options = [{ seed: 1 }, { seed: 2, min_rotations: 5, max_rotations: 30 }];
  for (const entry of entriesOf("color_cube_rotation", options, { size: 150 })) {
    const { question } = entry;
    let faces = [...question.matchAll(/^- (\w+): (\w+)$/gm)]
      .map(([, side, color]) => ({ color: color!, normal: SIDES[side!]! }));
    assert.equal(faces.length, 6);
    for (const [, side] of question.matchAll(/^\d+\. the (\w+) side comes to the top$/gm)) {
      // The axis of the rotation that brings up the side. A half turn is about the axis from left
      // to right.
      const axis = side === "bottom" ? SIDES["right"]! : cross(SIDES[side!]!, SIDES["top"]!);
      for (let times = side === "bottom" ? 2 : 1; times > 0; times--) {
        faces = faces.map(({ color, normal }) => ({ color, normal: turned(normal, axis) }));
      }
    }
    const asked = /Which color is on the (\w+) side/.exec(question)![1]!;
    const found = faces.find(({ normal }) => dot(normal, SIDES[asked]!) === 1)!.color;
    assert.equal(found, entry.answer);
  }
});

interface Sticker {
  color: string;
  at: Vector;
  normal: Vector;
}

const AXES: Record<string, Vector> = {
  R: [1, 0, 0],
  L: [-1, 0, 0],
  U: [0, 1, 0],
  D: [0, -1, 0],
  F: [0, 0, 1],
  B: [0, 0, -1],
};

/**
 * Small cubes at coordinates −n+1, −n+3 … n−1 with coloured sides, read from the net of a question.
 */
function readNet(question: string): { size: number; stickers: Sticker[] } {
  const rows = question.split("\n").filter((line) => /^[ YRGOBW]+$/.test(line))
    .map((line) => line.trim().split(/ +/));
  const size = rows[0]!.length, stickers: Sticker[] = [];
  const face = (
    color: (row: number, column: number) => string,
    normal: Vector,
    right: Vector,
    down: Vector,
  ) => {
    for (let row = 0; row < size; row++) {
      for (let column = 0; column < size; column++) {
        const x = 2 * column - size + 1, y = 2 * row - size + 1;
        const at = [0, 1, 2].map((i) => normal[i]! * (size - 1) + right[i]! * x + down[i]! * y);
        stickers.push({ color: color(row, column), at: at as Vector, normal });
      }
    }
  };
  const middle = (part: number) => (row: number, column: number) =>
    rows[size + row]![part * size + column]!;
  const { U, D, L, R, F, B } = AXES as Record<"U" | "D" | "L" | "R" | "F" | "B", Vector>;
  face((row, column) => rows[row]![column]!, U, R, F);
  face(middle(0), L, F, D);
  face(middle(1), F, R, D);
  face(middle(2), R, B, D);
  face(middle(3), B, L, D);
  face((row, column) => rows[2 * size + row]![column]!, D, R, B);
  return { size, stickers };
}

function turnLayers(size: number, stickers: Sticker[], move: string): Sticker[] {
  const [, number, name, wide, reversed] = /^(\d*)([LRUDFB])(w?)('?)$/.exec(move)!;
  const axis = AXES[name!]!;
  const deepest = number === "" ? (wide === "w" ? 2 : 1) : Number(number);
  return stickers.map((sticker) => {
    const depth = (size - 1 - dot(sticker.at, axis)) / 2 + 1;
    if (wide === "w" ? depth > deepest : depth !== deepest) return sticker;
    // A clockwise turn, seen from outside, is three quarter turns counterclockwise.
    let { at, normal } = sticker;
    for (let times = reversed === "'" ? 1 : 3; times > 0; times--) {
      at = turned(at, axis);
      normal = turned(normal, axis);
    }
    return { color: sticker.color, at, normal };
  });
}

Deno.test("the example solution solves the question's cube, turned piece by piece", () => {
  for (const cube_size of [2, 3, 4, 5, 6]) {
    for (const entry of createDataset("rubiks_cube", { seed: 4, size: 45, cube_size })) {
      let { size, stickers } = readNet(entry.question);
      assert.equal(size, cube_size);
      assert.equal(stickers.length, 6 * size * size);
      const solution = entry.metadata["example_correct_answer"] as string;
      for (const move of solution.split(" ")) stickers = turnLayers(size, stickers, move);
      const seen = new Map<string, string>();
      for (const { color, normal } of stickers) {
        const side = normal.join();
        assert.equal(color, seen.get(side) ?? color, `${entry.metadata["scramble_moves"]}`);
        seen.set(side, color);
      }
      assert.equal(new Set(seen.values()).size, 6);
      assert.equal(scoreTaskAnswer("rubiks_cube", solution, entry), 1);
    }
  }
});

Deno.test("moves are read as Singmaster notation has them", () => {
  const entry = (scramble_moves: string, cube_size = 3) => ({
    answer: null,
    metadata: { cube_size, scramble_moves },
  });
  const cases: [scramble: string, answer: string, score: number, size?: number][] = [
    ["U U", "U2", 1],
    ["U U", "U'2", 1],
    ["R L'", "M", 0.01],
    ["R L'", "M'", 1],
    ["R L'", "M' x'", 1],
    ["E", "D U'", 1],
    ["M", "L R'", 1],
    ["M", "R L'", 0.01],
    ["S", "F B'", 1],
    ["S S' R", "y Z X2 R'", 0.01],
    ["2R", "Rw' R", 1, 4],
    ["3Rw", "L'", 1, 4],
    ["Fw", "1Fw' 2F'", 1, 5],
    ["U", "U'\nU", 0.01],
    ["U", "U3", 1],
    ["U", "4U'", 0.01],
    ["U", "0U U'", 0.01],
    ["U", "  U' ", 1],
    ["M", "M'", 0.01, 4],
    ["U", "u'", 0.01],
  ];
  for (const [scramble, answer, score, size] of cases) {
    assert.equal(
      scoreTaskAnswer("rubiks_cube", answer, entry(scramble, size)),
      score,
      `${scramble} | ${answer}`,
    );
  }
  const coloured = createDataset("rubiks_cube", { seed: 1, remove_ansi: false }).entry(0).question;
  // deno-lint-ignore no-control-regex
  const plain = coloured.replace(/\x1b\[[0-9;]*m/g, "");
  assert.notEqual(plain, coloured);
  assert.equal(plain, createDataset("rubiks_cube", { seed: 1 }).entry(0).question);
});
