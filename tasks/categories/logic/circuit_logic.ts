/** The output of a drawn logic circuit: gates over inputs, joined by one final gate. */
import { bool, counts, defineTask, float } from "../../define.ts";
import { codePoints, strip } from "../../python/text.ts";

type Gate = "AND" | "NAND" | "XOR" | "OR" | "NOR";

const SYMBOL: Record<Gate, string> = { AND: "&", NAND: "↑", XOR: "⊕", OR: "+", NOR: "↓" };
const MEANING: Record<Gate, string> = {
  AND: "1 when all its inputs are 1, else 0",
  NAND: "0 when all its inputs are 1, else 1",
  XOR: "1 when an odd number of its inputs is 1, else 0",
  OR: "1 when at least one of its inputs is 1, else 0",
  NOR: "0 when at least one of its inputs is 1, else 1",
};
const TERM_GATES = ["AND", "NAND", "XOR"] as const;
/** Gates for a term with one input. NAND is missing because it would equal the negation `'`. */
const ONE_INPUT_GATES = ["AND", "XOR"] as const;
const FINAL_GATES = ["OR", "NOR", "XOR", "AND"] as const;

interface Term {
  gate: Gate;
  inputs: GateRow[];
}

export default defineTask({
  description: "Evaluate a drawn circuit of logic gates.",
  scoring: "1 for the right digit, 1/length when there is white space around it, else 0.",
  defaultSize: 100,
  params: {
    terms: counts([3, 5], "gates before the final one", { min: 1, spans: [3, 5, 10, 20, 30] }),
    inputs: counts([2, 4], "inputs of a gate", { min: 1, spans: [2, 4, 6, 8, 10] }),
    neg_prob: float(0.3, "probability that an input of a gate is negated", { min: 0, max: 1 }),
    allow_reuse: bool(true, "whether a wire may lead to several gates"),
  },
  generate(random, config) {
    const terms: Term[] = [];
    let wires = 0;
    for (let left = random.int(config.min_terms, config.max_terms); left > 0; left--) {
      const count = random.int(config.min_inputs, config.max_inputs);
      const inputs: GateRow[] = [];
      for (let i = 0; i < count; i++) {
        const reused = config.allow_reuse && wires > 0 && random.chance(0.5);
        const wire = reused ? random.below(wires) : wires++;
        inputs.push({ wire, negated: random.chance(config.neg_prob) });
      }
      terms.push({ gate: random.choice(count === 1 ? ONE_INPUT_GATES : TERM_GATES), inputs });
    }
    const names = Array.from({ length: wires }, (_, i) => wireName(i));
    const values = names.map(() => random.below(2));
    const finalGate = random.choice(FINAL_GATES);
    const outputs = terms.map(({ gate, inputs }) =>
      evaluate(gate, inputs.map(({ wire, negated }) => negated ? 1 - values[wire]! : values[wire]!))
    );
    const termStrings = terms.map(({ gate, inputs }) =>
      inputs.map(({ wire, negated }) => names[wire] + (negated ? "'" : "")).join(SYMBOL[gate])
    );
    return {
      question: wording(terms, finalGate, names, values),
      answer: String(evaluate(finalGate, outputs)),
      metadata: {
        expression: termStrings.map((term) => `(${term})`).join(SYMBOL[finalGate]),
        assignments: Object.fromEntries(names.map((name, i) => [name, values[i]])),
        term_strings: termStrings,
        final_gate: finalGate,
        inputs: names,
      },
    };
  },
  score(answer, entry) {
    const oracle = entry.answer ?? "";
    if (answer === oracle) return 1;
    return oracle !== "" && strip(answer) === strip(oracle) ? 1 / codePoints(answer) : 0;
  },
});

