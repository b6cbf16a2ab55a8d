/**
 * What `rgx sft` and `rgx dpo` read of a configuration. A key without a section that GRPO has too
 * means the one of their own section, as for `trl sft` and `trl dpo`:
 *
 *     rgx sft my.yaml --learning-rate 1e-4      sets sft.learning_rate
 *     rgx dpo my.yaml --beta 0.2                sets dpo.beta
 *
 * The keys of the loop of a run on preferences are in the section `training`, as in TRL, and it
 * runs as supervised training. Keys that only GRPO needs have no effect; one note names them.
 */
import { type MapEntry, type MapNode, nodeAt, type Problems, withEntry } from "./documents/node.ts";
import { meaningOf } from "./reading/key_names.ts";
import type { Override } from "./reading/overrides.ts";
import { ALGORITHM_KEYS } from "./schema/algorithm_keys.ts";
import { DPO, SFT } from "./schema/data_keys.ts";
import type { RunConfig } from "./schema/run_config.ts";
import { SAMPLING_KEYS } from "./schema/sampling_keys.ts";
import { defaultsOf } from "./types/key_spec.ts";

type Sft = NonNullable<RunConfig["sft"]>;

/** The runs with a section of their own. */
type Run = "sft" | "dpo";

const NAMES: Readonly<Record<Run, readonly string[]>> = {
  sft: Object.keys(SFT.keys),
  dpo: Object.keys(DPO.keys),
};

/** Arguments without a section, such as `--max-steps 10`, as keys of the run's section. */
export function overridesOf(run: Run, overrides: readonly Override[]): Override[] {
  return overrides.map((override) => {
    const { key } = override, meaning = key.includes(".") ? null : meaningOf(key);
    const [, name] = /^training\.(.*)/.exec(meaning?.kind === "key" ? meaning.path : "") ?? [];
    return NAMES[run].includes(name ?? "") ? { ...override, key: `${run}.${name}` } : override;
  });
}

/**
 * The tree with the keys that are written without a section in the section of the run.
 * @param isTaken whether an entry moves
 * @param note called for each that has moved
 */
function withMoved(
  tree: MapNode,
  run: Run,
  isTaken: (entry: MapEntry) => boolean,
  note: (name: string, entry: MapEntry) => void,
): MapNode {
  const training = nodeAt(tree, "training"), there = nodeAt(tree, [run]);
  if (training?.kind !== "map" || (there !== undefined && there.kind !== "map")) return tree;
  const entries = new Map(there?.entries), kept = new Map(training.entries);
  for (const name of NAMES[run]) {
    const entry = training.entries.get(name);
    if (entry?.isFlat !== true || !isTaken(entry)) continue;
    kept.delete(name);
    if (entries.has(name)) continue;
    entries.set(name, entry);
    note(name, entry);
  }
  if (entries.size === 0) return tree;
  const moved = withEntry(tree, "training", { ...training, entries: kept });
  return withEntry(moved, run, { kind: "map", at: there?.at ?? training.at, entries });
}

/**
 * Gives a file without a section `sft` one: the keys that the file has without a section, where
 * `sft` has such keys. A note names them.
 */
export function withSupervisedKeys(tree: MapNode, problems: Problems): MapNode {
  const sft = nodeAt(tree, "sft");
  // A section `sft` that comes only from arguments does not change the meaning of a file's keys.
  const isOfFile = ({ node }: MapEntry) => node.at.source.directory !== null;
  if (sft?.kind === "map" && [...sft.entries.values()].some(isOfFile)) return tree;
  return withMoved(tree, "sft", isOfFile, (name, { keyAt }) => {
    const text = "read as keys of sft, because rgx sft runs and the file has no such section";
    problems.noteTogether(keyAt, name, text);
  });
}

/** Moves the keys of TRL's DPOConfig that a file has without a section into `dpo`. */
export function withPreferenceKeys(tree: MapNode): MapNode {
  return withMoved(tree, "dpo", () => true, () => {});
}

/** Sections and keys that a run on preferences does not read. */
const UNUSED: readonly string[] = [
  "rewards",
  "curriculum",
  "sft",
  "eval.temperature",
  "eval.batch_size",
  "generation",
  "teacher",
  ...Object.keys({ ...ALGORITHM_KEYS, ...SAMPLING_KEYS })
    .filter((name) => !["disable_dropout", "max_prompt_length", "truncate_prompts"].includes(name))
    .map((name) => `training.${name}`),
];

/** Notes the written keys that have no effect, in one line. */
export function noteUnused(tree: MapNode, problems: Problems): void {
  const written = UNUSED.filter((path) => nodeAt(tree, path) !== undefined);
  if (written.length === 0) return;
  const names = written.map((path) => path.replace("training.", ""));
  problems.notes.push(`rgx dpo does not read keys of GRPO: ${names.join(", ")}`);
}

/** The configuration as the trainer of a run on preferences takes it. */
export function preferenceConfig(config: RunConfig): RunConfig {
  const { training } = config;
  const sft = { ...defaultsOf(SFT), ...training };
  const loop = Object.fromEntries(NAMES.sft.map((name) => [name, sft[name as keyof Sft]])) as Sft;
  return {
    ...config,
    dpo: config.dpo ?? defaultsOf(DPO),
    // The number of steps may follow from the epochs (`run_sizes.ts`). Any positive number here
    // switches the phase on.
    sft: { ...loop, max_steps: Math.max(1, training.max_steps) },
    rewards: [],
    teacher: null,
    curriculum: null,
    training: { ...training, sync_ref_model: false },
  };
}
