/**
 * The names and arguments of all commands. The files that do the work are loaded only when their
 * command runs, so that `rgx --version` and `--help` start fast.
 */
import { Argument, type Command } from "commander";
import { WORKER_COMMAND } from "../bench/workers/worker_command.ts";
import { UsageError } from "../core/errors.ts";
import { REWARD_HOST, TASK_HOST } from "../core/sandbox/host_commands.ts";
import { TUNE_COMMAND } from "../kernels/tuning/command.ts";
import { requireCard } from "./doctor/layout_flags.ts";
import {
  BENCH_HELP,
  type BenchFlags,
  CHAT,
  CONVERT,
  CURVES,
  DASHBOARD,
  DOCTOR,
  EVAL_HELP,
  EXPORT,
  GENERATE,
  INIT,
  LOGPROBS,
  PLOT,
  PULL,
  REPORT,
  RESCORE,
  REWARDS_TEST,
  SCORE,
  SERVE,
  SFT_HELP,
  SLURM,
  SLURM_BENCH,
  SWEEP,
  TASKS_EXPORT,
  TASKS_SAMPLE,
  TRAIN,
  TRAIN_HELP,
  UPLOAD,
} from "./flag_tables.ts";
import { addFlags, MODEL_KINDS, oneModel } from "./flags.ts";
import { cardFromFlags } from "./plans/card_flags.ts";

/** Adds all commands. @param setExit called with the exit code of a command that has one */
export function addCommands(program: Command, setExit: (code: number) => void): void {
  initCommand(program);
  trainCommands(program, setExit);
  sweepCommand(program, setExit);
  taskCommands(program);
  scoreCommands(program, setExit);
  rewardCommands(program, setExit);
  modelCommands(program);
  serveCommand(program);
  chatCommand(program, setExit);
  benchCommands(program, setExit);
  reportCommands(program);
  dashboardCommand(program);
  slurmCommands(program);
  configCommands(program, setExit);
  doctorCommand(program, setExit);
  shellCommands(program);
  hostCommands(program);
}

function initCommand(program: Command): void {
  addFlags(program.command("init"), INIT)
    .description("make a project that runs at once: configuration, reward, job script")
    .argument("[folder]", "where; it is made if it is not there", ".")
    .action(async (folder, options) => (await import("./init/init.ts")).init(folder, options));
}

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

/** The arguments and flags of `train` and `sft`, with the help of one of them. */
function runCommand(
  command: Command,
  help: Readonly<Record<string, string>>,
  phases: "all" | "sft",
  setExit: (code: number) => void,
): Command {
  return addFlags(addFlags(command, TRAIN).addHelpText("after", keyFlagsHelp()), help)
    .argument(
      "<config>",
      "a YAML file, or the name of an embedded config such as quickstart; may be left out where " +
        "overrides name the model, as in TRL and verl",
    )
    .argument("[overrides...]", "key.path=value, +key=value, ~key, or --key value; later ones win")
    .allowUnknownOption()
    .action(async (config, overrides, options, command: Command) => {
      const { listenEarly, parseDuration } = await import("./stop_control.ts");
      listenEarly();
      // Both are read here, so that a mistake in them is refused in a plan for a card, too.
      const { maxTime, logMetrics } = options;
      if (maxTime !== undefined) options.maxTime = parseDuration(maxTime);
      if (logMetrics !== undefined) {
        options.logMetrics = (await import("./train/metric_lines.ts")).readChosenMetrics(
          logMetrics,
        );
      }
      const known = command.options.map((option) => option.long ?? "");
      const card = cardFromFlags(options, {
        plans: options.dryRun ?? false,
        planFlag: "--dry-run",
      });
      if (card !== null && !options.printConfig) {
        const { dryRunOnCard } = await import("./train/dry_run.ts");
        return setExit(await dryRunOnCard(card, config, overrides, options, known, phases));
      }
      const { train } = await import("./train/train.ts");
      setExit(await train(config, overrides, options, known, phases));
    });
}

/** `rgx train` and `rgx sft`. */
function trainCommands(program: Command, setExit: (code: number) => void): void {
  runCommand(program.command("train"), TRAIN_HELP, "all", setExit)
    .description("train a language model on a reasoning task");
  runCommand(program.command("sft"), SFT_HELP, "sft", setExit)
    .description("supervised training alone: on worked answers, or on prompts and completions");
}

