/**
 * The types of a configuration for a package, where types must be written out: run_config.ts with
 * each key of the schema, its type and its meaning as a comment. So the lint rule no-slow-types is
 * off here: the test of the package checks what is published.
 */
import * as schema from "../../configs/schema/schema.ts";
import type { Keys, SectionParts } from "../../configs/types/key_spec.ts";

/** The declarations of keys by their names in run_config.ts: `LORA["keys"]` and `LOOP_KEYS`. */
const DECLARED: Readonly<Record<string, Keys>> = {
  LOOP_KEYS: schema.LOOP_KEYS,
  ALGORITHM_KEYS: schema.ALGORITHM_KEYS,
  'LORA["keys"]': schema.LORA.keys,
  'ENVIRONMENTS["keys"]': schema.ENVIRONMENTS.keys,
};

/** Imports of the types that some keys name. */
const IMPORTS = `import type { TrackerName } from "../../core/tracker_names.ts";
import type { EnvironmentSection } from "../../rewards/environments/open_environments.ts";
import type { SchedulerKwargs } from "./schedule_types.ts";
import type { TaskSection } from "./task_types.ts";
`;

/** The text of configs/schema/run_config.ts with the types written out. */
export function writtenOut(source: string): string {
  const { lora: _, ...parts } = schema.PARTS;
  return source.replace(/\bValues<typeof ([\w[\]"]+)>/g, (_, name) => {
    const keys = DECLARED[name];
    if (keys === undefined) throw new Error(`${name} is none of ${Object.keys(DECLARED).join()}`);
    return literal(keys);
  }).replace(/^type Sections = .*;$/m, () => `interface Sections {\n${membersOf(parts)}}`)
    .replace(/^import type .* from "\.\/(\w+_keys|schema)\.ts";\n/gm, "")
    .replace(/^import type \{ PartValues.*\n/m, IMPORTS);
}

function membersOf(parts: SectionParts = {}): string {
  return Object.entries(parts).map(([name, part]) => {
    if (part === null) return "";
    const type = literal(part.keys, part.parts) + (part.isOptional ? " | null" : "");
    return member(name, part.about!, type);
  }).join("");
}

function literal(keys: Keys, parts?: SectionParts): string {
  const lines = Object.entries(keys).map(([name, { doc, type }]) => member(name, doc, type.ts));
  return `{\n${lines.join("")}${membersOf(parts)}}`;
}

function member(name: string, doc: string, type: string): string {
  // Names of keys and values stay as they are written.
  const begun = /^[a-z]+(-[a-z]+)*(?! =)([ ,;]|$)/.test(doc)
    ? doc[0]!.toUpperCase() + doc.slice(1)
    : doc;
  return `  /** ${begun.replaceAll("*/", "* /")}. */\n  ${name}: ${type};\n`;
}
