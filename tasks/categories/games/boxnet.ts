/**
 * Plan the moves of boxes over a grid of squares. In each square an agent moves the boxes there.
 * The plan is executed step by step, and within a step in the order in which it names the agents.
 */
import { choices, counts, defineTask } from "../../define.ts";
import { parseJson } from "../../python/literals.ts";

const LEVELS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

export default defineTask({
  description: "Plan how agents on a grid bring coloured boxes to their targets.",
  scoring:
    "The plan is executed and actions that are not possible are ignored: delivered boxes / " +
    "boxes, at least 0.05; 0 when it is not a JSON list of objects with text values.",
  params: {
    row_num: counts([1, 4], "rows of squares", { min: 1, max: 100, spans: LEVELS }),
    column_num: counts([2, 4], "columns of squares", { min: 1, max: 100, spans: LEVELS }),
    box_num: counts([1, 1], "boxes of a colour", { min: 1, max: 1000, spans: LEVELS }),
    colour_list: choices(["red", "blue", "green"], "the colours"),
  },
  rules: {
    "colour_list: must not name a colour twice": ({ colour_list: list }) =>
      new Set(list).size === list.length,
    "colour_list: a colour has letters, digits and _ only": ({ colour_list: list }) =>
      list.every((colour) => /^[a-z][a-z0-9_]*$/i.test(colour)),
  },
  generate(random, config) {
    const rows = random.int(config.min_row_num, config.max_row_num);
    const columns = random.int(config.min_column_num, config.max_column_num);
    const squares = Array.from(
      { length: rows * columns },
      (_, i): Square => [Math.floor(i / columns) + 0.5, i % columns + 0.5],
    );
    const contents: string[][] = squares.map(() => []);
    for (const colour of config.colour_list) {
      const count = random.int(config.min_box_num, config.max_box_num);
      for (let i = 0; i < count; i++) {
        random.choice(contents).push(`box_${colour}`);
        random.choice(contents).push(`target_${colour}`);
      }
    }
    return {
      question: question(squares, contents, rows, columns),
      answer: null,
      metadata: {
        row_num: rows,
        column_num: columns,
        initial_state: Object.fromEntries(squares.map((square, i) => [keyOf(square), contents[i]])),
      },
    };
  },
  score(answer, entry) {
    const state = readState(entry.metadata?.["initial_state"]);
    const plan = parseJson(answer);
    if (state === null || !isPlan(plan)) return 0;
    const countBoxes = () => state.values().reduce((n, items) => n + items.filter(isBox).length, 0);
    const boxes = countBoxes();
    for (const step of plan) {
      for (const [agent, action] of Object.entries(step)) {
        const from = readSquare(agent), parts = ACTION.exec(action);
        if (from !== null && parts !== null) execute(state, from, parts[1]!, parts[2]!);
      }
    }
    return boxes === 0 ? 0.05 : Math.max(0.05, (boxes - countBoxes()) / boxes);
  },
});

/** The centre of a square: row + 0.5, column + 0.5. */
type Square = readonly [number, number];

/** The key of a square. Coordinates are n.5, so JavaScript and Python write them equally. */
function keyOf([x, y]: Square): string {
  return `${x}_${y}`;
}

function question(squares: Square[], contents: string[][], rows: number, columns: number): string {
  const agents = squares.map((square, i) => {
    const sees = contents[i]!, actions: string[] = [];
    for (const box of new Set(sees.filter(isBox))) {
      if (sees.includes(targetOf(box))) actions.push(`move(${box}, ${targetOf(box)})`);
      for (const [x, y] of squares.filter((other) => areAdjacent(square, other))) {
        actions.push(`move(${box}, square[${x}, ${y}])`);
      }
    }
    const now = actions.length > 0 ? actions.join("; ") : "nothing";
    return `Agent[${square.join(", ")}] sees ${sees.length > 0 ? sees.join(", ") : "nothing"}; ` +
      `it can do now: ${now}`;
  });
  return `A field has ${rows} × ${columns} squares, named by their centres: square[0.5, 0.5] is ` +
    "in the first row and column, square[0.5, 1.5] is its neighbour in the same row, square[1.5, " +
    "0.5] its neighbour in the next row. In every square stands an agent, named like its square, " +
    "that can only move boxes that are in its square, one at a time: to a square next to its own " +
    "in the same row or column, or onto a target of the box's colour that is in its own square, " +
    "which delivers the box and uses up that target. A square may hold any number of boxes and " +
    "targets.\n\nThe situation now:\n" +
    `${agents.join("\n")}\n\nPlan how to deliver all boxes in few steps. In a step each agent ` +
    "does at most one action, in the order in which you name them; leave out agents that do " +
    "nothing.\nAnswer with a JSON list that has one object per step; its keys are agents, its " +
    "values their actions, for example:\n" +
    '[{"Agent[0.5, 0.5]": "move(box_red, square[0.5, 1.5])"}, {"Agent[0.5, 1.5]": "move(box_red, ' +
    'target_red)"}]';
}

function isBox(item: string): boolean {
  return item.startsWith("box_");
}

function targetOf(box: string): string {
  return `target_${box.slice("box_".length)}`;
}

function areAdjacent([a, b]: Square, [c, d]: Square): boolean {
  return Math.abs(a - c) + Math.abs(b - d) === 1;
}

const ACTION = /^move\(([^,]*),\s([^)]*)\)/;

function execute(state: Map<string, string[]>, from: Square, box: string, to: string): void {
  const here = state.get(keyOf(from));
  const at = here?.indexOf(box) ?? -1;
  if (here === undefined || at < 0 || !isBox(box)) return;
  if (to.includes("square")) {
    const square = readSquare(to);
    const there = square && areAdjacent(from, square) ? state.get(keyOf(square)) : undefined;
    if (there === undefined) return;
    here.splice(at, 1);
    there.push(box);
  } else if (to === targetOf(box) && here.includes(to)) {
    here.splice(at, 1);
    here.splice(here.indexOf(to), 1);
  }
}

/** The first two numbers of a text such as `Agent[0.5, 1.5]`. */
function readSquare(text: string): Square | null {
  const numbers = text.slice(0, 100).match(/\d+(?:\.\d*)?/g);
  return numbers !== null && numbers.length >= 2 ? [Number(numbers[0]), Number(numbers[1])] : null;
}

function readState(value: unknown): Map<string, string[]> | null {
  if (typeof value !== "object" || value === null) return null;
  const state = new Map<string, string[]>();
  for (const [square, items] of Object.entries(value)) {
    if (!Array.isArray(items)) return null;
    state.set(square, items.filter((item) => typeof item === "string"));
  }
  return state;
}

function isPlan(value: unknown): value is Record<string, string>[] {
  return Array.isArray(value) &&
    value.every((step) =>
      typeof step === "object" && step !== null && !Array.isArray(step) &&
      Object.values(step).every((action) => typeof action === "string")
    );
}
