import assert from "node:assert/strict";
import { createDataset } from "../../dataset.ts";
import { scoreAnswer } from "../../registry.ts";
import { entriesOf } from "../../testing.ts";

Deno.test("sokoban: the answer, played on the question's board, puts each box on a goal", () => {
  const sets = [
    { size: 150 },
    { size: 40, min_w: 3, max_w: 5, min_h: 5, max_h: 5, max_depth: 12 },
    {
      size: 20,
      min_w: 18,
      max_w: 20,
      min_h: 20,
      max_h: 20,
      max_boxes: 30,
    },
  ];
  for (const entry of entriesOf("sokoban", sets, { seed: 1 })) {
    const rows = entry.question.split("\n\n")[1]!.split("\n").map((row) => row.trim().split(" "));
    const where = (marks: string) =>
      rows.flatMap((row, y) => row.flatMap((mark, x) => marks.includes(mark) ? [`${x},${y}`] : []));
    const walls = new Set(where("+")),
      goals = new Set(where("X$%")),
      boxes = new Set(where("@$"));
    assert.deepEqual([rows[0]!.length, rows.length], [
      entry.metadata["width"],
      entry.metadata["height"],
    ]);
    assert.equal(boxes.size, goals.size);
    assert.ok([...boxes].some((box) => !goals.has(box)), "something is left to do");
    const [start, ...more] = where("*%");
    assert.equal(more.length, 0);
    let [x, y] = start!.split(",").map(Number) as [number, number];
    for (const move of entry.answer!) {
      const dx = move === "L" ? -1 : move === "R" ? 1 : 0;
      const dy = move === "U" ? -1 : move === "D" ? 1 : 0;
      [x, y] = [x + dx, y + dy];
      assert.ok(!walls.has(`${x},${y}`), "no step is wasted on a wall");
      if (boxes.delete(`${x},${y}`)) {
        const next = `${x + dx},${y + dy}`;
        assert.ok(!walls.has(next) && !boxes.has(next));
        boxes.add(next);
      }
    }
    assert.ok([...boxes].every((box) => goals.has(box)));
    assert.ok(entry.answer!.length < (entry.metadata["height"] === 5 ? 12 : 80));
  }
});

/**
 * The minimum number of slides that bring car A to the right edge, and an answer with them. A state
 * is a text with the first square of each vehicle as a character.
 */
function solveRushHour(board: string): { fewest: number; answer: string } {
  const letters = [...new Set(board.replace(/[.x]/g, ""))].sort();
  const units = letters.map((letter) => board[board.indexOf(letter) + 1] === letter ? 1 : 6);
  const lengths = letters.map((letter) => board.split(letter).length - 1);
  const start = letters.map((letter) => String.fromCharCode(48 + board.indexOf(letter))).join("");
  const before = new Map<string, [string, string]>([[start, ["", ""]]]);
  const taken = new Uint8Array(36);
  for (let layer = [start], fewest = 0; layer.length > 0; fewest++) {
    const next: string[] = [];
    for (const state of layer) {
      if (state.charCodeAt(0) === 48 + 16) {
        const moves: string[] = [];
        for (let at = state; before.get(at)![0] !== ""; at = before.get(at)![0]) {
          moves.unshift(before.get(at)![1]);
        }
        return { fewest, answer: moves.join(" ") };
      }
      for (let square = 0; square < 36; square++) taken[square] = board[square] === "x" ? 1 : 0;
      letters.forEach((_, v) => {
        for (let k = 0; k < lengths[v]!; k++) taken[state.charCodeAt(v) - 48 + k * units[v]!] = 1;
      });
      letters.forEach((letter, v) => {
        const unit = units[v]!, first = state.charCodeAt(v) - 48, row = Math.floor(first / 6);
        for (const sign of [-1, 1]) {
          for (let far = 1;; far++) {
            const to = first + sign * far * unit,
              head = sign > 0 ? to + (lengths[v]! - 1) * unit : to;
            if (head < 0 || head > 35 || taken[head] === 1) break;
            if (unit === 1 && Math.floor(head / 6) !== row) break;
            const now = state.slice(0, v) + String.fromCharCode(48 + to) + state.slice(v + 1);
            if (before.has(now)) continue;
            before.set(now, [state, `${letter}${sign > 0 ? "+" : "-"}${far}`]);
            next.push(now);
          }
        }
      });
    }
    layer = next;
  }
  return { fewest: Infinity, answer: "" };
}

