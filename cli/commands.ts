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
import { requireCard } from "./doctor/layout_flags.ts";
import * as jobTables from "./cluster/job_flags.ts";
import * as tables from "./flag_tables.ts";
import { addFlags, oneModel, type Table } from "./flags.ts";
import { cardFromFlags } from "./plans/card_flags.ts";
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

/** The list for the end of a help text. */
export function keyFlagsHelp(): string {
  const width = Math.max(...KEY_FLAGS.map(([flag]) => flag.length));
  const lines = KEY_FLAGS.map(([flag, key]) => `  ${flag.padEnd(width)}  ${key}`);
  return ["", "Keys as flags (rgx config show CONFIG lists all keys):", ...lines].join("\n");
}

/** The arguments of a command, its options, and the command itself. */
type Arguments = Parameters<Parameters<Command["action"]>[0]>;
/** @returns the exit code; undefined means 0 */
type Work = (...args: Arguments) => Promise<number | void>;

/** Work by a function of a module that is loaded only when the command runs. */
function from<M>(load: () => Promise<M>, name: keyof M): Work {
  return async (...args) => await ((await load())[name] as Work)(...args);
}

/** Adds all commands. @param setExit called with the exit code of a command that has one */
export function addCommands(program: Command, setExit: (code: number) => void): void {
  const withWork = (command: Command, work: Work) =>
    command.action(async (...args) => {
      const code = await work(...args);
      if (typeof code === "number") setExit(code);
    });
  /** Adds a command, `tasks list` to the group `tasks`. Without work it is a group. */
  const add = (names: string, table: Table, work?: Work): Command => {
    const [name, child] = names.split(" ");
    const group = child === undefined
      ? program
      : program.commands.find((command) => command.name() === name)!;
    const command = addFlags(group.command(child ?? name!), table);
    return work === undefined ? command : withWork(command, work);
  };
  const hidden = (name: string, work: Work) =>
    withWork(program.command(name, { hidden: true }), work);

  add("init", tables.INIT, from(() => import("./init/init.ts"), "init"));

  const runs = [
    ["train", "all", TRAIN_HELP],
    ["sft", "sft", SFT_HELP],
    ["dpo", "dpo", DPO_HELP],
  ] as const;
  for (const [name, kind, help] of runs) {
    const command = add(name, TRAIN, trainWork(kind));
    addFlags(command.addHelpText("after", keyFlagsHelp()).allowUnknownOption(), help);
  }
  add("sweep", tables.SWEEP, from(() => import("./sweep/sweep.ts"), "sweep")).allowUnknownOption();

  add("tasks", {
    "About:": "list, describe, sample and export reasoning tasks",
    "Examples:": "rgx tasks list\nrgx tasks show chain_sum",
  });
  add("tasks list", {
    "About:": "all tasks: name, category, one line, curriculum",
    category: "text <name> -- only this category",
    json: JSON_FLAG,
    "Examples:": "rgx tasks list\nrgx tasks list --category logic\nrgx tasks list --json",
  }, from(() => import("./tasks/tasks.ts"), "listTasks"));
  add("tasks show", {
    "About:": "parameters, curriculum, scoring rule and a sample of one task",
    "<name>": "task name, or a task file (docs/adding-a-task.md)",
    json: JSON_FLAG,
    "Examples:": "rgx tasks show spell_backward\nrgx tasks show mini_sudoku --json",
  }, from(() => import("./tasks/tasks.ts"), "showTask"));
  add("tasks sample", tables.TASKS_SAMPLE, from(() => import("./tasks/tasks.ts"), "sampleTask"));
  add(
    "tasks export",
    tables.TASKS_EXPORT,
    from(() => import("./tasks/tasks_export.ts"), "exportTasks"),
  );

  add("score", scoring.SCORE, from(() => import("./scoring/score.ts"), "score"));
  add("rescore", scoring.RESCORE, from(() => import("./scoring/rescore.ts"), "rescoreRun"));

  add("rewards", {
    "About:": "list and describe the built-in rewards, and test one's own",
    "Examples:": "rgx rewards list\nrgx rewards show cosine_scaled\nrgx rewards test mine.ts",
  });
  add("rewards list", {
    "About:": "all built-in rewards: name, one line",
    json: JSON_FLAG,
    "Examples:": "rgx rewards list\nrgx rewards list --json",
  }, from(() => import("./rewards/rewards.ts"), "listRewards"));
  add("rewards show", {
    "About:": "parameters, defaults and other names of one reward",
    "<name>": "name of a reward",
    json: JSON_FLAG,
    "Examples:": "rgx rewards show cosine_scaled\nrgx rewards show correctness --json",
  }, from(() => import("./rewards/rewards.ts"), "showReward"));
  add(
    "rewards test",
    scoring.REWARDS_TEST,
    from(() => import("./rewards/test_reward.ts"), "testReward"),
  );

  add("env", {
    "About:": "try, play, serve, replay or begin an environment (docs/environments.md)",
    "Examples:": "rgx env check guess.ts\nrgx env play guess.ts\nrgx env new guess.ts",
  });
  add("env check", tables.ENV_CHECK, from(() => import("./env/env.ts"), "checkEnvironment"));
  add("env play", tables.ENV_PLAY, from(() => import("./env/env.ts"), "playEnvironment"));
  add("env serve", tables.ENV_SERVE, from(() => import("./env/serve.ts"), "serveEnvironment"));
  add("env replay", tables.ENV_REPLAY, from(() => import("./env/replay.ts"), "replay"));
  add("env new", tables.ENV_NEW, from(() => import("./env/env.ts"), "newEnvironment"));

  add("generate", tables.GENERATE, async (first, second, options) => {
    const isStdin = first === "-" || options.model !== undefined;
    const [given, stdin] = isStdin ? [second, first] : [first, second];
    const model = oneModel("generate", given, options.model);
    await (await import("./models/generate.ts")).generateText(stdin, { ...options, model });
  });
  add("logprobs", tables.LOGPROBS, async (given, options) => {
    const model = oneModel("logprobs", given, options.model);
    await (await import("./models/logprobs.ts")).showLogprobs({ ...options, model });
  });
  const convert: Work = from(() => import("./models/export.ts"), "exportCheckpoint");
  add("export", tables.EXPORT, convert);
  add("convert", tables.CONVERT, convert);
  add("pull", tables.PULL, from(() => import("./models/pull.ts"), "pullRepository"));
  add("upload", tables.UPLOAD, from(() => import("./models/upload.ts"), "uploadModel"));
  add("serve", tables.SERVE, from(() => import("./serve/serve.ts"), "serve"));
  add(
    "chat",
    tables.CHAT,
    async (model, options) =>
      (await import("./chat/chat.ts")).chat(oneModel("chat", model, options.model), options),
  );

  add("bench", tables.BENCH_HELP, (flags) => bench({ ...flags, base: flags.base ?? true }));
  add("eval", tables.EVAL_HELP, (file, flags) => bench(withFile(file, flags)));
  addFlags(
    hidden(WORKER_COMMAND, async (options) => {
      (await import("./stop_control.ts")).listenEarly();
      const { serveJobs } = await import("../bench/workers/worker.ts");
      const { openDevice } = await import("./open_device.ts");
      await serveJobs(() => openDevice(options));
    }),
    { device: "text <name> --", threads: "int>=1 <n> --" },
  );
  for (const [name, table] of [["plot", tables.PLOT], ["curves", tables.CURVES]] as const) {
    add(
      name,
      table,
      async (files, options) =>
        (await import("./reports/plot.ts")).plot(files, options, name === "curves"),
    );
  }
  add(
    "report",
    {
      "About:": "write the report of a run anew: report.md and report.html in its folder",
      "<run>": "output folder of rgx train, also of a run that is still going on",
      json: "flag -- one JSON document: markdown, html",
      "Examples:": `
    rgx report experiments/quickstart
    rgx report runs/a --json`,
      "After:": "rgx train writes it by itself when a run ends.",
    },
    from(() => import("./reports/report.ts"), "report"),
  );
  add("watch", tables.WATCH, from(() => import("./reports/watch.ts"), "watch"));
  add("dashboard", tables.DASHBOARD, from(() => import("./dashboard/dashboard.ts"), "dashboard"));

  add("slurm", jobTables.SLURM, from(() => import("./cluster/slurm.ts"), "slurmTrain"))
    .hook("preSubcommand", (parent) => {
      const early = parent.options.find((option) =>
        parent.getOptionValueSource(option.attributeName()) === "cli"
      );
      if (early === undefined) return;
      parent.error(`error: write ${early.long} after "${parent.name()} bench"`);
    });
  add("slurm bench", jobTables.SLURM_BENCH, from(() => import("./cluster/slurm.ts"), "slurmBench"));

  add("jobs", jobTables.JOBS, from(() => import("./cluster/slurm.ts"), "jobs"));

  add("config", {
    "About:": "list, show or check configurations",
    "Examples:": "rgx config list\nrgx config show quickstart\nrgx config check my.yaml",
  });
  add("config list", {
    "About:": "the embedded configs",
    json: JSON_FLAG,
    "Examples:": "rgx config list\nrgx config list --json",
  }, from(() => import("./train/config.ts"), "listConfigs"));
  add(
    "config show",
    {
      "About:": "the merged config, each value with its origin",
      "<config>": CONFIG,
      "[overrides...]": "key.path=value …",
      json: JSON_FLAG,
      "Examples:": "rgx config show quickstart\nrgx config show my.yaml training.max_steps=10",
    },
    from(() => import("./train/config.ts"), "showConfig"),
  ).allowUnknownOption();
  add("config check", {
    "About:": "errors only; exit 2 when there are any",
    "<configs...>": "YAML files or names of embedded configs, then key.path=value …",
    "Examples:": `
    rgx config check my.yaml
    rgx config check my.yaml training.max_steps=10
    rgx config check configs/experiments/*.yaml`,
  }, from(() => import("./train/config.ts"), "checkConfigs")).allowUnknownOption();
  add("doctor", tables.DOCTOR, doctor);

  add("licenses", {
    "About:": "the licences of what this program holds",
    "[names...]": "parts whose licence texts are printed",
    text: "flag -- all texts",
    sbom: "flag -- a bill of materials, as CycloneDX",
    json: JSON_FLAG,
    "Examples:": "rgx licenses\nrgx licenses hono\nrgx licenses --sbom > sbom.json",
  }, from(() => import("./licenses/licenses.ts"), "licenses"));

  add("completions", {
    "About:": "a script that lets a shell complete commands, flags, tasks and keys",
    "Examples:": `
    rgx completions bash > ~/.local/share/bash-completion/completions/rgx
    rgx completions zsh > "\${fpath[1]}/_rgx"
    rgx completions fish > ~/.config/fish/completions/rgx.fish`,
  }, from(() => import("./shell/completions.ts"), "printCompletions"))
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]));
  // The scripts of the shells call it with the words after `rgx` up to the cursor.
  hidden(
    "__complete",
    async (words) => (await import("./shell/complete.ts")).printCandidates(program, words),
  )
    .argument("[words...]").allowUnknownOption().helpOption(false);

  // The commands by which the executable does something in a process of its own.
  hidden(
    REWARD_HOST,
    from(() => import("../rewards/custom/host.ts"), "hostReward"),
  ).argument("[hosts...]");
  hidden(
    ENVIRONMENT_HOST,
    from(() => import("../rewards/environments/file/host.ts"), "hostEnvironment"),
  ).argument("[hosts...]");
  hidden(TUNE_COMMAND, from(() => import("../kernels/tuning/worker.ts"), "tuneFromInput"));
  hidden(TASK_HOST, from(() => import("../tasks/custom/host.ts"), "hostTask"));
}

