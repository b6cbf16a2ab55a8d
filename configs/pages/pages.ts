/**
 * The pages of docs/ about keys: configuration.md, foreign_keys.md and coming_from.md. Their texts
 * are the files of these names in this folder. A comment in a text, such as
 * `<!-- section: model -->`, stands for a table that is made from the schema or from the lists in
 * `configs/foreign/`.
 */
import { leaves } from "../dotted_keys.ts";
import { AXOLOTL, AXOLOTL_AS_WRITTEN } from "../foreign/axolotl/axolotl.ts";
import { FOREIGN_SPELLINGS, listingOf, TABLES, TRANSLATED_KEYS } from "../foreign/foreign_keys.ts";
import type { ForeignTable, ListedKey } from "../foreign/table.ts";
import { TRACKER_SWITCHES } from "../foreign/tracker_switches.ts";
import { loadConfig } from "../load.ts";
import { meaningOf } from "../reading/key_names.ts";
import { ALGORITHM_KEYS } from "../schema/algorithm_keys.ts";
import { SHAPING } from "../schema/data_keys.ts";
import { HUB_KEYS, LOOP_KEYS } from "../schema/loop_keys.ts";
import { ENVIRONMENTS } from "../schema/multi_turn_keys.ts";
import { SAMPLING_KEYS } from "../schema/sampling_keys.ts";
import { SECTIONS } from "../schema/schema.ts";
import { type Keys, type KeySpec, REQUIRED, type Section } from "../types/key_spec.ts";
import comingFrom from "./coming_from.md" with { type: "text" };
import configuration from "./configuration.md" with { type: "text" };
import foreignKeys from "./foreign_keys.md" with { type: "text" };

/** The pages by their names in docs/. @throws Error for a text with a comment that is not known */
export async function pages(): Promise<Map<string, string>> {
  const texts = [["configuration", configuration], ["foreign_keys", foreignKeys]] as const;
  const defaults = await verlDefaults();
  return new Map([...texts, ["coming_from", comingFrom] as const].map(([name, text]) => [
    `${name}.md`,
    text.replace(/<!-- (\w+)(?::\s+([^>]*?))?\s+-->/g, (whole, kind, of) => {
      if (kind === "defaults") return defaults;
      return PARTS[kind]?.(of) ?? whole;
    }),
  ]));
}

/** The table in the place of a comment, by the first word of the comment. */
const PARTS: Readonly<Record<string, (of: string) => string>> = {
  section: sectionTable,
  project: projectTables,
  keys: (names) => usedKeys(names.split(/\s+/)),
};

/** A table of Markdown. The cells may hold any text. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const escaped = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ");
  const line = (cells: readonly string[]) => `| ${cells.map(escaped).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function code(value: unknown): string {
  return "`" + (typeof value === "string" ? value : JSON.stringify(value)) + "`";
}

/** Keys that stand in a table of their own, although they are of a section with others. */
const GROUPS: Readonly<Record<string, { path: string; keys: Keys }>> = {
  "the top": { path: "", keys: { ...SHAPING.keys, ...TRACKER_SWITCHES.translated } },
  "environments": { path: "", keys: ENVIRONMENTS.keys },
  "training, loop": { path: "training", keys: LOOP_KEYS },
  "training, sampling": { path: "training", keys: SAMPLING_KEYS },
  "training, algorithm": { path: "training", keys: ALGORITHM_KEYS },
  "training, hub": { path: "training", keys: HUB_KEYS },
};

/** The keys of a section, by its path or the name of a group. */
function sectionTable(name: string): string {
  const section: Pick<Section, "path" | "keys"> = GROUPS[name] ??
    SECTIONS.find(({ path }) => path === name)!;
  const rows = Object.entries(section.keys).map(([key, spec]) => {
    const path = section.path === "" ? key : `${section.path}.${key}`;
    const foreign = [...FOREIGN_SPELLINGS].filter(([, canonical]) => canonical === path);
    return [
      code(key),
      spec.type.expected,
      showDefault(key, spec),
      spec.doc,
      [...spec.aliases, ...foreign.map(([spelling]) => spelling)].map(code).join(", "),
    ];
  });
  return table(["key", "type", "default", "meaning", "other spellings"], rows);
}

/** Defaults that are shown as a word in place of their value. */
const DEFAULTS_IN_WORDS: Readonly<Record<string, string>> = {
  output_dir: "`./experiments/{run_name}`",
  run_name: "the file's name",
  num_key_value_heads: "`num_attention_heads`",
  alphabet: "printable ASCII and the line break",
};

function showDefault(name: string, spec: KeySpec): string {
  if (DEFAULTS_IN_WORDS[name] !== undefined) return DEFAULTS_IN_WORDS[name];
  if (spec.default === REQUIRED) return "required";
  const value = typeof spec.default === "function" ? spec.default({}) : spec.default;
  return value === null ? "null" : code(value);
}

/** All keys of a project, in a table for each kind. */
function projectTables(project: string): string {
  const keys = TABLES.filter((one) => one.project === project)
    .map((one) => one === AXOLOTL ? AXOLOTL_AS_WRITTEN : one);
  const listed = keys.flatMap((one) => Object.entries(one.listed));
  const parts: [heading: string, head: string[], rows: string[][]][] = [
    ["obeyed", ["key", "in rgx"], keys.flatMap(obeyed).sort(([a], [b]) => a! < b! ? -1 : 1)],
    ["refused", ["key", "taken values", "instead, or why not"], refused(listed, false)],
    ["noted", ["key", "taken in silence", "instead, or why not"], refused(listed, true)],
    ["no effect", ["section", "keys", "why"], grouped(listed, "no effect")],
    ["acts only with", ["section", "keys", "with"], grouped(listed, "acts with")],
  ];
  const title = project === "reasoning-gym" ? "reasoning-gym and its scripts" : project;
  return parts.filter(([, , rows]) => rows.length > 0)
    .map(([heading, head, rows]) => `### ${title}: ${heading}\n\n${table(head, rows)}`).join(
      "\n\n",
    );
}

