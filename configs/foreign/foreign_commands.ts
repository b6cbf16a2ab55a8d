/** Commands of other projects, and what takes their place. */

export interface ForeignCommand {
  /** As it is typed. */
  theirs: string;
  /** Words that are tried as commands of rgx by those who know the other program. */
  typed: readonly string[];
  /** The command of rgx; null = there is none. */
  ours: string | null;
  /** What is different, or why there is none. */
  note: string;
}

export const FOREIGN_COMMANDS: readonly ForeignCommand[] = [
  {
    theirs: "trl grpo --config FILE …",
    typed: ["grpo"],
    ours: "rgx train FILE …",
    note: "the same flags; --config FILE is taken too, and so is a command line without a file",
  },
  {
    theirs: "trl sft --config FILE …",
    typed: [],
    ours: "rgx sft FILE …",
    note: "keys without a section are those of the section sft",
  },
  {
    theirs: "trl vllm-serve --model NAME",
    typed: ["vllm-serve"],
    ours: "rgx serve MODEL --allow-adapter-upload",
    note: "use_vllm with vllm_mode: server samples there; adapters are sent after each step",
  },
  {
    theirs: "trl dpo, kto, rloo, reward",
    typed: ["dpo", "kto", "rloo", "reward"],
    ours: null,
    note: "rgx trains with GRPO and its variants (rgx train), and supervised (rgx sft)",
  },
  {
    theirs: "trl env",
    typed: ["env"],
    ours: "rgx doctor",
    note: "what this machine offers",
  },
  {
    theirs: "accelerate launch, torchrun",
    typed: ["launch"],
    ours: "rgx train FILE … --ranks N",
    note: "several processes through MPI, to the bits of one; rgx slurm --nodes writes a job",
  },
  {
    theirs: "accelerate launch src/open_r1/grpo.py --config FILE",
    typed: [],
    ours: "rgx train FILE …",
    note: "the names in reward_funcs are open-r1's",
  },
  {
    theirs: "axolotl train FILE",
    typed: ["axolotl"],
    ours: "rgx train FILE …",
    note: "a file with rl: grpo; axolotl vllm-serve is rgx serve MODEL --allow-adapter-upload",
  },
  {
    theirs: "train.py FILE, train_grpo.py --config-path FOLDER --config-name NAME",
    typed: ["train.py", "train_grpo", "train_grpo.py"],
    ours: "rgx train FILE …",
    note: "the same overrides; --config-path and --config-name are taken too",
  },
  {
    theirs: "run_training.py --model-name NAME …",
    typed: ["run_training", "run_training.py"],
    ours: "rgx train gsm8k …",
    note: "the same flags; the recipe has that script's values",
  },
  {
    theirs: "generate_slurm.py FILE ACCOUNT …",
    typed: ["generate_slurm", "generate_slurm.py"],
    ours: "rgx slurm FILE ACCOUNT …",
    note: "the same flags; defaults of your site stand in the section slurm of FILE",
  },
  {
    theirs: "benchmark_models_parallel.py",
    typed: ["benchmark_models_parallel", "benchmark_models_parallel.py"],
    ours: "rgx bench --models … --tasks …",
    note: "rgx slurm bench writes the job, which reads TASKS, MODELS, NUM_EXAMPLES and NUM_GPUS",
  },
  {
    theirs: "plot_benchmark.py FILES …",
    typed: ["plot_benchmark", "plot_benchmark.py"],
    ours: "rgx plot FILES …",
    note: "the same flags",
  },
  {
    theirs: "python -m verl.trainer.main_ppo …",
    typed: ["main_ppo", "ppo"],
    ours: "rgx train …",
    note: "the same overrides, +key and ~key too; without a file verl's own defaults stand below",
  },
  {
    theirs: "python3 -m openrlhf.cli.train_ppo_ray --pretrain NAME --prompt_data NAME …",
    typed: ["train_ppo_ray"],
    ours: "rgx train --pretrain NAME --prompt_data NAME …",
    note: "the same flags, older and newer ones, with the rewards",
  },
  {
    theirs: "python -m verl.model_merger merge --local_dir FOLDER, load_fsdp_to_hf.py FOLDER NEW",
    typed: ["merge", "model_merger", "load_fsdp_to_hf", "load_fsdp_to_hf.py"],
    ours: "rgx convert FOLDER --output NEW",
    note: "FSDP's parts as a Hugging Face folder",
  },
  {
    theirs: "upload_checkpoint_to_hf.py --checkpoint-dir FOLDER …, hf upload",
    typed: ["upload_checkpoint_to_hf", "upload_checkpoint_to_hf.py", "hf"],
    ours: "rgx upload FOLDER --repo-id NAME",
    note: "the same flags; hf_upload and push_to_hub upload after a run",
  },
  {
    theirs: "trackio show, tensorboard, wandb",
    typed: ["trackio", "show", "tensorboard", "wandb"],
    ours: "rgx dashboard",
    note: "runs live in a browser; report_to writes the files of these programs too",
  },
  {
    theirs: "reasoning_gym.create_dataset(NAME, seed=1, size=9)",
    typed: ["create_dataset"],
    ours: "rgx tasks sample NAME --seed 1 --size 9",
    note: "rgx's own questions; rgx tasks export writes files",
  },
  {
    theirs: "score_answer",
    typed: ["score_answer"],
    ours: "rgx score",
    note: "entries of reasoning-gym, one in a line, with the answers",
  },
  {
    theirs: "reasoning-gym's eval.py and evaluate_model.py --config FILE",
    typed: ["evaluate_model", "evaluate_model.py", "eval.py"],
    ours: "rgx eval --config FILE",
    note:
      "the same file, flags and reports; rgx bench --entries asks reasoning-gym's own questions",
  },
  {
    theirs: "lm_eval --model … --tasks …",
    typed: ["lm_eval", "lm-eval"],
    ours: "rgx serve MODEL",
    note: "lm_eval asks the server: docs/lm-eval.md",
  },
];

/** What to say to somebody who typed the command of another program; null for any other word. */
export function foreignCommandHint(word: string): string | null {
  const found = FOREIGN_COMMANDS.find(({ typed }) => typed.includes(word));
  if (found === undefined) return null;
  return found.ours === null ? found.note : `write ${found.ours} (${found.note})`;
}
