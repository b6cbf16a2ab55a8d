/** Where the code of a user's environment runs. */
import { hostWorker } from "../../../core/sandbox/host.ts";

/** @param net hosts that the environment may connect to */
export async function hostEnvironment(net: readonly string[]): Promise<never> {
  return await hostWorker(new URL("./worker.ts", import.meta.url), net);
}

if (import.meta.main) await hostEnvironment(Deno.args);