/** The work of `train`, `sft` and `dpo`. */
function trainWork(kind: RunKind): Work {
  return async (config, overrides, options, command: Command) => {
    const { listenEarly, parseDuration } = await import("./stop_control.ts");
    listenEarly();
    // Both flags are read here, so that a mistake in them is refused in a plan for a card, too.
    const { maxTime, logMetrics } = options;
    if (maxTime !== undefined) options.maxTime = parseDuration(maxTime);
    if (logMetrics !== undefined) {
      const { readChosenMetrics } = await import("./train/metric_lines.ts");
      options.logMetrics = readChosenMetrics(logMetrics);
    }
    const known = command.options.map((option) => option.long ?? "");
    const plans = options.dryRun ?? false;
    const card = cardFromFlags(options, { plans, planFlag: "--dry-run" });
    if (options.measure && (!plans || card !== null)) {
      throw new UsageError("--measure: the steps of a dry run are measured, on this machine", {
        advice: plans ? "Leave out --measure for another card." : "Add --dry-run.",
      });
    }
    if (card !== null && !options.printConfig) {
      const { dryRunOnCard } = await import("./train/dry_run.ts");
      return await dryRunOnCard(card, config, overrides, options, known, kind);
    }
    const { train } = await import("./train/train.ts");
    return await train(config, overrides, options, known, kind);
  };
}

