/**
 * The public puzzles of ARC-AGI-1, rotated, mirrored and recoloured. The program contains them, so
 * nothing is downloaded.
 */
import { readCompressedAsset } from "../../asset.ts";
import { bool, defineTask, levels, type Param, texts } from "../../define.ts";
import { transpose } from "../../grids.ts";
import type { Board, Pair } from "./boards.ts";
import * as boards from "./boards.ts";
import * as grids from "./grids.ts";

type Change = (board: Board) => Board;

const ROTATIONS: Readonly<Record<string, Change>> = {
  "90": grids.rotate90,
  "180": grids.rotate180,
  "270": grids.rotate270,
};
const MIRRORS: Readonly<Record<string, Change>> = {
  horizontal: grids.flipUpsideDown,
  vertical: grids.flipSideways,
  diagonal: transpose,
  counterdiagonal: grids.antitranspose,
};

export default defineTask({
  description: "Find the rule behind pairs of grids (the public ARC-AGI-1 puzzles).",
  scoring: "1 for the grid, 0.05 for another grid, 0 for anything else.",
  params: {
    use_train: bool(true, "take puzzles of the training part"),
    use_eval: bool(true, "take puzzles of the evaluation part"),
    board_format_opts: boards.formatParam(),
    rotations: texts(
      Object.keys(ROTATIONS).sort((a, b) => Number(a) - Number(b)),
      "rotations, in degrees",
      Object.keys(ROTATIONS),
    ),
    mirrors: texts(Object.keys(MIRRORS), "mirrors", Object.keys(MIRRORS)),
    use_color_permutation: bool(true, "exchange the colours"),
    shuffle_example_order: bool(true, "examples in any order"),
    rotations_weights: weights([0.25, 0.25, 0.25, 0.25], "no rotation, then each rotation"),
    mirrors_weights: weights([0.2, 0.2, 0.2, 0.2, 0.2], "no mirror, then each mirror"),
  },
  curriculum: {
    rotations_weights: levels([
      [0.3, 0.2, 0.3, 0.2],
      [0.15, 0.3, 0.25, 0.3],
      [0.1, 0.35, 0.2, 0.35],
      [0.0, 0.4, 0.2, 0.4],
    ], "how often each rotation is used"),
    mirrors_weights: levels([
      [0.3, 0.3, 0.2, 0.1, 0.1],
      [0.2, 0.2, 0.2, 0.2, 0.2],
      [0.1, 0.1, 0.2, 0.3, 0.3],
      [0.05, 0.05, 0.1, 0.4, 0.4],
    ], "how often each mirror is used"),
  },
  validate(config) {
    const errors = boards.checkFormat(config.board_format_opts);
    if (!config.use_train && !config.use_eval) {
      errors.push("use_train: one of use_train and use_eval must be true, found false for both");
    }
    for (const field of ["rotations", "mirrors"] as const) {
      const given = config[`${field}_weights`];
      if (given.length !== config[field].length + 1) {
        errors.push(
          `${field}_weights: must have one weight more than ${field}, found ${given.length} ` +
            `weights for ${config[field].length} ${field}`,
        );
      } else if (!given.some((weight) => weight > 0)) {
        errors.push(`${field}_weights: one weight must be above 0, found ${given.join(", ")}`);
      }
    }
    return errors;
  },
  generate(random, config) {
    const { train, evaluation } = puzzleCounts();
    const first = config.use_train ? train : 0;
    const index = random.below(first + (config.use_eval ? evaluation : 0));
    const drawn = index < first ? puzzle("train", index) : puzzle("evaluation", index - first);
    const rotation = random.weighted(["", ...config.rotations], config.rotations_weights);
    const mirror = random.weighted(["", ...config.mirrors], config.mirrors_weights);
    const colors = Array.from({ length: boards.COLORS }, (_, color) => color);
    if (config.use_color_permutation) random.shuffle(colors);
    const change: Change = (board) => {
      let changed = board;
      if (rotation !== "") changed = ROTATIONS[rotation]!(changed);
      if (mirror !== "") changed = MIRRORS[mirror]!(changed);
      return changed.map((row) => row.map((color) => colors[color]!));
    };
    const changePair = ({ input, output }: Pair) => ({
      input: change(input),
      output: change(output),
    });
    const examples = drawn.examples.map(changePair);
    if (config.shuffle_example_order) random.shuffle(examples);
    const { input, output } = changePair(drawn.test);
    const format = boards.formatOf(config.board_format_opts);
    return {
      question: boards.question(examples, input, format),
      answer: boards.text(output, format),
      metadata: { input, output, task_id: drawn.id },
    };
  },
  score: boards.score,
});

function weights(value: number[], description: string): Param<number[]> {
  return { type: "float[]", default: value, min: 0, description: `weights: ${description}` };
}

/**
 * The 800 public puzzles of ARC-AGI-1. Licence: `assets/LICENCE.md`. A puzzle is one line: the part
 * (`t` or `e`) and the id, a `>` before the pairs that show the rule, another `>` before the test
 * pairs, and input and output of each pair. The items are separated by spaces. A board is its rows
 * of digits with a slash between rows.
 */

interface Puzzle {
  id: string;
  examples: Pair[];
  test: Pair;
}

/** The lines of both parts, read once. */
let parts: { train: string[]; evaluation: string[] } | undefined;

/** The number of puzzles in the training part and in the evaluation part. */
export function puzzleCounts(): { train: number; evaluation: number } {
  const { train, evaluation } = readParts();
  return { train: train.length, evaluation: evaluation.length };
}

/** Puzzle `index` of a part, in the order of the ids. */
export function puzzle(part: "train" | "evaluation", index: number): Puzzle {
  const [id, examples, test] = readParts()[part][index]!.split(" > ");
  return { id: id!, examples: readPairs(examples!), test: readPairs(test!)[0]! };
}

function readParts() {
  if (parts === undefined) {
    parts = { train: [], evaluation: [] };
    for (const line of readCompressedAsset("arc.br").split("\n")) {
      if (line !== "") parts[line[0] === "t" ? "train" : "evaluation"].push(line.slice(1));
    }
  }
  return parts;
}

function readPairs(text: string): Pair[] {
  const list = text.split(" ").map(readBoard);
  return Array.from(
    { length: list.length / 2 },
    (_, i) => ({ input: list[2 * i]!, output: list[2 * i + 1]! }),
  );
}

function readBoard(text: string): Board {
  return text.split("/").map((row) => {
    const colors = new Array<number>(row.length);
    for (let i = 0; i < row.length; i++) colors[i] = row.charCodeAt(i) - 48;
    return colors;
  });
}
