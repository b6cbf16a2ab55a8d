/** The names that a task file may import from `@rgx/rgx`. */
export {
  bool as boolParam,
  defineTask,
  float as floatParam,
  int as intParam,
  intervals,
  levels,
  rangeAttribute,
  text as textParam,
  texts as textListParam,
} from "./define.ts";
// Files that were written for the first version have these names.
export { bool, float, int, text, texts } from "./define.ts";
export { decimalScore, defaultScore } from "./scoring_rules.ts";
