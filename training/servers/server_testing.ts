/**
 * For tests only: a server of this program on one thread of the CPU, behind a front that counts its
 * requests, and whose answers a test can replace.
 */
import { dirname } from "node:path";
import { createDevice } from "../../kernels/mod.ts";
import { ModelHost } from "../../serve/model_host.ts";
import { startServer as startReal } from "../../serve/server.ts";
import { LIMITS } from "../../serve/testing.ts";

export interface TestServer {
  url: string;
  /** Bodies of the requests for completions, in order of their arrival. */
  readonly requests: Record<string, unknown>[];
  /** Names of the adapters that it holds. */
  readonly adapters: ReadonlySet<string>;
  /** Takes the place of an answer, unless it returns null. */
  before: (path: string, count: number) => Response | null | Promise<Response | null>;
  close(): Promise<void>;
}

export interface TestServerOptions {
  /** Answer as a server that is not rgx. */
  foreign?: boolean;
}

export async function startServer(
  modelPath: string,
  { foreign = false }: TestServerOptions = {},
): Promise<TestServer> {
  const device = await createDevice("wasm", { threads: 1 });
  const host = await ModelHost.open(modelPath, device, { servedNames: ["base"] });
  const at = { hostname: "127.0.0.1", port: 0 };
  const real = startReal(host, {
    ...at,
    apiKey: null,
    cors: null,
    limits: LIMITS,
    body: { maxBytes: 2 ** 24, seconds: 10 },
    adapters: { folders: [dirname(modelPath)], uploads: true, max: 8 },
    requestSeconds: 60,
    maxWaiting: 64,
    onDefect: (error) => console.error(error),
  });
  const requests: Record<string, unknown>[] = [], adapters = new Set<string>();
  let count = 0;
  const front = Deno.serve({ ...at, onListen: () => {} }, async (request) => {
    const { pathname } = new URL(request.url), { method } = request;
    const instead = await self.before(pathname, ++count);
    if (instead !== null) return instead;
    if (foreign && pathname === "/version") return failure(404, "Not Found");
    const body = method === "POST" ? await request.json() : null;
    if (pathname === "/v1/completions") requests.push(body);
    const answer = await fetch(real.url + pathname, {
      method,
      ...(body === null ? {} : { body: JSON.stringify(body) }),
    });
    if (answer.ok && pathname === "/v1/load_lora_adapter") adapters.add(body.lora_name);
    if (answer.ok && pathname === "/v1/unload_lora_adapter") adapters.delete(body.lora_name);
    if (!foreign || !answer.ok || pathname !== "/v1/completions") return answer;
    // Other servers have the ids in the texts of the tokens.
    const { choices, ...rest } = await answer.json();
    for (const choice of choices) delete choice.token_ids;
    return Response.json({ ...rest, choices });
  });
  const self: TestServer = {
    url: `http://127.0.0.1:${front.addr.port}`,
    requests,
    adapters,
    before: () => null,
    async close() {
      await front.shutdown();
      await real.stop(0);
      device.close();
    },
  };
  return self;
}

export function failure(status: number, message: string, headers: HeadersInit = {}): Response {
  return Response.json({ error: { message } }, { status, headers });
}
