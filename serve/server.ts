/**
 * Starts the server, and ends it: new requests are refused, those under way have the grace time to
 * finish, and are ended then.
 */
import { listenError } from "../core/network.ts";
import type { Desk } from "./answer.ts";
import { App, type AppOptions } from "./app.ts";
import { FairQueue } from "./fair_queue.ts";
import { Metrics } from "./metrics.ts";
import type { ModelHost } from "./model_host.ts";

export interface ServeOptions extends Omit<AppOptions, "limits"> {
  limits: Omit<AppOptions["limits"], "maxModelLength">;
  /** 0 = any free port. */
  port: number;
  /** Maximum number of requests that wait; more are refused with 429. */
  maxWaiting: number;
}

export interface Server {
  /** The address without a path. */
  url: string;
  app: App;
  /** Ends it and its model. @param graceSeconds for the requests under way */
  stop(graceSeconds: number): Promise<void>;
}

/** How often the end of the requests under way is looked for. */
const POLL_MS = 20;

/** @throws RgxError when the port cannot be taken */
export function startServer(host: ModelHost, options: ServeOptions): Server {
  const random = crypto.getRandomValues(new Uint32Array(2));
  let promptId = random[1]!;
  const desk: Desk = {
    host,
    queue: new FairQueue(host.slots, options.maxWaiting),
    metrics: new Metrics(),
    randomSeed: random[0]!,
    nextPromptId: () => promptId++,
  };
  const limits = { ...options.limits, maxModelLength: host.maxModelLength };
  const app = new App(desk, { ...options, limits }), { hostname, port, onDefect } = options;
  let server: Deno.HttpServer<Deno.NetAddr>;
  try {
    server = Deno.serve({
      hostname,
      port,
      onListen() {},
      handler: (request) => app.hono.fetch(request),
      onError(error) {
        onDefect(error);
        return new Response(null, { status: 500 });
      },
    });
  } catch (error) {
    throw listenError(hostname, port, error);
  }
  const name = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    url: `http://${name}:${server.addr.port}`,
    app,
    async stop(graceSeconds) {
      app.stopTaking();
      const limit = performance.now() + graceSeconds * 1000;
      while (app.open > 0 && performance.now() < limit) {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
      app.endAll();
      await host.idle();
      await server.shutdown();
      host.close();
    },
  };
}
