/** What a task file may import from `@rgx/rgx`. */
export {
  bool,
  defineTask,
  float,
  int,
  intervals,
  levels,
  rangeAttribute,
  text,
  texts,
} from "./define.ts";
export { decimalScore, defaultScore } from "./scoring_rules.ts";
