/** The answers to the page's requests as JSON, and the types that the page sees them as. */
import { type Context, Hono } from "hono";
import { compareConfigs } from "../../configs/config_difference.ts";
import { UsageError } from "../../core/errors.ts";
import { isRecord, jsonObjectOrNull } from "../../core/json_file.ts";
import { secondsLeft } from "../../core/machine/slurm_queue.ts";
import type { Launcher, LaunchRequest } from "./launch.ts";
import { benchmarkInfo, exampleFilter } from "./reading/benchmarks.ts";
import { completionFilter, readCompletions } from "./reading/completions.ts";
import type { FoundRun } from "./reading/find_runs.ts";
import type { Curve, MetricsFile } from "./reading/metrics_file.ts";
import { plainFile, readPlain } from "./reading/plain_file.ts";
import { number, text } from "./reading/query.ts";
import {
  answerPairs,
  answersOf,
  readRunDetails,
  readRunInfo,
  type RunDetails,
  type RunInfo,
  writeNotes,
} from "./reading/run_state.ts";
import { readTokens } from "./reading/tokens.ts";
import type { Runs } from "./runs.ts";

/** Maximum number of points of a curve. */
const MAX_POINTS = 4000, SPARK_POINTS = 60;
/** Milliseconds for which SLURM's answer is used again. */
const QUEUE_MS = 30_000;

