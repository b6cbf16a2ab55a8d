/** Flags and help of `rgx score` and `rgx rescore`. */
import type { Command } from "commander";
import { collect, examples, integer } from "../flag_types.ts";

export function scoreCommands(program: Command, setExit: (code: number) => void): void {
  scoreCommand(program, setExit);
  rescoreCommand(program);
}

function scoreCommand(program: Command, setExit: (code: number) => void): void {
  program.command("score")
    .description("score answers (JSONL in, JSONL out, in order), or serve rewards")
    .argument("[file]", "JSONL file, or - for stdin", "-")
    .option("--completions", "take whole completions and extract their answers as training does")
    .option("--task <file>", "a task file of yours, which the lines name (repeatable)", collect, [])
    .option("--threads <n>", "threads; default: one a core", integer(1, 1024))
    .option(
      "--reward <reward>",
      "score with it: a name, a file, {name: …} (repeatable)",
      collect,
      [],
    )
    .option("--config <file>", "score with the rewards of a run's configuration")
    .option("--serve", "rewards over HTTP (default: correctness) for another trainer")
    .option("--host <address>", "where to listen with --serve", "127.0.0.1")
    .option("--port <n>", "0: a free one", integer(0, 65535), 8100)
    .addHelpText(
      "after",
      examples(
        "rgx score answers.jsonl",
        "cat answers.jsonl | rgx score --completions -",
        "rgx score answers.jsonl --task ./digit_sum.ts",
        "rgx score completions.jsonl --reward correctness --reward mine.ts",
        "rgx score --serve --config my.yaml",
      ) +
        '\n\nWith rewards, a line is a row of data with its completion: {"prompt": …,\n' +
        '"answer": …, "completion": …}. docs/rewards.md has the protocol of --serve.',
    )
    .action(async (file, options) => {
      setExit(await (await import("./score.ts")).score(file, options));
    });
}

function rescoreCommand(program: Command): void {
  program.command("rescore")
    .description("score the completions of a run again, with other rewards")
    .argument("<run>", "folder of a run")
    .option("--reward <reward>", "a name, a file, {name: …} (repeatable)", collect, [])
    .option("--config <file>", "the rewards of another configuration")
    .option("--steps <a-b>", "only these steps")
    .option("--output <file>", "a .jsonl with both rewards of every completion")
    .option("--json", "one JSON document")
    .addHelpText(
      "after",
      examples(
        "rgx rescore experiments/my --reward correctness --reward '{name: brevity, weight: 0.2}'",
        "rgx rescore experiments/my --reward '{name: judge, base_url: http://127.0.0.1:8000/v1}'",
        "rgx rescore experiments/my",
      ) +
        "\n\nWithout rewards, those of the run are computed again, as after a change of a\n" +
        "reward file. The run is not changed.",
    )
    .action(async (run, options) => (await import("./rescore.ts")).rescoreRun(run, options));
}
