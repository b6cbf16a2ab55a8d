/** Where the code of a user's reward runs. */
import { hostWorker } from "../../core/sandbox/host.ts";

/** @param net hosts that the reward may connect to */
export async function hostReward(net: readonly string[]): Promise<never> {
  return await hostWorker(new URL("./worker.ts", import.meta.url), net);
}

if (import.meta.main) await hostReward(Deno.args);
