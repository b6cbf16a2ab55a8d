/**
 * Find a formula that follows from given ones. Many answers are right; one is given as an example.
 */
import type { RandomStream } from "../../../core/philox.ts";
import { defineTask, int, levels } from "../../define.ts";
import { isOverlong } from "../../scoring_rules.ts";
import type { ScorableEntry } from "../../types.ts";
import {
  combine,
  entails,
  formulaTable,
  isTautology,
  MAX_VARIABLES,
  negate,
  type Table,
  variableTables,
} from "./formula.ts";

const LETTERS = [..."PQRSTUVWXYZ"];
const BINARY = ["∧", "∨", "→", "↔"] as const;

interface Formula {
  text: string;
  table: Table;
  /** The number of variables and operators. */
  nodes: number;
}

export default defineTask({
  description: "Conclude a formula of propositional logic from premises.",
  scoring:
    "1 for a formula that follows from the premises; 0.25 when it is a tautology or a single " +
    "variable; 0.05 for a formula that does not follow; else 0.",
  params: {
    min_vars: int(2, "fewest variables", { min: 1 }),
    max_vars: int(4, "most variables", { max: LETTERS.length }),
    min_statements: int(2, "fewest premises", { min: 1 }),
    max_statements: int(4, "most premises"),
    min_complexity: int(1, "lowest depth of a premise; 1 is a variable alone", { min: 1 }),
    max_complexity: int(3, "highest depth of a premise", { max: 12 }),
  },
  curriculum: {
    vars: levels([2, 4, 6, 8, 10], "variables"),
    statements: levels([2, 4, 6, 8, 10], "premises"),
    complexity: levels([1, 2, 3, 4, 5], "depth of a premise"),
  },
  generate(random, config) {
    const count = random.int(config.min_vars, config.max_vars);
    const statements = random.int(config.min_statements, config.max_statements);
    const depths = Array.from(
      { length: statements },
      () => random.int(config.min_complexity, config.max_complexity),
    );
    const letters = LETTERS.slice(0, count);
    const variables = variableTables(count)
      .map((table, i): Formula => ({ text: letters[i]!, table, nodes: 1 }));
    const { premises, together } = drawPremises(random, variables, depths);
    const example = findConclusion(random, variables, premises, together);
    return {
      question: "∧ is and, ∨ is or, ¬ is not, → is if … then …, and ↔ is if and only if. " +
        "The premises are\n" +
        `${premises.map(({ text }, i) => `${i + 1}. ${text}`).join("\n")}\n` +
        "Give a formula that is true whenever all premises are, but not always true, and that is " +
        `more than a variable alone. It may use the ${count === 1 ? "variable" : "variables"} ` +
        `${letters.join(", ")}, these signs and parentheses. Answer with that one formula.`,
      answer: null,
      metadata: {
        premises: premises.map(({ text }) => text),
        variables: letters,
        complexity: example.nodes,
        example_answer: example.text,
      },
    };
  },
  score,
});

/** Premises that can all be true and are not all tautologies. `together` is their conjunction. */
function drawPremises(
  random: RandomStream,
  variables: readonly Formula[],
  depths: readonly number[],
): { premises: Formula[]; together: Table } {
  for (;;) {
    // Every premise is drawn until it is true in one fixed assignment, so they never contradict.
    const at = random.below(2 ** variables.length);
    const premises: Formula[] = [];
    for (const depth of depths) {
      let premise = drawFormula(random, variables, depth);
      for (let tries = 0; !isTrue(premise, at) && tries < 50; tries++) {
        premise = drawFormula(random, variables, depth);
      }
      premises.push(premise);
    }
    if (!premises.every((premise) => isTrue(premise, at))) continue;
    const together = premises[0]!.table.slice();
    for (const { table } of premises) combine("∧", together, table);
    if (!isTautology(together)) return { premises, together };
  }
}

function isTrue({ table }: Formula, assignment: number): boolean {
  return (table[assignment >>> 5]! >>> (assignment & 31) & 1) === 1;
}

function drawFormula(random: RandomStream, variables: readonly Formula[], depth: number): Formula {
  if (depth === 1) return random.choice(variables);
  const operator = random.below(BINARY.length + 1);
  const left = drawFormula(random, variables, depth - 1);
  if (operator === BINARY.length) return not(left);
  return join(BINARY[operator]!, left, drawFormula(random, variables, depth - 1));
}

function not(formula: Formula): Formula {
  const table = formula.table.slice();
  negate(table);
  return { text: `¬${formula.text}`, table, nodes: formula.nodes + 1 };
}

function join(operator: string, left: Formula, right: Formula): Formula {
  const table = left.table.slice();
  combine(operator, table, right.table);
  return {
    text: `(${left.text} ${operator} ${right.text})`,
    table,
    nodes: left.nodes + right.nodes + 1,
  };
}

/**
 * A short formula that follows. If several draws find none: a premise, or one joined with a
 * variable.
 */
function findConclusion(
  random: RandomStream,
  variables: readonly Formula[],
  premises: readonly Formula[],
  together: Table,
): Formula {
  const table = new Uint32Array(together.length);
  for (let tries = 0; tries < 60; tries++) {
    const [first, second] = variables.length === 1
      ? [variables[0]!, variables[0]!]
      : random.sample(variables, 2) as [Formula, Formula];
    const form = random.random(), operator = random.choice(BINARY);
    // Compute only the table first, because most candidates do not follow.
    table.set(first.table);
    if (form < 0.35) negate(table);
    if (form >= 0.1) combine(operator, table, second.table);
    if (!entails(together, table) || isTautology(table)) continue;
    const left = form < 0.35 ? not(first) : first;
    return form < 0.1 ? left : join(operator, left, second);
  }
  const telling = premises.filter(({ table }) => !isTautology(table));
  const long = telling.find(({ nodes }) => nodes > 1);
  if (long !== undefined) return long;
  return join("∨", telling[0]!, variables.find((other) => other !== telling[0]) ?? telling[0]!);
}

function score(answer: string, entry: ScorableEntry): number {
  const premises = entry.metadata?.["premises"], names = entry.metadata?.["variables"];
  if (isOverlong(answer, entry) || !isTexts(premises) || !isTexts(names)) return 0;
  const occurring = names.filter((name) =>
    answer.includes(name) || premises.some((premise) => premise.includes(name))
  );
  if (occurring.length > MAX_VARIABLES) return 0;
  const tables = variableTables(occurring.length);
  const variables = new Map(occurring.map((name, i) => [name, tables[i]!]));
  const conclusion = formulaTable(answer, variables);
  if (conclusion === null) return 0;
  const together = conclusion.slice().fill(0xffffffff);
  for (const premise of premises) {
    const table = formulaTable(premise, variables);
    if (table === null) return 0;
    combine("∧", together, table);
  }
  if (!entails(together, conclusion)) return 0.05;
  return isTautology(conclusion) || /^[\s(]*[^\s()¬∧∨→↔][\s)]*$/.test(answer) ? 0.25 : 1;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
