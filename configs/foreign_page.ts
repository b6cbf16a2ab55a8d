/**
 * The table of the keys of other projects, a page of Markdown that is made from the lists in
 * `configs/foreign/`: `docs/foreign_keys.md`.
 */
import { AXOLOTL_AS_WRITTEN } from "./foreign/axolotl/axolotl.ts";
import { OPEN_R1 } from "./foreign/open_r1.ts";
import { OPENRLHF } from "./foreign/openrlhf/openrlhf.ts";
import { PEFT } from "./foreign/peft.ts";
import { REASONING_GYM } from "./foreign/reasoning_gym.ts";
import type { ForeignTable, ListedKey } from "./foreign/table.ts";
import { TRACKER_SWITCHES } from "./foreign/tracker_switches.ts";
import { TRANSFORMERS } from "./foreign/transformers.ts";
import { TRL } from "./foreign/trl.ts";
import { UNSLOTH } from "./foreign/unsloth.ts";
import { VERL } from "./foreign/verl/verl.ts";
import { code, table } from "./markdown.ts";

const HEAD = `# Keys of other projects

    rgx config check grpo.yaml     # which keys of this file are refused, or have no effect

Generated from \`configs/foreign/\` by \`deno task docs:config\`; a test holds that it is current.
[coming_from.md](coming_from.md) has examples, commands and the most used keys.

Every key of verl (main of 2026-08-22 and its releases since 0.2), TRL 1.16 (GRPOConfig,
ModelConfig, ScriptArguments, SFTConfig), transformers 5.23 (TrainingArguments), PEFT 0.21
(LoraConfig), of open-r1's recipes, of Axolotl with rl: grpo, the arguments of Unsloth, the flags of
OpenRLHF, and of reasoning-gym's training configurations is in one of these lists:

- **obeyed**: it sets a key of rgx, which [configuration.md](configuration.md) explains. Keys of
  the same name as rgx's stand there alone.
- **refused**: at the values named, and at null, it changes nothing and is taken in silence. Any
  other value ends with exit code 2, with its line and with what to write instead.
- **noted**: at the values named, and at null, it is taken in silence, at any other with a note
  that says what rgx does instead. It changes no result.
- **no effect**: it says how another program does its work, not what comes out. A note names it.
- **acts only with**: it does nothing while another key is off, in its own project too. It is taken
  in silence.

\`*\` is all that stands in a section and in no other list. A key that is in no list, or one letter
away from one that is, is a typo, and is refused with the nearest name. \`rgx config check FILE\`
says all of it; \`rgx config show FILE\` shows every key of rgx with its value, the line that it
comes from, and the key that stood there. \`rgx train FILE a.b=c +a.b=c ~a.b\` takes the keys of all
projects too, as Hydra does.
`;

const PROJECTS: readonly [title: string, keys: ForeignTable][] = [
  ["verl", VERL],
  ["TRL", TRL],
  ["transformers", TRANSFORMERS],
  ["PEFT", PEFT],
  ["open-r1", OPEN_R1],
  ["Axolotl", AXOLOTL_AS_WRITTEN],
  ["Unsloth", UNSLOTH],
  ["OpenRLHF", OPENRLHF],
  ["reasoning-gym and its scripts", {
    ...REASONING_GYM,
    translated: { ...TRACKER_SWITCHES.translated, ...REASONING_GYM.translated },
  }],
];

/** The page. */
export function foreignKeysPage(): string {
  return [HEAD.trimEnd(), ...PROJECTS.flatMap(([title, keys]) => project(title, keys))]
    .join("\n\n") + "\n";
}

function project(title: string, keys: ForeignTable): string[] {
  const parts: [heading: string, head: string[], rows: string[][]][] = [
    ["obeyed", ["key", "in rgx"], obeyed(keys)],
    ["refused", ["key", "taken values", "instead, or why not"], refused(keys, false)],
    ["noted", ["key", "taken in silence", "instead, or why not"], refused(keys, true)],
    ["no effect", ["section", "keys", "why"], grouped(keys, "no effect")],
    ["acts only with", ["section", "keys", "with"], grouped(keys, "acts with")],
  ];
  return [
    `## ${title}`,
    ...parts.filter(([, , rows]) => rows.length > 0)
      .flatMap(([heading, head, rows]) => [`### ${title}: ${heading}`, table(head, rows)]),
  ];
}

function obeyed(keys: ForeignTable): string[][] {
  const translated = Object.entries(keys.translated).map(([name, { doc, aliases }]) => [
    [name, ...aliases].map(code).join(", "),
    doc.replace(/^(verl|reasoning-gym|open-r1|Axolotl|Unsloth|OpenRLHF): /, ""),
  ]);
  return [
    ...Object.entries(keys.obeyed).map(([name, canonical]) => [code(name), code(canonical)]),
    ...translated,
  ].sort(([a], [b]) => a! < b! ? -1 : 1);
}

function listedAs({ listed }: ForeignTable, kind: ListedKey["kind"]): [string, ListedKey][] {
  return Object.entries(listed).filter(([, key]) => key.kind === kind);
}

/** The keys of which some values are refused, or those of which none is. */
function refused(keys: ForeignTable, isAnyTaken: boolean): string[][] {
  const text = (key: ListedKey) => [
    key.neutral.map((value) => code(typeof value === "string" ? value : JSON.stringify(value)))
      .join(", "),
    key.why,
  ];
  const byText = new Map<string, { names: string[]; cells: string[] }>();
  for (const [name, key] of listedAs(keys, "refused")) {
    if ((key.noted === "any") !== isAnyTaken) continue;
    const cells = text(key), id = `${cells.join("|")}|${name.split(".").at(-1)}`;
    const row = byText.get(id) ?? { names: [], cells };
    byText.set(id, row);
    row.names.push(name);
  }
  return [...byText.values()].map(({ names, cells }) => [names.map(code).join(", "), ...cells]);
}

/** One row for the keys of a section that have one reason; sections with the same keys share it. */
function grouped(keys: ForeignTable, kind: ListedKey["kind"]): string[][] {
  const sections = new Map<string, { section: string; why: string; names: string[] }>();
  for (const [path, { why }] of listedAs(keys, kind)) {
    const at = path.lastIndexOf("."), section = path.slice(0, Math.max(0, at));
    const row = sections.get(`${section}|${why}`) ?? { section, why, names: [] };
    sections.set(`${section}|${why}`, row);
    row.names.push(path.slice(at + 1));
  }
  const rows = new Map<string, { sections: string[]; why: string; names: string }>();
  for (const { section, why, names } of sections.values()) {
    const shown = names.map(code).join(", "), id = `${shown}|${why}`;
    const row = rows.get(id) ?? { sections: [], why, names: shown };
    rows.set(id, row);
    row.sections.push(section === "" ? "the top" : code(section));
  }
  return [...rows.values()].map(({ sections, why, names }) => [sections.join(", "), names, why]);
}
