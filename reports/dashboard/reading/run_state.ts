/**
 * The state of a run, from the files that it writes: `run.json`, the newest lines of
 * `metrics.jsonl`, `config.yaml` and the lock. Every file may be missing, half-written or from
 * another version; then the rest is shown, and a sentence says what is wrong.
 */
import { parse } from "yaml";
import { writeFileAtomic } from "../../../core/atomic_file.ts";
import { sha256Hex } from "../../../core/checksums.ts";
import { holderHasEnded, LOCK_FILE } from "../../../core/lock.ts";
import { isCorrect } from "../../../bench/evaluation/accuracy.ts";
import type { PairedTest } from "../../../bench/evaluation/matched_pairs.ts";
import { rewardMetrics } from "../../../configs/schema/metric_names.ts";
import type { RunConfig } from "../../../configs/schema/run_config.ts";
import {
  answerRows,
  type Json,
  numberOf,
  objectIn,
  objectOf,
  pairedTests,
  remarksOf,
  taskNames,
  textOf,
} from "../../run_report/run_record.ts";
import { readSessions, RUN_FORMAT } from "../../../training/run/sessions.ts";
import type { FoundRun } from "./find_runs.ts";
import { FileCache, readPlain, versionOf } from "./plain_file.ts";
import { type AccuracyInfo, newestRows, type Row } from "./metrics_file.ts";

/** Maximum age of a heartbeat. A lock with an older one is abandoned. */
const SILENT_MS = 300_000;
const MAX_LOG_BYTES = 2 ** 26, MAX_ANSWERS_BYTES = 2 ** 26;
const STATUSES: readonly string[] = ["running", "completed", "stopped", "failed"];

/**
 * The state of a run: the words of `run.json`; "killed": it says that the run goes on, but no
 * process holds its lock.
 */
type RunStatus = "running" | "completed" | "stopped" | "failed" | "killed" | "unknown";

/** A run in the list. Times are ISO 8601; unknown values are null. */
export type RunInfo = Awaited<ReturnType<typeof readRunInfo>>;

/** A run with everything that its own page shows. */
export type RunDetails = Awaited<ReturnType<typeof readRunDetails>>;

/** What people write about a run; `notes.json` in its folder keeps it. */
interface Notes {
  tags: string[];
  note: string;
}

/** @param now milliseconds since 1970 */
export async function readRunInfo(found: FoundRun, now = Date.now()) {
  const { folder } = found;
  /** Problems with the run's files, in sentences. */
  const problems: string[] = [];
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
  const sessions = readSessions(run), job = objectIn(run["job"]), jobId = textOf(job["id"]);
  const lastSign = await lastChange(folder);
  const model = objectIn(config["model"]), training = objectIn(config["training"]);
  const after = accuracyOf(run["eval_after"]);
  const [batch, parts] = ["per_device_train_batch_size", "gradient_accumulation_steps"]
    .map((key) => numberOf(training[key]));
  return {
    ...found,
    runName: textOf(objectIn(config["logging"])["run_name"]),
    status: await statusOf(folder, run, now),
    ...stepsOf(config, rows),
    started: textOf(run["start"]),
    /** The newest time at which one of its files changed. */
    lastSign,
    /** Values of the newest step, by the names of metrics.jsonl. */
    latest: latestOf(rows),
    before: accuracyOf(run["eval_before"]),
    after,
    /** After minus before, over the same problems; null: not measured. */
    gain: after === null ? null : await gainOf(folder),
    /** Seconds that its sessions have taken. */
    seconds: numberOf(run["seconds"]) ?? secondsOf(sessions, lastSign),
    /** Completions of a step. */
    samplesPerStep: batch ? batch * (parts ?? 1) : null,
    /** The same for runs whose configurations differ only in seeds and names. */
    family: familyOf(config),
    /** The same for runs with the same kind of problems. */
    problemSet: hashOf(config["data"]),
    ...await readNotes(folder, problems),
    model: textOf(model["model_name_or_path"]) ?? (model["init"] ? "a new model" : null),
    task: taskNames(objectIn(config["data"])),
    device: textOf(run["adapter"]) ?? textOf(run["device"]),
    job: jobId === null ? null : {
      id: jobId,
      name: textOf(job["name"]),
      node: textOf(job["node"]),
      restarts: numberOf(job["restarts"]) ?? 0,
    },
    restarts: Math.max(0, sessions.length - 1),
    restartsWithoutProgress: numberOf(run["restarts_without_progress"]) ?? 0,
    /** Warnings and advice in their order. */
    remarks: await remarksIn(folder),
    hasCompletions: await versionOf(`${folder}/completions`) !== "",
    problems,
  };
}