function wording(
  terms: readonly Term[],
  finalGate: Gate,
  names: readonly string[],
  values: readonly number[],
): string {
  const gates = [...new Set([...terms.map(({ gate }) => gate), finalGate])];
  const legend = gates.map((gate) => `${SYMBOL[gate]} is ${gate}: ${MEANING[gate]}`);
  if (terms.some(({ inputs }) => inputs.some(({ negated }) => negated))) {
    legend.push(">o negates: 0 becomes 1 and 1 becomes 0");
  }
  const drawing = drawCircuit(
    names,
    terms.map(({ gate, inputs }) => ({ symbol: SYMBOL[gate], rows: inputs })),
    SYMBOL[finalGate],
  );
  const assignments = names.map((name, i) => `${name} = ${values[i]}`);
  return "In this drawing of a logic circuit each input is a vertical wire below its name. A " +
    "wire that begins at a ● on it leads to the gate on its right; at a ┼ two wires cross " +
    "without touching. A gate stands in all the rows in which its sign is repeated, and the " +
    "column of signs on the right is one final gate, whose inputs are the outputs of all the " +
    `others.\n\n${drawing}\n\n${legend.join("\n")}\n\n` +
    `The inputs are ${assignments.join(", ")}.\n` +
    "What is the output, 0 or 1? Answer with that digit alone.";
}

function evaluate(gate: Gate, inputs: readonly number[]): number {
  const ones = inputs.filter((value) => value === 1).length;
  switch (gate) {
    case "AND":
      return Number(ones === inputs.length);
    case "NAND":
      return Number(ones < inputs.length);
    case "XOR":
      return ones % 2;
    case "OR":
      return Number(ones > 0);
    case "NOR":
      return Number(ones === 0);
  }
}

/** A, B, …, Z, AA, AB, … */
function wireName(index: number): string {
  let name = "";
  for (let rest = index + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    name = String.fromCharCode(65 + (rest - 1) % 26) + name;
  }
  return name;
}

/**
 * Draws a circuit as text: a vertical wire for every input, a row for every input of a gate, blank
 * rows between the gates, and the final gate as a column of signs on the right.
 *
 *     A B C
 *     │ │ │
 *     ●─┼─┼──────│&
 *     │ ●─┼───>o─│&───│+
 *     │ │ │           │+
 *     │ │ ●──────│⊕───│+─── OUT
 *     ●─┼─┼──────│⊕
 */

/** One input of a gate: the number of its wire, and whether it is negated. */
interface GateRow {
  wire: number;
  negated: boolean;
}

interface DrawnGate {
  symbol: string;
  rows: readonly GateRow[];
}

function drawCircuit(
  names: readonly string[],
  gates: readonly DrawnGate[],
  finalSymbol: string,
): string {
  const width = names.at(-1)!.length + 1;
  const pad = " ".repeat(width - 1), run = "─".repeat(width - 1);
  const bare = `│${pad}`.repeat(names.length);
  const inputs: string[] = [], symbols: string[] = [];
  /** The rows that contain the output of a gate. */
  const outputs = new Set<number>();
  gates.forEach(({ symbol, rows }, i) => {
    if (i > 0) {
      inputs.push(bare);
      symbols.push("");
    }
    outputs.add(inputs.length + Math.floor((rows.length - 1) / 2));
    for (const { wire, negated } of rows) {
      const crossed = `┼${run}`.repeat(names.length - 1 - wire);
      inputs.push(`│${pad}`.repeat(wire) + `●${run}${crossed}${negated ? "──>o─" : "─────"}`);
      symbols.push(symbol);
    }
  });
  const first = Math.min(...outputs), last = Math.max(...outputs);
  const middle = Math.floor((first + last) / 2);
  const lines = inputs.map((wires, row) => {
    const gate = symbols[row] === "" ? wires + " ".repeat(7) : `${wires}│${symbols[row]}`;
    const lead = row < first || row > last ? "" : outputs.has(row) ? "───" : "   ";
    return `${gate}${lead}${lead && `│${finalSymbol}`}${row === middle ? "─── OUT" : ""}`.trimEnd();
  });
  return [names.map((name) => name.padEnd(width)).join("").trimEnd(), bare.trimEnd(), ...lines]
    .join("\n");
}
