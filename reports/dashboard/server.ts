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
import { isRecord, jsonObjectOrNull } from "../../core/json_file.ts";
import { atMost } from "../../core/machine/running_time.ts";
import { VERSION } from "../../core/version.ts";
import { Launcher, type LaunchRequest } from "./launch.ts";
import { PAGE, pageFile, preparePage } from "./page.ts";
import { Runs } from "./runs.ts";
import { compareConfigs } from "../../configs/config_difference.ts";
import { secondsLeft } from "../../core/machine/slurm_queue.ts";
import type { ConfigComparison, CurvesOfRun, Overview, RunPage } from "./api.ts";
import type { ExampleFilter } from "./reading/benchmarks.ts";
import { type CompletionFilter, readCompletions } from "./reading/completions.ts";
import type { FoundRun } from "./reading/find_runs.ts";
import type { MetricsFile } from "./reading/metrics_file.ts";
import { plainFile, readPlain } from "./reading/plain_file.ts";
import {
  answerPairs,
  answersOf,
  readRunDetails,
  readRunInfo,
  writeNotes,
} from "./reading/run_state.ts";

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

/** A token that nobody guesses. */
export function newToken(): string {
  return crypto.getRandomValues(new Uint8Array(16)).toHex();
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
  const launcher = options.allowRuns ? new Launcher(runs.folders[0]!) : null;
  if (launcher !== null && token === null) {
    throw new UsageError("runs are started only with a token: leave out --no-token");
  }
  const app = createApp(runs, { hostname, token, interval, launcher }, ending.signal);
  const server = listen(hostname, port, (request) => app.fetch(request));
  const address = `http://${hostInUrl(hostname)}:${server.port}/`;
  const close = async () => {
    ending.abort();
    await server.shutdown(CLOSE_SECONDS);
    await runs.close();
  };
  return {
    url: token === null ? address : `${address}?token=${token}`,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function listen(
  hostname: string,
  port: number,
  handler: (request: Request) => Response | Promise<Response>,
): Front {
  try {
    return serveHttp({ hostname, port, idleSeconds: IDLE_SECONDS }, handler);
  } catch (error) {
    throw listenError(hostname, port, error);
  }
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
    const folder = reports.folderOf(c.req.param("key"));
    const text = folder && await readPlain(`${folder}/report.html`, MAX_REPORT_BYTES);
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
  app.route("/api", dataRoutes(runs, VERSION, reports, launcher !== null));
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
const MAX_REPORT_BYTES = 2 ** 26;

/** Addresses of reports, which do not tell a report's scripts the dashboard's token. */
class ReportKeys {
  readonly #keys = new Map<string, string>();

  /** The address of a run's report; null: there is none that can be shown. */
  async addressOf(folder: string): Promise<string | null> {
    const file = await plainFile(`${folder}/report.html`, MAX_REPORT_BYTES).catch(() => null);
    if (file === null) return null;
    const key = [...this.#keys].find(([, one]) => one === folder)?.[0] ?? newToken();
    this.#keys.set(key, folder);
    return `report/${key}`;
  }

  folderOf(key: string): string | undefined {
    return this.#keys.get(key);
  }
}

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
    stream.onAbort(() => stop.resolve());
    ending.addEventListener("abort", () => stop.resolve());
    let isOver = ending.aborted;
    stop.promise.then(() => isOver = true);
    const watcher = runs.watcher();
    await watcher.changes();
    await stream.writeSSE({ event: "hello", data: VERSION });
    for (let look = 1; !isOver; look++) {
      await atMost(interval, stop.promise);
      if (isOver) break;
      if (look % LOOKS_PER_SEARCH === 0) await runs.refresh();
      const changes = await watcher.changes();
      const { metrics, states, completions, list } = changes;
      if (list || metrics.length + states.length + completions.length > 0) {
        await stream.writeSSE({ event: "changes", data: JSON.stringify(changes) });
      } else {
        // Shows both ends that the connection is alive.
        await stream.writeSSE({ event: "alive", data: "" });
      }
    }
  });
}

// The answers to the page's requests as JSON: list, curves, completions, configurations and
// benchmarks.

/** Maximum number of points of a curve, and of rows of a page. */
const MAX_POINTS = 4000, MAX_ROWS = 200, SPARK_POINTS = 60;
/** Milliseconds for which SLURM's answer is used again. */
const QUEUE_MS = 30_000;

/** Runs that are started, stopped and resumed from the page. */
function launchRoutes(runs: Runs, launcher: Launcher): Hono {
  const app = new Hono();
  const request = async (c: Context): Promise<LaunchRequest> => {
    const { recipe, name, keys } = jsonObjectOrNull(await c.req.text()) ?? {};
    const values = Object.entries(isRecord(keys) ? keys : {});
    return {
      recipe: String(recipe),
      name: String(name),
      keys: Object.fromEntries(values.map(([key, value]) => [key, String(value)])),
    };
  };
  app.get("/form", async (c) => c.json(await launcher.form(text(c, "recipe"))));
  app.post("/plan", async (c) => c.json(await launcher.plan(await request(c))));
  app.post("/start", async (c) => c.json(await launcher.start(await request(c))));
  app.post("/stop", async (c) => c.json(await launcher.stop(foundRun(runs, c).folder)));
  app.post("/resume", async (c) => c.json(await launcher.resume(foundRun(runs, c).folder)));
  return app;
}

/** @throws UsageError when there is no run of this id */
function foundRun(runs: Runs, c: Context, name = "run"): FoundRun {
  const found = runs.run(c.req.query(name) ?? "");
  if (found !== undefined) return found;
  throw new UsageError("there is no such run (any more)");
}

function dataRoutes(runs: Runs, version: string, reports: ReportKeys, allowsRuns: boolean): Hono {
  const app = new Hono();
  const queue = new QueueTimes();
  const run = (c: Context, name = "run") => foundRun(runs, c, name);
  const benchmark = (c: Context) => {
    const found = runs.benchmark(c.req.query("id") ?? "");
    if (found !== undefined) return found;
    throw new UsageError("there are no such results (any more)");
  };

  app.get("/overview", async (c) => {
    await runs.refresh();
    const { found } = runs;
    return c.json(
      {
        folders: [...runs.folders],
        runs: await Promise.all(found.runs.map((one) => readRunInfo(one))),
        benchmarks: found.benchmarks.map((one) => runs.benchmarks.info(one)),
        version,
        allowsRuns,
      } satisfies Overview,
    );
  });
  app.get("/run", async (c) => {
    const info = await readRunInfo(run(c)), { job, status, folder } = info;
    const left = job === null || status !== "running" ? null : await queue.left(job.id);
    const report = await reports.addressOf(folder);
    return c.json({ ...await readRunDetails(info, left), report } satisfies RunPage);
  });
  app.post("/notes", async (c) => {
    return c.json(await writeNotes(run(c).folder, jsonObjectOrNull(await c.req.text()) ?? {}));
  });
  app.get("/sparks", async (c) => {
    const wanted = c.req.query("run") ? [run(c)] : runs.found.runs;
    const sparks = await Promise.all(
      wanted.map(async (one) =>
        [one.id, (await runs.metrics(one, false)).spark(SPARK_POINTS)] as const
      ),
    );
    return c.json(Object.fromEntries(sparks));
  });
  app.get("/pairs", async (c) => {
    const folders = [run(c), run(c, "other")].map(({ folder }) => folder);
    const [first, second] = await Promise.all(folders.map((one) => answersOf(one, "after")));
    return c.json(answerPairs(first!, second!));
  });
  app.get("/curves", async (c) => {
    const found = run(c);
    return c.json(curvesOf(found.id, await runs.metrics(found), c));
  });
  app.get("/completions", async (c) => {
    const found = run(c), { task } = await readRunInfo(found);
    return c.json(await readCompletions(found.folder, task, completionFilter(c)));
  });
  app.get("/config", async (c) => {
    const first = await configOf(run(c));
    return c.json(compared(first, c.req.query("other") ? await configOf(run(c, "other")) : null));
  });
  app.get("/benchmark", async (c) => c.json(await runs.benchmarks.details(benchmark(c))));
  app.get(
    "/examples",
    async (c) => c.json(await runs.benchmarks.examples(benchmark(c), exampleFilter(c))),
  );
  return app;
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

/** The seconds that SLURM leaves to jobs, where it has its commands. */
class QueueTimes {
  readonly #asked = new Map<string, { at: number; left: Promise<number | null> }>();

  left(id: string): Promise<number | null> {
    const now = Date.now(), known = this.#asked.get(id);
    if (known !== undefined && now - known.at < QUEUE_MS) return known.left;
    const asked = { at: now, left: secondsLeft({ id, endTime: null }) };
    this.#asked.set(id, asked);
    return asked.left;
  }
}

/** The curves of the metrics that a request names. */
function curvesOf(run: string, file: MetricsFile, c: Context): CurvesOfRun {
  const names = text(c, "metrics").split(",").filter((name) => name !== "");
  const points = Math.max(4, Math.min(MAX_POINTS, number(c, "points") ?? 500));
  const smoothing = Math.max(0, Math.min(0.999, number(c, "smoothing") ?? 0));
  const from = number(c, "from") ?? 0, to = number(c, "to") ?? Infinity;
  const curves: CurvesOfRun["curves"] = {};
  for (const name of names) {
    const series = file.series.get(name);
    if (series !== undefined) curves[name] = series.curve(points, smoothing, from, to);
  }
  return {
    run,
    complete: file.complete,
    metrics: [...file.series.keys()],
    curves,
    clock: file.clock.curve(points, 0),
    problems: file.problem === null ? [] : [file.problem],
  };
}

function completionFilter(c: Context): CompletionFilter {
  const after = text(c, "after");
  return {
    from: number(c, "from"),
    to: number(c, "to"),
    prompt: text(c, "prompt"),
    text: text(c, "text"),
    answer: choice(c, "answer", ["any", "found", "none"]),
    advantage: choice(c, "advantage", ["any", "positive", "negative", "zero"]),
    reward: text(c, "reward"),
    min: number(c, "min"),
    max: number(c, "max"),
    after: /^\d+:-?\d+$/.test(after) ? after : null,
    limit: limitOf(c),
  };
}

function exampleFilter(c: Context): ExampleFilter {
  return {
    task: text(c, "task"),
    model: text(c, "model"),
    outcome: choice(c, "outcome", ["all", "right", "wrong", "unanswered"]),
    text: text(c, "text"),
    offset: Math.max(0, number(c, "offset") ?? 0),
    limit: limitOf(c),
  };
}

type ReadConfig = Awaited<ReturnType<typeof configOf>>;

/** @param second the configuration beside the first; null: none */
function compared(first: ReadConfig, second: ReadConfig | null): ConfigComparison {
  const problems = [...first.problems, ...second?.problems ?? []];
  let keys: ConfigComparison["keys"] = [];
  try {
    keys = compareConfigs(first.text, second?.text ?? first.text)
      .map(({ key, before, after }) => ({
        key,
        first: before,
        second: second === null ? null : after,
        differs: second !== null && before !== after,
      }));
  } catch (error) {
    problems.push(`config.yaml cannot be read: ${(error as Error).message.split("\n")[0]}`);
  }
  return { first, second, keys, problems };
}

/** A run's configuration, and what is wrong with the file. */
async function configOf({ id, name, folder }: FoundRun) {
  const path = `${folder}/config.yaml`;
  const problems: string[] = [];
  const content = await readPlain(path).catch((error) => {
    problems.push((error as Error).message);
    return null;
  });
  if (content === null && problems.length === 0) problems.push(`${path} is not there`);
  return { id, name, text: content ?? "{}", problems };
}

const text = (c: Context, name: string) => c.req.query(name) ?? "";

function number(c: Context, name: string): number | null {
  const given = text(c, name), value = Number(given);
  return given.trim() === "" || !Number.isFinite(value) ? null : value;
}

function limitOf(c: Context): number {
  return Math.max(1, Math.min(MAX_ROWS, Math.floor(number(c, "limit") ?? 50)));
}

/** One of the choices; the first one when something else was given. */
function choice<const T extends string>(c: Context, name: string, choices: readonly T[]): T {
  return choices.find((one) => one === c.req.query(name)) ?? choices[0]!;
}
