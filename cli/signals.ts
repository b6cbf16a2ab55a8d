/** How commands react to a signal that asks the process to end, and how small servers listen. */
import { EXIT, type RgxError } from "../core/errors.ts";
import { hostInUrl, listenError } from "../core/remote/http_front.ts";

/** Calls `heard` at each of these signals, until the returned function is called. */
export function onSignals(
  signals: readonly Deno.Signal[],
  heard: (signal: Deno.Signal) => void,
): () => void {
  const handlers = signals.map((signal) => [signal, () => heard(signal)] as const);
  for (const [signal, handler] of handlers) Deno.addSignalListener(signal, handler);
  return () => {
    for (const [signal, handler] of handlers) Deno.removeSignalListener(signal, handler);
  };
}

const EXIT_CODES = { SIGINT: EXIT.sigint, SIGTERM: EXIT.sigterm } as const;
type Ending = keyof typeof EXIT_CODES;
const ENDINGS: readonly Deno.Signal[] = ["SIGINT", "SIGTERM"];

/**
 * Of commands that serve: waits for the first signal. The next one ends the process. SIGHUP is left
 * to its default: the closed terminal ends the server, and one that was started with nohup goes on.
 */
export function stopSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isFirst = true;
  onSignals(ENDINGS, (signal) => {
    if (!isFirst) Deno.exit(EXIT_CODES[signal as Ending]);
    isFirst = false;
    resolve();
  });
  return promise;
}

/**
 * Work that a signal ends in an orderly way. A second signal ends the process at once.
 * @param reason the error that the work ends with when a signal arrives
 */
export async function abortable<T>(
  work: (signal: AbortSignal) => Promise<T>,
  reason: (name: string, exitCode: number) => RgxError,
): Promise<T> {
  const control = new AbortController();
  const listenNoMore = onSignals(ENDINGS, (name) => {
    const exitCode = EXIT_CODES[name as Ending];
    if (control.signal.aborted) Deno.exit(exitCode);
    control.abort(reason(name, exitCode));
  });
  try {
    return await work(control.signal);
  } finally {
    listenNoMore();
  }
}

/**
 * Serves HTTP without limits for slow clients.
 * @returns the address, HOST:PORT
 * @throws RgxError when the port is taken
 */
export function listenOn(
  hostname: string,
  port: number,
  handler: (request: Request) => Response | Promise<Response>,
  onError: (error: unknown) => Response,
): { address: string; close: () => Promise<void> } {
  try {
    const server = Deno.serve({ hostname, port, handler, onListen() {}, onError });
    const address = `${hostInUrl(hostname)}:${server.addr.port}`;
    return { address, close: () => server.shutdown() };
  } catch (error) {
    throw listenError(hostname, port, error);
  }
}
