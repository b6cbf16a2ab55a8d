/**
 * `rgx bench` and `rgx eval`: runs the benchmark that their flags describe, on one process or on
 * several ranks, and shows its progress and its table.
 */
import { assistBenchmark, type Benchmark, benchmark } from "../../bench/benchmark.ts";
import type { BenchEvent } from "../../bench/benchmark_run.ts";
import { writeEvalReports } from "../../bench/eval_command/eval_reports.ts";
import { exampleLines, samplesOf, withoutExamples } from "../../bench/results/result_file.ts";
import { hasSamples } from "../../bench/results/sample_store.ts";
import { shortName, shownNames } from "../../bench/results/shown_names.ts";
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { counted } from "../../core/counted.ts";
import { duration } from "../../core/duration.ts";
import { EXIT, Interrupted } from "../../core/errors.ts";
import { secondsLeft } from "../../core/machine/slurm_queue.ts";
import type { RemoteUsage } from "../../core/remote/server.ts";
import type { Device } from "../../kernels/device.ts";
import type { Ranks } from "../../cluster/ranks/ranks.ts";
import { writeCharts } from "../../reports/charts/plot_results.ts";
import { openDevice } from "../open_device.ts";
import { type JoinedRanks, openRankDevice, withRanks } from "../ranks/join_ranks.ts";
import { isRank, runRanks } from "../ranks/start_ranks.ts";
import { reportError } from "../report_error.ts";
import { listenForStop } from "../stop_control.ts";
import { RedrawnLines } from "../terminal/redrawn_lines.ts";
import { broken, isInteractive, labelled, log, print } from "../terminal/terminal.ts";
import { type BenchFlags, type BenchRequest, benchRequest } from "./bench_request.ts";
import { csvTable, markdownTable, textReport } from "./bench_table.ts";

/** Returns the exit code: 0 done, 1 something was not answered, 75 stopped and resumable. */
export async function bench(flags: BenchFlags): Promise<number> {
  const { ranks: count = 1 } = flags;
  if (!isRank(flags.ranks) && count > 1) {
    // Checks come first, so that mistakes are found before anything is started.
    const { options } = await benchRequest(flags, count);
    const folder = options.outputDir ?? "benchmark_results";
    return await runRanks(
      { count, places: null },
      Deno.args,
      async () => await hasSamples(folder) ? `the answers in ${folder} are` : null,
    );
  }
  return await withRanks(flags.verbose ?? false, async (joined) => {
    const { ranks } = joined;
    let request!: BenchRequest;
    await ranks.each(async () => {
      request = await benchRequest(flags, ranks.size);
    });
    return ranks.size === 1
      ? await benchAlone(request, flags)
      : await benchOnRanks(request, flags, joined);
  });
}

async function benchAlone(request: BenchRequest, flags: BenchFlags): Promise<number> {
  const { isLocal, workers } = request;
  const device = isLocal && workers === null && !flags.merge ? await openDevice(flags) : null;
  try {
    return await ask(request, flags, device);
  } finally {
    device?.close();
  }
}

/** The first rank does the work of one process. The others answer the problems it deals. */
async function benchOnRanks(
  request: BenchRequest,
  flags: BenchFlags,
  { ranks, label }: JoinedRanks,
): Promise<number> {
  if (ranks.isFirst && !flags.quiet) log(`note: ${label}`);
  const { device } = await openRankDevice(ranks, flags);
  let failure: { error: unknown } | null = null, code: number = EXIT.ok;
  try {
    code =
      await (ranks.isFirst ? ask(request, flags, device, ranks) : assist(request, device, ranks));
  } catch (error) {
    if (ranks.knows(error)) throw error;
    // A stop is no failure of this rank alone: the other ranks have stopped, too.
    if (error instanceof Interrupted) code = reportError(error, flags.verbose ?? false);
    else failure = { error };
  } finally {
    device.close();
  }
  return await ranks.first(() => {
    if (failure !== null) throw failure.error;
    return code;
  });
}

async function assist(
  { maxSeconds }: BenchRequest,
  device: Device,
  ranks: Ranks,
): Promise<number> {
  const stop = stopOf(maxSeconds, device, ranks);
  try {
    await assistBenchmark({ ranks, device, shouldStop: () => stop.stopRequested() !== "no" });
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
  } finally {
    stop.ended();
  }
  return EXIT.ok; // that of the first rank counts
}

