/** The flags, examples and notes of `rgx train`, `rgx sft` and `rgx dpo`. */
import { CARD, PYTHON } from "../flag_tables.ts";

/** The flags that `train`, `sft` and `dpo` share. */
export const TRAIN = {
  "<config>":
    "a YAML file, or the name of an embedded config such as quickstart; may be left out " +
    "where overrides name the model, as in TRL and verl",
  "[overrides...]": "key.path=value, +key=value, ~key, or --key value; later ones win",
  "The run:": "",
  resume: "text [checkpoint] -- continue from the newest checkpoint (--resume=NAME: from this one)",
  dryRun: "flag -- everything up to the first step: config, sample, memory, device",
  measure: "flag -- with --dry-run: take real steps for a better estimate of the time",
  printConfig: "flag -- print the merged config as YAML and stop",
  outputDir: "text <folder> -- the folder of the run",
  maxTime: "text <hh:mm:ss> -- save and stop (exit 75) in time",
  force: "flag -- start anew in a folder that holds another run",
  ...PYTHON,
  "This machine:": "",
  device: "text <name> -- auto, webgpu, vulkan, wasm or reference",
  threads: "int>=1<=1024 <n> -- threads of the wasm device",
  native: "off -- only WASM kernels on the wasm device (as RGX_NATIVE=0)",
  tune: `flag -- measure kernels at the beginning on a software adapter, too |
    off -- do not measure kernels at the beginning on a graphics card`,
  ranks: "int>=1<=65536 <n> -- train on this many processes (MPI)",
  "What is printed:": "",
  json: "flag -- print a summary object as the last line of stdout",
  logFormat: "one text|json <format> = text -- how progress is written",
  logMetrics: "text <names> -- metrics of the progress lines, such as reward,kl; or all",
  quiet: "flag -- warnings and errors only",
  verbose: "flag -- more detail, and stacks of errors",
  "A plan for another card (with --dry-run):": "",
  ...CARD,
} as const;

export const TRAIN_HELP = {
  "About:": "train a language model on a reasoning task",
  "Examples:": `
    rgx train quickstart
    rgx train quickstart training.learning_rate=1e-4 --output-dir runs/a
    rgx train my_experiment.yaml --dry-run --gpu h100-80gb
    rgx train my_experiment.yaml --resume
    rgx train my_experiment.yaml --ranks 4
    rgx train gsm8k --model-name PATH --dataset PATH --max-steps 20`,
  "After:": `
    On-policy GRPO with scaled advantages has a loss value near 0 by construction;
    grad_norm and reward show whether it learns.`,
};

export const SFT_HELP = {
  "About:": "supervised training alone: on worked answers, or on prompts and completions",
  "Examples:": `
    rgx sft quickstart --output-dir runs/warm
    rgx sft my_experiment.yaml sft.max_steps=200 --resume
    rgx sft my_experiment.yaml dataset_name=pairs.jsonl task_name=null`,
  "After:": `
    The configuration is that of rgx train, whose section sft is obeyed.
    rgx train … --resume in the same folder goes on with GRPO.`,
};

export const DPO_HELP = {
  "About:": "train on preferences: rows of a prompt with a chosen and a rejected answer",
  "Examples:": `
    rgx dpo my_experiment.yaml dataset_name=pairs.jsonl
    rgx dpo my_experiment.yaml --beta 0.3 --loss-type ipo --learning-rate 1e-6
    rgx dpo my_experiment.yaml --dry-run`,
  "After:": `
    The loop is that of the section training, the loss that of the section dpo.
    What is for GRPO has no effect; a note names it.`,
};
