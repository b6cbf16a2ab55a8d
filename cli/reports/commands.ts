/** Flags and help of `rgx plot`, `rgx curves` and `rgx report`. */
import type { Command } from "commander";
import { collect, examples } from "../flag_types.ts";

export function reportCommands(program: Command): void {
  program.command("plot")
    .description("charts from result files: models on a task, or on many and on average")
    .argument("<results...>", "result files of rgx bench, or folders of them")
    .option("--title <text>", "title of the chart")
    .option(
      "--rename <model=name>",
      "what a model is called in the chart (repeatable)",
      collect,
      [],
    )
    .option("--rename-file <path>", "a JSON object of such names")
    .option("--full-scale", "a scale from 0 to 100 %; default: to where the data end")
    .option("--output <path>", "a .png, .svg, .pdf or .html; default: a new PNG beside the results")
    .option("--json", "one JSON document: path, kind, tasks, models, notes")
    .addHelpText(
      "after",
      examples(
        "rgx plot benchmark_results/results_*.json",
        "rgx plot results_leg_counting_20260102_030405.json " +
          '--rename "Qwen/Qwen2.5-7B-Instruct=Qwen 7B"',
        "rgx plot benchmark_results --rename-file names.json " +
          '--title "After training" --output chart.html',
      ),
    )
    .action(async (results, options) => (await import("./plot.ts")).plot(results, options));
  program.command("curves")
    .description("training curves of one or several runs")
    .argument("<runs...>", "output folders of rgx train, or their metrics.jsonl")
    .option("--metrics <names>", "names as in metrics.jsonl, with commas between")
    .option("--rename <run=name>", "what a run is called (repeatable)", collect, [])
    .option("--title <text>", "title of the chart")
    .option(
      "--output <path>",
      "a .png, .svg, .pdf or .html; default: curves.png in the run's folder, or here",
    )
    .option("--json", "one JSON document: path, metrics, runs, notes")
    .addHelpText(
      "after",
      examples(
        "rgx curves experiments/quickstart",
        "rgx curves runs/a runs/b --metrics reward,eval_accuracy --output curves.html",
      ),
    )
    .action(async (runs, options) => (await import("./plot.ts")).curves(runs, options));
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
