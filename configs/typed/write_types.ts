/**
 * The types of a configuration object, made from the schema: each key with its meaning, so that
 * editors complete and explain it. `deno task docs:config` writes them to `sections.ts` and
 * `training_keys.ts` in this folder.
 */
import { type AnySection, type KeySpec, REQUIRED } from "../types/key_spec.ts";
import { CURRICULUM, CURRICULUM_SCHEDULE, DATA, EVAL, LOGGING, SFT } from "../schema/data_keys.ts";
import { SHAPING } from "../schema/data_keys.ts";
import { GENERATION } from "../schema/generation_keys.ts";
import { HF_UPLOAD } from "../schema/hub_keys.ts";
import { INIT, LORA, MODEL, TOKENIZER } from "../schema/model_keys.ts";
import { SLURM } from "../schema/slurm_keys.ts";
import { TRAINING } from "../schema/schema.ts";

/** An interface: its name, what it describes, its keys, and the type that has their types. */
interface Interface {
  name: string;
  about: string;
  section: AnySection;
  type: string;
  /** Keys that are no keys of the section: name → type and meaning. */
  more?: Record<string, [type: string, doc: string]>;
}

/** Keys whose values can be written in more ways than the checked configuration has. */
const TYPES: Readonly<Record<string, string>> = {
  "lora.enabled": "boolean",
  "lora.init_lora_weights": 'boolean | "true" | "false" | "gaussian"',
  "data.tasks": "TaskItems | null",
  "curriculum.enabled": "boolean",
  "curriculum.curricula": "Curricula",
  "generation.base_url": "string | string[] | null",
  "training.stop": "string | string[]",
  "logging.report_to": "Trackers",
};

/** The type of a section, which may be null. */
const of = (section: string) => `NonNullable<RunConfig["${section}"]>`;

const SECTION_INTERFACES: Interface[] = [
  {
    name: "TokenizerKeys",
    about: "The tokenizer of a model that is made from a seed: `model.init.tokenizer`.",
    section: TOKENIZER,
    type: 'ModelInit["tokenizer"]',
  },
  {
    name: "InitKeys",
    about: "A model that is made from a seed: `model.init`.",
    section: INIT,
    type: "ModelInit",
    more: { tokenizer: ["TokenizerKeys", "its tokenizer"] },
  },
  {
    name: "ModelKeys",
    about: "The model: `model`.",
    section: MODEL,
    type: 'RunConfig["model"]',
    more: {
      max_seq_length: ["number | null", shaping("model.max_seq_length")],
      init: ["InitKeys | null", "a model that is made from a seed, instead of one by name"],
    },
  },
  { name: "LoraKeys", about: "The adapter: `lora`.", section: LORA, type: of("lora") },
  { name: "DataKeys", about: "The problems: `data`.", section: DATA, type: 'RunConfig["data"]' },
  {
    name: "CurriculumScheduleKeys",
    about: "When levels rise by themselves: `curriculum.schedule`.",
    section: CURRICULUM_SCHEDULE,
    type: 'CurriculumSection["schedule"]',
  },
  {
    name: "CurriculumKeys",
    about: "Levels of difficulty that follow the results: `curriculum`.",
    section: CURRICULUM,
    type: of("curriculum"),
    more: { schedule: ["CurriculumScheduleKeys", "levels that rise by themselves"] },
  },
  {
    name: "SftKeys",
    about: "Supervised training before GRPO: `sft`.",
    section: SFT,
    type: of("sft"),
  },
  {
    name: "EvalKeys",
    about: "The evaluation before and after training: `eval`.",
    section: EVAL,
    type: 'RunConfig["eval"]',
  },
  {
    name: "GenerationKeys",
    about: "Who samples the completions of training: `generation`.",
    section: GENERATION,
    type: 'RunConfig["generation"]',
  },
  {
    name: "LoggingKeys",
    about: "Names and trackers: `logging`.",
    section: LOGGING,
    type: 'RunConfig["logging"]',
  },
  {
    name: "HfUploadKeys",
    about: "The upload after the run: `hf_upload`.",
    section: HF_UPLOAD,
    type: of("hf_upload"),
  },
  {
    name: "SlurmKeys",
    about: "The job of `rgx slurm`: `slurm`.",
    section: SLURM,
    type: of("slurm"),
  },
];

