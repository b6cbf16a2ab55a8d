/**
 * The Brainf*ck machine: 8-bit cells that wrap around, on a tape with a left end. A run of equal
 * commands is one step, and so is a loop that only adds multiples of a cell to others.
 */
import { RgxError } from "../../../core/errors.ts";

type Step =
  | { kind: "add" | "move"; amount: number }
  | { kind: "print" }
  /** cell[at] += cell · factor for each target, then cell = 0. */
  | { kind: "spread"; targets: { at: number; factor: number }[] }
  | { kind: "loop"; body: Step[] };

/** Maximum number of steps of a program. Generated programs take some thousand. */
const MAX_STEPS = 10_000_000;
const CELLS = 1000;

/**
 * Runs a program and returns its output.
 * @throws RgxError for unbalanced brackets, for leaving the tape, and for too many steps
 */
export function runBf(program: string): string {
  const steps = compile(program);
  const tape = new Uint8Array(CELLS);
  let at = 0, taken = 0, output = "";
  const execute = (body: readonly Step[]): void => {
    // Also counts the iterations of an empty loop.
    if (++taken > MAX_STEPS) throw wrong(`more than ${MAX_STEPS} steps`);
    for (const step of body) {
      if (++taken > MAX_STEPS) throw wrong(`more than ${MAX_STEPS} steps`);
      switch (step.kind) {
        case "add":
          tape[at]! += step.amount;
          break;
        case "move":
          at += step.amount;
          if (at < 0 || at >= CELLS) throw wrong("the pointer leaves the tape");
          break;
        case "print":
          output += String.fromCharCode(tape[at]!);
          break;
        case "spread":
          for (const { at: offset, factor } of step.targets) {
            if (tape[at] !== 0) tape[at + offset]! += factor * tape[at]!;
          }
          tape[at] = 0;
          break;
        case "loop":
          while (tape[at] !== 0) execute(step.body);
      }
    }
  };
  execute(steps);
  return output;
}

function wrong(what: string): RgxError {
  return new RgxError(`a Brainf*ck program cannot be run: ${what}`, {});
}

function compile(program: string): Step[] {
  const open: Step[][] = [[]];
  for (const command of program) {
    const body = open.at(-1)!;
    if ("+-<>".includes(command)) {
      const kind = "+-".includes(command) ? "add" : "move",
        amount = "+>".includes(command) ? 1 : -1;
      const last = body.at(-1);
      if (last?.kind === kind) last.amount += amount;
      else body.push({ kind, amount });
    } else if (command === ".") body.push({ kind: "print" });
    else if (command === "[") open.push([]);
    else if (command === "]") {
      open.pop();
      const outer = open.at(-1);
      if (outer === undefined) throw wrong("a ] without a [");
      outer.push(asSpread(body) ?? { kind: "loop", body });
    }
  }
  if (open.length > 1) throw wrong("a [ without a ]");
  return open[0]!;
}

/** Recognises a loop that subtracts 1 from its cell, adds to others and returns to its cell. */
function asSpread(body: readonly Step[]): Step | null {
  const change = new Map<number, number>();
  let at = 0;
  for (const step of body) {
    if (step.kind === "move") at += step.amount;
    else if (step.kind === "add") change.set(at, (change.get(at) ?? 0) + step.amount);
    else return null;
  }
  if (at !== 0 || change.get(0) !== -1) return null;
  change.delete(0);
  return { kind: "spread", targets: [...change].map(([at, factor]) => ({ at, factor })) };
}