/** `rgx config list`, `rgx config show` and `rgx config check`. */
function configCommands(program: Command, setExit: (code: number) => void): void {
  const config = addFlags(program.command("config"), {
    "Examples:": "rgx config list\nrgx config show quickstart\nrgx config check my.yaml",
  }).description("list, show or check configurations");
  addFlags(config.command("list"), {
    json: "flag -- one JSON document",
    "Examples:": "rgx config list\nrgx config list --json",
  })
    .description("the embedded configs")
    .action(async (options) => (await import("./train/config.ts")).listConfigs(options));
  addFlags(config.command("show"), {
    json: "flag -- one JSON document",
    "Examples:": "rgx config show quickstart\nrgx config show my.yaml training.max_steps=10",
  })
    .description("the merged config, each value with its origin")
    .argument("<config>", "a YAML file or the name of an embedded config")
    .argument("[overrides...]", "key.path=value …")
    .allowUnknownOption()
    .action(async (name, overrides, options) =>
      (await import("./train/config.ts")).showConfig(name, overrides, options)
    );
  addFlags(config.command("check"), {
    "Examples:": `
    rgx config check my.yaml
    rgx config check my.yaml training.max_steps=10
    rgx config check configs/experiments/*.yaml`,
  })
    .description("errors only; exit 2 when there are any")
    .argument("<configs...>", "YAML files or names of embedded configs, then key.path=value …")
    .allowUnknownOption()
    .action(async (names) =>
      setExit(await (await import("./train/config.ts")).checkConfigs(names))
    );
}

function sweepCommand(program: Command, setExit: (code: number) => void): void {
  addFlags(program.command("sweep"), SWEEP)
    .description("train with every combination of some values, on this machine")
    .argument("<config>", "a YAML file or the name of an embedded config")
    .argument(
      "[overrides...]",
      "key=a,b tries each of these values; key=value is the same in all runs",
    )
    .allowUnknownOption()
    .action(async (config, overrides, options) =>
      setExit(await (await import("./sweep/sweep.ts")).sweep(config, overrides, options))
    );
}

function taskCommands(program: Command): void {
  const tasks = addFlags(program.command("tasks"), {
    "Examples:": "rgx tasks list\nrgx tasks show chain_sum",
  }).description("list, describe, sample and export reasoning tasks");
  addFlags(tasks.command("list"), {
    category: "text <name> -- only this category",
    json: "flag -- one JSON document",
    "Examples:": "rgx tasks list\nrgx tasks list --category logic\nrgx tasks list --json",
  })
    .description("all tasks: name, category, one line, curriculum")
    .action(async (options) => (await import("./tasks/tasks.ts")).listTasks(options));
  addFlags(tasks.command("show"), {
    json: "flag -- one JSON document",
    "Examples:": "rgx tasks show spell_backward\nrgx tasks show mini_sudoku --json",
  })
    .description("parameters, curriculum, scoring rule and a sample of one task")
    .argument("<name>", "task name, or a task file (docs/adding-a-task.md)")
    .action(async (name, options) => (await import("./tasks/tasks.ts")).showTask(name, options));
  addFlags(tasks.command("sample"), TASKS_SAMPLE)
    .description("entries of a task as JSONL: question, answer, metadata")
    .argument("<name>", "task name, or a task file")
    .action(async (name, options) => (await import("./tasks/tasks.ts")).sampleTask(name, options));
  addFlags(tasks.command("export"), TASKS_EXPORT)
    .description("data sets of tasks as files, in the rows that other trainers read")
    .argument("<names...>", "task names, or task files")
    .action(async (names, options) => {
      await (await import("./tasks/tasks_export.ts")).exportTasks(names, options);
    });
}

function scoreCommands(program: Command, setExit: (code: number) => void): void {
  addFlags(program.command("score"), SCORE)
    .description("score answers (JSONL in, JSONL out, in order), or serve rewards")
    .argument("[file]", "JSONL file, or - for stdin", "-")
    .action(async (file, options) => {
      setExit(await (await import("./scoring/score.ts")).score(file, options));
    });
  addFlags(program.command("rescore"), RESCORE)
    .description("score the completions of a run again, with other rewards")
    .argument("<run>", "folder of a run")
    .action(async (run, options) =>
      (await import("./scoring/rescore.ts")).rescoreRun(run, options)
    );
}

