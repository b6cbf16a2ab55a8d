/** All word problem templates. A new one is a function in one of these files (or in a new one, listed here). */
import { groups } from "./groups.ts";
import { measures } from "./measures.ts";
import { money } from "./money.ts";
import { puzzles } from "./puzzles.ts";
import { rates } from "./rates.ts";
import type { Template } from "./template.ts";

export const templates: readonly Template[] = [
  ...money,
  ...rates,
  ...groups,
  ...measures,
  ...puzzles,
];