async function ask(
  { options, described, shard, workers, maxSeconds }: BenchRequest,
  flags: BenchFlags,
  device: Device | null,
  ranks?: Ranks,
): Promise<number> {
  const stop = stopOf(maxSeconds, device, ranks);
  secondsLeft().then((left) => stop.jobEnds(left));
  const progress = new BenchProgress(flags.quiet ?? false, flags.verbose ?? false);
  if (!flags.quiet) { for (const note of described?.notes ?? []) log(`note: ${note}`); }
  try {
    const done = await benchmark({
      ...options,
      ...(device === null ? {} : { device }),
      ...(ranks === undefined ? {} : { ranks }),
      shard,
      workers,
      remote: { ...options.remote, onWarning: (message) => progress.warn(message) },
      shouldStop: () => stop.stopRequested() !== "no",
      onEvent: (event) => progress.on(event),
    });
    progress.close();
    let failure: unknown = null;
    const others: string[] = [];
    const add = async (work: Promise<string[]>) => {
      others.push(...await work.catch((error) => (failure ??= error, [])));
    };
    if (shard === null) {
      const folder = done.files.at(-1)!.replace(/\/[^/]*$/, "");
      if (described !== null) await add(writeEvalReports(done.result, described, folder));
      if (flags.charts) await add(writeCharts(folder, done.result));
    }
    if (flags.samplesOut !== undefined) await add(writeSamples(flags.samplesOut, done));
    // The table of one shard would look like a result.
    if (shard === null || flags.json) show(done, flags, others);
    else log(`part ${flags.shard}: ${done.evaluated} new samples, ${done.resumed} known`);
    // The numbers are printed before an error in drawing or writing is thrown.
    if (failure !== null) throw failure;
    return done.exitCode;
  } catch (error) {
    progress.close();
    if (!(error instanceof Interrupted)) throw error;
    throw new Interrupted(
      `stopped early (${stop.reason ?? "on request"}); the answers so far are kept`,
      {
        advice: "The same command with --resume continues from there.",
      },
    );
  } finally {
    stop.ended();
  }
}

/**
 * Listens for signals and the time limit. Every answer is stored when it arrives, so a stop is
 * possible at any moment.
 */
function stopOf(maxSeconds: number | null, device: Device | null, ranks?: Ranks) {
  const plan = "finishing the requests under way; the samples so far are kept";
  const stop = listenForStop(maxSeconds, plan, ranks?.isFirst === false);
  stop.begin();
  // A forward pass over many long prompts may take longer than a job has after its warning.
  if (device !== null) {
    device.beforeRun = () => {
      ranks?.progress.beat();
      if (stop.stopRequested() !== "no") throw new Interrupted();
    };
  }
  return stop;
}

async function writeSamples(path: string, { result }: Benchmark): Promise<string[]> {
  await writeFileAtomic(path, [...exampleLines(result), ""].join("\n"));
  return [path];
}

function show(done: Benchmark, flags: BenchFlags, others: string[]): void {
  const { result, files } = done, written = [...files, ...others];
  if (flags.json) {
    const { evaluated, resumed, unanswered, remote, seconds } = done;
    const tasks = withoutExamples(result.tasks), files = written;
    const counts = { evaluated, resumed, unanswered, remote, seconds, files };
    return print(JSON.stringify({ ...result, tasks, ...counts }));
  }
  if (flags.table === "markdown") print(markdownTable(result));
  else if (flags.table === "csv") print(csvTable(result));
  else {
    print(textReport(result));
    for (const path of written) print(path);
  }
  if (!flags.quiet) {
    const { resumed, evaluated } = done;
    if (resumed > 0) {
      log(`${resumed} ${resumed === 1 ? "sample was" : "samples were"} known, ${evaluated} new`);
    }
    if (done.remote !== null) log(remoteText(done.remote));
  }
  if (done.unanswered > 0) {
    const { unanswered } = done, why = firstError(result);
    log(
      `${unanswered} ${unanswered === 1 ? "sample has" : "samples have"} no answer` +
        `${why === null ? "" : ` (${why})`}; --resume asks for them again`,
    );
  }
}

function firstError({ tasks }: Benchmark["result"]): string | null {
  for (const { models } of Object.values(tasks)) {
    for (const { examples } of Object.values(models)) {
      const failed = examples.flatMap(samplesOf).find((one) => one.error && !one.too_long);
      if (failed !== undefined) return failed.error!;
    }
  }
  return null;
}

