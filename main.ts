/** Entry of the executable and of `deno task rgx`: hands the arguments to the command line. */
import { runCli } from "./cli/program.ts";

if (import.meta.main) Deno.exit(await runCli(Deno.args));
