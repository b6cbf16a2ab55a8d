/** Flags and help of `rgx doctor`. */
import type { Command } from "commander";
import { examples } from "../flag_types.ts";

export function doctorCommand(program: Command, setExit: (code: number) => void): void {
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
        setExit(await (await import("./doctor_model.ts")).doctorModel(config, options));
        return;
      }
      setExit(await (await import("./doctor.ts")).doctor(config, overrides, options));
    });
}
