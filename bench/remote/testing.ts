/** A benchmark that asks the small server of `core/remote/testing.ts`. */
import type { RemoteOptions } from "../../core/remote/server.ts";
import { collected } from "../testing.ts";

export const MODEL = "openai:tiny";

export function ask(
  url: string,
  outputDir: string,
  remote: RemoteOptions = {},
  more: Partial<Parameters<typeof collected>[0]> = {},
) {
  return collected({
    models: [MODEL],
    tasks: ["chain_sum"],
    outputDir,
    remote: { baseUrl: url, firstDelay: 1, cache: false, ...remote },
    ...more,
  });
}
