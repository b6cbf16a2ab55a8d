/**
 * A Worker of the program between its main thread, which waits for each answer, and the process of
 * a user's task. The main thread cannot read a pipe while it waits, so this thread does. A call
 * that takes too long ends the process; the next call starts another one.
 */
import { parentPort } from "node:worker_threads";
import { messageOf } from "../../core/errors.ts";
import { runningTimeout } from "../../core/machine/running_time.ts";
import { SandboxProcess } from "../../core/sandbox/sandbox_process.ts";
import { TASK_HOST } from "../../core/sandbox/host_commands.ts";
import type { FromWorker, ToWorker } from "./protocol.ts";
import { type Request, writeReply } from "./shared_reply.ts";

/** Time limit for starting the process and for loading the file, in seconds. */
const LOAD_SECONDS = 10;

type TaskProcess = SandboxProcess<FromWorker, ToWorker>;
const HOST = {
  module: new URL("./host.ts", import.meta.url),
  reads: ["../", "../../core/"].map((folder) => new URL(folder, import.meta.url)),
  command: TASK_HOST,
};

let running: TaskProcess | null = null;

parentPort!.on("message", async ({ url, call, seconds, reply }: Request) => {
  writeReply(reply, await answered(url, call, seconds));
  // The main thread awaits the first reply without blocking, so a message tells it.
  if (call === null) parentPort!.postMessage(null);
});

async function answered(url: string, call: ToWorker | null, seconds: number): Promise<FromWorker> {
  try {
    // A signal that asks the program to stop may end the process before it ignores signals.
    for (let attempt = 1; running === null || running.ended !== null; attempt++) {
      running = new SandboxProcess(HOST, []);
      const loaded = await next(running, { type: "load", url }, LOAD_SECONDS, "did not load");
      const died = running.ended !== null && attempt === 1;
      if (!died && (call === null || loaded.type !== "loaded")) return loaded;
    }
    return await next(running, call!, seconds, "gave no answer");
  } catch (error) {
    return { type: "error", message: messageOf(error) };
  }
}

/** The answer to a message, or an error after the time limit, which ends the process. */
function next(
  process: TaskProcess,
  message: ToWorker,
  seconds: number,
  what: string,
): Promise<FromWorker> {
  return new Promise((resolve) => {
    const finish = (answer: FromWorker) => {
      stopTimer();
      process.listen(null);
      resolve(answer);
    };
    const fail = (text: string) => {
      process.kill();
      running = null;
      finish({ type: "error", message: text });
    };
    const silent = () => fail(`it ${what} within ${seconds} s`);
    const stopTimer = runningTimeout(silent, seconds * 1000);
    process.listen(([first], ended) => {
      if (first !== undefined && first.type !== "ended") finish(first);
      else if (ended !== null) fail(ended);
    });
    process.send(message);
  });
}
