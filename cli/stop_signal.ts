/** What commands that serve have in common. */
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
