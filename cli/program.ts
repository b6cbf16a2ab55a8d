/**
 * The command line: names, flags and help of every command. Each command's code is loaded only when it
 * runs, so that `rgx --version` and `--help` start fast. No logic lives here.
 */
import { Command, CommanderError, Help, Option } from "commander";
import { withConfigArgument } from "../configs/foreign/config_arguments.ts";
import { EXIT } from "../core/errors.ts";
import { versionLine } from "../core/version.ts";
import { HOST_COMMAND } from "../rewards/custom/protocol.ts";
import { benchCommands } from "./bench/bench_command.ts";
import { exportCommands } from "./models/export_command.ts";
import { keyFlagsHelp } from "./key_flags.ts";
import { activations, collect, examples, integer, real } from "./flag_types.ts";
import { plotCommands } from "./reports/plot_command.ts";
import { pullCommand } from "./models/pull_command.ts";
import { reportError } from "./report_error.ts";
import { slurmCommands } from "./cluster/slurm_command.ts";
import { columns, log, print } from "./terminal/terminal.ts";

/** Commands whose --resume may name a checkpoint. */
const TRAINS = ["train", "sft"];

/** Runs the command line and returns the exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = createProgram((code) => exitCode = code);
  try {
    // A bare --resume takes no value, so that `--resume CONFIG` means what it says.
    const given = withConfigName(args).map((arg) =>
      arg === "--resume" && TRAINS.includes(args[0] ?? "") ? "--resume=latest" : arg
    );
    await program.parseAsync(withHelpFlag(program, given), { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed its message; help and version end with 0, every usage error with 2.
      return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    }
    return reportError(error, args.includes("--verbose"));
  }
}

/** `help a b` as `a b --help`; behind what is no command `--help` is dropped, so that it is refused as that. */
function withHelpFlag(program: Command, args: readonly string[]): string[] {
  let command = program, at = 0;
  for (;;) {
    const next = command.commands.find((child) => child.name() === args[at]);
    if (next === undefined) break;
    command = next;
    at++;
  }
  const word = args[at];
  const isGroup = command.commands.length > 0 && command.registeredArguments.length === 0;
  if (!isGroup || word === undefined || word.startsWith("-")) return [...args];
  if (word === "help") return withHelpFlag(program, [...args.toSpliced(at, 1), "--help"]);
  return args.filter((arg) => arg !== "--help" && arg !== "-h");
}

/** Hydra's and TRL's flags, where a command takes a configuration. */
function withConfigName(args: readonly string[]): string[] {
  const words = args[0] === "config" ? 2 : 1;
  if (!["train", "sft", "config"].includes(args[0] ?? "")) return [...args];
  return [...args.slice(0, words), ...withConfigArgument(args.slice(words))];
}

function createProgram(setExit: (code: number) => void): Command {
  const program = new Command("rgx");
  program
    .description(
      "Reasoning tasks, GRPO training, and honest measurement of language models, in one file.",
    )
    .version(versionLine(), "-V, --version", "print the version")
    .configureOutput({
      writeOut: (text) => print(text.trimEnd()),
      writeErr: (text) => log(text.trimEnd()),
      getOutHelpWidth: columns,
      getErrHelpWidth: columns,
    })
    .configureHelp({
      // Arguments and flags stand in each command's own help.
      subcommandTerm: (command) => command.name(),
      optionDescription(option) {
        return Array.isArray(option.defaultValue) && option.defaultValue.length === 0
          ? option.description
          : Help.prototype.optionDescription(option);
      },
    })
    .enablePositionalOptions() // a command and its subcommand may have flags of the same names
    .showSuggestionAfterError(true)
    .showHelpAfterError("(--help shows the usage and examples)")
    .exitOverride()
    .addHelpText(
      "after",
      examples(
        "rgx train quickstart",
        "rgx tasks sample spell_backward --size 3",
        "rgx doctor",
      ),
    );

  trainCommand(program, setExit);
  sftCommand(program, setExit);
  exportCommand(tasksCommands(program));
  scoreCommand(program, setExit);
  generateCommand(program);
  logprobsCommand(program);
  exportCommands(program);
  pullCommand(program);
  benchCommands(program, setExit);
  plotCommands(program);
  slurmCommands(program);
  configCommands(program, setExit);
  doctorCommand(program, setExit);
  rewardHostCommand(program);
  for (const command of allCommands(program)) command.exitOverride().copyInheritedSettings(program);
  return program;
}

