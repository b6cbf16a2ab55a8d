/**
 * All built-in tasks by category. A new task needs its own file and one line in the `mod.ts` of its
 * category, which is the task's name.
 */
import type { Task } from "./types.ts";
import * as algebra from "./categories/algebra/mod.ts";
import * as algorithmic from "./categories/algorithmic/mod.ts";
import * as arc from "./categories/arc/mod.ts";
import * as arithmetic from "./categories/arithmetic/mod.ts";
import * as code from "./categories/code/mod.ts";
import * as cognition from "./categories/cognition/mod.ts";
import * as games from "./categories/games/mod.ts";
import * as geometry from "./categories/geometry/mod.ts";
import * as graphs from "./categories/graphs/mod.ts";
import * as induction from "./categories/induction/mod.ts";
import * as logic from "./categories/logic/mod.ts";
import * as other from "./categories/other/mod.ts";
import * as probability from "./categories/probability/mod.ts";

/** The built-in tasks of each category by their names. */
const CATEGORIES: Record<string, Record<string, Task>> = {
  algebra,
  algorithmic,
  arc,
  arithmetic,
  code,
  cognition,
  games,
  geometry,
  graphs,
  induction,
  logic,
  other,
  probability,
};

/** All built-in tasks, with their names and categories. */
export const BUILT_IN: readonly Task[] = Object.entries(CATEGORIES).flatMap(([category, tasks]) =>
  Object.entries(tasks).map(([name, task]) => ({ ...task, name, category }))
);
