/** Benchmarks that ask the small server of `core/remote/testing.ts`. */
import type { RemoteOptions } from "../../core/remote/server.ts";
import {
  answer,
  type Handler,
  type Request,
  usage,
  withServer,
} from "../../core/remote/testing.ts";
import { withFolder } from "../../core/testing.ts";
import { collected } from "../testing.ts";

export const MODEL = "openai:tiny";

type More = Partial<Parameters<typeof collected>[0]>;

export function ask(url: string, outputDir: string, remote: RemoteOptions = {}, more: More = {}) {
  return collected({
    models: [MODEL],
    tasks: ["chain_sum"],
    outputDir,
    remote: { baseUrl: url, firstDelay: 1, cache: false, ...remote },
    ...more,
  });
}

/** Calls `work` with a server and a folder for results. */
export function serving<T>(
  handler: Handler,
  work: (url: string, folder: string, requests: Request[]) => Promise<T>,
): Promise<T> {
  return withServer(
    handler,
    (url, requests) => withFolder((folder) => work(url, folder, requests)),
  );
}

/** Asks a server once. `model` is what the model has reached. */
export function asked(handler: Handler, remote: RemoteOptions = {}, more: More = {}) {
  return serving(handler, async (url, folder, requests) => {
    const done = await ask(url, folder, remote, more), [task] = Object.values(done.result.tasks);
    return { url, done, requests, model: task?.models[MODEL]! };
  });
}

/** A whole answer of one choice. */
export const whole = (choice: object) =>
  Response.json({ choices: [{ index: 0, ...choice }], usage });

/** A handler that gives these answers in their order, and then whole ones. */
export function inOrder(...handlers: Handler[]): Handler {
  return (request, count) => (handlers[count - 1] ?? answer)(request, count);
}
