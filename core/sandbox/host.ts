/**
 * The process in which code of a user runs: a reward or a task. It holds the Worker, which has no
 * permissions, passes lines between it and the program, and stays responsive while the code is
 * busy. So it can end itself when the program is gone (its input closes) or when the code takes too
 * much memory. The program ends it when the code hangs. A Worker in the program itself would not
 * do: Deno 2.9 never stops the thread of a busy Worker.
 */
import { LineWriter, readLines } from "../line_pipe.ts";
import { type Ended, MEMORY_EXIT, MEMORY_LIMIT } from "./limits.ts";

/** Milliseconds between two checks of the memory. In this time it can grow by a few hundred MB. */
const MEMORY_CHECK_INTERVAL = 20;

/** Signals that ask a run to stop; child processes ignore them, as the program ends these. */
const SIGNALS: Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"];

/** Serves until the input closes. @param module of the Worker. @param net allowed hosts */
export async function hostWorker(module: URL, net: readonly string[]): Promise<never> {
  for (const signal of SIGNALS) Deno.addSignalListener(signal, () => {});
  const output = new LineWriter(Deno.stdout.writable, () => Deno.exit(1));
  const send = (message: Ended) => output.write(JSON.stringify([message]));
  const worker = new Worker(module, {
    type: "module",
    deno: { permissions: net.length === 0 ? "none" : only(net) },
  } as WorkerOptions);
  worker.onmessage = ({ data }: MessageEvent<string>) => output.write(data);
  worker.onerror = (event) => {
    event.preventDefault();
    send({ type: "ended", message: event.message });
  };
  const check = setInterval(() => {
    if (Deno.memoryUsage().rss <= MEMORY_LIMIT) return;
    clearInterval(check);
    // Ends the process soon, before it takes more memory. The pause lets the program read the pipe;
    // if the program is too busy, it still sees the exit code.
    setTimeout(() => Deno.exit(MEMORY_EXIT), MEMORY_CHECK_INTERVAL);
  }, MEMORY_CHECK_INTERVAL);
  for await (const lines of readLines(Deno.stdin.readable)) {
    for (const line of lines) worker.postMessage(line);
  }
  Deno.exit(0);
}

function only(net: readonly string[]) {
  return {
    net: [...net],
    env: false,
    ffi: false,
    import: false,
    read: false,
    run: false,
    sys: false,
    write: false,
  };
}
