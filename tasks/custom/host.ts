/** Where the code of a user's task runs. It gets no network. */
import { hostWorker } from "../../core/sandbox/host.ts";

export async function hostTask(): Promise<never> {
  return await hostWorker(new URL("./worker.ts", import.meta.url), []);
}

if (import.meta.main) await hostTask();
