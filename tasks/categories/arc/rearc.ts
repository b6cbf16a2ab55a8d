/**
 * Puzzles in the style of ARC from our own generators, chosen by a measure of difficulty
 * (`pairMeasure`). If a drawn measure cannot be reached, the nearest pair is used.
 */
import { counts, defineTask, float, levels, type Param, type RandomStream } from "../../define.ts";
import * as boards from "./boards.ts";
import type { Pair } from "./boards.ts";
import { pairMeasure } from "./components.ts";
import { FAMILIES } from "./families.ts";
import { drawInput, type Family, type GridRule, MAX_SIDE } from "./family.ts";
import type { ParamValue } from "../../../core/named_params.ts";

type Range = readonly [low: number, high: number];

const NAMES = Object.keys(FAMILIES);
/** Maximum number of draws of a test pair. After that, the one with the nearest measure is used. */
const MAX_TRIES = 400;
/** Maximum number of draws of one example before another test pair is drawn. */
const EXAMPLE_TRIES = 60;

const RNG_RANGES = [0, 0.025, 0.05, 0.075, 0.1, 0.125, 0.15];
const PSO_RANGES = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35];
const unitVectors = PSO_RANGES.map((_, i) => PSO_RANGES.map((_, j) => i === j ? 1 : 0));

export default defineTask({
  description: "Find the rule behind pairs of grids that generators make.",
  scoring: "1 for the grid, 0.05 for another grid, 0 for anything else.",
  params: {
    examples: counts([3, 5], "pairs that show the rule", { min: 1, max: 100 }),
    diff_lb: float(0, "least difficulty of the examples", { min: 0, max: 1 }),
    diff_ub: float(0.2, "greatest difficulty of the examples", { min: 0, max: 1 }),
    board_format_opts: boards.formatParam(),
    rng_difficulty_ranges: ranges(
      [...RNG_RANGES, 0.2],
      "ranges of the difficulty of the test pair",
    ),
    rng_difficulty_weights: weights("how often each range is taken"),
    pso_difficulty_ranges: ranges([...PSO_RANGES, 1], "ranges of the measure of the test pair"),
    pso_difficulty_weights: weights("how often each range is taken"),
  },
  curriculum: {
    pso_difficulty_weights: levels(unitVectors, "range of the measure of the test pair"),
    rng_difficulty_weights: levels(unitVectors, "range of the difficulty of the test pair"),
  },
  rules: { "diff_lb: must be ≤ diff_ub": (c) => c.diff_lb <= c.diff_ub },
  validate(config) {
    const errors = boards.checkFormat(config.board_format_opts);
    for (const name of ["rng", "pso"] as const) {
      const given = config[`${name}_difficulty_ranges`];
      const weights = config[`${name}_difficulty_weights`];
      if (!isRanges(given)) {
        errors.push(
          `${name}_difficulty_ranges: must be a list of pairs of numbers from 0 to 1, the ` +
            `smaller first; found ${JSON.stringify(given)}`,
        );
      } else if (given.length !== weights.length || !weights.some((weight) => weight > 0)) {
        errors.push(
          `${name}_difficulty_weights: must have a weight for each of the ${given.length} ` +
            `ranges, one of them above 0; found ${JSON.stringify(weights)}`,
        );
      }
    }
    return errors;
  },
  generate(random, config) {
    const draw = (name: "rng" | "pso") =>
      random.weighted(
        config[`${name}_difficulty_ranges`] as unknown as Range[],
        config[`${name}_difficulty_weights`],
      );
    const rng = random.uniform(...draw("rng"));
    const count = random.int(config.min_examples, config.max_examples);
    const { name, test, examples, measure } = drawPuzzle(random, rng, draw("pso"), count, [
      config.diff_lb,
      config.diff_ub,
    ]);
    const format = boards.formatOf(config.board_format_opts);
    return {
      question: boards.question(examples, test.input, format),
      answer: boards.text(test.output, format),
      metadata: { input: test.input, output: test.output, task_id: name, rng, pso: measure },
      difficulty: {
        rng_difficulty_weights: config.rng_difficulty_weights,
        pso_difficulty_weights: config.pso_difficulty_weights,
      },
    };
  },
  score: boards.score,
});

/** What the pairs of one entry share, and their size. */
interface Plan {
  /** That of the family. */
  name: string;
  family: Family;
  kind: Family["inputs"][number];
  colors: number[];
  rule: GridRule;
  fill: number;
  minSide: number;
  /** Factor for the part of a side that depends on the difficulty. */
  spread: number;
}

