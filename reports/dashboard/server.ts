/**
 * The server of `rgx dashboard`. It answers only requests that carry its token: in the address of
 * the page and of the stream of events, or as a bearer token. The page's scripts and styles hold no
 * data and need none. It writes tags and notes only; with `allowRuns` it starts and stops runs too.
 */
import { timingSafeEqual } from "node:crypto";
import { type Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { callerMistake } from "../../core/remote/callers.ts";
import { RgxError, UsageError } from "../../core/errors.ts";
import { type Front, hostInUrl, listenError, serveHttp } from "../../core/remote/http_front.ts";
import { atMost } from "../../core/machine/running_time.ts";
import { VERSION } from "../../core/version.ts";
import { dataRoutes, launchRoutes, newToken, ReportKeys } from "./data_routes.ts";
import { Launcher } from "./launch.ts";
import { PAGE, pageFile, preparePage } from "./page.ts";
import { readRunInfo } from "./reading/run_state.ts";
import { Runs } from "./runs.ts";

/** The folders that a dashboard shows, and who may read them. */
export interface DashboardOptions {
  /** Folders of runs and of benchmarks; default: the working directory. */
  folders?: readonly string[];
  /** Default 127.0.0.1: only programs of this machine. */
  hostname?: string;
  /** 0: any free port. */
  port?: number;
  /**
   * The token that the address must have; default: a new one. null: everybody who reaches the port
   * may read.
   */
  token?: string | null;
  /** Whether people may start, stop and resume runs; needs a token. Default false. */
  allowRuns?: boolean;
  /** Milliseconds between two looks at the files; default 2000. */
  interval?: number;
}

/** A dashboard that is being served. */
export interface Dashboard extends AsyncDisposable {
  /** The address of the page, with the token. */
  url: string;
  /** Stops the server; open pages lose it. */
  close(): Promise<void>;
}

/** Looks at the files between two searches for new runs. */
const LOOKS_PER_SEARCH = 5;
/** Seconds in which answers under way may end when the dashboard ends. */
const CLOSE_SECONDS = 2;
/** Seconds without a byte after which a connection is cut; the page's events come more often. */
const IDLE_SECONDS = 60;

/** The page loads nothing from elsewhere, and no other page may show it. */
const HEADERS = {
  "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; " +
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
};

/**
 * Serves a page on runs and benchmarks, which follows their files while they grow.
 * @throws RgxError when the port is taken; UsageError when it or the address cannot be used
 */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { hostname = "127.0.0.1", port = 0, token = newToken(), interval = 2000 } = options;
  const runs = new Runs(options.folders ?? ["."]), ending = new AbortController();
  await Promise.all([runs.refresh(), preparePage()]);
  // What is read now need not be read when the page is opened.
  await Promise.all(runs.found.runs.map((found) => readRunInfo(found)));
  const launcher = options.allowRuns ? new Launcher(runs.folders[0]!, ending.signal) : null;
  if (launcher !== null && token === null) {
    throw new UsageError("runs are started only with a token: leave out --no-token");
  }
  const app = createApp(runs, { hostname, token, interval, launcher }, ending.signal);
  let server: Front;
  try {
    server = serveHttp({ hostname, port, idleSeconds: IDLE_SECONDS }, (one) => app.fetch(one));
  } catch (error) {
    throw listenError(hostname, port, error);
  }
  const looked = runs.look();
  const address = `http://${hostInUrl(hostname)}:${server.port}/`;
  const close = async () => {
    ending.abort();
    await server.shutdown(CLOSE_SECONDS);
    await Promise.all([runs.close(), looked]);
  };
  return {
    url: token === null ? address : `${address}?token=${token}`,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function createApp(
  runs: Runs,
  { hostname, token, interval, launcher }: {
    hostname: string;
    token: string | null;
    interval: number;
    launcher: Launcher | null;
  },
  ending: AbortSignal,
): Hono {
  const app = new Hono();
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) {
      if (!c.res.headers.has(name)) c.res.headers.set(name, value);
    }
  });
  app.use(async (c, next) => {
    const mistake = callerMistake(c.req.raw.headers, { hostname, cors: null }, "");
    return mistake === null ? await next() : c.text(`${mistake}\n`, 403);
  });
  app.get("/app/:name", async (c) => {
    const file = await pageFile(c.req.param("name"));
    if (file === null) return c.notFound();
    return c.body(file.body, 200, { "content-type": `${file.type}; charset=utf-8` });
  });
  const reports = new ReportKeys();
  app.get("/report/:key", async (c) => {
    const text = await reports.read(c.req.param("key"));
    return text ? c.html(text, 200, { "content-security-policy": REPORT_POLICY }) : c.notFound();
  });
  app.use(async (c, next) => {
    if (token !== null && !isRight(givenToken(c), token)) {
      return c.text(
        "This dashboard needs its token. Open the whole address that `rgx dashboard` printed, " +
          "with ?token=… at its end.\n",
        401,
      );
    }
    return await next();
  });
  app.get("/", (c) => c.html(PAGE));
  app.get("/api/events", (c) => events(c, runs, interval, ending));
  app.use("/api/*", async (c, next) => {
    if (c.req.method !== "GET") requireWriter(c, token !== null);
    return await next();
  });
  app.route("/api", dataRoutes(runs, reports, launcher !== null, ending));
  if (launcher !== null) app.route("/api", launchRoutes(runs, launcher));
  app.onError((error, c) => {
    const problem = error instanceof RgxError ? error.message : `internal error: ${error.message}`;
    return c.json({ problem }, error instanceof UsageError ? 400 : 500);
  });
  return app;
}

/** A report has scripts of its own. They get nothing of the dashboard, and no connection. */
const REPORT_POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; " +
  "img-src data: blob:; font-src data:; sandbox allow-scripts allow-downloads";

function givenToken(c: Context): string {
  const header = c.req.header("authorization") ?? "";
  return header.startsWith("Bearer ") ? header.slice(7) : c.req.query("token") ?? "";
}

/** Compares in a time that does not depend on where the texts differ. */
function isRight(given: string, token: string): boolean {
  const [a, b] = [given, token].map((text) => new TextEncoder().encode(text));
  return a!.length === b!.length && timingSafeEqual(a!, b!);
}

/** The stream of changes: one event each time that files have changed. */
function events(c: Context, runs: Runs, interval: number, ending: AbortSignal): Response {
  return streamSSE(c, async (stream) => {
    const stop = Promise.withResolvers<void>();
    let isOver = ending.aborted;
    const end = () => {
      isOver = true;
      stop.resolve();
    };
    stream.onAbort(end);
    ending.addEventListener("abort", end);
    const watcher = runs.watcher();
    await watcher.changes();
    await stream.writeSSE({ event: "hello", data: VERSION });
    for (let look = 1; !isOver; look++) {
      await atMost(interval, stop.promise);
      if (isOver) break;
      if (look % LOOKS_PER_SEARCH === 0) await runs.refresh();
      const changes = await watcher.changes();
      // "alive" shows both ends that the connection is.
      const event = changes.list || changes.runs.length > 0 ? "changes" : "alive";
      await stream.writeSSE({ event, data: JSON.stringify(changes) });
    }
  });
}

/**
 * Only the page may write: a request of another page has no bearer token, since it cannot set the
 * header.
 * @throws UsageError for others
 */
function requireWriter(c: Context, mayWrite: boolean): void {
  if (mayWrite && c.req.header("authorization") !== undefined) return;
  throw new UsageError(
    mayWrite
      ? "this request needs the token in the header Authorization: Bearer TOKEN"
      : "this dashboard has no token, so it writes nothing: start it without --no-token",
  );
}
