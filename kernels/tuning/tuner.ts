/**
 * Finds the fastest right kernels for calls on a card: from the cache, or by measurements in a
 * process of its own (worker.ts). If a driver crashes there, the candidate is noted as bad, and the
 * process is started again.
 */
import { messageOf, UsageError } from "../../core/errors.ts";
import { type FolderLock, lockFolder } from "../../core/lock.ts";
import { LineProcess } from "../../core/machine/line_process.ts";
import { programCommand } from "../../core/program_command.ts";
import type { RecordedCall } from "../ops/common/recorded_call.ts";
import { TUNE_COMMAND } from "./command.ts";
import {
  CardFile,
  choicesFolder,
  type KeptChoice,
  type KeptChoices,
  type Measurable,
  type Trial,
} from "./kept_choices.ts";
import type { TunedClass } from "./tune_call.ts";
import { encodeJob, type TuneJob, type TuneLine } from "./worker.ts";

export interface TuneOptions {
  about: Measurable;
  card: number | null;
  /** Max milliseconds for all measurements, and for waiting until they may begin. */
  budgetMs: number;
  /** Milliseconds without a word from the process after which it counts as hanging. */
  silenceMs?: number;
  /** Called when another process measures this kind of card, which is waited for. */
  onWait?: () => void;
  /** Called for each class that was measured. */
  onTuned?: (tuned: TunedClass) => void;
  /**
   * Measures classes again that are in the cache, but those that an unfinished measurement of this
   * kind has done.
   */
  again?: boolean;
  /** The user's cache folder; null = there is none. Default: by the environment. */
  cache?: string | null;
  /** The program of the process; tests replace it. */
  command?: readonly string[];
}

/** What was found, and where from. */
export interface Tuned {
  choices: Record<string, KeptChoice>;
  /** Candidates that were wrong or crashed, of the classes that were asked for. */
  bad: KeptChoices["bad"];
  /** Number of classes that were measured now, that were in the cache, and that were left out. */
  measured: number;
  known: number;
  left: number;
  /** Milliseconds for which another process that measures this kind of card was waited for. */
  waitedMs: number;
  /** What a user should know. */
  notes: string[];
}

/** How often the process is started again. */
const MAX_CRASHES = 20;
/** Milliseconds between two looks whether another process still measures. */
const WAIT_STEP_MS = 500;
/** A driver may compile a kernel for a long time, but not this long. */
const SILENCE_MS = 60_000;

/** Never fails because of the card or the cache: what cannot be measured follows its rule. */
export async function tune(calls: readonly RecordedCall[], options: TuneOptions): Promise<Tuned> {
  const { about, again = false } = options, classes = calls.map(({ class: name }) => name);
  const folder = choicesFolder(about, options.cache), notes: string[] = [];
  const found = new CardFile(folder, about, classes, again, notes);
  await found.read();
  const start = performance.now(), end = start + options.budgetMs;
  let waitedMs = 0;
  const result = (): Tuned => {
    const { choices, bad, measured } = found, known = Object.keys(choices).length - measured;
    const left = calls.length - known - measured;
    return { choices, bad, measured, known, left, waitedMs, notes };
  };
  // While another process measures, what it has found may be all that is needed.
  const isDone = async () => {
    if (!again) await found.read();
    return found.missing().length === 0;
  };
  if (found.missing().length === 0) return result();
  const lock = await lockOf(folder, notes, { end, isDone, onWait: options.onWait });
  waitedMs = lock === null ? 0 : performance.now() - start;
  if (lock === "busy") return result();
  try {
    // Another process may have measured them while this one has waited.
    if (lock !== null) await found.read();
    found.judgeLast();
    const missing = found.missing();
    const left = byWork(calls.filter((call) => missing.includes(call.class)));
    await measure(left, found, { ...options, budgetMs: options.budgetMs - waitedMs }, notes);
    await found.finish();
    return result();
  } finally {
    await lock?.release();
  }
}

/**
 * Lets only one process measure a kind of card at a time, since two would disturb each other's
 * times. Null where that cannot be locked; "busy" when another process measures until `end`, or
 * until `isDone`.
 */
