/** For tests: what a command writes to a terminal, which `script` (util-linux) provides. */
import { lines, rgxProgram } from "./support.ts";

const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;

/** Whether this machine can provide a terminal. */
export const HAS_TERMINAL = Deno.build.os === "linux" &&
  new Deno.Command("sh", { args: ["-c", "script --version"], stdout: "null", stderr: "null" })
    .outputSync().success;

/**
 * `rgx` on a terminal without colours. Stdout and stderr are one there.
 * @param columns its width
 */
export function rgxOnTerminal(
  args: readonly string[],
  columns: number,
  options: Deno.CommandOptions,
): Deno.Command {
  const command = `stty cols ${columns}; exec ${rgxProgram(args).map(quoted).join(" ")}`;
  return new Deno.Command("script", {
    args: ["-qec", command, "/dev/null"],
    stderr: "null",
    ...options,
    env: { NO_COLOR: "1", COLUMNS: "", CI: "", TERM: "xterm", SLURM_JOB_ID: "", ...options.env },
  });
}

/** The lines that it writes. */
export async function linesOnTerminal(
  args: readonly string[],
  columns: number,
  env: Record<string, string> = {},
): Promise<string[]> {
  const { stdout } = await rgxOnTerminal(args, columns, { env, stdin: "null" }).output();
  return lines(new TextDecoder().decode(stdout).replaceAll("\r\n", "\n"));
}