function obeyed(keys: ForeignTable): string[][] {
  const translated = Object.entries(keys.translated);
  return [
    ...Object.entries(keys.obeyed).map(([name, canonical]) => [code(name), code(canonical)]),
    ...translated.map(([name, { doc, aliases }]) => [[name, ...aliases].map(code).join(", "), doc]),
  ];
}

type Listed = readonly (readonly [name: string, key: ListedKey])[];

/** The keys with some refused values, or the keys without refused values. */
function refused(listed: Listed, isAnyTaken: boolean): string[][] {
  const found = listed.filter(([, { kind, noted }]) =>
    kind === "refused" && (noted === "any") === isAnyTaken
  );
  return joined(found, ([name, { neutral, why }]) => {
    const cells = [neutral.map(code).join(", "), why];
    return { id: [...cells, name.split(".").at(-1)].join("|"), cell: code(name), cells };
  }).map(({ cell, cells }) => [cell, ...cells]);
}

/** One row for the keys of a section that have one reason; sections with the same keys share it. */
function grouped(listed: Listed, kind: ListedKey["kind"]): string[][] {
  const sections = joined(listed.filter(([, key]) => key.kind === kind), ([path, { why }]) => {
    const at = path.lastIndexOf("."), section = path.slice(0, Math.max(0, at));
    return { id: `${section}|${why}`, cell: code(path.slice(at + 1)), cells: [section, why] };
  });
  return joined(sections, ({ cell: keys, cells: [section, why] }) => ({
    id: `${keys}|${why}`,
    cell: section === "" ? "the top" : code(section),
    cells: [keys, why!],
  })).map(({ cell, cells }) => [cell, ...cells]);
}

/** One row of a table: the cell in which rows of the same `id` are joined, and the others. */
interface Row {
  id: string;
  cell: string;
  cells: string[];
}

function joined<T>(items: readonly T[], rowOf: (item: T) => Row): Row[] {
  const rows = new Map<string, Row>();
  for (const item of items) {
    const row = rowOf(item), before = rows.get(row.id);
    if (before === undefined) rows.set(row.id, row);
    else before.cell += `, ${row.cell}`;
  }
  return [...rows.values()];
}

/** One row for the keys that have the same name in rgx, then one for each other key. */
function usedKeys(keys: readonly string[]): string {
  const isSame = (key: string) => meaningOf(key).kind === "key" && placeOf(key) === undefined;
  const same = keys.filter(isSame);
  return table(["key", "in rgx"], [
    ...(same.length === 0 ? [] : [[same.map(code).join(", "), "the same name"]]),
    ...keys.filter((key) => !isSame(key)).map((key) => [
      // A name that has another meaning elsewhere is in a section of its own.
      code(key.replace(/^(axolotl|openrlhf)\./, "")),
      placeOf(key)!,
    ]),
  ]);
}

/** The text about a foreign key; undefined for a key of rgx. @throws Error for an unknown key */
function placeOf(key: string): string | undefined {
  const translated = Object.entries(TRANSLATED_KEYS.keys)
    .find(([name, { aliases }]) => name === key || aliases.includes(key));
  if (translated !== undefined) return translated[1].doc;
  const spelt = FOREIGN_SPELLINGS.get(key);
  if (spelt !== undefined) return code(spelt);
  const listing = listingOf(key);
  if (listing !== undefined) {
    const { kind, why, noted, neutral } = listing;
    if (kind === "acts with") return `acts only with ${why}`;
    if (kind === "no effect" || noted === "any") return `no effect${why === "" ? "" : `: ${why}`}`;
    const taken = neutral.map((value) => value === "" ? code('""') : code(value)).join(", ");
    return `refused${taken === "" ? "" : ` unless ${taken}`}: ${why}`;
  }
  if (meaningOf(key).kind !== "key") throw new Error(`docs/coming_from.md: unknown key ${key}`);
  return undefined;
}

const MINIMAL = {
  model: "m",
  task: "chain_sum",
  rewards: ["correctness"],
};
/** A run of verl must say how many completions a prompt has, and that advantages are of groups. */
const VERL_RUN: object = {
  ...MINIMAL,
  _base_: "rgx:verl/ppo_trainer.yaml",
  algorithm: { adv_estimator: "grpo" },
  actor_rollout_ref: { rollout: { n: 8 } },
};
/** Sections whose values change what is learned. */
const LEARNING = /^(training|eval)\./;
/** Keys of places and of frequency, which change no result. */
const ORGANISING =
  /output_dir|resume|save_|eval_|logging_|per_device|accumulation|checkpointing|max_batches/;

/** The keys of rgx that verl's own defaults set to other values than rgx's. */
async function verlDefaults(): Promise<string> {
  const values = async (config: object) =>
    new Map(leaves((await loadConfig(config)).config).map(([key, value]) => [key, value]));
  const [rgx, verl] = [await values(MINIMAL), await values(VERL_RUN)];
  const rows = [...rgx].flatMap(([key, value]) => {
    const [here, there] = [value, verl.get(key)].map((one) => JSON.stringify(one));
    const isShown = LEARNING.test(key) && !ORGANISING.test(key) && here !== there;
    return isShown ? [[code(key), code(here!), code(there ?? "null")]] : [];
  });
  return table(["key of rgx", "rgx and TRL", "verl"], rows);
}
