/**
 * Errors for users. Every error that rgx throws on purpose is an {@link RgxError}. It has a message
 * (what failed, where, what was found, what was expected), an optional line of advice, and the exit
 * code of the process. Any other uncaught error is a bug and is shown with its stack trace.
 */

/** Exit codes of the program. `resumable` (stopped early, state saved) is sysexits' EX_TEMPFAIL. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  resumable: 75,
  sigint: 130,
  sigterm: 143,
} as const;

/** The longest line of a message, and the most lines: messages may quote a file or a model. */
const MAX_LINE = 2000, MAX_LINES = 500;

function bounded(text: string): string {
  const lines = text.split("\n", MAX_LINES + 1).map((line) =>
    line.length <= MAX_LINE
      ? line
      : `${line.slice(0, MAX_LINE - 300)} … ${line.slice(-200)} (${line.length} characters)`
  );
  return lines.length <= MAX_LINES
    ? lines.join("\n")
    : [...lines.slice(0, MAX_LINES), "…"].join("\n");
}

/** A failure that is shown to the user without a stack trace. */
export class RgxError extends Error {
  /** Name of the class, as of every error. */
  override name = "RgxError";
  /** Advice for the user, which is printed on a separate line. */
  readonly advice: string | undefined;
  /** The exit code of the program: one of `EXIT`. */
  readonly exitCode: number;
  /** The message says what was found and what was expected; `advice` says what to do. */
  constructor(
    message: string,
    options: { advice?: string; exitCode?: number; cause?: unknown } = {},
  ) {
    super(bounded(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.advice = options.advice === undefined ? undefined : bounded(options.advice);
    this.exitCode = options.exitCode ?? EXIT.failure;
  }
}

/** Wrong usage or configuration, found before any work was done: exit code 2. */
export class UsageError extends RgxError {
  /** Name of the class, as of every error. */
  override name = "UsageError";
  /** The message says what was found and what was expected; `advice` says what to do. */
  constructor(message: string, options: { advice?: string; cause?: unknown } = {}) {
    super(message, { ...options, exitCode: EXIT.usage });
  }
}

/** A mistake with another message, such as one that names its place, and the same advice. */
export function reworded(error: RgxError, message: string): UsageError {
  const { advice } = error;
  return new UsageError(message, { ...(advice !== undefined && { advice }), cause: error });
}

/** Runs all checks, and reports their mistakes together. @throws UsageError */
export function checkAll(...checks: readonly (() => unknown)[]): void {
  const mistakes: RgxError[] = [];
  for (const check of checks) {
    try {
      check();
    } catch (error) {
      if (!(error instanceof RgxError)) throw error;
      mistakes.push(error);
    }
  }
  if (mistakes.length === 1) throw mistakes[0];
  if (mistakes.length === 0) return;
  const advice = mistakes.flatMap((mistake) => mistake.advice ?? []).join("\n");
  throw new UsageError(
    mistakes.map(({ message }) => message).join("\n"),
    advice === "" ? {} : { advice },
  );
}

/** Work was stopped early (signal, time limit) and can be resumed: exit code 75. */
export class Interrupted extends RgxError {
  /** Name of the class, as of every error. */
  override name = "Interrupted";
  /** The message says what was found and what was expected; `advice` says what to do. */
  constructor(message = "stopped early on request", options: { advice?: string } = {}) {
    super(message, { ...options, exitCode: EXIT.resumable });
  }
}

/** An RgxError with a place before its message; any other error is returned unchanged. */
export function inPlace(place: string, error: unknown): unknown {
  if (!(error instanceof RgxError)) return error;
  const { advice } = error;
  return new RgxError(`${place}: ${error.message}`, {
    ...(advice === undefined ? {} : { advice }),
    cause: error,
  });
}

/** The message of a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
