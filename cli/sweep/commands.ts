/** Flags and help of `rgx sweep`. */
import type { Command } from "commander";
import { examples } from "../flag_types.ts";

export function sweepCommand(program: Command, setExit: (code: number) => void): void {
  program.command("sweep")
    .description("train with every combination of some values, on this machine")
    .argument("<config>", "a YAML file or the name of an embedded config")
    .argument(
      "[overrides...]",
      "key=a,b tries each of these values; key=value is the same in all runs",
    )
    .option("--jobs <n>", "runs at once, or auto: as many as cores and memory allow", "1")
    .option("--output-dir <folder>", "where the runs' folders are made")
    .option("--device <name>", "auto, webgpu, vulkan, wasm or reference")
    .option("--json", "one JSON document")
    .allowUnknownOption()
    .addHelpText(
      "after",
      examples(
        "rgx sweep quickstart training.learning_rate=1e-3,2e-3 training.seed=1,2,3",
        "rgx sweep my.yaml lora.r=4,16,64 training.max_steps=200 --jobs auto",
      ) +
        "\n\nThe same command again goes on: completed runs are kept, stopped ones resumed.\n" +
        "On a cluster, rgx slurm CONFIG ACCOUNT --sweep key=a,b makes an array job.",
    )
    .action(async (config, overrides, options) =>
      setExit(await (await import("./sweep.ts")).sweep(config, overrides, options))
    );
}