function drawPuzzle(
  random: RandomStream,
  difficulty: number,
  [low, high]: Range,
  count: number,
  exampleRange: Range,
) {
  let best;
  for (let attempt = 0; attempt < MAX_TRIES || best === undefined; attempt++) {
    const plan = drawPlan(random, low, high, Math.max(0, 1 - attempt / MAX_TRIES));
    const test = plan && drawPair(random, plan, difficulty);
    if (!plan || !test) continue;
    const measure = pairMeasure(test.input, test.output);
    const off = Math.max(low - measure, measure - high, 0);
    if (best !== undefined && best.off <= off) continue;
    const examples = drawExamples(random, plan, count, exampleRange);
    if (examples === null || !showsColors(examples, test)) continue;
    best = { name: plan.name, test, examples, measure, off };
    if (off === 0) break;
  }
  return best;
}

/** Draws colours and a density such that the measure comes close to the range. */
function drawPlan(random: RandomStream, low: number, high: number, spread: number): Plan | null {
  const name = random.choice(NAMES), family = FAMILIES[name]!, kind = random.choice(family.inputs);
  const aim = random.uniform(low, Math.max(low, Math.min(high, 0.5)));
  const maximum = Math.min(boards.COLORS, Math.max(2, Math.floor(30 * aim)));
  const minimum = Math.min(maximum, Math.max(2, Math.ceil(30 * (aim - 0.22))));
  const used = random.int(minimum, maximum);
  const palette = random.sample(
    Array.from({ length: boards.COLORS }, (_, color) => color),
    boards.COLORS,
  );
  const colors = palette.slice(0, used);
  const rule = family.make({ used: colors, free: palette.slice(used) }, random);
  if (rule === null) return null;
  const fill = Math.min(0.95, Math.max(0.03, 3 * (aim - used / 30 - 0.02)));
  const minSide = Math.max(family.minSide, aim < 0.1 ? 6 : aim < 0.15 ? 4 : 2);
  return { name, family, kind, colors, rule, fill, minSide, spread };
}

function drawExamples(random: RandomStream, plan: Plan, count: number, [low, high]: Range) {
  const examples: Pair[] = [];
  for (let tries = 0; examples.length < count && tries < EXAMPLE_TRIES * count; tries++) {
    const pair = drawPair(random, plan, random.uniform(low, high));
    if (pair !== null) examples.push(pair);
  }
  return examples.length === count ? examples : null;
}

/** Whether the examples contain every colour of the test's input. */
function showsColors(examples: readonly Pair[], test: Pair): boolean {
  const shown = new Set(examples.flatMap(({ input }) => input.flat()));
  return test.input.every((row) => row.every((color) => shown.has(color)));
}

function drawPair(random: RandomStream, plan: Plan, difficulty: number): Pair | null {
  const { family, kind, colors, rule, fill, minSide } = plan;
  const extra = Math.round(2 * (MAX_SIDE - minSide) * difficulty * plan.spread);
  const side = () => {
    const length = Math.min(MAX_SIDE, random.int(minSide, minSide + extra));
    return family.even ? 2 * Math.ceil(length / 2) : length;
  };
  const input = drawInput(random, { kind, height: side(), width: side(), colors, fill });
  const output = rule(input, colors[0]!);
  if (output === null || output.length === 0 || output[0]!.length === 0) return null;
  // An input that the rule does not change shows nothing.
  if (boards.isEqual(input, output)) return null;
  return Math.max(output.length, output[0]!.length) > MAX_SIDE ? null : { input, output };
}

/** Makes ranges of neighbouring bounds. */
function ranges(bounds: readonly number[], description: string): Param<ParamValue> {
  const pairs = bounds.slice(1).map((high, i) => [bounds[i]!, high]);
  return { type: "any", default: pairs, description };
}

function weights(description: string): Param<number[]> {
  const value = new Array<number>(PSO_RANGES.length).fill(1 / PSO_RANGES.length);
  return { type: "float[]", default: value, min: 0, description };
}

function isRanges(value: ParamValue): value is [number, number][] {
  return Array.isArray(value) && value.length > 0 && value.every((range) => {
    if (!Array.isArray(range) || range.length !== 2) return false;
    const [low, high] = range;
    return typeof low === "number" && typeof high === "number" && low >= 0 && low <= high &&
      high <= 1;
  });
}
