/** The overrides of a program, as the arguments that a command would get. */
import { UsageError } from "../../core/errors.ts";
import { SECTIONS } from "../schema/schema.ts";
import type { ConfigOverrides } from "../typed/config_object.ts";

/**
 * `{training: {max_steps: 5}}` → `["training.max_steps=5"]`. Sections are merged; any other value,
 * also a map or a list, replaces the one that is there.
 * @throws UsageError for a value that no YAML file can have
 */
export function overrideArguments(overrides: ConfigOverrides): string[] {
  const sections = new Set(SECTIONS.map(({ path }) => path));
  const collect = (values: object, prefix: string): string[] =>
    Object.entries(values).flatMap(([key, value]) => {
      if (value === undefined) return [];
      const path = prefix + key;
      if (sections.has(path) && isMap(value)) return collect(value, `${path}.`);
      const text = JSON.stringify(value);
      if (text !== undefined) return [`${path}=${text}`];
      throw new UsageError(`overrides: ${path} is a ${typeof value}`, {
        advice: "It may hold maps, lists, texts, numbers, true, false and null.",
      });
    });
  return collect(overrides, "");
}

function isMap(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
