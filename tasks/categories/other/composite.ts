/** Several tasks in one data set, drawn by weight; see `composite_parts.ts`. */
import { type CompositePart, CompositeParts } from "./composite_parts.ts";
import { defineTask, type Param } from "../../define.ts";
import type { ParamValue } from "../../../core/named_params.ts";

const datasets: Param<ParamValue> = {
  type: "any",
  default: null,
  nullable: true,
  description: "list of {name, weight, config}: the tasks, their shares and their parameters",
};

export default defineTask({
  description: "Entries of several tasks, drawn by weight.",
  scoring: "By the rule of the task that an entry comes from (metadata.source_dataset).",
  params: { datasets },
  example: { datasets: [{ name: "chain_sum", weight: 2 }, { name: "leg_counting", weight: 1 }] },
  validate: ({ datasets }) => partErrors(datasets),
  generate: () => {
    throw new Error("a composite has entries of its parts");
  },
  open({ datasets }, options) {
    const parts = new CompositeParts(readParts(datasets), options);
    return (index) => parts.entry(index);
  },
  // The entry names the task that it comes from, and the rule of that task is used instead.
  score: () => 0,
});

function readParts(datasets: ParamValue): CompositePart[] {
  return (datasets as Partial<CompositePart>[]).map(({ name, weight = 1, config = {} }) => ({
    name: name!,
    weight,
    config,
  }));
}

/** Checks the form of the list. The tasks check their own parameters when they are made. */
function partErrors(datasets: ParamValue): string[] {
  if (!Array.isArray(datasets) || datasets.length === 0) {
    return [
      "datasets: a list of {name, weight, config} with at least one task is needed, found " +
      JSON.stringify(datasets),
    ];
  }
  const errors: string[] = [], names = new Set<unknown>();
  datasets.forEach((part, i) => {
    const at = `datasets: [${i}]`;
    if (typeof part !== "object" || part === null || Array.isArray(part)) {
      errors.push(`${at}: expected {name, weight, config}, found ${JSON.stringify(part)}`);
      return;
    }
    const { name, weight = 1, config = {}, ...rest } = part;
    if (typeof name !== "string") {
      errors.push(`${at}.name: expected a task's name, found ${JSON.stringify(name)}`);
    } else if (name === "composite") {
      errors.push(`${at}.name: a composite can not hold another one`);
    } else if (names.has(name)) errors.push(`${at}.name: "${name}" is there twice`);
    names.add(name);
    if (!(typeof weight === "number" && weight > 0 && Number.isFinite(weight))) {
      errors.push(`${at}.weight: expected a number above 0, found ${JSON.stringify(weight)}`);
    }
    if (typeof config !== "object" || config === null || Array.isArray(config)) {
      errors.push(`${at}.config: expected the task's parameters, found ${JSON.stringify(config)}`);
    }
    for (const key of Object.keys(rest)) {
      errors.push(`${at}.${key}: not a key of a part (name, weight, config)`);
    }
  });
  return errors;
}
