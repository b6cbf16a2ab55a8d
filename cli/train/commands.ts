/**
 * Flags and help of `rgx train`, `rgx sft` and `rgx config`, the commands that take a
 * configuration.
 */
import { type Command, Option } from "commander";
import { examples, integer } from "../flag_types.ts";
import { addCardFlags, cardFromFlags } from "../plans/card_flags.ts";

/**
 * Frequent keys of a configuration, which the help of `train` and `sft` lists: the flag with its
 * argument, and the key that it sets. Every other key is a flag too
 * (`configs/reading/overrides.ts`).
 */
export const KEY_FLAGS: readonly (readonly [flag: string, key: string])[] = [
  ["--model-name <model>", "model.model_name_or_path"],
  ["--dataset <path>", "data.dataset_name"],
  ["--max-examples <n>", "data.max_examples"],
  ["--max-steps <n>", "training.max_steps"],
  ["--learning-rate <x>", "training.learning_rate"],
  ["--batch-size <n>", "training.per_device_train_batch_size"],
  ["--gradient-accumulation-steps <n>", "training.gradient_accumulation_steps"],
  ["--project-name <name>", "logging.project"],
  ["--no-trackio", "logging.report_to, without trackio"],
  ["--skip-evaluation", "eval.num_examples=0"],
];

/** The list for the end of a help text. */
export function keyFlagsHelp(): string {
  const width = Math.max(...KEY_FLAGS.map(([flag]) => flag.length));
  const lines = KEY_FLAGS.map(([flag, key]) => `  ${flag.padEnd(width)}  ${key}`);
  return ["", "Keys as flags (rgx config show CONFIG lists all keys):", ...lines].join("\n");
}

/** `rgx train` and `rgx sft`. */
export function trainCommands(program: Command, setExit: (code: number) => void): void {
  trainCommand(program, setExit);
  sftCommand(program, setExit);
}

/** The arguments and flags that `train` and `sft` share. */
function runCommand(
  command: Command,
  phases: "all" | "sft",
  setExit: (code: number) => void,
): Command {
  command.optionsGroup("The run:")
    .argument(
      "<config>",
      "a YAML file, or the name of an embedded config such as quickstart; may be left out where " +
        "overrides name the model, as in TRL and verl",
    )
    .argument("[overrides...]", "key.path=value, +key=value, ~key, or --key value; later ones win")
    .option(
      "--resume [checkpoint]",
      "go on from the newest checkpoint (--resume=NAME: from this one)",
    )
    .option("--dry-run", "everything up to the first step: config, sample, memory, device")
    .option("--print-config", "print the merged config as YAML and stop")
    .option("--output-dir <folder>", "where the run is written")
    .option("--max-time <hh:mm:ss>", "save and stop (exit 75) in time")
    .option("--force", "start anew in a folder that holds another run")
    .optionsGroup("This machine:")
    .option("--device <name>", "auto, webgpu, vulkan, wasm or reference")
    .option("--threads <n>", "threads of the wasm device", integer(1, 1024))
    .option("--no-native", "only WASM kernels on the wasm device (as RGX_NATIVE=0)")
    .option("--tune", "measure kernels at the beginning on a software adapter, too")
    .option("--no-tune", "do not measure kernels at the beginning on a graphics card")
    .option("--ranks <n>", "train on this many processes (MPI)", integer(1, 65536))
    .optionsGroup("What is printed:")
    .option("--json", "print a summary object as the last line of stdout")
    .addOption(
      new Option("--log-format <format>", "how progress is written")
        .choices(["text", "json"]).default("text"),
    )
    .option("--log-metrics <names>", "metrics of the progress lines, such as reward,kl; or all")
    .option("--quiet", "warnings and errors only")
    .option("--verbose", "more detail, and stacks of errors");
  return addCardFlags(command.optionsGroup("A plan for another card (with --dry-run):"))
    .addHelpText("after", keyFlagsHelp())
    .allowUnknownOption()
    .action(async (config, overrides, options, command: Command) => {
      const { listenEarly, parseDuration } = await import("../stop_control.ts");
      listenEarly();
      // Both are read here, so that a mistake in them is refused in a plan for a card, too.
      const { maxTime, logMetrics } = options;
      if (maxTime !== undefined) options.maxTime = parseDuration(maxTime);
      if (logMetrics !== undefined) {
        options.logMetrics = (await import("./metric_lines.ts")).readChosenMetrics(logMetrics);
      }
      const known = command.options.map((option) => option.long ?? "");
      const card = cardFromFlags(options, {
        plans: options.dryRun ?? false,
        planFlag: "--dry-run",
      });
      if (card !== null && !options.printConfig) {
        const { dryRunOnCard } = await import("./dry_run.ts");
        return setExit(await dryRunOnCard(card, config, overrides, options, known, phases));
      }
      const { train } = await import("./train.ts");
      setExit(await train(config, overrides, options, known, phases));
    });
}

