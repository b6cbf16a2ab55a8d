/**
 * Command lines of other programs. In place of the argument CONFIG they have Hydra's `--config-path
 * FOLDER --config-name NAME`, TRL's `--config FILE`, or no file at all: verl and TRL then begin
 * with their own defaults.
 */
import { UsageError } from "../../core/errors.ts";
import { isOfOpenRlhf, withOpenRlhfKeys } from "./openrlhf/command_line.ts";

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

const COMMANDS = `
trl grpo --config FILE … | grpo | rgx train FILE … | the same flags; --config FILE is taken too, and
  so is a command line without a file
trl sft --config FILE … |  | rgx sft FILE … | keys without a section are those of the section sft
trl vllm-serve --model NAME | vllm-serve | rgx serve MODEL --allow-adapter-upload | use_vllm with
  vllm_mode: server samples there; adapters are sent after each step
trl dpo --config FILE … |  | rgx dpo FILE … | keys of DPOConfig without a section are understood
trl rloo --config FILE … | rloo | rgx train FILE training.advantage_estimator=rloo | each completion
  beside the mean reward of the others of its prompt
trl kto, reward | kto reward |  | rgx trains with GRPO and its variants (rgx train), on preferences
  (rgx dpo), and supervised (rgx sft)
trl env |  | rgx doctor | what this machine offers
accelerate launch, torchrun | launch | rgx train FILE … --ranks N | several processes through MPI,
  to the bits of one; rgx slurm --nodes writes a job
accelerate launch src/open_r1/grpo.py --config FILE |  | rgx train FILE … | the names in
  reward_funcs are open-r1's
axolotl train FILE | axolotl | rgx train FILE … | a file with rl: grpo; axolotl vllm-serve is rgx
  serve MODEL --allow-adapter-upload
train.py FILE, train_grpo.py --config-path FOLDER --config-name NAME | train.py train_grpo
  train_grpo.py | rgx train FILE … | the same overrides; --config-path and --config-name are taken
  too
run_training.py --model-name NAME … | run_training run_training.py | rgx train gsm8k … | the same
  flags; the recipe has that script's values
generate_slurm.py FILE ACCOUNT … | generate_slurm generate_slurm.py | rgx slurm FILE ACCOUNT … | the
  same flags; defaults of your site stand in the section slurm of FILE
benchmark_models_parallel.py | benchmark_models_parallel benchmark_models_parallel.py | rgx bench
  --models … --tasks … | rgx slurm bench writes the job, which reads TASKS, MODELS, NUM_EXAMPLES and
  NUM_GPUS
plot_benchmark.py FILES … | plot_benchmark plot_benchmark.py | rgx plot FILES … | the same flags
python -m verl.trainer.main_ppo … | main_ppo ppo | rgx train … | the same overrides, +key and ~key
  too; without a file verl's own defaults stand below
python3 -m openrlhf.cli.train_ppo_ray --pretrain NAME --prompt_data NAME … | train_ppo_ray | rgx
  train --pretrain NAME --prompt_data NAME … | the same flags, older and newer ones, with the
  rewards
python -m verl.model_merger merge --local_dir FOLDER, load_fsdp_to_hf.py FOLDER NEW | merge
  model_merger load_fsdp_to_hf load_fsdp_to_hf.py | rgx convert FOLDER --output NEW | FSDP's parts
  as a Hugging Face folder
upload_checkpoint_to_hf.py --checkpoint-dir FOLDER …, hf upload | upload_checkpoint_to_hf
  upload_checkpoint_to_hf.py hf | rgx upload FOLDER --repo-id NAME | the same flags; hf_upload and
  push_to_hub upload after a run
trackio show, tensorboard, wandb | trackio show tensorboard wandb | rgx dashboard | runs live in a
  browser; report_to writes the files of these programs too
reasoning_gym.create_dataset(NAME, seed=1, size=9) | create_dataset | rgx tasks sample NAME --seed 1
  --size 9 | rgx's own questions; rgx tasks export writes files
score_answer | score_answer | rgx score | entries of reasoning-gym, one in a line, with the answers
reasoning-gym's eval.py and evaluate_model.py --config FILE | evaluate_model evaluate_model.py
  eval.py | rgx eval --config FILE | the same file, flags and reports; rgx bench --entries asks
  reasoning-gym's own questions
lm_eval --model … --tasks … | lm_eval lm-eval | rgx serve MODEL | lm_eval asks the server:
  docs/lm-eval.md
`;

export interface ForeignCommand {
  theirs: string;
  typed: readonly string[];
  ours: string | null;
  note: string;
}

export const FOREIGN_COMMANDS: readonly ForeignCommand[] = COMMANDS.trim().replace(/\n +/g, " ")
  .split("\n").map((line) => {
    const [theirs, typed, ours, note] = line.split("|").map((part) => part.trim());
    const words = typed!.split(" ").filter((word) => word !== "");
    return { theirs: theirs!, typed: words, ours: ours === "" ? null : ours!, note: note! };
  });

/** The advice for a command of another program; null for any other word. */
export function foreignCommandHint(word: string): string | null {
  const found = FOREIGN_COMMANDS.find(({ typed }) => typed.includes(word));
  if (found === undefined) return null;
  return found.ours === null ? found.note : `write ${found.ours} (${found.note})`;
}
