/**
 * The names of all commands, with their tables and the functions that do the work. Those are loaded
 * only when their command runs, so that `rgx --version` and `--help` start fast.
 */
import { Argument, type Command } from "commander";
import { WORKER_COMMAND } from "../bench/workers/worker_command.ts";
import type { RunKind } from "../configs/load.ts";
import { UsageError } from "../core/errors.ts";
import { ENVIRONMENT_HOST, REWARD_HOST, TASK_HOST } from "../core/sandbox/host_commands.ts";
import { TUNE_COMMAND } from "../kernels/tuning/command.ts";
import type { BenchFlags } from "./bench/bench_request.ts";
import * as jobTables from "./cluster/job_flags.ts";
import * as tables from "./flag_tables.ts";
import { addFlags, oneModel, type Table } from "./flags.ts";
import * as scoring from "./scoring/score_flags.ts";
import { DPO_HELP, SFT_HELP, TRAIN, TRAIN_HELP } from "./train/run_flags.ts";

const CONFIG = "a YAML file or the name of an embedded config";
const JSON_FLAG = "flag -- one JSON document";

/**
 * Frequent keys of a configuration: the flag with its argument, and the key that it sets. The help
 * of `train` and `sft` lists them. Every other key is a flag too (`configs/reading/overrides.ts`).
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

export function keyFlagsHelp(): string {
  const width = Math.max(...KEY_FLAGS.map(([flag]) => flag.length));
  const lines = KEY_FLAGS.map(([flag, key]) => `  ${flag.padEnd(width)}  ${key}`);
  return ["", "Keys as flags (rgx config show CONFIG lists all keys):", ...lines].join("\n");
}

/** The arguments of a command, its options, and the command itself. */
type Arguments = Parameters<Parameters<Command["action"]>[0]>;
/** @returns the exit code; undefined means 0 */
type Work = (...args: Arguments) => Promise<number | void>;

/** Work by functions of a module that is loaded only when a command runs. */
function from<M>(load: () => Promise<M>): (name: keyof M) => Work {
  return (name) => async (...args) => await ((await load())[name] as Work)(...args);
}

const tasks = from(() => import("./tasks/tasks.ts"));
const rewards = from(() => import("./rewards/rewards.ts"));
const env = from(() => import("./env/env.ts"));
const config = from(() => import("./train/config.ts"));
const slurm = from(() => import("./cluster/slurm.ts"));
const plot = from(() => import("./reports/plot.ts"));
const exported = from(() => import("./models/export.ts"))("exportCheckpoint");

type Entry = readonly [names: string, table: Table, work?: Work];

/**
 * The commands by the user's purpose, in the order of `--help`; `tasks list` is one of `tasks`.
 */