function rewardCommands(program: Command, setExit: (code: number) => void): void {
  const rewards = addFlags(program.command("rewards"), {
    "Examples:": "rgx rewards list\nrgx rewards show cosine_scaled\nrgx rewards test mine.ts",
  }).description("list and describe the built-in rewards, and test one's own");
  addFlags(rewards.command("list"), {
    json: "flag -- one JSON document",
    "Examples:": "rgx rewards list\nrgx rewards list --json",
  })
    .description("all built-in rewards: name, one line")
    .action(async (options) => (await import("./rewards/rewards.ts")).listRewards(options));
  addFlags(rewards.command("show"), {
    json: "flag -- one JSON document",
    "Examples:": "rgx rewards show cosine_scaled\nrgx rewards show correctness --json",
  })
    .description("parameters, defaults and other names of one reward")
    .argument("<name>", "name of a reward")
    .action(async (name, options) =>
      (await import("./rewards/rewards.ts")).showReward(name, options)
    );
  addFlags(rewards.command("test"), REWARDS_TEST)
    .description("hold a reward against cases: completions with expected values")
    .argument("<reward>", "a file with a reward, or the name of a built-in one")
    .argument("[cases]", "JSONL file of cases; default: NAME_cases.jsonl beside NAME.ts")
    .action(async (reward, cases, options) =>
      setExit(await (await import("./rewards/test_reward.ts")).testReward(reward, cases, options))
    );
}

function modelCommands(program: Command): void {
  addFlags(program.command("generate"), GENERATE)
    .description("text from a model")
    .argument("[model]", MODEL_KINDS)
    .argument("[-]", "the prompt comes from stdin, as without --prompt and --file")
    .action(async (first, second, options) => {
      const isStdin = first === "-" || options.model !== undefined;
      const [given, stdin] = isStdin ? [second, first] : [first, second];
      const model = oneModel("generate", given, options.model);
      await (await import("./models/generate.ts")).generateText(stdin, { ...options, model });
    });
  addFlags(program.command("logprobs"), LOGPROBS)
    .description("log-probabilities of given tokens")
    .argument("[model]", MODEL_KINDS)
    .action(async (given, options) => {
      const model = oneModel("logprobs", given, options.model);
      await (await import("./models/logprobs.ts")).showLogprobs({ ...options, model });
    });
  addFlags(program.command("export"), EXPORT)
    .description("a trained model for other programs: PEFT adapter, Hugging Face folder or GGUF")
    .argument("<checkpoint>", "a run, a checkpoint, an adapter or any model")
    .action(async (checkpoint, options) =>
      await (await import("./models/export.ts")).exportCheckpoint(checkpoint, options)
    );
  addFlags(program.command("convert"), CONVERT)
    .description("as rgx export without --to: GGUF, shards, .bin or verl's parts as a folder")
    .argument("<source>", "a GGUF file, a model folder, or a checkpoint of verl")
    .action(async (source, options) =>
      await (await import("./models/export.ts")).exportCheckpoint(source, options)
    );
  addFlags(program.command("pull"), PULL)
    .description("a model or data set from the Hugging Face Hub into the local cache")
    .argument("<repository>", "ORG/NAME, with @REVISION (branch, tag or commit) or without")
    .argument("[files...]", "only these files, by name or pattern")
    .action(async (repository, files, options) => {
      await (await import("./models/pull.ts")).pullRepository(repository, files, options);
    });
  addFlags(program.command("upload"), UPLOAD)
    .description("a trained model, with its card, to a repository of the Hugging Face Hub")
    .argument("[checkpoint]", "folder of a run or of a checkpoint")
    .action(async (checkpoint, flags) =>
      await (await import("./models/upload.ts")).uploadModel(checkpoint, flags)
    );
}

function serveCommand(program: Command): void {
  addFlags(program.command("serve"), SERVE)
    .description("a model behind an OpenAI-compatible API")
    .argument("[model]", MODEL_KINDS)
    .action(async (model, options) => (await import("./serve/serve.ts")).serve(model, options));
}