async function lockOf(
  folder: string | null,
  notes: string[],
  { end, isDone, onWait }: {
    end: number;
    isDone: () => Promise<boolean>;
    onWait: (() => void) | undefined;
  },
): Promise<FolderLock | "busy" | null> {
  if (folder === null) return null;
  try {
    await Deno.mkdir(folder, { recursive: true });
  } catch {
    return null; // What is found cannot be written either, and then the user is told.
  }
  for (let waits = 0;; waits++) {
    try {
      return await lockFolder(folder);
    } catch (error) {
      if (!(error instanceof UsageError)) {
        notes.push(messageOf(error));
        return null;
      }
      if (waits === 0) onWait?.();
      if (await isDone()) return "busy";
      if (performance.now() >= end) {
        notes.push(
          "another process has measured this kind of card all the time: what it has not found " +
            `yet follows the rules (${folder})`,
        );
        return "busy";
      }
      await new Promise((resolve) => setTimeout(resolve, WAIT_STEP_MS));
    }
  }
}

/** The calls that take the most time first, as far as their sizes say. */
function byWork(calls: readonly RecordedCall[]): RecordedCall[] {
  const work = ({ count, scalars: { m, n, k }, tensors }: RecordedCall) =>
    count *
    (typeof m === "number" && typeof n === "number" && typeof k === "number"
      ? m * n * k
      : 64 * Object.values(tensors).reduce((sum, { length }) => sum + length, 0));
  return calls.toSorted((a, b) => work(b) - work(a));
}

/** Runs the process until it has measured all calls, or there is no time left. */
async function measure(
  calls: RecordedCall[],
  found: CardFile,
  options: TuneOptions,
  notes: string[],
): Promise<void> {
  const end = performance.now() + options.budgetMs;
  for (let crashes = 0; calls.length > 0 && (crashes === 0 || performance.now() < end);) {
    const job = {
      device: options.about.device,
      card: options.card,
      calls,
      bad: found.bad,
      budgetMs: end - performance.now(),
    };
    const done = new Set<string>();
    let last: Trial | null = null;
    const ended = await runProcess(job, options, async (line) => {
      if (line.event === "trying") found.begins(last = line);
      if (line.event === "wrong") found.isBad(line, line.reason);
      if (line.event === "failed") {
        done.add(line.class);
        notes.push(`${line.class} was not measured: ${line.reason}`);
      }
      if (line.event === "tuned") {
        done.add(line.tuned.class);
        found.tuned(line.tuned);
        options.onTuned?.(line.tuned);
      }
      await found.write();
    });
    if (ended === null) return;
    calls = calls.filter(({ class: name }) => !done.has(name));
    const tried = last as Trial | null;
    if (tried === null || done.has(tried.class)) {
      notes.push(`the kernels were not measured: ${ended}`);
      return;
    }
    found.isBad(tried, ended);
    await found.write();
    if (++crashes === MAX_CRASHES) {
      notes.push(`the process that measures has crashed ${crashes} times: the rest is left out`);
      return;
    }
  }
}

/**
 * Runs the process once.
 * @param on gets its lines, one after the other
 * @returns null when it has come to its end, else what happened to it
 */
async function runProcess(
  job: TuneJob,
  { command = [...programCommand(), TUNE_COMMAND], silenceMs = SILENCE_MS }: TuneOptions,
  on: (line: TuneLine) => Promise<void>,
): Promise<string | null> {
  const { promise: over, resolve } = Promise.withResolvers<string>();
  let isDone = false, handled = Promise.resolve(), process: LineProcess;
  let watch: ReturnType<typeof setTimeout> | undefined;
  const listen = () => {
    watch = setTimeout(async () => {
      await process.close({ atOnce: true });
      resolve(`it did not answer for ${silenceMs / 1000} s`);
    }, silenceMs);
  };
  try {
    process = new LineProcess(command, (lines, ended) => {
      clearTimeout(watch);
      for (const text of lines) {
        const line = lineOf(text);
        if (line === null) continue;
        isDone ||= line.event === "done";
        handled = handled.then(() => on(line));
      }
      if (ended === null) listen();
      else resolve(ended);
    });
  } catch (error) {
    return messageOf(error);
  }
  listen();
  process.send(encodeJob(job));
  process.endInput();
  const ended = await over;
  await handled;
  return isDone ? null : ended;
}

/** A line of the process, or null: what a driver prints, or one that it was ended in. */
function lineOf(text: string): TuneLine | null {
  try {
    return text.startsWith('{"event":') ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}
