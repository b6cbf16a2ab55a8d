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
  /** Ends the program. */
  signal?: AbortSignal;
  /** What the program reads; default: nothing. */
  input?: string;
};

/** @returns null where there is no such program, or it may not be run */
export async function runCommand(
  [program, ...args]: readonly string[],
  { timeoutMs, signal, input, ...options }: Options = {},
): Promise<CommandOutput | null> {
  const limits = signal === undefined ? [] : [signal];
  if (timeoutMs !== undefined) limits.push(AbortSignal.timeout(timeoutMs));
  try {
    signal?.throwIfAborted();
    const child = new Deno.Command(program!, {
      args,
      stdin: input === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
      ...options,
      signal: AbortSignal.any(limits),
    }).spawn();
    const ended = child.output();
    // A program that ends without reading has said why.
    if (input !== undefined) await new Blob([input]).stream().pipeTo(child.stdin).catch(() => {});
    const { stdout, stderr, ...end } = await ended;
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { ...end, out: text(stdout), err: text(stderr) };
  } catch {
    return null;
  }
}
