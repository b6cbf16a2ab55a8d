/** Starts the process that measures (worker.ts), and watches it. */
import { messageOf } from "../../core/errors.ts";
import { readLines } from "../../core/line_pipe.ts";
import { programCommand } from "../../core/program_command.ts";
import { TUNE_COMMAND } from "./command.ts";
import { encodeJob, type TuneJob, type TuneLine } from "./worker.ts";

export interface ProcessOptions {
  /** The program of the process; tests replace it. */
  command?: readonly string[];
  /** Milliseconds without a word from the process after which it counts as hanging. */
  silenceMs?: number;
}

/** A driver may compile a kernel for a long time, but not this long. */
const SILENCE_MS = 60_000;

/**
 * Runs the process once.
 * @returns null when it has come to its end, else what happened to it
 */
export async function runProcess(
  job: TuneJob,
  { command, silenceMs = SILENCE_MS }: ProcessOptions,
  on: (lines: TuneLine[]) => Promise<void>,
): Promise<string | null> {
  const [program, ...args] = command ?? [...programCommand(), TUNE_COMMAND];
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(program!, {
      args,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
  } catch (error) {
    return `its process did not start: ${messageOf(error)}`;
  }
  let isDone = false, hangs = false;
  const kill = () => {
    hangs = true;
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended in this moment.
    }
  };
  let watch = setTimeout(kill, silenceMs);
  // It reads all of its input before it writes.
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(encodeJob(job))).catch(() => {});
  await writer.close().catch(() => {});
  for await (const lines of readLines(child.stdout)) {
    clearTimeout(watch);
    watch = setTimeout(kill, silenceMs);
    const found = lines.flatMap((text): TuneLine[] => {
      try {
        return [JSON.parse(text)];
      } catch {
        return []; // what a driver prints
      }
    });
    isDone ||= found.some(({ event }) => event === "done");
    await on(found);
  }
  const { code, signal } = await child.status;
  clearTimeout(watch);
  if (isDone) return null;
  if (hangs) return `it did not answer for ${silenceMs / 1000} s`;
  return signal === null
    ? `its process ended with code ${code}`
    : `its process was ended by ${signal}`;
}
