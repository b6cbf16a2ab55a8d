/** Runs other programs of this machine to their end. */

/** How a program has ended, and what it has printed. */
export interface CommandOutput {
  success: boolean;
  code: number;
  /** The signal that has ended it, as after the limit in time; null: none. */
  signal: Deno.Signal | null;
  out: string;
  err: string;
}

type Options = Pick<Deno.CommandOptions, "cwd" | "env" | "clearEnv"> & {
  /** The limit in time; default: none. */
  timeoutMs?: number;
};

/** @returns null where there is no such program, or it may not be run */
export async function runCommand(
  [program, ...args]: readonly string[],
  { timeoutMs, ...options }: Options = {},
): Promise<CommandOutput | null> {
  const limit = timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(timeoutMs) };
  try {
    const { stdout, stderr, ...end } = await new Deno.Command(program!, {
      args,
      stdin: "null",
      ...options,
      ...limit,
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { ...end, out: text(stdout), err: text(stderr) };
  } catch {
    return null;
  }
}
