/**
 * Errors that a user can act on. Everything rgx throws on purpose is an {@link RgxError}: one clear
 * message (what failed, where, what was found, what was expected), an optional line of advice, and
 * the exit code of the process. Anything else that escapes is a bug and is shown with its stack.
 */

/** Exit codes of the program (sysexits' EX_TEMPFAIL for "stopped early, state saved"). */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  resumable: 75,
  sigint: 130,
  sigterm: 143,
} as const;

/** A failure that is explained to the user without a stack trace. */
export class RgxError extends Error {
  override name = "RgxError";
  /** What to do about it, printed on a line of its own. */
  readonly advice: string | undefined;
  readonly exitCode: number;
  constructor(
    message: string,
    options: { advice?: string; exitCode?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.advice = options.advice;
    this.exitCode = options.exitCode ?? EXIT.failure;
  }
}

/** Bad usage or configuration, found before any work was done: exit code 2. */
export class UsageError extends RgxError {
  override name = "UsageError";
  constructor(message: string, options: { advice?: string; cause?: unknown } = {}) {
    super(message, { ...options, exitCode: EXIT.usage });
  }
}

/** Work was ended early on request (a signal, a time limit); what was saved can be resumed: exit code 75. */
export class Interrupted extends RgxError {
  override name = "Interrupted";
  constructor(message = "stopped early on request", options: { advice?: string } = {}) {
    super(message, { ...options, exitCode: EXIT.resumable });
  }
}

/** The same error with the place where it was found in front; anything else as it is. */
export function inPlace(place: string, error: unknown): unknown {
  if (!(error instanceof RgxError)) return error;
  const { advice } = error;
  return new RgxError(`${place}: ${error.message}`, {
    ...(advice === undefined ? {} : { advice }),
    cause: error,
  });
}

/** What was thrown, in words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
