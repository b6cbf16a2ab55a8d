/** Rewrite a string over a, b, c by ordered rules (some of twenty) until no rule applies. */
import { RgxError } from "../../../../core/errors.ts";
import { counts, defaultScore, defineTask, type RandomStream } from "../../../define.ts";

interface Rule {
  text: string;
  /**
   * Returns the changed string, or null when the rule does not apply. A rule never returns its
   * input.
   */
  apply(s: string): string | null;
}

/**
 * Maximum number of steps beyond the length of the string. About one draw in ten thousand grows
 * forever. None of the others was seen to take more steps. Strings that take more are drawn again.
 */
const MAX_EXTRA_STEPS = 1000;
const MAX_DRAWS = 100;

function prefix(start: string, text: string, change: (rest: string, s: string) => string): Rule {
  return {
    text: `If the string begins with "${start}", ${text}.`,
    apply: (s) => s.startsWith(start) ? change(s.slice(start.length), s) : null,
  };
}

function suffix(end: string, text: string, change: (rest: string, s: string) => string): Rule {
  return {
    text: `If the string ends with "${end}", ${text}.`,
    apply: (s) => s.endsWith(end) ? change(s.slice(0, s.length - end.length), s) : null,
  };
}

function first(part: string, replacement: string): Rule {
  const text = replacement === "" ? "delete its" : `write "${replacement}" instead of its`;
  return {
    text: `If the string contains "${part}", ${text} first occurrence.`,
    apply: (s) => s.includes(part) ? s.replace(part, replacement) : null,
  };
}

const RULES: readonly Rule[] = [
  prefix("ab", 'write "ca" instead of these two letters', (rest) => "ca" + rest),
  suffix("ac", 'write "cb" instead of these two letters', (rest) => rest + "cb"),
  prefix("bc", 'delete these two letters and add "aa" at the end', (rest) => rest + "aa"),
  suffix("bb", "delete these two letters", (rest) => rest),
  prefix(
    "cb",
    'write "aa" instead of these two letters and then delete the last letter of the string',
    (rest) => ("aa" + rest).slice(0, -1),
  ),
  prefix(
    "ca",
    'write "bb" instead of these two letters and add "c" at the end',
    (rest) => `bb${rest}c`,
  ),
  suffix(
    "cc",
    'write "b" instead of these two letters and put "a" in front of the string',
    (rest) => `a${rest}b`,
  ),
  prefix("aa", "delete the first letter", (rest) => "a" + rest),
  first("abc", "cab"),
  first("bca", ""),
  suffix("ba", 'write "ab" instead of these two letters', (rest) => rest + "ab"),
  prefix("cc", "delete these two letters", (rest) => rest),
  first("acb", "bca"),
  suffix("ca", "delete the last letter", (rest) => rest + "c"),
  prefix("bb", "delete the second letter", (rest) => "b" + rest),
  suffix("aa", 'write "cc" instead of these two letters', (rest) => rest + "cc"),
  {
    text: 'If "ca" occurs in the string somewhere behind its first letter, delete the first such ' +
      "occurrence.",
    apply: (s) => {
      const at = s.indexOf("ca", 1);
      return at < 0 ? null : s.slice(0, at) + s.slice(at + 2);
    },
  },
  {
    text: 'If the number of "b" in the string is even and not zero, add "ab" at the end.',
    apply: (s) => {
      const count = s.split("b").length - 1;
      return count > 0 && count % 2 === 0 ? s + "ab" : null;
    },
  },
  {
    text:
      "If the string has more than 15 letters, delete its middle letter (of an even number of " +
      "letters, the right one of the two in the middle).",
    apply: (s) => {
      const middle = s.length >> 1;
      return s.length > 15 ? s.slice(0, middle) + s.slice(middle + 1) : null;
    },
  },
  prefix("ac", 'write "zz" instead of these two letters', (rest) => "zz" + rest),
];

export default defineTask({
  description: "Rewrite a string by ordered rules until it comes to rest.",
  scoring:
    "1 when equal; else the share of the answer's length that the right string has in it when it " +
    "occurs there; else 0. When the right string is empty, a blank answer is worth 1.",
  params: {
    string_length: counts([5, 20], "letters of the string", { min: 5, spans: [10, 50, 100, 500] }),
    num_rules: counts([3, 8], "rules", { min: 3, max: RULES.length, spans: [3, 5, 10, 15, 20] }),
  },
  acceptsBlank: true,
  generate(random, config) {
    const length = random.int(config.min_string_length, config.max_string_length);
    const count = random.int(config.min_num_rules, config.max_num_rules);
    const [rules, states] = drawHistory(random, length, count);
    const solution = states.at(-1)!;
    const texts = rules.map((rule) => rule.text);
    return {
      question: `Rewrite this string step by step: ${states[0]}\n` +
        "Each step applies the first of these rules that can be applied, once:\n" +
        texts.map((text, i) => `${i + 1}. ${text}\n`).join("") +
        "Stop when no rule can be applied. Stop also when a step would give a string that has " +
        "occurred before; that step is then not taken. Answer with the string at the end (with " +
        "nothing when no letter is left).",
      answer: solution,
      metadata: {
        string: states[0],
        solution,
        states,
        selected_rules: texts,
        string_length: length,
        num_rules: count,
      },
    };
  },
  score: defaultScore,
});

/** Draws rules in random order, and the states through which they lead a random string. */
function drawHistory(random: RandomStream, length: number, count: number): [Rule[], string[]] {
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const rules = random.sample(RULES, count);
    let string = "";
    for (let i = 0; i < length; i++) string += "abc"[random.below(3)]!;
    const states = history(string, rules);
    if (states !== null) return [rules, states];
  }
  throw new RgxError(
    `string_manipulation: ${MAX_DRAWS} strings of ${length} letters grow for ever`,
  );
}

/** The states from a string to its final state, or null when there are too many. */
function history(string: string, rules: readonly Rule[]): string[] | null {
  const states = [string], seen = new Set(states);
  const maximum = string.length + MAX_EXTRA_STEPS;
  while (states.length <= maximum) {
    const next = step(string, rules);
    if (next === null || seen.has(next)) return states;
    states.push(next);
    seen.add(next);
    string = next;
  }
  return null;
}

function step(string: string, rules: readonly Rule[]): string | null {
  for (const { apply } of rules) {
    const next = apply(string);
    if (next !== null) return next;
  }
  return null;
}
