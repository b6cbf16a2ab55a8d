/**
 * A lock with three buttons that change a number and toggle a light. The light decides which
 * buttons work.
 */
import { consecutive, defineTask, int, type RandomStream } from "../../define.ts";
import { PYTHON_SPACE } from "../../python/text.ts";

type Light = "red" | "green";

interface Button {
  name: string;
  type: "add" | "subtract" | "multiply";
  value: number;
  /** The light at which the button works. */
  active_state: Light | "any";
}

/** Draws of buttons and target before the level is lowered by one. */
const DRAWS = 200;
const START: Light = "red";

export default defineTask({
  description: "Press the shortest sequence of buttons that reaches a number.",
  scoring:
    "1 for the given sequence or another with as many presses that reaches the target, 0.5 for " +
    "one of another length that does, else 0.",
  params: {
    difficulty: int(10, "highest level; each lock has a random one from 1", {
      min: 1,
      max: 100,
      levels: consecutive(1, 10),
    }),
  },
  generate(random, config) {
    const level = random.int(1, config.difficulty);
    const { buttons, target, path } = drawLock(random, level);
    const lines = buttons.map(({ name, type, value, active_state: light }) =>
      `${name}: ${VERBS[type]} ${value}` +
      (light === "any" ? "" : `, works only while the light is ${light}`)
    );
    return {
      question:
        `A lock has a display with the number 0, a light that is ${START}, and three buttons:\n` +
        `${lines.join("\n")}\nPressing a button that works changes the number and switches the ` +
        "light between red and green. Pressing one that does not work right now does nothing at " +
        `all.\nWhich shortest sequence of buttons makes the display show ${target}? Answer with ` +
        "the letters in order, separated by →, such as C → A → B.",
      answer: path.join(" → "),
      metadata: {
        solution_path: path,
        target_value: target,
        buttons,
        initial_state: START,
        initial_value: 0,
      },
      difficulty: { difficulty: level },
    };
  },
  score(answer, entry) {
    const presses = answer.replace(SEPARATORS, "").toUpperCase();
    if (presses.length > MAX_PRESSES || !/^[ABC]+$/.test(presses)) return 0;
    const metadata = entry.metadata ?? {};
    const oracle = Array.isArray(metadata["solution_path"])
      ? metadata["solution_path"].join("")
      : (entry.answer ?? "").replace(SEPARATORS, "");
    if (presses === oracle) return 1;
    if (!Array.isArray(metadata["buttons"])) return 0;
    const buttons = new Map(
      (metadata["buttons"] as Button[]).map((button) => [button?.name, button]),
    );
    let number = Number(metadata["initial_value"] ?? 0),
      green = metadata["initial_state"] === "green";
    for (const name of presses) {
      const button = buttons.get(name);
      if (button === undefined) return 0;
      if (!isActive(button, green)) continue;
      number = applied(button, number);
      green = !green;
    }
    if (number !== metadata["target_value"]) return 0;
    return presses.length === oracle.length ? 1 : 0.5;
  },
});

const VERBS = { add: "add", subtract: "subtract", multiply: "multiply by" } as const;

interface Lock {
  buttons: Button[];
  target: number;
  path: string[];
}

/**
 * Draws until a lock can be opened. After many failures the level is lowered, and with it the
 * target.
 */
function drawLock(random: RandomStream, level: number): Lock {
  for (let draw = 1;; draw++) {
    const base = 5 + level ** 1.5, presses = Math.min(15, 6 + Math.floor(1.5 * level));
    const low = Math.max(8, Math.floor(0.8 * base));
    const target = random.int(low, Math.max(low, Math.floor(1.3 * base)));
    const buttons = drawButtons(random, level);
    const path = shortestSequence(buttons, target, presses);
    if (path !== null) return { buttons, target, path };
    if (draw % DRAWS === 0 && level > 1) level--;
  }
}

function drawButtons(random: RandomStream, level: number): Button[] {
  const buttons: Button[] = [];
  while (buttons.length < 3) {
    const type = random.choice(["add", "subtract", "multiply"] as const);
    const value = type === "multiply"
      ? (level < 7 ? 2 : random.int(2, 3))
      : random.int(1, 2) + (level < 5 ? 0 : 1);
    if (buttons.some((other) => other.type === type && other.value === value)) continue;
    buttons.push({
      name: "ABC"[buttons.length]!,
      type,
      value,
      active_state: random.weighted(["any", "green", "red"] as const, [4, 2, 1]),
    });
  }
  return buttons;
}

/**
 * Breadth-first search over (number, light). Numbers from which the remaining presses cannot reach
 * the target are dropped: subtracting at most 3 is the only way down from above, and adding at most
 * 3 the only way up from below zero.
 */
function shortestSequence(
  buttons: readonly Button[],
  target: number,
  presses: number,
): string[] | null {
  interface State {
    number: number;
    green: boolean;
    from: State | null;
    name: string;
  }
  let states: State[] = [{ number: 0, green: START !== "red", from: null, name: "" }];
  const seen = new Set<number>([0]);
  for (let left = presses - 1; left >= 0 && states.length > 0; left--) {
    const next: State[] = [];
    for (const from of states) {
      for (const button of buttons) {
        if (!isActive(button, from.green)) continue;
        const number = applied(button, from.number), green = !from.green;
        const key = 2 * number + (green ? 1 : 0);
        if (number > target + 3 * left || number < -3 * left || seen.has(key)) continue;
        seen.add(key);
        const state = { number, green, from, name: button.name };
        if (number === target) {
          const path: string[] = [];
          for (let at: State = state; at.from !== null; at = at.from) path.push(at.name);
          return path.reverse();
        }
        next.push(state);
      }
    }
    states = next;
  }
  return null;
}

function isActive({ active_state }: Button, green: boolean): boolean {
  return active_state === "any" || (active_state === "green") === green;
}

function applied({ type, value }: Button, number: number): number {
  return type === "add" ? number + value : type === "subtract" ? number - value : number * value;
}

/** Characters that may separate the letters of an answer. */
const SEPARATORS = new RegExp(`[${PYTHON_SPACE},;→\\->='"“”‘’()\\[\\]{}.*\`]+`, "g");

const MAX_PRESSES = 10_000;