function* allCommands(command: Command): Generator<Command> {
  for (const child of command.commands) {
    yield child;
    yield* allCommands(child);
  }
}

/** What `train` and `sft` have in common. */
function runCommand(
  command: Command,
  phases: "all" | "sft",
  setExit: (code: number) => void,
): Command {
  return command
    .argument("<config>", "a YAML file, or the name of an embedded config such as quickstart")
    .argument("[overrides...]", "key.path=value, +key=value, ~key, or --key value; later ones win")
    .option(
      "--resume [checkpoint]",
      "go on from the newest checkpoint (--resume=NAME: from this one)",
    )
    .option("--dry-run", "everything up to the first step: config, sample, memory, device")
    .option("--print-config", "print the merged config as YAML and stop")
    .option("--device <name>", "auto, webgpu, wasm or reference")
    .option("--threads <n>", "threads of the wasm device", integer(1, 1024))
    .option("--output-dir <folder>", "where the run is written")
    .option("--max-time <hh:mm:ss>", "save and stop (exit 75) in time")
    .option("--force", "start anew in a folder that holds another run")
    .option("--json", "print a summary object as the last line of stdout")
    .option("--log-format <format>", "text or json", "text")
    .option("--quiet", "warnings and errors only")
    .option("--verbose", "more detail, and stacks of errors")
    .addHelpText("after", keyFlagsHelp())
    .allowUnknownOption()
    .action(async (config, overrides, options, command: Command) => {
      (await import("./stop_control.ts")).listenEarly();
      const { train } = await import("./train/train.ts");
      const own = command.options.map((option) => option.long ?? "");
      setExit(await train(config, overrides, options, own, phases));
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
        "rgx train my_experiment.yaml --resume",
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

function tasksCommands(program: Command): Command {
  const tasks = program.command("tasks")
    .description("list, describe, sample and export reasoning tasks")
    .addHelpText("after", examples("rgx tasks list", "rgx tasks show chain_sum"));
  tasks.command("list")
    .description("all tasks: name, category, one line, curriculum")
    .option("--category <name>", "only this category")
    .option("--json", "one JSON document")
    .addHelpText(
      "after",
      examples("rgx tasks list", "rgx tasks list --category logic", "rgx tasks list --json"),
    )
    .action(async (options) => (await import("./tasks/tasks.ts")).listTasks(options));
  tasks.command("show")
    .description("parameters, curriculum, scoring rule and a sample of one task")
    .argument("<name>", "task name")
    .option("--json", "one JSON document")
    .addHelpText(
      "after",
      examples("rgx tasks show spell_backward", "rgx tasks show mini_sudoku --json"),
    )
    .action(async (name, options) => (await import("./tasks/tasks.ts")).showTask(name, options));
  tasks.command("sample")
    .description("entries of a task as JSONL: question, answer, metadata")
    .argument("<name>", "task name")
    .option("--size <n>", "how many", integer(0), 5)
    .option("--seed <n>", "seed of the data set", integer(0), 42)
    .option("--offset <i>", "index of the first entry", integer(0), 0)
    .option("--split <name>", "train, validation or test", "train")
    .option("--set <k=v>", "a parameter of the task (repeatable)", collect, [])
    .option("--level <n>", "curriculum level of every attribute", integer(0))
    .option("--set-level <attr=n>", "curriculum level of one attribute (repeatable)", collect, [])
    .addHelpText(
      "after",
      examples(
        "rgx tasks sample leg_counting --size 3 --seed 7",
        "rgx tasks sample chain_sum --set min_terms=2 --set max_terms=2",
        "rgx tasks sample spell_backward --level 2 --split test",
      ),
    )
    .action(async (name, options) => (await import("./tasks/tasks.ts")).sampleTask(name, options));
  return tasks;
}

function exportCommand(tasks: Command): void {
  tasks.command("export")
    .description("data sets of tasks as files, in the rows that other trainers read")
    .argument("<names...>", "task names")
    .requiredOption("--output <file>", "….jsonl or ….parquet; {split} in it: a file for each split")
    .option("--splits <sizes>", "entries of each task: train=N,validation=N,test=N", "train=500")
    .option("--format <name>", "raw, chat, verl or trl", "raw")
    .option("--seed <n>", "seed of the data sets", integer(0), 42)
    .option("--set <k=v>", "a parameter (repeatable); of several tasks: NAME.k=v", collect, [])
    .option("--level <n>", "curriculum level of every attribute", integer(0))
    .option("--set-level <attr=n>", "level of one attribute (repeatable)", collect, [])
    .option("--system <text>", "system message, or the name of a built-in one (not raw)")
    .option("--no-instructions", "leave the answer-format instruction out (not raw)")
    .addHelpText(
      "after",
      examples(
        "rgx tasks export chain_sum --output sums.jsonl --splits train=1000,test=100",
        "rgx tasks export leg_counting word_ladder --format verl --output '{split}.parquet' \\\n" +
          "      --splits train=5000,test=200",
      ) +
        "\n\nA question of test or validation is not asked in train, where a task has enough\n" +
        "of them.",
    )
    .action(async (names, options) => {
      await (await import("./tasks/tasks_export.ts")).exportTasks(names, options);
    });
}

function scoreCommand(program: Command, setExit: (code: number) => void): void {
  program.command("score")
    .description("score answers (JSONL in, JSONL out, in order)")
    .argument("[file]", "JSONL file, or - for stdin", "-")
    .option("--completions", "take whole completions and extract their answers as training does")
    .option("--threads <n>", "threads; default: one a core", integer(1, 1024))
    .addHelpText(
      "after",
      examples("rgx score answers.jsonl", "cat answers.jsonl | rgx score --completions -"),
    )
    .action(async (file, options) => {
      setExit(await (await import("./tasks/score.ts")).scoreFile(file, options));
    });
}

function modelOptions(command: Command): Command {
  return command
    .requiredOption(
      "--model <folder>",
      "a Hugging Face folder, a GGUF file, a checkpoint or an adapter",
    )
    .option("--adapter <folder>", "a PEFT adapter to put on the model (repeatable)", collect, [])
    .addOption(
      new Option("--dtype <type>", "what the weights are held in; auto: as they are stored")
        .choices(["auto", "float32", "float16", "bfloat16"]),
    )
    .option("--load-in-8bit", "quantise the linear layers when they are loaded")
    .option("--load-in-4bit", "the same in 4 bits (NF4)")
    .option("--device <name>", "auto, webgpu, wasm or reference")
    .option("--threads <n>", "threads of the wasm device", integer(1));
}

function generateCommand(program: Command): void {
  modelOptions(program.command("generate").description("text from a model"))
    .argument("[-]", "the prompt comes from stdin, as without --prompt and --file")
    .option("--prompt <text>", "the prompt")
    .option("--file <path>", "a file with the prompt; - or nothing: stdin")
    .option("--ids-file <path>", "a JSON array of token ids instead of a text")
    .option("--chat", "render the prompt by the model's chat template")
    .option("--system <text>", "system message, or the name of a built-in one (with --chat)")
    .option("--ignore-eos", "go on past the end token")
    .option("--max-new-tokens <n>", "tokens generated at most", integer(1, 2 ** 20 - 1), 256)
    .option("--min-new-tokens <n>", "no end before so many tokens", integer(0), 0)
    .option("--stop <text>", "end after this text, which is kept (repeatable)", collect, [])
    .option("--temperature <t>", "0 is greedy", real(0, 100), 1)
    .option("--top-p <p>", "1 = off", real(0, 1, { above: true }), 1)
    .option("--top-k <k>", "0 = off", integer(0), 0)
    .option("--min-p <p>", "0 = off", real(0, 1), 0)
    .option("--repetition-penalty <x>", "of tokens seen before; 1 = off", real(0.01, 100), 1)
    .option("--seed <n>", "seed of the draws", integer(0), 42)
    .option("--n <n>", "completions", integer(1, 4096), 1)
    .addOption(activations())
    .option("--json", "a JSON document (for each adapter) with ids, log-probabilities and speed")
    .addHelpText(
      "after",
      examples(
        'rgx generate --model experiments/quickstart --prompt "Reverse the letters: deno"',
        "rgx generate --model ./tiny-llama --file prompt.txt --temperature 0 --json",
      ),
    )
    .action(async (stdin, options) =>
      (await import("./models/generate.ts")).generateText(stdin, options)
    );
}

function logprobsCommand(program: Command): void {
  modelOptions(program.command("logprobs").description("log-probabilities of given tokens"))
    .option("--ids-file <path>", "a JSON array of token ids")
    .option("--prompt <text>", "or a prompt …")
    .option("--completion <text>", "… and what follows it")
    .option("--top <k>", "the k likeliest tokens at each position", integer(0), 0)
    .option("--json", "a JSON document (for each adapter)")
    .addHelpText(
      "after",
      examples(
        "rgx logprobs --model ./tiny-llama --ids-file ids.json --top 5 --json",
        'rgx logprobs --model ./tiny-llama --prompt "Once upon" --completion " a time"',
      ),
    )
    .action(async (options) => (await import("./models/logprobs.ts")).showLogprobs(options));
}

function configCommands(program: Command, setExit: (code: number) => void): void {
  const config = program.command("config")
    .description("show or check configurations")
    .addHelpText("after", examples("rgx config show quickstart", "rgx config check my.yaml"));
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
    .argument("<configs...>", "YAML files or names of embedded configs")
    .addHelpText(
      "after",
      examples("rgx config check my.yaml", "rgx config check configs/experiments/*.yaml"),
    )
    .action(async (names) => setExit(await (await import("./config.ts")).checkConfigs(names)));
}

function doctorCommand(program: Command, setExit: (code: number) => void): void {
  program.command("doctor")
    .description("what this machine (or this job) offers, whether a config fits, and what to fix")
    .argument("[config]", "a YAML file or the name of an embedded config: does it fit here?")
    .argument("[overrides...]", "key.path=value …")
    .option(
      "--model <folder>",
      "instead: types of a model's weights, and errors of holding them otherwise",
    )
    .option("--device <name>", "that the model is looked at on: auto, webgpu, wasm or reference")
    .option("--json", "one JSON document")
    .addHelpText(
      "after",
      examples(
        "rgx doctor",
        "rgx doctor --json",
        "rgx doctor quickstart training.max_steps=50",
        "rgx doctor --model HuggingFaceTB/SmolLM2-135M-Instruct",
      ) + "\n\nExit code 1 when the config does not fit.",
    )
    .action(async (config, overrides, options) => {
      if (options.model !== undefined) {
        setExit(await (await import("./doctor/doctor_model.ts")).doctorModel(config, options));
        return;
      }
      setExit(await (await import("./doctor/doctor.ts")).doctor(config, overrides, options));
    });
}

/** How the executable starts itself for a user's reward. */
function rewardHostCommand(program: Command): void {
  program.command(HOST_COMMAND, { hidden: true })
    .argument("[hosts...]")
    .action(async (hosts) => await (await import("../rewards/custom/host.ts")).hostReward(hosts));
}
