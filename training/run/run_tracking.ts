/**
 * Passes the events of a run to its trackers. A tracker that cannot write is reported once and not
 * used any more: metrics.jsonl has everything, and a full disk elsewhere is no reason to lose a
 * run.
 */
import { messageOf } from "../../core/errors.ts";
import { maxOf, mean } from "../../core/statistics.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { withoutToken } from "../../configs/to_yaml.ts";
import { MlflowTracker } from "../tracking/mlflow.ts";
import { TensorboardTracker } from "../tracking/tensorboard.ts";
import {
  trackedMetrics,
  type TrackedRun,
  trackedRunId,
  type Tracker,
} from "../tracking/tracker.ts";
import { TrackioTracker } from "../tracking/trackio.ts";
import { WandbTracker } from "../tracking/wandb.ts";
import type { TrackerName } from "../../core/tracker_names.ts";
import { adviceText } from "../diagnosis/diagnosis.ts";
import { evalMetrics } from "../evaluation/before_and_after.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { TrainEvent, TrainPlan } from "./events.ts";

type Values = Readonly<Record<string, number | null | readonly number[]>>;

export class RunTracking {
  #trackers: Tracker[] = [];
  #step = 0;
  #completed = false;
  /** The metrics of the steps since the last log. */
  readonly #steps: Metrics[] = [];

  constructor(
    private readonly config: RunConfig,
    private readonly env: Readonly<Record<string, string>>,
    private readonly warn: (message: string) => void,
  ) {}

  on(event: TrainEvent): void {
    switch (event.type) {
      case "plan":
        return this.#begin(event.plan);
      case "step":
        return void this.#steps.push(event.metrics);
      case "log":
        return this.#log(event.step, { ...event.metrics, ...resourcesOf(this.#steps.splice(0)) });
      case "held_out":
        return this.#log(event.step, event.metrics);
      case "eval":
        return this.#log(this.#step, evalMetrics(event.result));
      case "warning":
        return this.#alert("warning", event.message);
      case "advice":
        return this.#alert("advice", adviceText(event.advice));
      case "done":
        this.#completed = event.summary.status === "completed";
    }
  }

  close(): void {
    this.#each((tracker) => tracker.close(this.#completed));
    this.#trackers = [];
  }

  #begin({ outputDir, stepsDone }: TrainPlan): void {
    this.#step = stepsDone;
    const { logging } = this.config;
    for (const name of logging.report_to) {
      try {
        const tracker = openTracker(name, {
          name: logging.run_name,
          project: logging.project,
          outputDir,
          id: trackedRunId(outputDir),
          config: { ...withoutToken(this.config) },
          resumedFrom: stepsDone,
          start: new Date(),
          host: Deno.hostname(),
          pid: Deno.pid,
        }, this.env);
        if (tracker !== null) this.#trackers.push(tracker);
      } catch (error) {
        this.warn(`${name}: nothing is written for it: ${messageOf(error)}`);
      }
    }
  }

  #log(step: number, values: Values): void {
    this.#step = step;
    const metrics = trackedMetrics(plainValues(values));
    this.#each((tracker) => tracker.log({ step, time: new Date(), metrics }));
  }

  #alert(title: string, text: string): void {
    const alert = { step: this.#step, time: new Date(), title, text };
    this.#each((tracker) => tracker.alert(alert));
  }

  #each(use: (tracker: Tracker) => void): void {
    this.#trackers = this.#trackers.filter((tracker) => {
      try {
        use(tracker);
        return true;
      } catch (error) {
        this.warn(`${tracker.place}: nothing more is written there: ${messageOf(error)}`);
        return false;
      }
    });
  }
}

/** Time, memory and throughput of steps: means, and the peak of memory. */
function resourcesOf(steps: readonly Metrics[]): Metrics {
  const names = new Set(steps.flatMap((metrics) => Object.keys(metrics)));
  const resources = [...names].filter((name) => /^(time|memory|throughput)\//.test(name));
  return Object.fromEntries(resources.flatMap((name) => {
    const values = steps.map((metrics) => metrics[name]).filter((value) => value != null);
    if (values.length === 0) return [];
    return [[name, name.startsWith("memory/") ? maxOf(values) : mean(values)]];
  }));
}

/** Splits intervals into two values, for their two ends. */
function plainValues(values: Values): Record<string, number | null> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]): [string, number | null][] =>
      typeof value === "number" || value === null
        ? [[name, value]]
        : [[`${name}_low`, value[0] ?? null], [`${name}_high`, value[1] ?? null]]
    ),
  );
}

/** @returns null when the environment switches it off (WANDB_MODE=disabled, WANDB_DISABLED) */
export function openTracker(
  name: TrackerName,
  run: TrackedRun,
  env: Readonly<Record<string, string>>,
): Tracker | null {
  switch (name) {
    case "tensorboard":
      return new TensorboardTracker(run);
    case "trackio":
      return new TrackioTracker(run, env);
    case "mlflow":
      return new MlflowTracker(run, env);
    case "wandb":
      return isWandbOff(env) ? null : new WandbTracker(run, env);
  }
}

function isWandbOff(env: Readonly<Record<string, string>>): boolean {
  return env.WANDB_MODE === "disabled" || /^(1|true|on|yes)$/i.test(env.WANDB_DISABLED ?? "");
}
