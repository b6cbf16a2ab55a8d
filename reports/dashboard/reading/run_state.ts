/**
 * The state of a run, from the files that it writes: `run.json`, the newest lines of
 * `metrics.jsonl`, `config.yaml` and the lock. Every file may be missing, half-written or from
 * another version; then the rest is shown, and a sentence says what is wrong.
 */
import { parse } from "yaml";
import { LOCK_FILE } from "../../../core/lock.ts";
import { processIsAlive, processSpace } from "../../../core/machine/process_alive.ts";
import { objectOf, remarksOf } from "../../run_report/run_record.ts";
import { readSessions, RUN_FORMAT } from "../../../training/run/sessions.ts";
import type { AccuracyInfo, RunDetails, RunInfo, RunStatus } from "../api.ts";
import type { FoundRun } from "./find_runs.ts";
import { readPlain } from "./plain_file.ts";
import { newestRows, type Row } from "./metrics_file.ts";

/** Maximum age of a heartbeat. A lock with an older one is abandoned. */
const SILENT_MS = 300_000;
const MAX_LOG_BYTES = 2 ** 26;
const STATUSES: readonly string[] = ["running", "completed", "stopped", "failed"];

type Json = Readonly<Record<string, unknown>>;

/** @param now milliseconds since 1970 */
export async function readRunInfo(found: FoundRun, now = Date.now()): Promise<RunInfo> {
  const { id, name, folder } = found, problems: string[] = [];
  const run = await readObject(`${folder}/run.json`, JSON.parse, problems);
  const config = await readObject(`${folder}/config.yaml`, parse, problems);
  const { format } = run;
  if (typeof format === "number" && format > RUN_FORMAT) {
    problems.push(
      `${folder}/run.json has format ${format}, and this version reads format ${RUN_FORMAT}: a ` +
        "newer rgx wrote it; what is shown may be incomplete",
    );
  }
  const rows = await newestRows(`${folder}/metrics.jsonl`);
  const steps = stepsOf(config, rows);
  const sessions = readSessions(run), started = text(run["start"]);
  const job = object(run["job"]);
  return {
    id,
    name,
    runName: text(object(config["logging"])["run_name"]),
    folder,
    status: await statusOf(folder, run, now),
    ...steps,
    started,
    lastSign: await lastSign(folder),
    latest: latestOf(rows),
    before: accuracyOf(run["eval_before"]),
    after: accuracyOf(run["eval_after"]),
    model: text(object(config["model"])["model_name_or_path"]) ??
      (object(config["model"])["init"] ? "a new model" : null),
    task: taskOf(object(config["data"])),
    device: text(run["adapter"]) ?? text(run["device"]),
    job: text(job["id"]) === null ? null : {
      id: text(job["id"])!,
      name: text(job["name"]),
      node: text(job["node"]),
      restarts: number(job["restarts"]) ?? 0,
    },
    restarts: Math.max(0, sessions.length - 1),
    restartsWithoutProgress: number(run["restarts_without_progress"]) ?? 0,
    hasCompletions: await Deno.stat(`${folder}/completions`).then(() => true, () => false),
    problems,
  };
}

/** Adds the fields that only the page of a run shows. */
export async function readRunDetails(
  found: FoundRun,
  jobSecondsLeft: number | null,
): Promise<RunDetails> {
  const info = await readRunInfo(found), { folder } = found;
  const run = await readObject(`${folder}/run.json`, JSON.parse, []);
  const log = await readPlain(`${folder}/run.log`, MAX_LOG_BYTES).catch(() => null) ?? "";
  const phases = Object.entries(object(run["seconds_by_phase"]));
  return {
    ...info,
    sessions: readSessions(run),
    jobSecondsLeft,
    secondsByPhase: Object.fromEntries(
      phases.filter((phase): phase is [string, number] => typeof phase[1] === "number"),
    ),
    remarks: remarksOf(log),
    error: text(run["error"]),
  };
}

/** The task, the data set, or the names of several tasks. */
function taskOf({ task_name, dataset_name, tasks }: Json): string | null {
  const several = Array.isArray(tasks)
    ? tasks.flatMap((part) => text(object(part)["task_name"]) ?? text(object(part)["name"]) ?? [])
    : Object.keys(object(tasks));
  return several.length > 0 ? several.join(", ") : text(task_name) ?? text(dataset_name);
}

