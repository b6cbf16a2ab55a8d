/** The entry point of the executable and of `deno task rgx`: runs the command line. */
import { OutputClosed, print } from "./cli/terminal/terminal.ts";
import { versionLine } from "./core/version.ts";

/** The commands, and the library that reads their flags, are not loaded for the version alone. */
async function run(args: readonly string[]): Promise<number> {
  if (args.length === 1 && (args[0] === "--version" || args[0] === "-V")) {
    print(versionLine());
    return 0;
  }
  const { runCli } = await import("./cli/program.ts");
  return await runCli(args);
}

if (import.meta.main) {
  Deno.exit(
    await run(Deno.args).catch((error) => {
      if (error instanceof OutputClosed) return 0;
      throw error;
    }),
  );
}
