/**
 * The process in which a user's reward runs: it holds the Worker that has no permissions, carries lines
 * between it and the program, and stays awake while the reward is busy. So it can end itself when the
 * program is gone (its input closes) or the reward takes too much memory; the program ends it when the
 * reward hangs. A Worker within the program would not do: Deno 2.9 never stops the thread of a busy one.
 */
import { LineWriter, readLines } from "../../core/line_pipe.ts";
import { type FromReward, MEMORY_EXIT, MEMORY_LIMIT, toLine } from "./protocol.ts";

/** Milliseconds between two looks at the memory: within them an array of a few hundred MB can be filled. */
const LOOK = 20;

/** Those by which a run is asked to stop also reach its children; their end is for the program to say. */
const SIGNALS: Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"];

/** Serves until the input closes, then ends the process. @param net hosts that the reward may connect to */
export async function hostReward(net: readonly string[]): Promise<never> {
  for (const signal of SIGNALS) Deno.addSignalListener(signal, () => {});
  const output = new LineWriter(Deno.stdout.writable, () => Deno.exit(1));
  const tell = (message: FromReward) => output.write(toLine([message]));
  const worker = new Worker(new URL("./worker.ts", import.meta.url), {
    type: "module",
    name: "reward",
    deno: { permissions: net.length === 0 ? "none" : only(net) },
  } as WorkerOptions);
  worker.onmessage = ({ data }: MessageEvent<string>) => output.write(data);
  worker.onerror = (event) => {
    event.preventDefault();
    tell({ type: "ended", message: event.message });
  };
  const look = setInterval(() => {
    if (Deno.memoryUsage().rss <= MEMORY_LIMIT) return;
    clearInterval(look);
    // Nothing more may be taken: the pipe has a moment, and a program that is too busy to read it knows the code.
    setTimeout(() => Deno.exit(MEMORY_EXIT), LOOK);
  }, LOOK);
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

if (import.meta.main) await hostReward(Deno.args);
