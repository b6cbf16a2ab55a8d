/**
 * Tasks from a user's file, which runs in a process without any permission, as a reward of a user
 * does. The file is tried when it is registered: it must give the same entry twice, and a score of
 * 1 to that entry's answer.
 */
import { messageOf, RgxError, UsageError } from "../../core/errors.ts";
import { type ParamValue, withDefaults } from "../../core/named_params.ts";
import { RandomStream } from "../../core/philox.ts";
import { codeHash, isCodePath, loadCode } from "../../core/sandbox/code_file.ts";
import { hasTask, registerTask } from "../registry.ts";
import type { Generated, Task } from "../types.ts";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { type FromWorker, HELPERS, type TaskCall, type TaskCard } from "./protocol.ts";
import { clearReply, createReply, readReply, type Request, waitForReply } from "./shared_reply.ts";

/** A registered task of a file. */
export interface TaskOfFile {
  name: string;
  sha256: string;
}

/** By the SHA-256 of the file: a file that several configurations name is loaded once. */
const registered = new Map<string, TaskOfFile>();

/**
 * The name of a task. For the path of a file, this is the name of the file's task; other texts are
 * names themselves.
 * @throws UsageError when the file cannot be used
 */
export async function taskNameOf(name: string): Promise<string> {
  return isCodePath(name) ? (await registerTaskFile(name)).name : name;
}

/** @throws UsageError when the file is no task, or another task has its name */
export async function registerTaskFile(path: string): Promise<TaskOfFile> {
  const sha256 = await codeHash(path, "task"), known = registered.get(sha256);
  if (known !== undefined) return known;
  const { url } = await loadCode(path, { what: "task", helpers: HELPERS });
  const process = new TaskProcess(path, url);
  try {
    const task = { ...taskOf(await process.load(), process), sha256 };
    tryOut(task);
    if (hasTask(task.name)) {
      throw new UsageError(`another task has its name, ${task.name}`, {
        advice: "Give the task of the file a name of its own.",
      });
    }
    registerTask(task);
    const found = { name: task.name, sha256 };
    registered.set(sha256, found);
    return found;
  } catch (error) {
    await process.close();
    const { advice } = error as { advice?: string };
    throw new UsageError(
      `the task file ${path} cannot be used: ${messageOf(error)}`,
      advice === undefined ? { cause: error } : { advice, cause: error },
    );
  }
}

/** The task as the registry has it; its functions call those of the file. */
function taskOf(card: TaskCard, process: TaskProcess): Task {
  const { name, functions, ...declared } = card;
  if (typeof name !== "string") {
    throw new UsageError("its default export has no name", {
      advice: 'A task is export default defineTask({ name: "digit_sum", … }).',
    });
  }
  const missing = ["generate", "score"].filter((needed) => !functions.includes(needed));
  if (missing.length > 0) throw new UsageError(`it has no function ${missing.join(" and no ")}`);
  if (functions.includes("open")) {
    throw new UsageError("it has open(), which is only for tasks that are part of rgx");
  }
  return {
    name,
    category: "custom",
    description: "",
    scoring: "",
    params: {},
    ...declared,
    generate: (random, config, index) => {
      const { value } = process.call({ call: "generate", stream: random.origin, config, index });
      return generated(value);
    },
    score: (answer, entry) => {
      const { value } = process.call({ call: "score", answer, entry });
      // JSON has no NaN: the caller refuses values that are no number.
      return typeof value === "number" ? value : NaN;
    },
    ...(functions.includes("validate") && {
      validate: (config: Record<string, ParamValue>) =>
        process.call({ call: "validate", config }).value as string[],
    }),
    ...(functions.includes("clamp") && {
      clamp: (config: Record<string, ParamValue>) => {
        const { value, config: clamped } = process.call({ call: "clamp", config });
        Object.assign(config, clamped);
        return value as string[];
      },
    }),
  };
}

/** @throws RgxError when it is no entry */
function generated(value: unknown): Generated {
  const { question, answer, metadata = {}, difficulty } = (value ?? {}) as Partial<Generated>;
  if (typeof question !== "string" || question === "") {
    throw new RgxError("generate() returned no question: expected a text");
  }
  if (answer !== null && typeof answer !== "string") {
    throw new RgxError(`generate() returned the answer ${JSON.stringify(answer)}: expected a text`);
  }
  return { question, answer, metadata, ...(difficulty !== undefined && { difficulty }) };
}

/** @throws RgxError for a task whose entries depend on more than their key, or that scores wrong */
function tryOut(task: Task): void {
  const config = withDefaults(task.params, task.example ?? {});
  const entry = () => {
    const { difficulty, metadata, ...texts } = task.generate(
      RandomStream.forTask(1, "train", task.name, 0),
      config,
      0,
    );
    return { ...texts, metadata: { ...metadata, difficulty } };
  };
  const first = entry();
  if (JSON.stringify(first) !== JSON.stringify(entry())) {
    throw new UsageError("generate() gave two entries for one index", {
      advice: "All randomness must come from its argument `random`, and nothing from a clock.",
    });
  }
  if (first.answer === null) return;
  const score = task.score(first.answer, first);
  if (score !== 1) {
    const of = JSON.stringify(first.answer);
    throw new UsageError(`score() gives ${score} to the answer ${of} of its own entry, not 1`);
  }
}

/**
 * A user's task in a process of its own, called as if it were a function: entries and scores are
 * needed one at a time, in the middle of other work.
 */

/** Time limit of a call, in seconds. */
const CALL_SECONDS = 10;
/** Longer than the limits for starting and for loading together. */
const EXTRA_SECONDS = 60;

export class TaskProcess {
  readonly #relay: Worker;
  readonly #reply = createReply();

  /** @param url the task's module as a `data:` URL */
  constructor(
    private readonly path: string,
    private readonly url: string,
    private readonly seconds = CALL_SECONDS,
  ) {
    this.#relay = new Worker(new URL("./relay.ts", import.meta.url));
    this.#relay.unref();
  }

  /** Loads the module. @throws RgxError when that fails */
  async load(): Promise<TaskCard> {
    this.#relay.ref();
    const replied = once(this.#relay, "message");
    this.#post(null);
    await replied;
    this.#relay.unref();
    const loaded = readReply(this.#reply);
    if (loaded.type === "loaded") return loaded.task;
    throw new RgxError("message" in loaded ? loaded.message : "it did not load");
  }

  /** @throws RgxError with the reason when the task throws or takes too long */
  call(call: TaskCall): Extract<FromWorker, { type: "result" }> {
    clearReply(this.#reply);
    this.#post({ type: "call", call });
    const answer = waitForReply(this.#reply, 1000 * (this.seconds + EXTRA_SECONDS));
    if (answer?.type === "result") return answer;
    const why = answer !== null && "message" in answer ? answer.message : "no answer came";
    throw new RgxError(`${this.path}: ${call.call}: ${why}`);
  }

  async close(): Promise<void> {
    await this.#relay.terminate();
  }

  #post(call: Request["call"]): void {
    const { url, seconds } = this, request: Request = { url, call, seconds, reply: this.#reply };
    this.#relay.postMessage(request);
  }
}