function remoteText(usage: RemoteUsage): string {
  const { prompt_tokens, completion_tokens, cost, requests, cached } = usage;
  const { seconds_per_request: each, tokens_per_second: speed } = usage;
  // Some servers report no numbers of tokens.
  const counted = each === null || prompt_tokens + completion_tokens > 0;
  const parts = [
    `remote: ${requests} ${requests === 1 ? "request" : "requests"}`,
    ...(cached > 0 ? [`${cached} answers from the cache`] : []),
    ...(counted
      ? [`${prompt_tokens} prompt tokens`, `${completion_tokens} new ones`]
      : ["tokens not counted by the server"]),
    ...(speed === null || !counted ? [] : [`${speed.toFixed(1)} tokens/s`]),
    ...(each === null ? [] : [`${each.toFixed(2)} s a request`]),
    ...(cost === null || !counted ? [] : [`cost ${cost.toFixed(4)}`]),
  ];
  return parts.join(", ");
}

/** No time is predicted before a worker has worked this long, in milliseconds. */
const MIN_ESTIMATE_MS = 1000;

interface WorkerState {
  model: string;
  /** Share of the weights that are loaded; 0 = unknown, or an answer has come already. */
  loading: number;
  done: number;
  total: number;
  started: number;
}

export class BenchProgress {
  readonly #workers = new Map<number, WorkerState>();
  #samples = 0;
  readonly #lines = new RedrawnLines();

  /** @param verbose shows every answer as soon as it is complete */
  constructor(private readonly quiet: boolean, private readonly verbose = false) {}

  on(event: BenchEvent): void {
    switch (event.type) {
      case "plan":
        this.#samples = event.samples;
        return this.#say(
          `${counted(event.models.length, "model")} × ${counted(event.tasks.length, "task")}, ` +
            `${counted(event.samples, "sample")}: ` +
            `${shownNames(event.models).join(", ")} on ${event.tasks.join(", ")}`,
        );
      case "resumed":
        this.#samples -= event.samples;
        return this.#say(`known already: ${counted(event.samples, "sample")}`);
      case "loading": {
        const { worker, model, share: loading } = event, now = performance.now();
        const state = this.#workers.get(worker) ?? { done: 0, total: 0, started: now };
        this.#workers.set(worker, { ...state, model, loading });
        // The line about loading is removed before the first answer.
        return this.#draw(loading === 1 && this.#lines.drawn);
      }
      case "progress":
        return this.#progress(event);
      case "sample":
        return this.#sample(event);
      case "failed":
        return this.warn(`${shortName(event.model)} on ${event.task} failed: ${event.error}`);
      case "warning":
        return this.warn(event.message);
    }
  }

  warn(message: string): void {
    this.#lines.clear();
    for (const line of broken("stderr", labelled("yellow", "warning:", message))) log(line);
  }

  close(): void {
    this.#lines.clear();
  }

  #progress({ worker, model, done, total }: BenchEvent & { type: "progress" }): void {
    const now = performance.now();
    const started = this.#workers.get(worker)?.started ?? now;
    this.#workers.set(worker, { model, loading: 0, done, total, started });
    this.#draw();
  }

  #sample({ model, task, entry, result }: BenchEvent & { type: "sample" }): void {
    if (!this.verbose) return;
    this.#lines.clear();
    const { completion, extracted, score, error } = result;
    log(`[${task}, ${shortName(model)}]`);
    log(`[Prompt]\n${entry.question}`);
    log(`[Response]\n${error ?? completion}`);
    const expected = entry.answer === null ? "many are right" : JSON.stringify(entry.answer);
    log(`[Expected] ${expected}  [Answer] ${JSON.stringify(extracted)}  [Score] ${score}`);
  }

  #draw(atOnce = false): void {
    if (this.quiet) return;
    this.#lines.show(() => {
      const states = [...this.#workers].sort(([a], [b]) => a - b)
        .map(([number, state]) => workerText(number, state, this.#workers.size));
      if (states.length < 2 || !isInteractive()) return states;
      const done = this.#workers.values().reduce((sum, worker) => sum + worker.done, 0);
      return [`${done}/${this.#samples}`, ...states];
    }, atOnce);
  }

  #say(text: string): void {
    if (this.quiet) return;
    for (const line of broken("stderr", text)) log(line);
  }
}

function workerText(
  number: number,
  { model, loading, done, total, started }: WorkerState,
  workers: number,
): string {
  const ms = performance.now() - started;
  const left = done === 0 || ms < MIN_ESTIMATE_MS
    ? ""
    : `, ${duration((ms / done) * (total - done) / 1000)} left`;
  const who = workers > 1 ? `worker ${number}: ` : "";
  if (loading === 1) return `${who}asking ${shortName(model)}`;
  if (loading > 0) return `${who}loading ${shortName(model)}: ${Math.floor(100 * loading)} %`;
  if (total === 0) return `${who}loading ${shortName(model)}`;
  return `${who}${done}/${total}${left} (${shortName(model)})`;
}