Deno.test("rush hour: a search from the question's board needs the recorded moves", () => {
  const sets = [{ size: 6 }, { size: 60, max_moves: 5 }, { size: 4, min_moves: 35 }];
  for (const entry of entriesOf("rush_hour", sets, { seed: 2 })) {
    const board = entry.question.split("\n\n")[1]!.replaceAll("\n", "");
    assert.match(board.slice(12, 18), /AA/);
    const { fewest, answer } = solveRushHour(board);
    assert.equal(fewest, entry.metadata["min_moves"], board);
    assert.equal(scoreAnswer(answer, entry), 1);
    const { moves: [low, high] } = entry.metadata["difficulty"] as { moves: [number, number] };
    assert.ok(fewest >= low && fewest <= high);
  }
});

Deno.test("knight swap: a search on the question's board agrees on the fewest moves", () => {
  let impossible = 0;
  const sets = [{ size: 60 }, { size: 60, min_pieces: 1, max_pieces: 3, min_steps: 1 }, {
    size: 20,
    impossible_ratio: 1,
    max_nodes: 7,
  }];
  for (const entry of entriesOf("knight_swap", sets, { seed: 3 })) {
    const cells = new Map<string, string>();
    for (const [, row, text] of entry.question.matchAll(/^([123]) \| (.*) \|$/gm)) {
      text!.split(" | ").forEach((mark, i) => {
        if (mark !== " ") cells.set("ABCD"[i]! + row, mark);
      });
    }
    const names = [...cells.keys()];
    const isNear = (a: string, b: string) => {
      const across = Math.abs(a.charCodeAt(0) - b.charCodeAt(0));
      return across * Math.abs(a.charCodeAt(1) - b.charCodeAt(1)) === 2;
    };
    const start = [...cells.values()].join("");
    const goal = start.replace(/[wB]/g, (mark) => mark === "w" ? "B" : "w");
    const turn = /by turns, (\w+) first/.exec(entry.question)![1] === "white" ? "w" : "B";
    let layer = new Set([start]), mover = turn, steps = 0;
    const seen = new Set([start + turn]);
    while (layer.size > 0 && !layer.has(goal)) {
      const next = new Set<string>(), other = mover === "w" ? "B" : "w";
      for (const state of layer) {
        for (let from = 0; from < names.length; from++) {
          for (let to = 0; to < names.length; to++) {
            if (
              state[from] !== mover || state[to] !== "." || !isNear(names[from]!, names[to]!)
            ) {
              continue;
            }
            const moved = [...state];
            [moved[from], moved[to]] = [".", mover];
            const text = moved.join("");
            if (!seen.has(text + other)) next.add(text);
            seen.add(text + other);
          }
        }
      }
      layer = next;
      mover = other;
      steps++;
    }
    const isPossible = layer.has(goal);
    assert.equal(entry.metadata["is_possible"], isPossible, entry.question);
    if (isPossible) {
      assert.equal(steps, (JSON.parse(entry.answer!) as string[]).length);
      const { steps: [low, high] } = entry.metadata["difficulty"] as { steps: [number, number] };
      assert.ok(steps >= low && steps <= high);
    } else {
      assert.equal(entry.answer, "No");
      impossible++;
    }
  }
  assert.ok(impossible > 40, String(impossible));
});

Deno.test("G20: the number of knights is drawn up to max_pieces", () => {
  const seen = new Set<number>();
  const options = { seed: 1, size: 60, min_pieces: 1, max_pieces: 3, min_steps: 1, max_nodes: 12 };
  for (const { metadata } of createDataset("knight_swap", options)) {
    const pieces = Object.values(metadata["pieces"] as Record<string, string | null>);
    const [white, black] = ["w", "B"].map((color) => pieces.filter((one) => one === color).length);
    assert.equal(white, black);
    seen.add(white!);
  }
  assert.deepEqual([...seen].sort(), [1, 2, 3]);
});

