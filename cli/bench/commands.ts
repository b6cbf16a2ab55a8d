/** Flags and help of `rgx bench` and `rgx eval`, and the hidden command of their workers. */
import type { Command } from "commander";
import { WORKER_COMMAND } from "../../bench/workers/worker_command.ts";
import { UsageError } from "../../core/errors.ts";
import { activations, collect, computeDtype, examples, integer, real } from "../flag_types.ts";
import type { BenchFlags } from "./bench_request.ts";

export function benchCommands(program: Command, setExit: (code: number) => void): void {
  const run = async (flags: BenchFlags) => {
    (await import("../stop_control.ts")).listenEarly();
    const { bench } = await import("./bench.ts");
    setExit(await bench({ ...flags, cache: flags.cache ?? true }));
  };
  runFlags(program.command("bench"), "default benchmark_results; of --config the file's")
    .description("measure models on tasks: accuracy with intervals, paired differences")
    .addHelpText(
      "after",
      examples(
        "rgx bench --models experiments/leg_counting --tasks leg_counting chain_sum",
        "rgx bench --models before=./base after=runs/a --tasks leg_counting",
        "rgx bench --models run/checkpoint-50 ./base --tasks gsm_symbolic --samples 8",
        "rgx bench --models ./model --tasks chain_sum --num-examples 2000 --ranks 4",
        "rgx bench --models openai:qwen --tasks gsm8k --base-url http://localhost:8000",
        "rgx bench --models ./model --entries entries.jsonl --system DeepSeekZero",
        "rgx bench --config eval_algorithmic_composite --models ./model",
      ),
    )
    .action((flags: BenchFlags) => run({ ...flags, base: flags.base ?? true }));
  runFlags(program.command("eval"), "default: the file's, else results")
    .description("as rgx bench --config FILE: the benchmark that a YAML file describes")
    .argument("[file]", "as --config")
    .addHelpText(
      "after",
      examples(
        "rgx eval eval_algorithmic_composite --models ./model",
        "rgx eval --config eval.yaml --category algorithmic --limit 20 --json",
      ),
    )
    .action((file: string | undefined, flags: BenchFlags) =>
      run({ ...withFile(file, flags), base: flags.base ?? false })
    );
  program.command(WORKER_COMMAND, { hidden: true })
    .option("--device <name>")
    .option("--threads <n>", "", integer(1))
    .action(async (options) => {
      (await import("../stop_control.ts")).listenEarly();
      const { serveJobs } = await import("../../bench/workers/worker.ts");
      const { openDevice } = await import("../open_device.ts");
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

/**
 * The flags that both have.
 * @param folder the words about the default of --output-dir
 */
function runFlags(command: Command, folder: string): Command {
  return command
    .optionsGroup("Models and tasks:")
    .option("--config <file>", "a YAML file: categories of tasks with parameters, and a model")
    .option(
      "--models <models...>",
      "folders, runs, checkpoints, adapters, or openai:NAME; LABEL=MODEL names it in results",
      [],
    )
    .option(
      "--tasks <tasks...>",
      "tasks, task files, gsm8k=FILE, math500=FILE, mmlu_pro=FILE, or a JSONL file",
      [],
    )
    .option("--num-examples <n>", "problems of each task (default 100)", integer(1))
    .option("--set <k=v>", "a parameter (repeatable); of several tasks: NAME.k=v", collect, [])
    .option("--level <n>", "curriculum level of every attribute", integer(0))
    .option("--set-level <attr=n>", "level of one attribute (repeatable)", collect, [])
    .option("--base", "also the models that checkpoints and adapters began with (bench does)")
    .option("--no-base", "without these models (the default of eval)")
    .option(
      "--entries <files...>",
      "entries of tasks that exist already, such as reasoning-gym's: question, answer, metadata",
    )
    .option("--category <name>", "of the file, only the tasks of this category")
    .option("--limit <n>", "at most so many problems of any task", integer(1))
    .optionsGroup("Sampling:")
    .option("--seed <n>", "seed of the problems, and of the draws (default 42)", integer(0))
    .option("--sampling-seed <n>", "another seed of the draws", integer(0))
    .option("--temperature <t>", "0 = greedy (default; 1 with several samples)", real(0, 100))
    .option("--top-p <p>", "1 = off", real(0, 1, { above: true }))
    .option("--top-k <k>", "0 = off", integer(0))
    .option("--min-p <p>", "0 = off", real(0, 1))
    .option("--repetition-penalty <x>", "1 = off", real(0.01, 100))
    .addOption(activations())
    .addOption(computeDtype())
    .option(
      "--max-new-tokens <n>",
      "default: as the checkpoints were trained, else 512",
      integer(1),
    )
    .option(
      "--samples <k>",
      "completions of each problem: pass@k, avg@k, majority@k",
      integer(1, 4096),
    )
    .option("--stop <text>", "end after this text (repeatable)", collect, [])
    .optionsGroup("Prompts:")
    .option("--system <text>", "system prompt, or the name of a built-in one; empty = none")
    .option(
      "--instructions",
      "the instruction about the answer's form before every question (default: of rgx's tasks)",
    )
    .option("--no-instructions", "the question alone, without that instruction")
    .option(
      "--chat-template-kwargs <json>",
      'values for the chat template, for example {"enable_thinking": false}',
    )
    .option("--plain", "plain text even where the model has a chat template")
    .option("--few-shot <n>", "worked examples before each question", integer(0, 64))
    .option("--few-shot-as <how>", "prompt or turns (of a conversation)")
    .optionsGroup("This machine:")
    .option("--device <name>", "auto, webgpu, vulkan, wasm or reference")
    .option("--devices <list>", "one worker process each: 0,1,… (graphics cards) or names")
    .option(
      "--batch-size <n>",
      "most completions at once on this machine (default: as many as are fastest)",
      integer(1),
    )
    .option("--threads <n>", "threads of each wasm device", integer(1))
    .option("--no-native", "only WASM kernels on the wasm device (as RGX_NATIVE=0)")
    .option(
      "--workers <n>",
      "worker processes; of remote models, requests at once",
      integer(1, 1024),
    )
    .option("--ranks <n>", "share the models among so many processes (MPI)", integer(1, 65536))
    .optionsGroup("Remote models:")
    .option("--base-url <address>", "OpenAI-compatible server of openai:NAME")
    .option("--api-key-env <name>", "variable that holds the key (default OPENAI_API_KEY)")
    .option("--completions-endpoint", "send plain prompts to /completions")
    .option("--timeout <s>", "seconds without a sign of life (default 600)", real(0.01, 86400))
    .option("--retries <n>", "attempts for one request (default 10)", integer(1, 1000))
    .option("--retry-delay <s>", "seconds before the second attempt (default 1)", real(0, 600))
    .option("--no-cache", "do not keep the answers of remote models")
    .option("--price-in <x>", "price of a million prompt tokens", real(0, 1e9))
    .option("--price-out <x>", "price of a million new tokens", real(0, 1e9))
    .optionsGroup("Results, and going on:")
    .option("--output-dir <folder>", `where results go (${folder})`)
    .option("--resume", "ask only for what the output folder does not hold yet")
    .option(
      "--merge",
      "ask nothing: one result of what the output folder holds for this command",
    )
    .option("--shard <i/n>", "one part of n, from 0/n; --merge joins them")
    .option("--max-time <hh:mm:ss>", "stop (exit 75) in time; --resume goes on")
    .option("--save-metadata", "as the file's key: the reports have the metadata of problems")
    .option("--full-results", "as save_full_results: a report with all data sets, results.json")
    .option("--samples-out <file>", "all examples as JSON Lines")
    .option("--table <format>", "print markdown or csv")
    .option("--no-charts", "result files only, no pictures beside them")
    .option("--json", "one JSON document")
    .option("--quiet", "warnings and errors only")
    .option("--verbose", "each question and answer, and stacks of errors");
}
