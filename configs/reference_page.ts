/**
 * The reference of the configuration, a page of Markdown that is made from the schema:
 * `docs/configuration.md`.
 */
import { FOREIGN_SPELLINGS } from "./foreign/foreign_keys.ts";
import { GENERATION_KWARGS } from "./foreign/generation_kwargs.ts";
import { TRACKER_SWITCHES } from "./foreign/tracker_switches.ts";
import { code, table } from "./markdown.ts";
import { type AnySection, type KeySpec, REQUIRED } from "./types/key_spec.ts";
import { ALGORITHM_KEYS } from "./schema/algorithm_keys.ts";
import {
  CURRICULUM,
  CURRICULUM_SCHEDULE,
  DATA,
  EVAL,
  LOGGING,
  SFT,
  SHAPING,
} from "./schema/data_keys.ts";
import { GENERATION } from "./schema/generation_keys.ts";
import { HF_UPLOAD, HUB_KEYS } from "./schema/hub_keys.ts";
import { LOOP_KEYS } from "./schema/loop_keys.ts";
import { INIT, LORA, MODEL, TOKENIZER } from "./schema/model_keys.ts";
import { SAMPLING_KEYS } from "./schema/sampling_keys.ts";
import { SLURM } from "./schema/slurm_keys.ts";

type Keys = AnySection["keys"];

const training = (keys: Keys): AnySection => ({ path: "training", flat: true, keys });

const top = (...keys: Keys[]): AnySection => ({ ...SHAPING, keys: Object.assign({}, ...keys) });

const PARTS: [title: string, text: string, section: AnySection][] = [
  ["Model: `model`", "", MODEL],
  [
    "A model made from a seed: `model.init`",
    "Instead of model_name_or_path. Not flat: the keys stand in `model.init`.",
    INIT,
  ],
  ["Its tokenizer: `model.init.tokenizer`", "", TOKENIZER],
  [
    "Adapter: `lora`",
    "A section `lora` (or `use_peft: true`) trains an adapter; without it all of the model is " +
    "trained.",
    LORA,
  ],
  [
    "Problems: `data`",
    "Several tasks in one run are a list of `{task_name, weight, config}` in `tasks` (or a map " +
    "of names to `{weight, config}`): each entry comes from one of them, drawn by weight, and " +
    "metrics are given for each task beside those of all.",
    DATA,
  ],
  [
    "Levels of difficulty: `curriculum`",
    "Not flat. After each step a task's levels go up when the mean of its last `last_k` scores " +
    "(of the task, partial credit included) is above `success_threshold`, down when it is below" +
    " `failure_threshold`; then its scores are forgotten. Up: all attributes go to one above " +
    "the highest present level, or to their top. Down: those at the highest level go down by " +
    "one. The next generated completions are of the new level. A level whose prompts do not fit" +
    " beside their completions is not taken. Held-out problems stay at the starting levels, so " +
    "that evaluations of one run can be compared. Parameters that no attribute sets are those " +
    "of `data`.",
    CURRICULUM,
  ],
  ["Its schedule: `curriculum.schedule`", "", CURRICULUM_SCHEDULE],
  [
    "Rewards and what stands at the top",
    "A reward is a name, or a map of its name, its weight (1) and its own parameters.",
    top(SHAPING.keys, TRACKER_SWITCHES.translated),
  ],
  [
    "Supervised warm start: `sft`",
    "Not flat. Without the section there is none.",
    SFT,
  ],
  ["Evaluation before and after: `eval`", "Not flat.", EVAL],
  ["Loop: `training`", "", training(LOOP_KEYS)],
  ["Sampling: `training`", "", training(SAMPLING_KEYS)],
  ["Algorithm: `training`", "", training(ALGORITHM_KEYS)],
  [
    "Where completions are sampled: `generation`",
    "Not flat. [rollouts.md](rollouts.md) shows it.",
    GENERATION,
  ],
  ["Names: `logging`", "", LOGGING],
  ["Uploads while it trains: `training`", "[upload.md](upload.md) shows it.", training(HUB_KEYS)],
  [
    "Upload after the run: `hf_upload`",
    "Not flat. Without the section, or without `enabled`, nothing is uploaded by it.",
    HF_UPLOAD,
  ],
  [
    "Job on a cluster: `slurm`",
    "Not flat. The defaults of the flags of `rgx slurm` ([cluster.md](cluster.md)), where a flag " +
    "wins. Training reads none of it.",
    SLURM,
  ],
];

