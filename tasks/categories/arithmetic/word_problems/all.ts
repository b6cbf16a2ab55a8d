/**
 * All word problem templates. A new template goes into one of these files, or into a new file that
 * is listed here.
 */
import { counting } from "./counting.ts";
import { farm } from "./farm.ts";
import { groups } from "./groups.ts";
import { kitchen } from "./kitchen.ts";
import { measures } from "./measures.ts";
import { money } from "./money.ts";
import { puzzles } from "./puzzles.ts";
import { rates } from "./rates.ts";
import { school } from "./school.ts";
import { sport } from "./sport.ts";
import type { Template } from "./template.ts";
import { travel } from "./travel.ts";
import { work } from "./work.ts";

export const templates: readonly Template[] = [
  ...money,
  ...rates,
  ...groups,
  ...measures,
  ...puzzles,
  ...farm,
  ...school,
  ...sport,
  ...travel,
  ...kitchen,
  ...counting,
  ...work,
];
