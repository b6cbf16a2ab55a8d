/** The same work in torch, transformers and PEFT on the same card, where a Python has them. */

/** TFLOP/s of torch for a product, by type. */
export interface PeerProduct {
  what: string;
  float32: number;
  tfloat32: number;
  float16: number;
  bfloat16: number;
}

/** Seconds of a step in transformers and PEFT, in all and by phase. */
export interface PeerStep {
  seconds: number;
  phases: Record<string, number>;
}

/** The Python of this shell, if it has what a comparison needs. */
export async function findPython(): Promise<string | null> {
  const test = "import importlib.util as u, sys; " +
    "sys.exit(not all(u.find_spec(name) for name in ('torch', 'transformers', 'peft')))";
  try {
    const { success } = await new Deno.Command("python3", {
      args: ["-c", test],
      stdout: "null",
      stderr: "null",
    }).output();
    return success ? "python3" : null;
  } catch {
    return null; // There is none.
  }
}

/** Importing torch alone may take most of this. */
const MIN_MS = 60_000;

/**
 * Runs a program of tools/peers/.
 * @param deadline the program is ended then, as of performance.now(), but not within a minute
 * @returns what it has measured, or why there is nothing, in a sentence
 */
export async function runPeer<T>(
  python: string,
  script: string,
  argument: unknown,
  deadline: number,
): Promise<T | string> {
  const path = new URL(`../peers/${script}`, import.meta.url).pathname;
  const signal = AbortSignal.timeout(Math.max(MIN_MS, deadline - performance.now()));
  try {
    const { success, stdout, stderr } = await new Deno.Command(python, {
      args: [path, JSON.stringify(argument)],
      stdout: "piped",
      stderr: "piped",
      signal,
    }).output();
    if (signal.aborted) return `${script} had no time to end`;
    const last = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim().split("\n").at(-1)!;
    return success ? JSON.parse(last(stdout)) : `${script} failed: ${last(stderr)}`;
  } catch (error) {
    return `${script} did not run: ${(error as Error).message}`;
  }
}