const COMMANDS: Readonly<Record<string, readonly Entry[]>> = {
  "Start:": [
    ["init", tables.INIT, from(() => import("./init/init.ts"))("init")],
    ["tasks", {
      "About:": "list, describe, sample and export reasoning tasks",
      "Examples:": "rgx tasks list\nrgx tasks show chain_sum",
    }],
    ["tasks list", {
      "About:": "all tasks: name, category, one line, curriculum",
      category: "text <name> -- only this category",
      json: JSON_FLAG,
      "Examples:": "rgx tasks list\nrgx tasks list --category logic\nrgx tasks list --json",
    }, tasks("listTasks")],
    ["tasks show", {
      "About:": "parameters, curriculum, scoring rule and a sample of one task",
      "<name>": "task name, or a task file (docs/adding-a-task.md)",
      json: JSON_FLAG,
      "Examples:": "rgx tasks show spell_backward\nrgx tasks show mini_sudoku --json",
    }, tasks("showTask")],
    ["tasks sample", tables.TASKS_SAMPLE, tasks("sampleTask")],
    [
      "tasks export",
      tables.TASKS_EXPORT,
      from(() => import("./tasks/tasks_export.ts"))("exportTasks"),
    ],
    ["rewards", {
      "About:": "list and describe the built-in rewards, and test one's own",
      "Examples:": "rgx rewards list\nrgx rewards show cosine_scaled\nrgx rewards test mine.ts",
    }],
    ["rewards list", {
      "About:": "all built-in rewards: name, one line",
      json: JSON_FLAG,
      "Examples:": "rgx rewards list\nrgx rewards list --json",
    }, rewards("listRewards")],
    ["rewards show", {
      "About:": "parameters, defaults and other names of one reward",
      "<name>": "name of a reward",
      json: JSON_FLAG,
      "Examples:": "rgx rewards show cosine_scaled\nrgx rewards show correctness --json",
    }, rewards("showReward")],
    ["rewards test", scoring.REWARDS_TEST, rewards("testReward")],
    ["env", {
      "About:": "try, play, serve, replay or begin an environment (docs/environments.md)",
      "Examples:": "rgx env check guess.ts\nrgx env play guess.ts\nrgx env new guess.ts",
    }],
    ["env check", tables.ENV_CHECK, env("checkEnvironment")],
    ["env play", tables.ENV_PLAY, env("playEnvironment")],
    ["env serve", tables.ENV_SERVE, from(() => import("./env/serve.ts"))("serveEnvironment")],
    ["env replay", tables.ENV_REPLAY, env("replay")],
    ["env new", tables.ENV_NEW, env("newEnvironment")],
    ["config", {
      "About:": "list, show or check configurations",
      "Examples:": "rgx config list\nrgx config show quickstart\nrgx config check my.yaml",
    }],
    ["config list", {
      "About:": "the embedded configs",
      json: JSON_FLAG,
      "Examples:": "rgx config list\nrgx config list --json",
    }, config("listConfigs")],
    ["config show", {
      "About:": "the merged config, each value with its origin",
      "<config>": CONFIG,
      "[overrides...]": "key.path=value …",
      json: JSON_FLAG,
      "Examples:": "rgx config show quickstart\nrgx config show my.yaml training.max_steps=10",
    }, config("showConfig")],
    ["config check", {
      "About:": "errors only; exit 2 when there are any",
      "<configs...>": "YAML files or names of embedded configs, then key.path=value …",
      "Examples:": `
    rgx config check my.yaml
    rgx config check my.yaml training.max_steps=10
    rgx config check configs/experiments/*.yaml`,
    }, config("checkConfigs")],
    ["doctor", tables.DOCTOR, from(() => import("./doctor/doctor.ts"))("doctor")],
    ["licenses", {
      "About:": "the licences of what this program holds",
      "[names...]": "parts whose licence texts are printed",
      text: "flag -- all texts",
      sbom: "flag -- a bill of materials, as CycloneDX",
      json: JSON_FLAG,
      "Examples:": "rgx licenses\nrgx licenses hono\nrgx licenses --sbom > sbom.json",
    }, from(() => import("./licenses/licenses.ts"))("licenses")],
    ["completions", {
      "About:": "a script that lets a shell complete commands, flags, tasks and keys",
      "Examples:": `
    rgx completions bash > ~/.local/share/bash-completion/completions/rgx
    rgx completions zsh > "\${fpath[1]}/_rgx"
    rgx completions fish > ~/.config/fish/completions/rgx.fish`,
    }, from(() => import("./shell/complete.ts"))("printCompletions")],
  ],
  "Train:": [
    ["train", { ...TRAIN, ...TRAIN_HELP }, trainWork("all")],
    ["sft", { ...TRAIN, ...SFT_HELP }, trainWork("sft")],
    ["dpo", { ...TRAIN, ...DPO_HELP }, trainWork("dpo")],
    ["sweep", tables.SWEEP, from(() => import("./sweep/sweep.ts"))("sweep")],
  ],
  "Measure:": [
    ["bench", tables.BENCH_HELP, (flags) => bench({ ...flags, base: flags.base ?? true })],
    ["eval", tables.EVAL_HELP, (file, flags) => bench(withFile(file, flags))],
    ["plot", tables.PLOT, plot("plot")],
    ["curves", tables.CURVES, plot("plotRuns")],
    ["report", {
      "About:": "write the report of a run anew: report.md and report.html in its folder",
      "<run>": "output folder of rgx train, also of a run that is still going on",
      json: "flag -- one JSON document: markdown, html",
      "Examples:": "rgx report experiments/quickstart\nrgx report runs/a --json",
      "After:": "rgx train writes it by itself when a run ends.",
    }, plot("report")],
    ["watch", tables.WATCH, from(() => import("./reports/watch.ts"))("watch")],
    ["dashboard", tables.DASHBOARD, from(() => import("./dashboard/dashboard.ts"))("dashboard")],
    ["score", scoring.SCORE, from(() => import("./scoring/score.ts"))("score")],
    ["rescore", scoring.RESCORE, from(() => import("./scoring/rescore.ts"))("rescoreRun")],
    ["generate", tables.GENERATE, async (first, second, options) => {
      const isStdin = first === "-" || options.model !== undefined;
      const [given, stdin] = isStdin ? [second, first] : [first, second];
      const model = oneModel("generate", given, options.model);
      await (await import("./models/generate.ts")).generateText(stdin, { ...options, model });
    }],
    ["chat", tables.CHAT, async (given, options) => {
      const model = oneModel("chat", given, options.model);
      return await (await import("./chat/chat.ts")).chat(model, options);
    }],
    ["logprobs", tables.LOGPROBS, async (given, options) => {
      const model = oneModel("logprobs", given, options.model);
      await (await import("./models/logprobs.ts")).showLogprobs({ ...options, model });
    }],
  ],
  "Share:": [
    ["pull", tables.PULL, from(() => import("./models/pull.ts"))("pullRepository")],
    ["upload", tables.UPLOAD, from(() => import("./models/upload.ts"))("uploadModel")],
    ["export", tables.EXPORT, exported],
    ["convert", tables.CONVERT, exported],
    ["serve", tables.SERVE, from(() => import("./serve/serve.ts"))("serve")],
  ],
  "Cluster:": [
    ["slurm", jobTables.SLURM, slurm("slurmTrain")],
    ["slurm bench", jobTables.SLURM_BENCH, slurm("slurmBench")],
    ["jobs", jobTables.JOBS, slurm("jobs")],
  ],
};

