/** Runs several `deno` commands at a time, and reports each one when it ends. */

/** One command: the arguments of `deno`, and environment variables to add. */
export interface Job {
  name: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
}

export interface JobResult {
  job: Job;
  success: boolean;
  /** Its standard output and standard error, without colours. */
  text: string;
  seconds: number;
}

/**
 * A command that prints nothing for this long hangs, and is killed. The longest test takes a
 * minute.
 */
const SILENCE_MS = 8 * 60_000;

/** After a command has ended, its output is read for at most this long. */
const LAST_OUTPUT_MS = 2000;

/**
 * Runs all jobs in their order, at most `concurrency` at a time.
 * @param onEnd called as each job ends
 */
export async function runJobs(
  jobs: readonly Job[],
  concurrency: number,
  cwd: URL,
  onEnd: (result: JobResult) => void,
): Promise<void> {
  const waiting = [...jobs];
  const work = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      onEnd(await run(job, cwd));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

async function run(job: Job, cwd: URL): Promise<JobResult> {
  const start = performance.now();
  const child = new Deno.Command(Deno.execPath(), {
    args: [...job.args],
    cwd,
    env: { NO_COLOR: "1", ...job.env },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let text = "", isHanging = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const restartTimer = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      isHanging = true;
      child.kill("SIGKILL");
    }, SILENCE_MS);
  };
  // Processes that the command has started may keep its output open when it has ended.
  const outputIsOver = child.status.then(async () => {
    await new Promise((resolve) => setTimeout(resolve, LAST_OUTPUT_MS));
    return null;
  });
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const reader = stream.getReader(), decoder = new TextDecoder();
    for (;;) {
      const next = await Promise.race([reader.read(), outputIsOver]);
      if (next === null || next.done) break;
      text += decoder.decode(next.value, { stream: true });
      restartTimer();
    }
  };
  restartTimer();
  await Promise.all([collect(child.stdout), collect(child.stderr)]);
  const { success } = await child.status;
  clearTimeout(timer);
  if (isHanging) text += `\nended: it printed nothing for ${SILENCE_MS / 60_000} minutes\n`;
  const seconds = (performance.now() - start) / 1000;
  return { job, success: success && !isHanging, text, seconds };
}
