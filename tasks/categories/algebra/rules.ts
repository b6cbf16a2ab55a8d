/** Parameters that several algebra tasks share: weights of operators. */
import type { Param } from "../../define.ts";

export function weights(value: number[], description: string): Param<number[]> {
  return { type: "float[]", default: value, description, min: 0 };
}

/** Returns the violated rules: one weight for each choice, and a sum of 1 (to one decimal). */
export function weightErrors(
  field: string,
  weights: readonly number[],
  choices: string[],
): string[] {
  if (weights.length !== choices.length) {
    return [
      `${field}: must have one weight for each of ${choices.join(" ")}, found ${weights.length} ` +
      `for ${choices.length}`,
    ];
  }
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return Math.abs(sum - 1) < 0.05 ? [] : [`${field}: must sum to 1, found ${sum}`];
}

export function mustNotBeEmpty(field: string, list: readonly string[]): string[] {
  return list.length > 0 ? [] : [`${field}: must name at least one, found an empty list`];
}
