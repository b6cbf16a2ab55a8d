/** Runs commands of Deno, some at once, and reports each when it has ended. */

/** One command: the arguments of `deno`, and variables for it. */
export interface Job {
  name: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
}

export interface Ended {
  job: Job;
  success: boolean;
  /** What it printed, without colours. */
  text: string;
  seconds: number;
}

/** A command that prints nothing for so long hangs and is ended. The longest test takes a minute. */
const SILENCE_MS = 8 * 60_000;

/** Runs all jobs, `atOnce` at a time, in their order; `onEnd` is called as each one ends. */
export async function runJobs(
  jobs: readonly Job[],
  atOnce: number,
  cwd: URL,
  onEnd: (ended: Ended) => void,
): Promise<void> {
  const waiting = [...jobs];
  const work = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      onEnd(await run(job, cwd));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

async function run(job: Job, cwd: URL): Promise<Ended> {
  const start = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: [...job.args],
    cwd,
    env: { NO_COLOR: "1", ...job.env },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let text = "", isHanging = false;
  const watch = { timer: 0 };
  const wait = () => {
    clearTimeout(watch.timer);
    watch.timer = setTimeout(() => {
      isHanging = true;
      child.kill("SIGKILL");
    }, SILENCE_MS);
  };
  wait();
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      // What the command has started may hold its output open after it was killed.
      const next = await Promise.race([reader.read(), killed]);
      if (next === null || next.done) break;
      text += next.value;
      wait();
    }
  };
  const killed = child.status.then(async () => {
    await new Promise((resolve) => setTimeout(resolve, 2000));
    return null;
  });
  await Promise.all([collect(child.stdout), collect(child.stderr)]);
  const { success } = await child.status;
  clearTimeout(watch.timer);
  if (isHanging) text += `\nended: it printed nothing for ${SILENCE_MS / 60_000} minutes\n`;
  const seconds = (performance.now() - start) / 1000;
  return { job, success: success && !isHanging, text, seconds };
}