function chatCommand(program: Command, setExit: (code: number) => void): void {
  addFlags(program.command("chat"), CHAT)
    .description("a conversation with a model")
    .argument("[model]", MODEL_KINDS)
    .action(async (model, options) =>
      setExit(
        await (await import("./chat/chat.ts")).chat(
          oneModel("chat", model, options.model),
          options,
        ),
      )
    );
}

function benchCommands(program: Command, setExit: (code: number) => void): void {
  const run = async (flags: BenchFlags) => {
    (await import("./stop_control.ts")).listenEarly();
    const { bench } = await import("./bench/bench.ts");
    setExit(await bench(flags));
  };
  addFlags(program.command("bench"), BENCH_HELP)
    .description("measure models on tasks: accuracy with intervals, paired differences")
    .action((flags: BenchFlags) => run({ ...flags, base: flags.base ?? true }));
  addFlags(program.command("eval"), EVAL_HELP)
    .description("as rgx bench --config FILE: the benchmark that a YAML file describes")
    .argument("[file]", "as --config")
    .action((file: string | undefined, flags: BenchFlags) => run(withFile(file, flags)));
  addFlags(program.command(WORKER_COMMAND, { hidden: true }), {
    device: "text <name> --",
    threads: "int>=1 <n> --",
  })
    .action(async (options) => {
      (await import("./stop_control.ts")).listenEarly();
      const { serveJobs } = await import("./../bench/workers/worker.ts");
      const { openDevice } = await import("./open_device.ts");
      await serveJobs(() => openDevice(options));
    });
}

/** The flags of `rgx eval` with the file, which may stand without its flag. */
function withFile(file: string | undefined, flags: BenchFlags): BenchFlags {
  const advice = "For example: rgx eval eval.yaml --models ./model";
  if (file === undefined && flags.config === undefined) {
    throw new UsageError("no file is named that describes the evaluation", { advice });
  }
  if (file !== undefined && flags.config !== undefined) {
    throw new UsageError(`${file}: --config ${flags.config} names a file already`, { advice });
  }
  return { ...flags, config: file ?? flags.config! };
}

function reportCommands(program: Command): void {
  chartCommand(addFlags(program.command("plot"), PLOT))
    .description("charts: of benchmark results, or the curves of training runs");
  chartCommand(addFlags(program.command("curves"), CURVES))
    .description("as rgx plot: the curves of training runs");
  addFlags(program.command("report"), REPORT)
    .description("write the report of a run anew: report.md and report.html in its folder")
    .argument("<run>", "output folder of rgx train, also of one that still goes on")
    .action(async (run, options) => (await import("./reports/report.ts")).report(run, options));
}

function chartCommand(command: Command): Command {
  return command
    .argument("<files...>", "result files of rgx bench or folders of them; or folders of runs")
    .action(async (files, options) => {
      await (await import("./reports/plot.ts")).plot(files, options, command.name() === "curves");
    });
}

function dashboardCommand(program: Command): void {
  addFlags(program.command("dashboard"), DASHBOARD)
    .description("a web page: live curves, completions, comparisons, benchmarks")
    .argument("[folders...]", "folders of runs or of results; default: those in this folder")
    .action(async (folders, options) =>
      await (await import("./dashboard/dashboard.ts")).dashboard(folders, options)
    );
}

function slurmCommands(program: Command): void {
  const slurm = addFlags(program.command("slurm"), SLURM)
    .description("write the job script that trains on a SLURM cluster, and submit it")
    .argument("[config]", "a YAML file, or the name of an embedded config")
    .argument("[account]", "the account that is charged (default: slurm.account)")
    .argument("[overrides...]", "key.path=value, as rgx train takes them")
    .action(async (config, account, overrides, options) =>
      (await import("./cluster/slurm.ts")).slurmTrain(config, account, overrides, options)
    );
  slurm.hook("preSubcommand", (parent) => {
    const early = parent.options.find((option) =>
      parent.getOptionValueSource(option.attributeName()) === "cli"
    );
    if (early !== undefined) {
      parent.error(`error: write ${early.long} after "${parent.name()} bench"`);
    }
  });
  addFlags(slurm.command("bench"), SLURM_BENCH)
    .description("write the job script of a benchmark: models × tasks, dealt over graphics cards")
    .argument("[account]", "the account that the job is charged to")
    .argument("[flags...]", "after --: further flags of rgx bench")
    .action(async (account, further, options) =>
      (await import("./cluster/slurm.ts")).slurmBench(account, further, options)
    );
}

