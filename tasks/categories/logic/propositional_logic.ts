/**
 * Find a formula that follows from given ones. Many answers are right; one is given as an example.
 */
import { counts, defineTask, isOverlong, type RandomStream, sizes } from "../../define.ts";
import { isSpaceCode } from "../../python/text.ts";

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
    vars: counts([2, 4], "variables", { min: 1, max: LETTERS.length, levels: [2, 4, 6, 8, 10] }),
    statements: counts([2, 4], "premises", { min: 1, levels: [2, 4, 6, 8, 10] }),
    complexity: sizes([1, 3], "depth of a premise", { min: 1, max: 12, levels: [1, 2, 3, 4, 5] }),
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
  score(answer, entry) {
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
  },
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

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/**
 * Propositional formulas over ¬ ∧ ∨ → ↔ as truth tables, with one bit for each assignment of up to
 * {@link MAX_VARIABLES} variables and 32 assignments in a word. The parser uses the shunting-yard
 * algorithm, so nesting needs no call stack. Operators bind in the order above; equal ones
 * associate to the left.
 */

type Table = Uint32Array;

/** 2^12 assignments: a formula of 100 000 characters is evaluated within about ten milliseconds. */
const MAX_VARIABLES = 12;

/** A word holds all assignments of five variables. These are the values of the five within it. */
const WITHIN_WORD = [0xaaaaaaaa, 0xcccccccc, 0xf0f0f0f0, 0xff00ff00, 0xffff0000];
/** From the weakest to the strongest. */
const OPERATORS = [..."↔→∨∧¬"];
const BINDING = new Map(OPERATORS.map((sign, i) => [sign.charCodeAt(0), i + 1]));
const SIGN = new Map(OPERATORS.map((sign) => [sign.charCodeAt(0), sign]));
const OPEN = 0x28, CLOSE = 0x29, NOT = 0xac;

const tablesOf = new Map<number, readonly Table[]>();

/**
 * The tables of `count` variables, in the order of their names. They are shared; do not modify
 * them.
 */
function variableTables(count: number): readonly Table[] {
  let tables = tablesOf.get(count);
  if (tables === undefined) {
    const words = 2 ** Math.max(0, count - WITHIN_WORD.length);
    tables = Array.from({ length: count }, (_, variable) =>
      Uint32Array.from(
        { length: words },
        (_, word) => WITHIN_WORD[variable] ?? (word >>> (variable - 5) & 1 ? 0xffffffff : 0),
      ));
    tablesOf.set(count, tables);
  }
  return tables;
}

/** The table of a formula; null when the text is no formula or contains other variables. */
function formulaTable(text: string, variables: ReadonlyMap<string, Table>): Table | null {
  // Codes instead of characters, because non-Latin characters would be allocated each time.
  const byCode = new Map([...variables].map(([name, table]) => [name.codePointAt(0), table]));
  const operands: Table[] = [], operators: number[] = [];
  /** Tables of combined operands, kept for reuse, because a long text needs many. */
  const spare: Table[] = [];
  let wantsOperand = true;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const variable = byCode.get(code), binding = BINDING.get(code) ?? 0;
    if (variable !== undefined || code === OPEN || code === NOT) {
      if (!wantsOperand) return null;
      if (variable === undefined) operators.push(code);
      else {
        const table = spare.pop() ?? new Uint32Array(variable.length);
        table.set(variable);
        operands.push(table);
      }
      wantsOperand = variable === undefined;
    } else if (code === CLOSE || binding > 0) {
      if (wantsOperand) return null;
      while (
        operators.length > 0 && (BINDING.get(operators.at(-1)!) ?? 0) >= Math.max(1, binding)
      ) {
        applyLast();
      }
      if (binding > 0) operators.push(code);
      else if (operators.pop() === undefined) return null;
      wantsOperand = binding > 0;
    } else if (!isSpaceCode(code)) return null;
  }
  if (wantsOperand) return null;
  while (operators.length > 0) {
    if (operators.at(-1) === OPEN) return null;
    applyLast();
  }
  return operands[0]!;

  function applyLast(): void {
    const code = operators.pop()!;
    if (code === NOT) negate(operands.at(-1)!);
    else {
      const right = operands.pop()!;
      combine(SIGN.get(code)!, operands.at(-1)!, right);
      spare.push(right);
    }
  }
}

function negate(table: Table): void {
  for (let i = 0; i < table.length; i++) table[i] = ~table[i]!;
}

/** Computes `left ∘ right` and stores it in `left`. */
function combine(operator: string, left: Table, right: Table): void {
  for (let i = 0; i < left.length; i++) {
    const a = left[i]!, b = right[i]!;
    left[i] = operator === "∧"
      ? a & b
      : operator === "∨"
      ? a | b
      : operator === "→"
      ? ~a | b
      : ~(a ^ b);
  }
}

/** Whether `conclusion` is true wherever `premises` are true. */
function entails(premises: Table, conclusion: Table): boolean {
  for (let i = 0; i < premises.length; i++) {
    if ((premises[i]! & ~conclusion[i]!) !== 0) return false;
  }
  return true;
}

function isTautology(table: Table): boolean {
  for (let i = 0; i < table.length; i++) if (table[i] !== 0xffffffff) return false;
  return true;
}