/** Adds what only the page of a run shows. */
export async function readRunDetails(info: RunInfo) {
  const { folder } = info;
  const run = await readObject(`${folder}/run.json`, JSON.parse, []);
  return {
    ...info,
    sessions: readSessions(run),
    secondsByPhase: numbersIn(run["seconds_by_phase"]),
    error: textOf(run["error"]),
    /** The weight of each reward in the sum. */
    weights: await weightsOf(folder),
  };
}

/** The weights of the rewards, by their names in the tables; none where the file is damaged. */
async function weightsOf(folder: string): Promise<Record<string, number>> {
  const config = await readObject(`${folder}/config.yaml`, parse, []);
  try {
    const rewards = config["rewards"] as RunConfig["rewards"];
    return Object.fromEntries(
      rewardMetrics(rewards).map((name, i) => [name, rewards[i]!.weight ?? 1]),
    );
  } catch {
    return {};
  }
}

/** Tells which runs differ only in seeds and names. */
function familyOf(config: Json): string {
  const { seed: _, data_seed: __, output_dir: ___, ...training } = objectIn(config["training"]);
  return hashOf({ ...config, training, logging: null });
}

const hashOf = (value: unknown) =>
  sha256Hex(new TextEncoder().encode(JSON.stringify(value ?? null))).slice(0, 12);

/** Seconds of all sessions. @param last the end of one that has none */
function secondsOf(sessions: ReturnType<typeof readSessions>, last: string | null): number | null {
  const seconds = sessions.map(({ start, end }) =>
    (Date.parse(end ?? last ?? start) - Date.parse(start)) / 1000
  );
  return seconds.length === 0 ? null : seconds.reduce((sum, one) => sum + Math.max(0, one), 0);
}

const logs = new FileCache<ReturnType<typeof remarksOf>>();

function remarksIn(folder: string): Promise<ReturnType<typeof remarksOf>> {
  const path = `${folder}/run.log`;
  return logs.get(
    path,
    async () => remarksOf(await readPlain(path, MAX_LOG_BYTES).catch(() => null) ?? ""),
  );
}

const gains = new FileCache<PairedTest | null>();

function gainOf(folder: string): Promise<PairedTest | null> {
  return gains.get(`${folder}/eval_after.jsonl`, async () => {
    const [before, after] = await Promise.all([
      answersOf(folder, "before"),
      answersOf(folder, "after"),
    ]);
    return pairedTests(before, after)?.sampled ?? null;
  });
}

/** The answers to held-out problems. @param when "before" or "after" training */
export async function answersOf(folder: string, when: string): Promise<Json[]> {
  const path = `${folder}/eval_${when}.jsonl`;
  return answerRows(await readPlain(path, MAX_ANSWERS_BYTES).catch(() => null) ?? "");
}

/** The answers of two runs to the same problems after training, at the lowest temperature. */
export type AnswerPairs = ReturnType<typeof answerPairs>;

export function answerPairs(first: readonly Json[], second: readonly Json[]) {
  const least = (rows: readonly Json[]) =>
    Math.min(...rows.map((row) => Number(row["temperature"])));
  const [a, b] = [first, second].map((rows) =>
    rows.filter((row) => row["temperature"] === least(rows))
  ) as [Json[], Json[]];
  const isRight = (row: Json) => isCorrect({ score: Number(row["score"]) });
  const test = pairedTests(a, b)?.sampled ?? null;
  const different = test === null ? [] : a.map((row, i) => [row, b[i]!] as const)
    .filter(([one, other]) => isRight(one) !== isRight(other));
  return {
    /** Whether the likeliest token was always taken. */
    isGreedy: least(first) === 0,
    /** Second minus first; null: the runs were not asked the same. */
    test,
    /** Problems that one of them has right. */
    different: different.map(([one, other]) => ({
      question: String(one["question"]),
      expected: textOf(one["expected"]),
      first: String(one["extracted"] ?? one["completion"]),
      second: String(other["extracted"] ?? other["completion"]),
      firstIsRight: isRight(one),
    })),
  };
}

