/** What the page asks for: list, curves, completions, configurations and benchmarks, as JSON. */
import { type Context, Hono } from "hono";
import { compareConfigs } from "../../configs/config_difference.ts";
import { UsageError } from "../../core/errors.ts";
import { secondsLeft } from "../../core/machine/slurm_queue.ts";
import type { ConfigComparison, CurvesOfRun, Overview } from "./api.ts";
import type { ExampleFilter } from "./reading/benchmarks.ts";
import { type CompletionFilter, readCompletions } from "./reading/completions.ts";
import type { FoundRun } from "./reading/find_runs.ts";
import type { MetricsFile } from "./reading/metrics_file.ts";
import { readPlain } from "./reading/plain_file.ts";
import { readRunDetails, readRunInfo } from "./reading/run_state.ts";
import type { Runs } from "./runs.ts";

/** Maximum number of points of a curve, and of rows of a page. */
const MAX_POINTS = 4000, MAX_ROWS = 200;
/** Milliseconds for which SLURM's answer is used again. */
const QUEUE_MS = 30_000;

export function dataRoutes(runs: Runs, version: string): Hono {
  const app = new Hono();
  const queue = new QueueTimes();
  const run = (c: Context, name = "run") => {
    const found = runs.run(c.req.query(name) ?? "");
    if (found !== undefined) return found;
    throw new UsageError("there is no such run (any more)");
  };
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
      } satisfies Overview,
    );
  });
  app.get("/run", async (c) => {
    const found = run(c), { job, status } = await readRunInfo(found);
    const left = job === null || status !== "running" ? null : await queue.left(job.id);
    return c.json(await readRunDetails(found, left));
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
