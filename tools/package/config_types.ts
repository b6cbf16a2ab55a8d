/**
 * The types of a configuration for a package, where types must be written out: run_config.ts with
 * each key of the schema, its type and its meaning as a comment. So the lint rule no-slow-types is
 * off here: the test of the package checks what is published.
 */
import * as schema from "../../configs/schema/schema.ts";
import type { Keys } from "../../configs/types/key_spec.ts";

/** The declarations of keys by their names in run_config.ts: `LORA["keys"]` and `LOOP_KEYS`. */
const SECTIONS = Object.fromEntries(
  Object.entries(schema).map(([name, found]): [string, Keys] =>
    name.endsWith("_KEYS")
      ? [name, found as Keys]
      : [`${name}["keys"]`, (found as { keys: Keys }).keys]
  ),
);

/** Imports of the types that some keys name. */
const IMPORTS = `import type { TrackerName } from "../../core/tracker_names.ts";
import type { EnvironmentSection } from "../../rewards/environments/open_environments.ts";
import type { SchedulerKwargs } from "./schedule_types.ts";
import type { TaskSection } from "./task_types.ts";
`;

/** The text of configs/schema/run_config.ts with the types written out. */
export function writtenOut(source: string): string {
  const names = Object.keys(SECTIONS);
  const found = source.replace(/\b(Values|On)<typeof ([\w[\]"]+)>/g, (_, kind, name) => {
    const keys = SECTIONS[name];
    if (keys === undefined) throw new Error(`${name} is none of ${names.join(", ")}`);
    return literal(keys, kind === "On");
  });
  return found.replace(/^import type .* from "\.\/\w+_keys\.ts";\n/gm, "")
    .replace(/^import type \{ Values \}.*\n/m, IMPORTS)
    .replace(/\/\*\* The values of a section without its switch.*\ntype On.*\n\n/, "");
}

function literal(keys: Keys, isOn: boolean): string {
  const lines = Object.entries(keys).filter(([name]) => !(isOn && name === "enabled"))
    .map(([name, { doc, type }]) => {
      // Names of keys and values stay as they are written.
      const begun = /^[a-z]+(-[a-z]+)*(?! =)([ ,;]|$)/.test(doc)
        ? doc[0]!.toUpperCase() + doc.slice(1)
        : doc;
      return `  /** ${begun.replaceAll("*/", "* /")}. */\n  ${name}: ${type.ts};\n`;
    });
  return `{\n${lines.join("")}}`;
}
