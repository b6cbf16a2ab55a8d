/**
 * What commands that serve have in common. SIGHUP is left to its default: the closed terminal ends
 * the server, and one that was started with nohup goes on.
 */
import { EXIT } from "../core/errors.ts";

/** Waits for the first signal. The next one ends the process. */
export function stopSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isFirst = true;
  const signals = [["SIGINT", EXIT.sigint], ["SIGTERM", EXIT.sigterm]] as const;
  for (const [signal, code] of signals) {
    Deno.addSignalListener(signal, () => {
      if (!isFirst) Deno.exit(code);
      isFirst = false;
      resolve();
    });
  }
  return promise;
}
