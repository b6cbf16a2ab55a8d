/** The rule of four arithmetic tasks that a range must not be empty, and its repair for levels. */
import type { ParamValue } from "../../../core/named_params.ts";

/** For `validate`: `upper` must be above `lower`. */
export function mustBeAbove(config: object, upper: string, lower: string): string[] {
  const { [upper]: high, [lower]: low } = config as Record<string, number>;
  return high! > low! ? [] : [`${upper}: must be above ${lower} = ${low}, found ${high}`];
}

/** For `clamp`: raises `upper` to `lower` + 1 unless it is above `lower`. */
export function raiseAbove(config: object, upper: string, lower: string): string[] {
  const values = config as Record<string, ParamValue>;
  const high = values[upper] as number, low = values[lower] as number;
  if (high > low) return [];
  values[upper] = low + 1;
  return [`${upper}: ${high} is not above ${lower}, ${low + 1} is used`];
}
