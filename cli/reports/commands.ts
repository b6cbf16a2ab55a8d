/** Flags and help of `rgx plot`, which `rgx curves` is too, and of `rgx report`. */
import type { Command } from "commander";
import { collect, examples } from "../flag_types.ts";

export function reportCommands(program: Command): void {
  chartCommand(program.command("plot"))
    .description("charts: of benchmark results, or the curves of training runs")
    .addHelpText(
      "after",
      examples(
        "rgx plot benchmark_results/results_*.json",
        "rgx plot results_leg_counting_20260102_030405.json " +
          '--rename "Qwen/Qwen2.5-7B-Instruct=Qwen 7B"',
        "rgx plot benchmark_results --rename-file names.json " +
          '--title "After training" --output chart.html',
        "rgx plot runs/a runs/b --metrics reward,eval_accuracy --output curves.html",
      ),
    );
  chartCommand(program.command("curves"))
    .description("as rgx plot: the curves of training runs")
    .addHelpText(
      "after",
      examples("rgx curves experiments/quickstart", "rgx curves runs/a runs/b"),
    );
  program.command("report")
    .description("write the report of a run anew: report.md and report.html in its folder")
    .argument("<run>", "output folder of rgx train, also of one that still goes on")
    .option("--json", "one JSON document: markdown, html")
    .addHelpText(
      "after",
      examples("rgx report experiments/quickstart", "rgx report runs/a --json") +
        "\n\nrgx train writes it by itself when a run ends.",
    )
    .action(async (run, options) => (await import("./report.ts")).report(run, options));
}

function chartCommand(command: Command): Command {
  return command
    .argument("<files...>", "result files of rgx bench or folders of them; or folders of runs")
    .option("--title <text>", "title of the chart")
    .option(
      "--rename <old=name>",
      "what a model or a run is called in the chart (repeatable)",
      collect,
      [],
    )
    .option("--rename-file <path>", "a JSON object of such names of models")
    .option("--full-scale", "of results: from 0 to 100 %; default: to where the data end")
    .option("--metrics <names>", "of runs: names as in metrics.jsonl, with commas between")
    .option("--output <path>", "a .png, .svg, .pdf or .html; default: a new PNG beside the data")
    .option("--json", "one JSON document: path, what is drawn, notes")
    .action(async (files, options) => {
      await (await import("./plot.ts")).plot(files, options, command.name() === "curves");
    });
}
