/**
 * Starts the server, and ends it: new requests are refused, those under way have the grace time to
 * finish, and are ended then.
 */
import type { Desk } from "./answer.ts";
import { type Front, hostInUrl, listenError, serveHttp } from "../core/remote/http_front.ts";
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
  /** Seconds in which the header of a request must have come; default 20. */
  headSeconds?: number;
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
/** A connection may be without a byte so much longer than a request, and than the grace time. */
const MARGIN_SECONDS = 5;

/** @param maxWaiting maximum number of requests that wait */
export function openDesk(host: ModelHost, maxWaiting: number): Desk {
  const random = crypto.getRandomValues(new Uint32Array(2));
  let promptId = random[1]!;
  return {
    host,
    queue: new FairQueue(host.slots, maxWaiting),
    metrics: new Metrics(),
    randomSeed: random[0]!,
    nextPromptId: () => promptId++,
  };
}

/** @throws RgxError when the port cannot be taken */
export function startServer(host: ModelHost, options: ServeOptions): Server {
  const desk = openDesk(host, options.maxWaiting);
  const limits = { ...options.limits, maxModelLength: host.maxModelLength };
  const app = new App(desk, { ...options, limits }), { hostname, port, onDefect } = options;
  const { requestSeconds, headSeconds } = options, idleSeconds = requestSeconds + MARGIN_SECONDS;
  let server: Front;
  try {
    server = serveHttp(
      { hostname, port, idleSeconds, ...(headSeconds === undefined ? {} : { headSeconds }) },
      (request) => app.hono.fetch(request),
      (error) => {
        onDefect(error);
        return new Response(null, { status: 500 });
      },
    );
  } catch (error) {
    throw listenError(hostname, port, error);
  }
  return {
    url: `http://${hostInUrl(hostname)}:${server.port}`,
    app,
    async stop(graceSeconds) {
      app.stopTaking();
      const limit = performance.now() + graceSeconds * 1000;
      while (app.open > 0 && performance.now() < limit) {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
      app.endAll();
      await host.idle();
      await server.shutdown(MARGIN_SECONDS);
      host.close();
    },
  };
}