/** Reads an object, and adds problems of the file to `problems`. */
async function readObject(
  path: string,
  read: (text: string) => unknown,
  problems: string[],
): Promise<Json> {
  let content: string | null;
  try {
    content = await readPlain(path);
  } catch (error) {
    problems.push((error as Error).message);
    return {};
  }
  if (content === null) return {};
  const found = objectOf(() => read(content));
  if (Object.keys(found).length === 0) {
    problems.push(`${path} is damaged or half-written; its contents are not shown`);
  }
  return found;
}

/** "killed": run.json says that the run goes on, but no process holds its lock. */
async function statusOf(folder: string, run: Json, now: number): Promise<RunStatus> {
  const status = run["status"];
  if (typeof status !== "string" || !STATUSES.includes(status)) return "unknown";
  if (status !== "running") return status as RunStatus;
  const lock = await Deno.stat(`${folder}/${LOCK_FILE}`).catch(() => null);
  const isHeld = lock !== null && now - (lock.mtime?.getTime() ?? now) < SILENT_MS;
  return isHeld && !await holderIsDead(`${folder}/${LOCK_FILE}`) ? "running" : "killed";
}

/** Whether the process in a lock is one of this machine that has ended. */
async function holderIsDead(lock: string): Promise<boolean> {
  const content = await readPlain(lock).catch(() => null);
  const { pid, space } = objectOf(() => JSON.parse(content ?? "{}")), here = processSpace();
  return here !== null && space === here && typeof pid === "number" && !processIsAlive(pid);
}

async function lastSign(folder: string): Promise<string | null> {
  const times = await Promise.all(
    ["metrics.jsonl", "run.json", LOCK_FILE].map((name) =>
      Deno.stat(`${folder}/${name}`).then(({ mtime }) => mtime?.getTime() ?? 0, () => 0)
    ),
  );
  const newest = Math.max(...times);
  return newest === 0 ? null : new Date(newest).toISOString();
}

/** The progress of GRPO, and the time left by the pace of the newest steps. */
function stepsOf(config: Json, rows: readonly Row[]) {
  const training = object(config["training"]), sft = object(config["sft"]);
  const train = rows.filter(({ split }) => split === "train");
  const isWarm = train.length === 0 && rows.some(({ split }) => split === "sft");
  const counted = isWarm ? rows.filter(({ split }) => split === "sft") : train;
  const last = counted.at(-1), step = number(last?.["step"]), epoch = number(last?.["epoch"]);
  const maxSteps = number(training["max_steps"]) ?? 0;
  const epochs = number(training["num_train_epochs"]);
  let totalSteps = maxSteps > 0 ? maxSteps : null;
  if (totalSteps === null && !isWarm && step && epoch && epochs) {
    totalSteps = Math.max(step, Math.round(step / epoch * epochs));
  }
  if (isWarm) totalSteps = number(sft["max_steps"]);
  const progress = step === null || !totalSteps ? null : Math.min(1, step / totalSteps);
  const pace = secondsPerStep(counted);
  const secondsLeft = step === null || totalSteps === null || pace === null
    ? null
    : Math.max(0, totalSteps - step) * pace;
  return { step, totalSteps, progress, secondsLeft };
}

function secondsPerStep(rows: readonly Row[]): number | null {
  const first = rows[0], last = rows.at(-1);
  if (first === undefined || last === undefined) return null;
  const steps = Number(last["step"]) - Number(first["step"]);
  const seconds = (Date.parse(String(last["time"])) - Date.parse(String(first["time"]))) / 1000;
  return steps > 0 && seconds >= 0 ? seconds / steps : null;
}

function latestOf(rows: readonly Row[]): Record<string, number> {
  const last = rows.findLast(({ split }) => split === "train") ??
    rows.findLast(({ split }) => split === "sft") ?? {};
  return Object.fromEntries(
    Object.entries(last).filter((pair): pair is [string, number] => typeof pair[1] === "number"),
  );
}

function accuracyOf(value: unknown): AccuracyInfo | null {
  const { accuracy, ci95, total } = object(value);
  const isInterval = Array.isArray(ci95) && ci95.length === 2 &&
    ci95.every((end) => typeof end === "number");
  // Without expected answers, no answer was right or wrong.
  if (typeof accuracy !== "number" || !isInterval || typeof total !== "number" || total === 0) {
    return null;
  }
  return { accuracy, ci95: ci95 as [number, number], total };
}

const text = (value: unknown) => typeof value === "string" ? value : null;
const number = (value: unknown) => typeof value === "number" ? value : null;
const object = (value: unknown): Json =>
  typeof value === "object" && value !== null ? value as Json : {};