function doctorCommand(program: Command, setExit: (code: number) => void): void {
  addFlags(program.command("doctor"), DOCTOR)
    .description("what this machine (or this job) offers, whether a config fits, and what to fix")
    .argument("[config]", "a YAML file or the name of an embedded config: does it fit here?")
    .argument("[overrides...]", "key.path=value …")
    .action(async (first, further, options) => {
      if (options.self) {
        const other = Object.keys(options).find((flag) => flag !== "self" && flag !== "json");
        if (first !== undefined || other !== undefined) {
          throw new UsageError("--self: it tries the program, without a config or other flags");
        }
        setExit(await (await import("./doctor/doctor_self.ts")).doctorSelf(options));
        return;
      }
      const card = cardFromFlags(options, { plans: true, planFlag: "--plan CONFIG" });
      // With `--plan CONFIG` the arguments are overrides; `CONFIG --plan` means the same.
      const [config, overrides] = typeof options.plan !== "string"
        ? [first, further]
        : [options.plan, first === undefined ? [] : [first, ...further]];
      if (options.tune) {
        if (card !== null || options.model !== undefined) {
          throw new UsageError(
            "--tune: it measures the card of this machine, without --gpu, --model",
          );
        }
        setExit(
          await (await import("./doctor/doctor_tune.ts")).doctorTune(config, overrides, options),
        );
        return;
      }
      if (options.minutes !== undefined) throw new UsageError("--minutes: it is for --tune");
      requireCard(options, card);
      if (card !== null) {
        if (config === undefined || options.model !== undefined) {
          const what = options.model === undefined ? "which configuration?" : "without --model";
          throw new UsageError(`a plan for a card is of a run: ${what}`, {
            advice: "For example: rgx doctor --plan my.yaml --gpu h100-80gb",
          });
        }
        const { doctorPlan } = await import("./doctor/doctor_plan.ts");
        setExit(await doctorPlan(config, overrides, card, options));
        return;
      }
      if (options.model !== undefined) {
        setExit(await (await import("./doctor/doctor_model.ts")).doctorModel(config, options));
        return;
      }
      if (options.device !== undefined && config === undefined) {
        throw new UsageError("--device: it is for a config, --model or --tune", {
          advice: "Without a config every device is measured: rgx doctor",
        });
      }
      setExit(await (await import("./doctor/doctor.ts")).doctor(config, overrides, options));
    });
}

function shellCommands(program: Command): void {
  addFlags(program.command("completions"), {
    "Examples:": `
    rgx completions bash > ~/.local/share/bash-completion/completions/rgx
    rgx completions zsh > "\${fpath[1]}/_rgx"
    rgx completions fish > ~/.config/fish/completions/rgx.fish`,
  })
    .description("a script that lets a shell complete commands, flags, tasks and keys")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .action(async (shell) => (await import("./shell/completions.ts")).printCompletions(shell));
  // The scripts of the shells call it with the words after `rgx` up to the cursor.
  program.command("__complete", { hidden: true })
    .argument("[words...]")
    .allowUnknownOption()
    .helpOption(false)
    .action(async (words) => (await import("./shell/complete.ts")).printCandidates(program, words));
}

/** The hidden commands by which the executable does something in a process of its own. */
function hostCommands(program: Command): void {
  program.command(REWARD_HOST, { hidden: true })
    .argument("[hosts...]")
    .action(async (hosts) => await (await import("../rewards/custom/host.ts")).hostReward(hosts));
  program.command(TUNE_COMMAND, { hidden: true })
    .action(async () => await (await import("../kernels/tuning/worker.ts")).tuneFromInput());
  program.command(TASK_HOST, { hidden: true })
    .action(async () => await (await import("../tasks/custom/host.ts")).hostTask());
}