function trainCommand(program: Command, setExit: (code: number) => void): void {
  runCommand(program.command("train"), "all", setExit)
    .description("train a language model on a reasoning task")
    .addHelpText(
      "after",
      examples(
        "rgx train quickstart",
        "rgx train quickstart training.learning_rate=1e-4 --output-dir runs/a",
        "rgx train my_experiment.yaml --dry-run --gpu h100-80gb",
        "rgx train my_experiment.yaml --resume",
        "rgx train my_experiment.yaml --ranks 4",
        "rgx train gsm8k --model-name PATH --dataset PATH --max-steps 20",
      ) +
        "\n\nOn-policy GRPO with scaled advantages has a loss value near 0 by construction;\n" +
        "grad_norm and reward show whether it learns.",
    );
}

function sftCommand(program: Command, setExit: (code: number) => void): void {
  runCommand(program.command("sft"), "sft", setExit)
    .description("supervised training alone: on worked answers, or on prompts and completions")
    .addHelpText(
      "after",
      examples(
        "rgx sft quickstart --output-dir runs/warm",
        "rgx sft my_experiment.yaml sft.max_steps=200 --resume",
        "rgx sft my_experiment.yaml dataset_name=pairs.jsonl task_name=null",
      ) +
        "\n\nThe configuration is that of rgx train, whose section sft is obeyed.\n" +
        "rgx train … --resume in the same folder goes on with GRPO.",
    );
}

/** `rgx config list`, `rgx config show` and `rgx config check`. */
export function configCommands(program: Command, setExit: (code: number) => void): void {
  const config = program.command("config")
    .description("list, show or check configurations")
    .addHelpText(
      "after",
      examples("rgx config list", "rgx config show quickstart", "rgx config check my.yaml"),
    );
  config.command("list")
    .description("the embedded configs")
    .option("--json", "one JSON document")
    .addHelpText("after", examples("rgx config list", "rgx config list --json"))
    .action(async (options) => (await import("./config.ts")).listConfigs(options));
  config.command("show")
    .description("the merged config, each value with its origin")
    .argument("<config>", "a YAML file or the name of an embedded config")
    .argument("[overrides...]", "key.path=value …")
    .option("--json", "one JSON document")
    .allowUnknownOption()
    .addHelpText(
      "after",
      examples("rgx config show quickstart", "rgx config show my.yaml training.max_steps=10"),
    )
    .action(async (name, overrides, options) =>
      (await import("./config.ts")).showConfig(name, overrides, options)
    );
  config.command("check")
    .description("errors only; exit 2 when there are any")
    .argument("<configs...>", "YAML files or names of embedded configs, then key.path=value …")
    .allowUnknownOption()
    .addHelpText(
      "after",
      examples(
        "rgx config check my.yaml",
        "rgx config check my.yaml training.max_steps=10",
        "rgx config check configs/experiments/*.yaml",
      ),
    )
    .action(async (names) => setExit(await (await import("./config.ts")).checkConfigs(names)));
}