async function bench(flags: tables.BenchFlags): Promise<number> {
  (await import("./stop_control.ts")).listenEarly();
  return await (await import("./bench/bench.ts")).bench(flags);
}

/** The flags of `rgx eval` with the file, which may be given without its flag. */
function withFile(file: string | undefined, flags: tables.BenchFlags): tables.BenchFlags {
  const advice = "For example: rgx eval eval.yaml --models ./model";
  if (file === undefined && flags.config === undefined) {
    throw new UsageError("no file is named that describes the evaluation", { advice });
  }
  if (file !== undefined && flags.config !== undefined) {
    throw new UsageError(`${file}: --config ${flags.config} names a file already`, { advice });
  }
  return { ...flags, config: file ?? flags.config! };
}

const doctor: Work = async (first, further, options) => {
  if (options.self) {
    const other = Object.keys(options).find((flag) => flag !== "self" && flag !== "json");
    if (first !== undefined || other !== undefined) {
      throw new UsageError("--self: it tries the program, without a config or other flags");
    }
    return await (await import("./doctor/doctor_self.ts")).doctorSelf(options);
  }
  const card = cardFromFlags(options, { plans: true, planFlag: "--plan CONFIG" });
  // With `--plan CONFIG` the arguments are overrides; `CONFIG --plan` means the same.
  const [config, overrides] = typeof options.plan !== "string"
    ? [first, further]
    : [options.plan, first === undefined ? [] : [first, ...further]];
  if (options.tune) {
    if (card !== null || options.model !== undefined) {
      throw new UsageError("--tune: it measures the card of this machine, without --gpu, --model");
    }
    return await (await import("./doctor/doctor_tune.ts")).doctorTune(config, overrides, options);
  }
  if (options.minutes !== undefined) throw new UsageError("--minutes: it is for --tune");
  requireCard(options, card);
  if (card !== null) {
    if (config === undefined || options.model !== undefined) {
      const what = options.model === undefined ? "which configuration?" : "without --model";
      throw new UsageError(`only a run can be planned for a card: ${what}`, {
        advice: "For example: rgx doctor --plan my.yaml --gpu h100-80gb",
      });
    }
    const { doctorPlan } = await import("./doctor/doctor_plan.ts");
    return await doctorPlan(config, overrides, card, options);
  }
  if (options.model !== undefined) {
    return await (await import("./doctor/doctor_model.ts")).doctorModel(config, options);
  }
  if (options.device !== undefined && config === undefined) {
    throw new UsageError("--device: it is for a config, --model or --tune", {
      advice: "Without a config every device is measured: rgx doctor",
    });
  }
  return await (await import("./doctor/doctor.ts")).doctor(config, overrides, options);
};