const TRAINING_INTERFACE: Interface = {
  name: "TrainingKeys",
  about: "The training loop, sampling and GRPO: `training`.",
  section: TRAINING,
  type: "Training",
  more: {
    reward_weights: ["number[] | null", shaping("training.reward_weights")],
    generation_kwargs: ["Record<string, unknown>", shaping("training.generation_kwargs")],
  },
};

function shaping(key: keyof typeof SHAPING.keys): string {
  return SHAPING.keys[key].doc;
}

/** The text of each generated file, by name. */
export function typeFiles(): Map<string, string> {
  const head = (what: string) =>
    comment(`${what} Written by deno task docs:config from the schema; do not edit it.`, "");
  const run = 'from "../schema/run_config.ts";\n';
  return new Map([
    [
      "training_keys.ts",
      head("The keys of section `training`.") + `import type { RunConfig } ${run}\n` +
      "/** The section `training` of a configuration that was read. */\n" +
      'export type Training = RunConfig["training"];\n\n' +
      interfaceText(TRAINING_INTERFACE),
    ],
    [
      "sections.ts",
      head("The keys of all sections but `training`.") +
      `import type { RunConfig } ${run}` +
      'import type { CurriculumSection } from "../schema/sections/data.ts";\n' +
      'import type { ModelInit } from "../schema/sections/model.ts";\n' +
      'import type { Curricula, TaskItems, Trackers } from "./items.ts";\n\n' +
      SECTION_INTERFACES.map(interfaceText).join("\n"),
    ],
  ]);
}

function interfaceText({ name, about, section, type, more = {} }: Interface): string {
  const keys = Object.entries(section.keys).map(([key, spec]) => {
    const own = TYPES[`${section.path}.${key}`] ?? `${type}["${key}"]`;
    return `${comment(meaning(key, spec), "  ")}  ${key}?: ${own};\n`;
  });
  const others = Object.entries(more).map(([key, [type, doc]]) =>
    `${comment(sentence(doc), "  ")}  ${key}?: ${type};\n`
  );
  return `${comment(about, "")}export interface ${name} {\n${[...keys, ...others].join("")}}\n`;
}

/** What a key means, what it takes and its default. */
function meaning(name: string, { doc, default: fallback, type }: KeySpec): string {
  const value = name === "num_key_value_heads"
    ? "num_attention_heads"
    : typeof fallback === "function"
    ? fallback({})
    : fallback;
  const shown = value === REQUIRED || name === "alphabet"
    ? ""
    : `; default ${typeof value === "string" ? value : JSON.stringify(value)}`;
  return `${sentence(doc)} Expected: ${type.expected}${shown}.`;
}

/** A meaning as a sentence. */
export function sentence(text: string): string {
  // Names of keys and values stay as they are written.
  const begun = /^[a-z]+(-[a-z]+)*(?! =)([ ,;]|$)/.test(text)
    ? text[0]!.toUpperCase() + text.slice(1)
    : text;
  return /[.)]$/.test(begun) && begun.endsWith(".") ? begun : `${begun}.`;
}

/** A documentation comment of at most 100 columns. */
export function comment(text: string, indent: string): string {
  const safe = text.replaceAll("*/", "* /").replaceAll("\n", " ");
  if (indent.length + safe.length + 8 <= 100) return `${indent}/** ${safe} */\n`;
  const lines = [""];
  for (const word of safe.split(" ")) {
    const line = lines.at(-1)!, longer = line === "" ? word : `${line} ${word}`;
    if (indent.length + longer.length + 3 <= 100) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
}