const HEAD = `# Configuration

    rgx config show quickstart                      # every key, its value, and where that is from
    rgx config check my.yaml training.seed=7        # what is wrong or has no effect

Generated from the schema by \`deno task docs:config\`; a test holds that it is current. Names and
defaults are those of TRL 1.16 (GRPOConfig), transformers 5.23 (TrainingArguments) and PEFT 0.21
(LoraConfig).

A key can be written flat (\`learning_rate: 1e-6\`), in its section
(\`training: {learning_rate: 1e-6}\`), or on the command line (\`training.learning_rate=1e-6\`,
\`learning_rate=1e-6\`, \`--learning-rate 1e-6\`). A flat \`seed\` is training.seed. What is wrong is
reported with file, line and column, all of it at once, before anything starts.

\`_base_\` names a file or a list of them, relative to the file that names them, or embedded ones
(\`rgx:base.yaml\`). Maps are merged key by key, lists and single values replaced;
\`_delete_: true\` in a map takes away what it would inherit, \`key: null\` sets null.
\`\${training.seed}\` is the value of another key, \`\${oc.env:NAME,default}\` that of an environment
variable (a map \`env\` at the top sets some), \`{{ fileBasenameNoExtension }}\` the name of the file.
Later ones win: bases, the file, variables such as \`RGX_TRAINING__MAX_STEPS=5\`, the command line;
there \`~a.b\` takes a key away and \`a.0.b=v\` is one of a list.

What becomes of the keys of verl, TRL, transformers, PEFT and reasoning-gym that are not in these
tables is in [foreign_keys.md](foreign_keys.md).
`;

export function configurationReference(): string {
  const parts = PARTS.map(([title, text, section]) =>
    [`## ${title}`, text, keyTable(section)].filter((part) => part !== "").join("\n\n")
  );
  return [HEAD.trimEnd(), ...parts, kwargs()].join("\n\n") + "\n";
}

function keyTable(section: AnySection): string {
  const rows = Object.entries(section.keys).map(([name, spec]) => [
    code(name),
    spec.type.expected,
    showDefault(name, spec),
    spec.doc,
    [...spec.aliases, ...foreignSpellings(section, name)].map(code).join(", "),
  ]);
  return table(["key", "type", "default", "meaning", "other spellings"], rows);
}

/** Other trainers' spellings of a key. */
function foreignSpellings(section: AnySection, name: string): string[] {
  const path = section.path === "" ? name : `${section.path}.${name}`;
  return [...FOREIGN_SPELLINGS].filter(([, canonical]) => canonical === path)
    .map(([spelling]) => spelling);
}

function showDefault(name: string, spec: KeySpec): string {
  if (spec.default === REQUIRED) {
    if (name === "output_dir") return "`./experiments/{run_name}`";
    return name === "run_name" ? "the file's name" : "required";
  }
  if (name === "num_key_value_heads") return "`num_attention_heads`";
  const value = typeof spec.default === "function" ? spec.default({}) : spec.default;
  if (name === "alphabet") return "printable ASCII and the line break";
  return value === null ? "null" : code(typeof value === "string" ? value : JSON.stringify(value));
}

function kwargs(): string {
  const rows = [...GENERATION_KWARGS].map(([name, key]) => [code(name), code(`training.${key}`)]);
  return "## Names in `generation_kwargs`\n\n" + table(["name", "overrides"], rows);
}