/** Runs that are started, stopped and resumed from the page. */
export function launchRoutes(runs: Runs, launcher: Launcher): Hono {
  const app = new Hono();
  const request = async (c: Context): Promise<LaunchRequest> => {
    const { recipe, name, keys } = await bodyOf(c);
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

async function bodyOf(c: Context): Promise<Record<string, unknown>> {
  return jsonObjectOrNull(await c.req.text()) ?? {};
}

/** @throws UsageError when there is no run of this id */
function foundRun(runs: Runs, c: Context, name = "run"): FoundRun {
  const found = runs.run(text(c, name));
  if (found !== undefined) return found;
  throw new UsageError("there is no such run (any more)");
}

/** What the page is told at first, and after changes. */
export type Overview = Awaited<ReturnType<typeof overviewOf>>;

async function overviewOf(runs: Runs, allowsRuns: boolean) {
  await runs.refresh();
  const { found } = runs;
  return {
    folders: [...runs.folders],
    runs: await Promise.all(found.runs.map((one) => readRunInfo(one))),
    benchmarks: found.benchmarks.map(benchmarkInfo),
    /** Whether the page may start runs. */
    allowsRuns,
  };
}

/** What the page of a run gets. */
export interface RunPage extends RunDetails {
  /** Seconds until the job's time limit, by SLURM. */
  jobSecondsLeft: number | null;
  /** The address of its report; null: there is none. */
  report: string | null;
}

/** @param ending ends computations for answers */
export function dataRoutes(
  runs: Runs,
  reports: ReportKeys,
  allowsRuns: boolean,
  ending: AbortSignal,
): Hono {
  const app = new Hono();
  const queue = new QueueTimes();
  const run = (c: Context, name = "run") => foundRun(runs, c, name);
  const benchmark = (c: Context) => {
    const found = runs.benchmark(text(c, "id"));
    if (found !== undefined) return found;
    throw new UsageError("there are no such results (any more)");
  };

  app.get("/overview", async (c) => c.json(await overviewOf(runs, allowsRuns)));
  app.get("/run", async (c) => {
    const info = await readRunInfo(run(c));
    const page: RunPage = {
      ...await readRunDetails(info),
      jobSecondsLeft: await queue.left(info),
      report: await reports.addressOf(info.folder),
    };
    return c.json(page);
  });
  app.post("/notes", async (c) => c.json(await writeNotes(run(c).folder, await bodyOf(c))));
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
  app.get("/curves", async (c) => c.json(curvesOf(await runs.metrics(run(c)), c)));
  app.get("/completions", async (c) => {
    const found = run(c), { task } = await readRunInfo(found);
    return c.json(await readCompletions(found.folder, task, completionFilter(c)));
  });
  app.get("/tokens", async (c) => {
    const [step, row] = [number(c, "step") ?? 0, number(c, "row") ?? 0];
    return c.json(await readTokens(run(c).folder, step, row, ending));
  });
  app.get("/config", async (c) => {
    const first = await configOf(run(c));
    return c.json(compared(first, text(c, "other") ? await configOf(run(c, "other")) : null));
  });
  app.get("/benchmark", async (c) => c.json(await runs.benchmarks.details(benchmark(c))));
  app.get(
    "/examples",
    async (c) => c.json(await runs.benchmarks.examples(benchmark(c), exampleFilter(c))),
  );
  return app;
}

/** The seconds that SLURM leaves to jobs, where it has its commands. */
class QueueTimes {
  readonly #asked = new Map<string, { at: number; left: Promise<number | null> }>();

  async left({ job, status }: RunInfo): Promise<number | null> {
    if (job === null || status !== "running") return null;
    const { id } = job, now = Date.now(), known = this.#asked.get(id);
    if (known !== undefined && now - known.at < QUEUE_MS) return await known.left;
    const asked = { at: now, left: secondsLeft({ id, endTime: null }) };
    this.#asked.set(id, asked);
    return await asked.left;
  }
}

export type CurvesOfRun = ReturnType<typeof curvesOf>;

/** The curves of the metrics that a request names. */
function curvesOf(file: MetricsFile, c: Context) {
  const names = text(c, "metrics").split(",").filter((name) => name !== "");
  const points = Math.max(6, Math.min(MAX_POINTS, number(c, "points") ?? 500));
  const smoothing = Math.max(0, Math.min(0.999, number(c, "smoothing") ?? 0));
  const range = [number(c, "from") ?? 0, number(c, "to") ?? Infinity] as const;
  const isShared = text(c, "shared") !== "";
  const curves: Record<string, Curve> = {};
  for (const name of names) {
    const series = file.series.get(name);
    if (series !== undefined) curves[name] = series.curve(points, smoothing, range, isShared);
  }
  return {
    /** false: only some lines of the file have been read yet. */
    complete: file.complete,
    /** All metrics of the run. */
    metrics: [...file.series.keys()],
    curves,
    /** Seconds since the first step. */
    clock: file.clock.curve(points, 0),
    problems: file.problem === null ? [] : [file.problem],
  };
}

type ReadConfig = Awaited<ReturnType<typeof configOf>>;
export type ConfigComparison = ReturnType<typeof compared>;

/** @param second the configuration beside the first; null: none */
function compared(first: ReadConfig, second: ReadConfig | null) {
  const problems = [...first.problems, ...second?.problems ?? []];
  let keys: ReturnType<typeof compareConfigs> = [];
  try {
    keys = compareConfigs(first.text, second?.text ?? first.text);
  } catch (error) {
    problems.push(`config.yaml cannot be read: ${(error as Error).message.split("\n")[0]}`);
  }
  return {
    first: first.name,
    second: second?.name ?? null,
    /** Every key with the values of both, as JSON; null: not set. */
    keys,
    problems,
  };
}

/** A run's configuration, and what is wrong with the file. */
async function configOf({ name, folder }: FoundRun) {
  const path = `${folder}/config.yaml`;
  const problems: string[] = [];
  const content = await readPlain(path).catch((error) => {
    problems.push((error as Error).message);
    return null;
  });
  if (content === null && problems.length === 0) problems.push(`${path} is not there`);
  return { name, text: content ?? "{}", problems };
}

const MAX_REPORT_BYTES = 2 ** 26;

/** A token that nobody guesses. */
export function newToken(): string {
  return crypto.getRandomValues(new Uint8Array(16)).toHex();
}

/** Addresses of reports, which do not tell a report's scripts the dashboard's token. */
export class ReportKeys {
  readonly #keys = new Map<string, string>();

  /** The address of a run's report; null: there is none that can be shown. */
  async addressOf(folder: string): Promise<string | null> {
    const file = await plainFile(`${folder}/report.html`, MAX_REPORT_BYTES).catch(() => null);
    if (file === null) return null;
    const key = [...this.#keys].find(([, one]) => one === folder)?.[0] ?? newToken();
    this.#keys.set(key, folder);
    return `report/${key}`;
  }

  /** The report of a key; null: there is none. */
  async read(key: string): Promise<string | null> {
    const folder = this.#keys.get(key);
    return folder === undefined ? null : await readPlain(`${folder}/report.html`, MAX_REPORT_BYTES);
  }
}
