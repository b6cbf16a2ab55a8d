/**
 * `rgx dpo`: the configuration of a run on preferences. The keys of its loop are in the section
 * `training`, as in TRL, and it runs as supervised training. Keys that only GRPO needs have no
 * effect; one note names them.
 *
 *     rgx dpo my.yaml --beta 0.2      sets dpo.beta, as in TRL's DPOConfig
 */
import { type MapNode, nodeAt, type Problems, withEntry } from "./documents/node.ts";
import type { Override } from "./reading/overrides.ts";
import { ALGORITHM_KEYS } from "./schema/algorithm_keys.ts";
import { DPO, SFT } from "./schema/data_keys.ts";
import type { RunConfig } from "./schema/run_config.ts";
import { SAMPLING_KEYS } from "./schema/sampling_keys.ts";
import { defaultsOf } from "./types/key_spec.ts";

const NAMES: readonly string[] = Object.keys(DPO.keys);
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

/** Arguments without a section, such as `--beta 0.2`, as keys of `dpo`. */
export function preferenceOverrides(overrides: readonly Override[]): Override[] {
  return overrides.map((override) => {
    const name = override.key.replace(/^-+/, "").replaceAll("-", "_");
    return NAMES.includes(name) ? { ...override, key: `dpo.${name}` } : override;
  });
}

/** Moves the keys of TRL's DPOConfig that a file has without a section into `dpo`. */
export function withPreferenceKeys(tree: MapNode): MapNode {
  const dpo = nodeAt(tree, ["dpo"]), training = nodeAt(tree, ["training"]);
  if (dpo !== undefined && dpo.kind !== "map") return tree;
  const entries = new Map(dpo?.entries);
  const kept = new Map(training?.kind === "map" ? training.entries : []);
  for (const name of NAMES) {
    const entry = kept.get(name);
    if (entry?.isFlat !== true) continue;
    kept.delete(name);
    if (!entries.has(name)) entries.set(name, entry);
  }
  const at = dpo?.at ?? tree.at;
  const moved = training?.kind === "map"
    ? withEntry(tree, "training", { ...training, entries: kept })
    : tree;
  return withEntry(moved, "dpo", { kind: "map", at, entries });
}

/** Notes the written keys that have no effect, in one line. */
export function noteUnused(tree: MapNode, problems: Problems): void {
  const written = UNUSED.filter((path) => nodeAt(tree, path.split(".")) !== undefined);
  if (written.length === 0) return;
  const names = written.map((path) => path.replace("training.", ""));
  problems.notes.push(`rgx dpo does not read keys of GRPO: ${names.join(", ")}`);
}

/** The configuration as the trainer of a run on preferences takes it. */
export function preferenceConfig(config: RunConfig): RunConfig {
  const { training } = config,
    names = Object.keys(SFT.keys) as (keyof NonNullable<RunConfig["sft"]>)[];
  const loop = Object.fromEntries(names.map((name) => [name, training[name]])) as NonNullable<
    RunConfig["sft"]
  >;
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
