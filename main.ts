/** The entry point of the executable and of `deno task rgx`: runs the command line. */
import { runCli } from "./cli/program.ts";

if (import.meta.main) Deno.exit(await runCli(Deno.args));
