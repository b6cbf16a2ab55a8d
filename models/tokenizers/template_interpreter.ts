/**
 * Runs parsed chat templates. The library's interpreter is used, with these differences, all of
 * them as in Jinja's own sandbox (Jinja 3.1):
 * - The work is limited. A template is a program of a stranger, and it may loop without end.
 * - `selectattr` and `rejectattr` also test attributes that an object does not have. The library
 *   leaves such objects out, so `selectattr("tool_calls", "undefined")` would select none.
 * - `==` compares as Python does: `"0" == false` is false, and lists are equal by their items.
 * - `range` has at most 100,000 numbers.
 * - `strftime_now` writes English names, whatever the language of the machine is.
 */
import { Environment, Interpreter } from "@huggingface/jinja";

type Node = Parameters<Interpreter["evaluate"]>[0];
type Value = ReturnType<Interpreter["evaluate"]>;
export type TemplateProgram = Parameters<Interpreter["run"]>[0];

/** Nodes that may be evaluated, and numbers that `range` may give, in one rendering. */
const MAX_STEPS = 1_000_000;
/** A rendering that takes longer is ended, since single steps may also be slow. */
const MAX_SECONDS = 10;
/** The clock is read once in so many steps. */
const STEPS_PER_LOOK = 4096;
/**
 * Nodes inside each other, those of macros that call macros included. With twice as many the stack
 * can end first, which the library takes for a variable that is not there.
 */
const MAX_DEPTH = 500;
/** As in Jinja's sandbox. */
const MAX_RANGE = 100_000;

/** A template took more work than is allowed. */
export class Endless extends Error {}

/**
 * The text that a template gives.
 * @param variables what the template may read
 * @throws Error when the template raises one, or does not end
 */
export function renderProgram(
  program: TemplateProgram,
  variables: Readonly<Record<string, unknown>>,
): string {
  const environment = new Environment();
  const interpreter = new LimitedInterpreter(environment);
  const globals = {
    true: true,
    false: false,
    none: null,
    True: true,
    False: false,
    None: null,
    raise_exception(message: string) {
      throw new Error(message);
    },
    range: (...numbers: number[]) => interpreter.range(numbers),
    strftime_now: (format: string) => formatTime(new Date(), format),
  };
  for (const [name, value] of Object.entries({ ...globals, ...variables })) {
    environment.set(name, value);
  }
  return String(interpreter.run(program).value);
}

class LimitedInterpreter extends Interpreter {
  #steps = 0;
  #depth = 0;
  #nextLook = STEPS_PER_LOOK;
  readonly #end = performance.now() + MAX_SECONDS * 1000;

