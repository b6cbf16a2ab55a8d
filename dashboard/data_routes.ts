/** What the page asks for: list, curves, completions, configurations and benchmarks, as JSON. */
import { type Context, Hono } from "hono";
import { compareConfigs } from "../configs/config_difference.ts";
import { UsageError } from "../core/errors.ts";
import { secondsLeft } from "../core/machine/slurm_queue.ts";
import { readIfThere } from "../core/text_file.ts";
import type { ConfigComparison, CurvesOfRun, Overview } from "./api.ts";
import type { ExampleFilter } from "./reading/benchmarks.ts";
import { type CompletionFilter, readCompletions } from "./reading/completions.ts";
import type { FoundRun } from "./reading/find_runs.ts";
import { readRunDetails, readRunInfo } from "./reading/run_state.ts";
import type { Runs } from "./runs.ts";

/** Maximum number of points of a curve, and of rows of a page. */
const MAX_POINTS = 4000, MAX_ROWS = 200;
/** Milliseconds for which SLURM's answer is used again. */
const QUEUE_MS = 30_000;

export function dataRoutes(runs: Runs, version: string): Hono {
  const app = new Hono();
  const queue = new Map<string, { at: number; left: Promise<number | null> }>();
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
    return c.json(
      await readRunDetails(found, job === null || status !== "running" ? null : await left(job.id)),
    );
  });

  /** Asks SLURM, on a machine that has its commands. */
  function left(id: string): Promise<number | null> {
    const now = Date.now(), known = queue.get(id);
    if (known !== undefined && now - known.at < QUEUE_MS) return known.left;
    const asked = { at: now, left: secondsLeft({ id, endTime: null }) };
    queue.set(id, asked);
    return asked.left;
  }

  app.get("/curves", async (c) => {
    const found = run(c), file = await runs.metrics(found);
    const names = (c.req.query("metrics") ?? "").split(",").filter((name) => name !== "");
    const points = Math.min(MAX_POINTS, number(c, "points") ?? 500);
    const smoothing = Math.max(0, Math.min(0.999, number(c, "smoothing") ?? 0));
    const curves: CurvesOfRun["curves"] = {};
    for (const name of names) {
      const series = file.series.get(name);
      if (series === undefined) continue;
      curves[name] = series.curve(
        Math.max(4, points),
        smoothing,
        number(c, "from") ?? 0,
        number(c, "to") ?? Infinity,
      );
    }
    return c.json(
      {
        run: found.id,
        complete: file.complete,
        metrics: [...file.series.keys()],
        curves,
        problems: file.problem === null ? [] : [file.problem],
      } satisfies CurvesOfRun,
    );
  });

  app.get("/completions", async (c) => {
    const found = run(c), { task } = await readRunInfo(found);
    const text = (name: string) => c.req.query(name) ?? "";
    const filter: CompletionFilter = {
      from: number(c, "from"),
      to: number(c, "to"),
      prompt: text("prompt"),
      text: text("text"),
      answer: choice(c, "answer", ["any", "found", "none"]),
      advantage: choice(c, "advantage", ["any", "positive", "negative", "zero"]),
      reward: text("reward"),
      min: number(c, "min"),
      max: number(c, "max"),
      after: /^\d+:-?\d+$/.test(text("after")) ? text("after") : null,
      limit: limitOf(c),
    };
    return c.json(await readCompletions(found.folder, task, filter));
  });

  app.get("/config", async (c) => {
    const first = await configOf(run(c)), problems = [...first.problems];
    const second = c.req.query("other") ? await configOf(run(c, "other")) : null;
    if (second !== null) problems.push(...second.problems);
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
    return c.json({ first, second, keys, problems } satisfies ConfigComparison);
  });

  app.get("/benchmark", async (c) => c.json(await runs.benchmarks.details(benchmark(c))));

  app.get("/examples", async (c) => {
    const text = (name: string) => c.req.query(name) ?? "";
    const filter: ExampleFilter = {
      task: text("task"),
      model: text("model"),
      outcome: choice(c, "outcome", ["all", "right", "wrong", "unanswered"]),
      text: text("text"),
      offset: Math.max(0, number(c, "offset") ?? 0),
      limit: limitOf(c),
    };
    return c.json(await runs.benchmarks.examples(benchmark(c), filter));
  });
  return app;
}

/** A run's configuration, and what is wrong with the file. */
async function configOf({ id, name, folder }: FoundRun) {
  const path = `${folder}/config.yaml`;
  const content = await readIfThere(path).catch(() => null);
  const problems = content === null ? [`${path} is not there or cannot be read`] : [];
  return { id, name, text: content ?? "{}", problems };
}

function number(c: Context, name: string): number | null {
  const text = c.req.query(name) ?? "", value = Number(text);
  return text.trim() === "" || !Number.isFinite(value) ? null : value;
}

function limitOf(c: Context): number {
  return Math.max(1, Math.min(MAX_ROWS, Math.floor(number(c, "limit") ?? 50)));
}

/** One of the choices; the first one when something else was given. */
function choice<const T extends string>(c: Context, name: string, choices: readonly T[]): T {
  return choices.find((one) => one === c.req.query(name)) ?? choices[0]!;
}
