/** The parts of the command line that are common to all commands of `commands.ts`. */
import { Command, CommanderError, Help } from "commander";
import { EXIT, UsageError } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { versionLine } from "../core/version.ts";
import { addCommands } from "./commands.ts";
import { examples } from "./flags.ts";
import { reportError } from "./report_error.ts";
import { columns, log, print } from "./terminal/terminal.ts";

/** Commands whose --resume may name a checkpoint. */
const TRAINS = ["train", "sft", "dpo"];

/** Runs the command line and returns the exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  const asked = args[0] === "help" ? args[1] : args[0];
  const program = createProgram(asked, (code) => exitCode = code);
  try {
    await refuseForeignCommand(program, args[0]);
    // A bare --resume has no value, so that CONFIG in `--resume CONFIG` is the configuration.
    const given = (await withConfigName(args)).map((arg) =>
      arg === "--resume" && TRAINS.includes(args[0] ?? "") ? "--resume=latest" : arg
    );
    await program.parseAsync(withHelpFlag(program, given), { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed its message; help and version end with 0, every usage error with 2.
      return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    }
    return reportError(error, args.includes("--verbose"));
  }
}

/** Says what to type in place of a command of another program. @throws UsageError */
async function refuseForeignCommand(program: Command, word: string | undefined): Promise<void> {
  if (word === undefined || program.commands.some((command) => command.name() === word)) return;
  const { foreignCommandHint } = await import("../configs/foreign/config_arguments.ts");
  const hint = foreignCommandHint(word);
  if (hint === null) return;
  throw new UsageError(`${word}: a command of another program`, { advice: hint });
}

/**
 * Turns `help a b` into `a b --help`. After a word that is no command, `--help` is dropped, so that
 * the word is refused as an unknown command.
 */
function withHelpFlag(program: Command, args: readonly string[]): string[] {
  let command = program, at = 0;
  for (;;) {
    const next = command.commands.find((child) => child.name() === args[at]);
    if (next === undefined) break;
    command = next;
    at++;
  }
  const word = args[at];
  const isGroup = command.commands.length > 0 && command.registeredArguments.length === 0;
  if (!isGroup || word === undefined || word.startsWith("-")) return [...args];
  if (word === "help") return withHelpFlag(program, [...args.toSpliced(at, 1), "--help"]);
  return args.filter((arg) => arg !== "--help" && arg !== "-h");
}

/** Replaces the flags of Hydra and TRL for commands that take a configuration. */
async function withConfigName(args: readonly string[]): Promise<string[]> {
  const words = args[0] === "config" ? 2 : 1;
  if (!["train", "sft", "dpo", "config"].includes(args[0] ?? "")) return [...args];
  const { withConfigArgument } = await import("../configs/foreign/config_arguments.ts");
  return [...args.slice(0, words), ...withConfigArgument(args.slice(words))];
}

function createProgram(asked: string | undefined, setExit: (code: number) => void): Command {
  const program = new Command("rgx");
  program
    .description(
      "Reasoning tasks, GRPO training, and honest measurement of language models, in one file.",
    )
    .version(versionLine(), "-V, --version", "print the version")
    .configureOutput({
      writeOut: (text) => print(text.trimEnd()),
      writeErr: (text) => log(text.trimEnd()),
      getOutHelpWidth: columns,
      getErrHelpWidth: columns,
    })
    .configureHelp({
      // The arguments and flags are listed in the help of each command.
      subcommandTerm: (command) => command.name(),
      visibleCommands(command) {
        const visible = Help.prototype.visibleCommands.call(this, command);
        if (command.parent === null) {
          visible.find((child) => child.name() === "help")?.helpGroup("Start:");
        }
        return visible;
      },
      optionDescription(option) {
        return Array.isArray(option.defaultValue) && option.defaultValue.length === 0
          ? option.description
          : Help.prototype.optionDescription(option);
      },
    })
    .enablePositionalOptions() // a command and its subcommand may have flags of the same names
    .showHelpAfterError("(--help shows the usage and examples)")
    .exitOverride()
    .addHelpText(
      "after",
      examples(
        "rgx train quickstart",
        "rgx tasks sample spell_backward --size 3",
        "rgx doctor",
      ),
    );

  addCommands(program, setExit, asked);
  for (const command of [program, ...allCommands(program)]) {
    command.exitOverride().copyInheritedSettings(program).showSuggestionAfterError(false)
      .configureOutput({ outputError: (text, write) => write(withSuggestion(text, command)) });
  }
  return program;
}

/** An error of Commander's; an unknown name with the one that was probably meant. */
function withSuggestion(text: string, command: Command): string {
  const missing = /missing required argument 'config'/.test(text);
  if (missing) {
    return `${text.trimEnd()}, for example quickstart: rgx ${command.name()} quickstart\n`;
  }
  const [, what, name] = /unknown (option|command) '([^']+)'/.exec(text) ?? [];
  if (name === undefined) return text;
  const names = what === "option"
    ? [...command.options.flatMap(({ long }) => long ?? []), "--help"]
    : command.createHelp().visibleCommands(command).map((child) => child.name());
  const near = didYouMean(name, names), isOfSlurm = what === "option" && command.name() === "slurm";
  const key = `${name.slice(2).replaceAll("-", "_")}=VALUE`;
  const hint = isOfSlurm && near === ""
    ? `; a key of the configuration stands as ${key}, or after --`
    : near;
  return text.trimEnd() + hint + "\n";
}

function* allCommands(command: Command): Generator<Command> {
  for (const child of command.commands) {
    yield child;
    yield* allCommands(child);
  }
}