  override evaluate(node: Node, environment: Environment): Value {
    this.#count(1);
    if (this.#depth >= MAX_DEPTH) throw new Endless("a macro calls itself without end");
    this.#depth++;
    try {
      const filter = attributeFilter(node);
      if (filter !== null) return this.#filterByAttribute(filter, environment);
      const sides = comparedSides(node);
      if (sides === null) return super.evaluate(node, environment);
      const [left, right] = sides.map((side) => this.evaluate(side, environment));
      return new Environment().set("result", equal(left!, right!) === (operatorOf(node) === "=="));
    } finally {
      // Also when a `continue` of the template leaves the node as an exception.
      this.#depth--;
    }
  }

  /** Python's `range(stop)`, `range(start, stop)` and `range(start, stop, step)`. */
  range(numbers: readonly number[]): number[] {
    const [start, stop] = numbers.length > 1 ? [numbers[0]!, numbers[1]!] : [0, numbers[0]!];
    const step = numbers[2] ?? 1;
    if (step === 0) throw new Error("range() with a step of 0");
    const length = Math.max(0, Math.ceil((stop - start) / step));
    if (!(length <= MAX_RANGE)) {
      throw new Error(`range() with ${length} numbers, of which ${MAX_RANGE} are allowed`);
    }
    this.#count(length);
    return Array.from({ length }, (_, i) => start + i * step);
  }

  #count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw new Endless(`it does not end (after ${MAX_STEPS} steps)`);
    if (this.#steps < this.#nextLook) return;
    this.#nextLook = this.#steps + STEPS_PER_LOOK;
    if (performance.now() > this.#end) throw new Endless(`it does not end (in ${MAX_SECONDS} s)`);
  }

  #filterByAttribute({ operand, selects, args }: AttributeFilter, environment: Environment): Value {
    const list = this.evaluate(operand, environment), items: unknown = list.value;
    if (!Array.isArray(items)) throw new Error("selectattr and rejectattr need a list");
    const [attribute, name, other] = args.map((arg) => this.evaluate(arg, environment));
    if (typeof attribute?.value !== "string") {
      throw new Error("selectattr and rejectattr need the name of an attribute");
    }
    const path = attribute.value.split(".");
    const testName = name === undefined ? null : String(name.value);
    const test = testName === null ? null : environment.tests.get(testName);
    if (test === undefined) throw new Error(`there is no test ${JSON.stringify(testName)}`);
    const kept = (items as Value[]).filter((item) => {
      const value = attributeOf(item, path);
      const holds = test === null
        ? value.__bool__().value
        : other === undefined
        ? test(value)
        : test(value, other);
      return holds === selects;
    });
    const found = new Environment().set("list", []);
    found.value = kept;
    return found;
  }
}

/** The operator of a node with two operands; else undefined. */
function operatorOf(node: Node): unknown {
  if (node?.type !== "BinaryExpression") return undefined;
  return (node as unknown as { operator: { value: unknown } }).operator.value;
}

/** Both sides of a node `left == right` or `left != right`; else null. */
function comparedSides(node: Node): readonly [Node, Node] | null {
  const operator = operatorOf(node);
  if (operator !== "==" && operator !== "!=") return null;
  const { left, right } = node as unknown as { left: Node; right: Node };
  return [left, right];
}

/** Whether two values are equal in Python, where true is 1 and a text is no number. */
function equal(left: Value, right: Value): boolean {
  const [a, b]: unknown[] = [left.value, right.value];
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => equal(item, b[i]));
  }
  if (a instanceof Map && b instanceof Map) {
    return a.size === b.size &&
      [...a].every(([name, item]) => b.has(name) && equal(item, b.get(name)));
  }
  // The library has the same value for null and for what is not there.
  if (left.type !== right.type && (a == null || b == null)) return false;
  const number = (value: unknown) => typeof value === "boolean" ? Number(value) : value;
  return number(a) === number(b);
}

interface AttributeFilter {
  operand: Node;
  selects: boolean;
  args: readonly Node[];
}

/** The parts of a node `operand | selectattr(…)` or `operand | rejectattr(…)`; else null. */
function attributeFilter(node: Node): AttributeFilter | null {
  if (node?.type !== "FilterExpression") return null;
  const { operand, filter } = node as unknown as {
    operand: Node;
    filter: { type: string; callee?: { value: unknown }; args: Node[] };
  };
  const name = filter.type === "CallExpression" ? filter.callee?.value : null;
  if (name !== "selectattr" && name !== "rejectattr") return null;
  return { operand, selects: name === "selectattr", args: filter.args };
}

/** The value at a path of attributes; the undefined value where there is none. */
function attributeOf(item: Value, path: readonly string[]): Value {
  let value = item;
  for (const name of path) {
    const fields: unknown = value.value;
    const inner = fields instanceof Map ? fields.get(name) as Value | undefined : undefined;
    if (inner === undefined) return new Environment().lookupVariable(name);
    value = inner;
  }
  return value;
}

const MONTHS = "January February March April May June July August September October November " +
  "December";
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday";

/** Python's `strftime` in its C locale, with the directives that templates use. */
export function formatTime(time: Date, format: string): string {
  const two = (number: number) => String(number).padStart(2, "0");
  const month = MONTHS.split(" ")[time.getMonth()]!, day = DAYS.split(" ")[time.getDay()]!;
  const values: Readonly<Record<string, string>> = {
    Y: String(time.getFullYear()),
    y: two(time.getFullYear() % 100),
    m: two(time.getMonth() + 1),
    d: two(time.getDate()),
    B: month,
    b: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    H: two(time.getHours()),
    I: two((time.getHours() + 11) % 12 + 1),
    M: two(time.getMinutes()),
    S: two(time.getSeconds()),
    p: time.getHours() < 12 ? "AM" : "PM",
    "%": "%",
  };
  return format.replaceAll(/%([A-Za-z%])/g, (whole, name) => values[name] ?? whole);
}
