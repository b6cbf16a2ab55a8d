/** Find the output or the input of a function. */
import { defineTask, float, levels } from "../../define.ts";
import { parseJson, PyFloat } from "../../python/literals.ts";
import { codePoints, strip } from "../../python/text.ts";
import type { ParamSpec } from "../../../core/named_params.ts";
import type { ScorableEntry } from "../../types.ts";
import { jsonDistance, pythonJson } from "./json_distance.ts";
import { SNIPPETS, sourceOf } from "./snippets/all.ts";

const difficulty: ParamSpec & { default: number | null } = {
  type: "int",
  default: null,
  nullable: true,
  min: 1,
  max: 10,
  description: "take only functions of this difficulty (1 to 10; null for all)",
};

export default defineTask({
  description: "Predict the output of a function, or its input.",
  scoring:
    "1 when the answer is exactly the JSON. Else the part from the first { to the last } is " +
    "compared with it as JSON: 1 when equal, less the more their trees differ, at least 0.01; " +
    "text around it lowers the score.",
  params: {
    input_prediction_probability: float(0.5, "how often the output is asked for, not the input", {
      min: 0,
      max: 1,
    }),
    difficulty,
  },
  curriculum: {
    difficulty: levels([6, 7, 8, 9], "difficulty of the functions"),
  },
  generate(random, config) {
    const wanted = config.difficulty;
    const askOutput = random.chance(config.input_prediction_probability);
    const snippet = random.choice(
      SNIPPETS.filter(({ level, reversible }) =>
        (wanted === null || level === wanted) && (askOutput || reversible)
      ),
    );
    const input = snippet.draw(random), output = snippet.run(input as never);
    const given = askOutput ? input : output, asked = askOutput ? output : input;
    return {
      question:
        `Here is a function in JavaScript.\n\n${sourceOf(snippet)}\n\n${snippet.purpose}\n` +
        `Its input is one object with ${snippet.input}. Its output is one object with ` +
        `${snippet.output}.\n` +
        (askOutput
          ? `Which output does it return for this input?\n${pythonJson(given)}\n`
          : `For which input does it return this output?\n${pythonJson(given)}\n`) +
        `Answer with the ${askOutput ? "output" : "input"} as one JSON object, its keys in ` +
        "double quotes, without further text.",
      answer: pythonJson(asked),
      metadata: { input_data: input, output_data: output },
    };
  },
  score,
});

const MIN_SCORE = 0.01;
const MIN_SURPLUS_SCORE = 0.2;
/** Longer answers are not read, unless the right answer is as long. In characters. */
const MAX_LENGTH = 100_000;

function score(answer: string, entry: ScorableEntry): number {
  const oracle = strip(entry.answer ?? ""), text = strip(answer);
  if (text === oracle) return 1;
  if (text.length > Math.max(MAX_LENGTH, 20 * oracle.length)) return 0;
  const open = text.indexOf("{"), close = text.lastIndexOf("}");
  if (open < 0 || close < 0) return 0;
  const given = readJson(text.slice(open, close + 1)), right = readJson(oracle);
  const size = codePoints(oracle);
  if (given === undefined || right === undefined) {
    return oracle !== "" && text.includes(oracle) ? size / codePoints(text) : 0;
  }
  const extra = codePoints(text.slice(0, open)) + codePoints(text.slice(close + 1));
  const limit = Math.max(size / (size + 0.5 * extra), MIN_SURPLUS_SCORE);
  if (equal(given, right)) return limit;
  const distance = jsonDistance(given, right);
  const longest = Math.max(pythonJson(given).length, pythonJson(right).length);
  return Math.max(MIN_SCORE, limit * (1 - distance / (0.2 * longest)));
}

/**
 * Reads JSON and keeps 3.0 as a float. Python writes it with its decimal, and the length of its
 * text counts.
 */
function readJson(text: string): unknown {
  const value = parseJson(text);
  if (value === undefined || !/[0-9]\.0|[0-9][eE]/.test(text)) return value;
  const whole = (_: string, value: unknown, { source = "" }: { source?: string }) =>
    Number.isInteger(value) && /[.eE]/.test(source) ? new PyFloat(value as number) : value;
  try {
    return JSON.parse(text, whole as (key: string, value: unknown) => unknown);
  } catch {
    return value; // contains NaN
  }
}

/** Equality like in Python: the order of keys does not matter, 3.0 equals 3 and true equals 1. */
function equal(left: unknown, right: unknown): boolean {
  const [a, b] = [left, right].map((value) =>
    value instanceof PyFloat ? value.value : typeof value === "boolean" ? Number(value) : value
  );
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const keys = Object.keys(a);
  return Array.isArray(a) === Array.isArray(b) && keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equal(a[key as never], b[key as never]));
}