const NOTES = "notes.json";
const MAX_TAGS = 20, MAX_NOTE = 4000;

async function readNotes(folder: string, problems: string[]): Promise<Notes> {
  const { tags, note } = await readObject(`${folder}/${NOTES}`, JSON.parse, problems);
  return { tags: Array.isArray(tags) ? tags.map(String) : [], note: textOf(note) ?? "" };
}

/** Keeps tags and a note in the run's folder. @param given what the page has sent */
export async function writeNotes(folder: string, given: Json): Promise<Notes> {
  const tags = (Array.isArray(given["tags"]) ? given["tags"] : [])
    .map((tag) => String(tag).trim().slice(0, 40)).filter((tag) => tag !== "");
  const note = String(given["note"] ?? "").slice(0, MAX_NOTE);
  const notes = { tags: [...new Set(tags)].slice(0, MAX_TAGS), note };
  await writeFileAtomic(`${folder}/${NOTES}`, JSON.stringify(notes, null, 2) + "\n");
  return notes;
}

const objects = new FileCache<{ found: Json; problem: string | null }>();

/** Reads an object, and adds problems of the file to `problems`. */
async function readObject(
  path: string,
  read: (text: string) => unknown,
  problems: string[],
): Promise<Json> {
  const { found, problem } = await objects.get(path, async () => {
    try {
      const content = await readPlain(path), found = objectOf(() => read(content ?? ""));
      const isDamaged = content !== null && Object.keys(found).length === 0;
      const problem = `${path} is damaged or half-written; its contents are not shown`;
      return { found, problem: isDamaged ? problem : null };
    } catch (error) {
      return { found: {}, problem: (error as Error).message };
    }
  });
  if (problem !== null) problems.push(problem);
  return found;
}

async function statusOf(folder: string, run: Json, now: number): Promise<RunStatus> {
  const status = run["status"];
  if (typeof status !== "string" || !STATUSES.includes(status)) return "unknown";
  if (status !== "running") return status as RunStatus;
  const path = `${folder}/${LOCK_FILE}`, lock = await Deno.stat(path).catch(() => null);
  const isSilent = lock === null || now - (lock.mtime?.getTime() ?? now) >= SILENT_MS;
  const isHeld = !isSilent && !holderHasEnded(await readPlain(path).catch(() => null) ?? "");
  return isHeld ? "running" : "killed";
}

async function lastChange(folder: string): Promise<string | null> {
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
  const training = objectIn(config["training"]), sft = objectIn(config["sft"]);
  const train = rows.filter(({ split }) => split === "train");
  const isWarm = train.length === 0 && rows.some(({ split }) => split === "sft");
  const counted = isWarm ? rows.filter(({ split }) => split === "sft") : train;
  const last = counted.at(-1), step = numberOf(last?.["step"]), epoch = numberOf(last?.["epoch"]);
  const maxSteps = numberOf(training["max_steps"]) ?? 0;
  const epochs = numberOf(training["num_train_epochs"]);
  let totalSteps = maxSteps > 0 ? maxSteps : null;
  if (totalSteps === null && !isWarm && step && epoch && epochs) {
    totalSteps = Math.max(step, Math.round(step / epoch * epochs));
  }
  if (isWarm) totalSteps = numberOf(sft["max_steps"]);
  const progress = step === null || !totalSteps ? null : Math.min(1, step / totalSteps);
  const pace = secondsPerStep(counted);
  const secondsLeft = step === null || totalSteps === null || pace === null
    ? null
    : Math.max(0, totalSteps - step) * pace;
  return { step, totalSteps, progress, secondsLeft, secondsPerStep: pace };
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
    rows.findLast(({ split }) => split === "sft");
  return numbersIn(last);
}

function numbersIn(values: unknown): Record<string, number> {
  return Object.fromEntries(
    Object.entries(objectIn(values))
      .filter((pair): pair is [string, number] => typeof pair[1] === "number"),
  );
}

function accuracyOf(value: unknown): AccuracyInfo | null {
  const { accuracy, ci95, total } = objectIn(value);
  const isInterval = Array.isArray(ci95) && ci95.length === 2 &&
    ci95.every((end) => typeof end === "number");
  // Without expected answers, no answer was right or wrong.
  if (typeof accuracy !== "number" || !isInterval || typeof total !== "number" || total === 0) {
    return null;
  }
  return { accuracy, ci95: ci95 as [number, number], total };
}