const RUNS = ["train", "sft", "dpo"];
/** Commands that take the keys of a configuration as flags. */
const TAKE_KEYS = [...RUNS, "sweep", "config show", "config check"];

/** The commands by which the executable does something in a process of its own. */
const HOSTS: readonly (readonly [name: string, table: Table, work: Work])[] = [
  [
    WORKER_COMMAND,
    { device: "text <name> --", threads: "int>=1 <n> --", alone: "flag --" },
    async (options) => {
      (await import("./stop_control.ts")).listenEarly();
      const { serveJobs } = await import("../bench/workers/worker.ts");
      const { openDevice } = await import("./open_device.ts");
      await serveJobs(() => openDevice(options), options);
    },
  ],
  [
    REWARD_HOST,
    { "[hosts...]": "" },
    from(() => import("../rewards/custom/host.ts"))("hostReward"),
  ],
  [
    ENVIRONMENT_HOST,
    { "[hosts...]": "" },
    from(() => import("../rewards/environments/file/host.ts"))("hostEnvironment"),
  ],
  [TUNE_COMMAND, {}, from(() => import("../kernels/tuning/worker.ts"))("tuneFromInput")],
  [TASK_HOST, {}, from(() => import("../tasks/custom/host.ts"))("hostTask")],
];

/** The hidden command that completes words in a shell. */
const COMPLETE = "__complete";

/**
 * Adds the command that is asked for, because making all takes longer than many commands; or all
 * without their flags, where no command is named.
 * @param setExit called with the exit code of a command that has one
 * @param asked the first word of the command line
 */
export function addCommands(
  program: Command,
  setExit: (code: number) => void,
  asked: string | undefined,
): void {
  const hasFlags = asked === COMPLETE || [...Object.values(COMMANDS).flat(), ...HOSTS]
    .some(([names]) => names.split(" ")[0] === asked);
  const isAsked = (name: string) => !hasFlags || asked === COMPLETE || asked === name;
  const withWork = (command: Command, work: Work) =>
    command.action(async (...args) => {
      const code = await work(...args);
      if (typeof code === "number") setExit(code);
    });
  const find = (name: string) => program.commands.find((command) => command.name() === name);
  for (const [heading, entries] of Object.entries(COMMANDS)) {
    for (const [names, table, work] of entries) {
      const [name, child] = names.split(" ");
      if (!isAsked(name!)) continue;
      const group = child === undefined ? program : find(name!)!;
      const command = group.command(child ?? name!).allowUnknownOption(TAKE_KEYS.includes(names));
      if (child === undefined) command.helpGroup(heading);
      if (RUNS.includes(names)) command.addHelpText("after", keyFlagsHelp());
      if (hasFlags) addFlags(command, table);
      else command.description(table["About:"]!);
      if (work !== undefined) withWork(command, work);
    }
  }
  find("slurm")?.hook("preSubcommand", (parent) => {
    const early = parent.options.find((option) =>
      parent.getOptionValueSource(option.attributeName()) === "cli"
    );
    if (early === undefined) return;
    parent.error(`error: write ${early.long} after "${parent.name()} bench"`);
  });
  find("completions")
    ?.addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]));
  for (const [name, table, work] of HOSTS) {
    if (isAsked(name)) withWork(addFlags(program.command(name, { hidden: true }), table), work);
  }
  // The scripts of the shells call it with the words after `rgx` up to the cursor.
  const complete: Work = async (words) =>
    (await import("./shell/complete.ts")).printCandidates(program, words);
  withWork(program.command(COMPLETE, { hidden: true }), complete)
    .argument("[words...]").allowUnknownOption().helpOption(false);
}

/** The work of `train`, `sft` and `dpo`. Signals are heard while the program is still loading. */
function trainWork(kind: RunKind): Work {
  return async (config, overrides, options, command: Command) => {
    (await import("./stop_control.ts")).listenEarly();
    const known = command.options.map((option) => option.long ?? "");
    const card = (await import("./train/load_run.ts")).readFlags(options);
    if (card !== null && !options.printConfig) {
      const { dryRunOnCard } = await import("./train/dry_run.ts");
      return await dryRunOnCard(card, config, overrides, options, known, kind);
    }
    const { train } = await import("./train/train.ts");
    return await train(config, overrides, options, known, kind);
  };
}

async function bench(flags: BenchFlags): Promise<number> {
  (await import("./stop_control.ts")).listenEarly();
  return await (await import("./bench/bench.ts")).bench(flags);
}

/** The flags of `rgx eval` with the file, which may be given without its flag. */
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
