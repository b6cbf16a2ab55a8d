/**
 * The types of a configuration for a package, where types must be written out: run_config.ts with
 * each key of the schema, its type and its meaning as a comment. So the lint rule no-slow-types is
 * off here: the test of the package checks what is published.
 */
import { ALGORITHM_KEYS } from "../../configs/schema/algorithm_keys.ts";
import {
  CURRICULUM,
  CURRICULUM_SCHEDULE,
  DATA,
  DPO,
  EVAL,
  LOGGING,
  SFT,
} from "../../configs/schema/data_keys.ts";
import { GENERATION } from "../../configs/schema/generation_keys.ts";
import { HF_UPLOAD, HUB_KEYS } from "../../configs/schema/hub_keys.ts";
import { LOOP_KEYS } from "../../configs/schema/loop_keys.ts";
import { INIT, LORA, MODEL, TOKENIZER } from "../../configs/schema/model_keys.ts";
import { SAMPLING_KEYS } from "../../configs/schema/sampling_keys.ts";
import { SLURM } from "../../configs/schema/slurm_keys.ts";
import type { Keys } from "../../configs/types/key_spec.ts";

/** The names of the declarations of keys, as run_config.ts has them. */
const SECTIONS: Readonly<Record<string, Keys>> = {
  ...Object.fromEntries(
    Object.entries({ INIT, LORA, MODEL, TOKENIZER, CURRICULUM, CURRICULUM_SCHEDULE, DATA, EVAL })
      .map(([name, { keys }]) => [`${name}["keys"]`, keys]),
  ),
  ...Object.fromEntries(
    Object.entries({ LOGGING, SFT, DPO, GENERATION, HF_UPLOAD, SLURM })
      .map(([name, { keys }]) => [`${name}["keys"]`, keys]),
  ),
  ALGORITHM_KEYS,
  HUB_KEYS,
  LOOP_KEYS,
  SAMPLING_KEYS,
};

/** Imports of what the types of some keys name. */
const IMPORTS = `import type { TrackerName } from "../../core/tracker_names.ts";
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
