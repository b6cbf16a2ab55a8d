import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { scoreTaskAnswer } from "../../registry.ts";
import { entriesOf } from "../../testing.ts";

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
