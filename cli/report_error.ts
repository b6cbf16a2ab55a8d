/**
 * The only place where an error becomes text and an exit code. A mistake of the user is shown as a
 * message and advice. Any other error is shown as a defect of rgx, with the way to get its stack.
 */
import { EXIT, RgxError } from "../core/errors.ts";
import { labelled, log, OutputClosed } from "./terminal/terminal.ts";

/** Prints the error on stderr and returns the exit code of the process. */
export function reportError(error: unknown, verbose: boolean): number {
  if (error instanceof OutputClosed) return EXIT.ok;
  const debug = verbose || Boolean(Deno.env.get("RGX_DEBUG"));
  if (error instanceof RgxError) {
    log(labelled("red", "error:", error.message));
    if (error.advice) log(labelled("cyan", "help:", error.advice));
    if (debug && error.stack) log(error.stack);
    return error.exitCode;
  }
  const file = explainSystemError(error);
  if (file !== null) {
    log(labelled("red", "error:", file));
    if (debug) log((error as Error).stack ?? "");
    return EXIT.failure;
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  log(labelled("red", "internal error:", message));
  if (debug && error instanceof Error && error.stack) log(error.stack);
  else log("This is a defect of rgx. Run again with RGX_DEBUG=1 for the stack and report it.");
  return EXIT.failure;
}

/** The refusal of the operating system in words, or null for any other error. */
function explainSystemError(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as { code?: unknown };
  if (typeof code !== "string" || !/^E[A-Z0-9]+$/.test(code)) return null;
  // "Is a directory (os error 21): readfile 'a/b'"
  const [, what, call] = /^(.*?)(?: \(os error \d+\))?(?:: (.*))?$/s.exec(error.message) ?? [];
  return call === undefined ? error.message : `${what}: ${call}`;
}
