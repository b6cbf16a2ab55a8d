/**
 * Command lines of other programs. In place of the argument CONFIG they have Hydra's `--config-path
 * FOLDER --config-name NAME`, TRL's `--config FILE`, or no file at all: verl and TRL then begin
 * with their own defaults.
 */
import { UsageError } from "../../core/errors.ts";
import { isOfOpenRlhf, withOpenRlhfKeys } from "./openrlhf_flags.ts";

const FLAGS = new Map([
  ["--config", "a file"],
  ["--config-path", "a folder"],
  ["--config-name", "a name"],
]);

/**
 * The arguments of a command without these flags, with the path that they name as the first
 * argument.
 * @throws UsageError for a flag without its value, or a folder without a name
 */
export function withConfigArgument(args: readonly string[]): string[] {
  const given = new Map<string, string>();
  const rest: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const [, name = args[i]!, value] = /^(--[^=]+)=(.*)$/s.exec(args[i]!) ?? [];
    const flag = name.replaceAll("_", "-"), expected = FLAGS.get(flag);
    if (expected === undefined) rest.push(args[i]!);
    else {
      const named = value ?? args[++i];
      if (named === undefined || named === "") {
        throw new UsageError(`${flag}: expected ${expected}`);
      }
      given.set(flag, named);
    }
  }
  const folder = given.get("--config-path");
  const name = given.get("--config") ?? given.get("--config-name");
  if (name === undefined && folder === undefined) return rest;
  if (name === undefined) {
    throw new UsageError(`--config-path ${folder}: expected --config-name NAME beside it`);
  }
  if (folder === undefined) return [name, ...rest];
  const file = /\.(ya?ml|json)$/.test(name) ? name : `${name}.yaml`;
  return [`${folder.replace(/(.)\/+$/, "$1")}/${file}`, ...rest];
}

/** verl's own configurations, which verl finds among its own files. */
const VERL_NAMES = /(^|\/)ppo_(megatron_)?trainer(\.yaml)?$/;
/** Overrides that only a command line of verl has. */
const VERL_KEYS =
  /^[-+~]*((actor_rollout_ref|algorithm|critic|trainer|reward_model)\.|data\.\w+_files)/;

/**
 * The configuration and its overrides. If the first word is already an override, the configuration
 * is the defaults of verl (if there is a key of verl), of OpenRLHF (if there is one of its flags)
 * or of TRL.
 */
export async function withDefaults(
  config: string,
  overrides: readonly string[],
): Promise<[config: string, overrides: string[]]> {
  if (await isOverride(config)) {
    const all = [config, ...overrides];
    if (isOfOpenRlhf(all)) return ["rgx:openrlhf/train_ppo_ray.yaml", withOpenRlhfKeys(all)];
    const isVerl = all.some((word) => VERL_KEYS.test(word));
    return [isVerl ? "rgx:verl/ppo_trainer.yaml" : "rgx:trl/grpo.yaml", all];
  }
  const isOfVerl = VERL_NAMES.test(config) && !await exists(config);
  return [isOfVerl ? "rgx:verl/ppo_trainer.yaml" : config, [...overrides]];
}

/** Whether a word is `key=value`, `+key=value`, `~key` or `--key`, and no file of that name. */
export async function isOverride(word: string): Promise<boolean> {
  return /^(--|~)|=/.test(word) && !await exists(word);
}

/** Unlike the function of core, this one takes any word, also one too long for a path. */
async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).catch(() => null) !== null;
}

/** What is typed in rgx in place of commands of other programs; docs/coming_from.md explains it. */
export const FOREIGN_COMMANDS = `
rgx train FILE … | grpo axolotl train.py train_grpo train_grpo.py
rgx train … | main_ppo ppo
rgx train --pretrain NAME --prompt_data NAME … | train_ppo_ray
rgx train gsm8k … | run_training run_training.py
rgx train FILE … --ranks N | launch
rgx train FILE training.advantage_estimator=rloo | rloo
rgx train, rgx dpo or rgx sft | kto reward
rgx serve MODEL --allow-adapter-upload | vllm-serve
rgx serve MODEL | lm_eval lm-eval
rgx slurm FILE ACCOUNT … | generate_slurm generate_slurm.py
rgx bench --models … --tasks … | benchmark_models_parallel benchmark_models_parallel.py
rgx plot FILES … | plot_benchmark plot_benchmark.py
rgx convert FOLDER --output NEW | merge model_merger load_fsdp_to_hf load_fsdp_to_hf.py
rgx upload FOLDER --repo-id NAME | upload_checkpoint_to_hf upload_checkpoint_to_hf.py hf
rgx dashboard | trackio show tensorboard wandb
rgx tasks sample NAME --seed 1 --size 9 | create_dataset
rgx score | score_answer
rgx eval --config FILE | evaluate_model evaluate_model.py eval.py
`.trim().split("\n").map((line) => line.split(" | ") as [ours: string, typed: string]);

/** The advice for a command of another program; null for any other word. */
export function foreignCommandHint(word: string): string | null {
  const found = FOREIGN_COMMANDS.find(([, typed]) => typed.split(" ").includes(word));
  return found === undefined ? null : `write ${found[0]} (docs/coming_from.md)`;
}
