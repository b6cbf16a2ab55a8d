/** Work that a signal ends in an orderly way. A second signal ends the process at once. */
import { EXIT, type RgxError } from "../../core/errors.ts";

const EXIT_CODES = { SIGINT: EXIT.sigint, SIGTERM: EXIT.sigterm } as const;

/** @param reason the error that the work ends with when a signal arrives */
export async function abortable<T>(
  work: (signal: AbortSignal) => Promise<T>,
  reason: (name: string, exitCode: number) => RgxError,
): Promise<T> {
  const control = new AbortController();
  const handlers = (["SIGINT", "SIGTERM"] as const).map((name) => {
    const exitCode = EXIT_CODES[name];
    const handler = () => {
      if (control.signal.aborted) Deno.exit(exitCode);
      control.abort(reason(name, exitCode));
    };
    Deno.addSignalListener(name, handler);
    return { name, handler };
  });
  try {
    return await work(control.signal);
  } finally {
    for (const { name, handler } of handlers) Deno.removeSignalListener(name, handler);
  }
}