Deno.test("boxnet: the question suffices to carry every box to a target", () => {
  const sets = [{ size: 150 }, {
    size: 60,
    max_box_num: 4,
    max_row_num: 7,
    colour_list: ["pink", "x_1"],
  }];
  for (const entry of entriesOf("boxnet", sets, { seed: 4 })) {
    const places: { box: string; at: number[] }[] = [], targets = new Map<string, number[][]>();
    for (
      const [, x, y, sees] of entry.question.matchAll(/^Agent\[(.+), (.+)\] sees (.*?); it/gm)
    ) {
      for (const item of sees === "nothing" ? [] : sees!.split(", ")) {
        const [kind, colour] = [
          item.slice(0, item.indexOf("_")),
          item.slice(item.indexOf("_") + 1),
        ];
        const at = [Number(x), Number(y)];
        if (kind === "box") places.push({ box: colour, at });
        else targets.set(colour, [...targets.get(colour) ?? [], at]);
      }
    }
    const plan: Record<string, string>[] = [];
    for (const { box, at } of places) {
      const [row, column] = targets.get(box)!.shift()!;
      let [x, y] = at as [number, number];
      while (x !== row || y !== column) {
        const agent = `Agent[${x}, ${y}]`;
        if (x !== row) x += Math.sign(row! - x);
        else y += Math.sign(column! - y);
        plan.push({ [agent]: `move(box_${box}, square[${x}, ${y}])` });
      }
      plan.push({ [`Agent[${x}, ${y}]`]: `move(box_${box}, target_${box})` });
    }
    assert.equal(scoreAnswer(JSON.stringify(plan), entry), 1);
  }
});

Deno.test("tsumego: no other move on the question's board captures as much", () => {
  const sets = [{ size: 60 }, { size: 40, min_board_size: 5, max_board_size: 6 }, {
    size: 10,
    max_board_size: 19,
    max_stones: 60,
  }];
  for (const entry of entriesOf("tsumego", sets, { seed: 5 })) {
    const [head, ...lines] = entry.question.split("\n\n")[1]!.split("\n");
    const rows = lines.map((line) => line.trim().split(/ +/));
    const letters = head!.trim().split(" "), n = letters.length;
    const at = (board: string[][], y: number, x: number) => board[y]?.[x];
    const group = (board: string[][], y: number, x: number) => {
      const stones = new Set([`${y},${x}`]);
      let hasLiberty = false;
      for (const stone of stones) {
        const [r, c] = stone.split(",").map(Number) as [number, number];
        for (const [a, b] of [[r + 1, c], [r - 1, c], [r, c + 1], [r, c - 1]] as const) {
          if (at(board, a, b) === ".") hasLiberty = true;
          if (at(board, a, b) === board[y]![x]) stones.add(`${a},${b}`);
        }
      }
      return { stones, hasLiberty };
    };
    const captures: [number, string][] = [];
    const board = rows.map((row) => row.slice(1));
    for (let y = 0; y < n; y++) {
      for (let x = 0; x < n; x++) {
        if (board[y]![x] !== ".") {
          assert.ok(group(board, y, x).hasLiberty, "every stone has a liberty");
          continue;
        }
        board[y]![x] = "X";
        const taken = new Set<string>();
        for (const [a, b] of [[y + 1, x], [y - 1, x], [y, x + 1], [y, x - 1]] as const) {
          if (at(board, a, b) !== "O") continue;
          const { stones, hasLiberty } = group(board, a, b);
          if (!hasLiberty) { for (const stone of stones) taken.add(stone); }
        }
        board[y]![x] = ".";
        captures.push([taken.size, letters[x]! + rows[y]![0]!]);
      }
    }
    captures.sort((a, b) => b[0] - a[0]);
    assert.equal(captures[0]![1], entry.answer);
    assert.ok(captures[0]![0] > captures[1]![0]);
  }
});
