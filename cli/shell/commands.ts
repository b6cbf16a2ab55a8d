/** `rgx completions`, and the hidden command that the shells call for each press of the tab key. */
import { Argument, type Command } from "commander";
import { examples } from "../flag_types.ts";

export function shellCommands(program: Command): void {
  program.command("completions")
    .description("a script that lets a shell complete commands, flags, tasks and keys")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      examples(
        "rgx completions bash > ~/.local/share/bash-completion/completions/rgx",
        'rgx completions zsh > "${fpath[1]}/_rgx"',
        "rgx completions fish > ~/.config/fish/completions/rgx.fish",
      ),
    )
    .action(async (shell) => (await import("./completions.ts")).printCompletions(shell));
  // The scripts of the shells call it with the words after `rgx` up to the cursor.
  program.command("__complete", { hidden: true })
    .argument("[words...]")
    .allowUnknownOption()
    .helpOption(false)
    .action(async (words) => (await import("./complete.ts")).printCandidates(program, words));
}
