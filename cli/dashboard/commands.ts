/** Flags and help of `rgx dashboard`. */
import type { Command } from "commander";
import { examples, integer } from "../flag_types.ts";

export function dashboardCommand(program: Command): void {
  program.command("dashboard")
    .description("a web page: live curves, completions, comparisons, benchmarks")
    .argument("[folders...]", "folders of runs or of results; default: those in this folder")
    .option("--port <n>", "0: any free port (default 6080)", integer(0, 65535))
    .option("--host <address>", "0.0.0.0: reached from other machines (default 127.0.0.1)")
    .option("--token <text>", "the token in the address; default: a new one at each start")
    .option("--no-token", "everybody who reaches the port may read")
    .option("--json", "one JSON document: url, folders")
    .addHelpText(
      "after",
      examples(
        "rgx dashboard",
        "rgx dashboard experiments/quickstart benchmark_results",
        "rgx dashboard /shared/runs --port 7000",
      ) + "\n\nIt reads only. Ctrl-C ends it.",
    )
    .action(async (folders, options) =>
      await (await import("./dashboard.ts")).dashboard(folders, options)
    );
}
