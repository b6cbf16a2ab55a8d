/** Nested expressions of hexadecimal numbers with +, −, × and shifts, over integers of any size. */
import { consecutive, defineTask, int, type RandomStream } from "../../define.ts";
import { parseIntegerLiteral } from "../../python/integers.ts";

const OPERATORS = ["+", "-", "*", "<<", ">>"] as const;
/** Probability that a branch ends before the full depth. */
const EARLY_LEAF = 0.01;

export default defineTask({
  description: "Evaluate hexadecimal arithmetic with shifts.",
  scoring:
    "1 when the answer is the number as an integer literal (0x…, 0o…, 0b… or decimal), else 0.",
  params: {
    difficulty: int(2, "depth of the expression", { min: 1, max: 10, levels: consecutive(1, 10) }),
  },
  generate(random, { difficulty }) {
    const { text, value } = expression(random, difficulty);
    return {
      question:
        "Evaluate this expression over signed integers of unlimited size (>> rounds down):\n" +
        `${text}\nAnswer with the value in hexadecimal only, such as 0x1f, or -0x1f when it is ` +
        "negative (no two's complement).",
      answer: hex(value),
      metadata: { problem: text },
    };
  },
  score(answer, entry) {
    const given = parseIntegerLiteral(answer);
    return given !== null && given === parseIntegerLiteral(entry.answer ?? "") ? 1 : 0;
  },
});

interface Expression {
  text: string;
  value: bigint;
}

function expression(random: RandomStream, depth: number): Expression {
  if (depth === 0 || random.chance(EARLY_LEAF)) return leaf(random.int(0x100, 0xffff));
  const operator = random.choice(OPERATORS);
  const left = expression(random, depth - 1);
  const isShift = operator === "<<" || operator === ">>";
  const right = isShift ? leaf(random.int(0, 3)) : expression(random, depth - 1);
  return {
    text: `(${left.text} ${operator} ${right.text})`,
    value: apply(operator, left.value, right.value),
  };
}

function leaf(value: number): Expression {
  return { text: `0x${value.toString(16)}`, value: BigInt(value) };
}

function apply(operator: typeof OPERATORS[number], a: bigint, b: bigint): bigint {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "<<":
      return a << b;
    case ">>":
      return a >> b;
  }
}

function hex(value: bigint): string {
  return value < 0n ? `-0x${(-value).toString(16)}` : `0x${value.toString(16)}`;
}
