/**
 * The process that measures kernels on a card: it reads a job from its input and writes what it
 * finds, line by line, so that nothing is lost when a driver crashes (tuner.ts starts it again).
 */
import { createWebgpuDevice, type WebgpuDevice } from "../devices/webgpu/device.ts";
import { createVulkanDevice } from "../devices/vulkan/device.ts";
import type { RecordedCall } from "../ops/common/recorded_call.ts";
import { messageOf } from "../../core/errors.ts";
import { tuneCall, type TunedClass } from "./tune_call.ts";

/** What the process is to measure, the most important call first. */
export interface TuneJob {
  /** "webgpu" or "vulkan". */
  device: string;
  card: number | null;
  calls: RecordedCall[];
  /** Candidates that must not be tried again, by class and name, and why. */
  bad: Record<string, Record<string, string>>;
  /** Milliseconds for all calls together. */
  budgetMs: number;
}

/** A line of the process. */
export type TuneLine =
  | { event: "trying"; class: string; candidate: string }
  | { event: "wrong"; class: string; candidate: string; reason: string }
  | { event: "tuned"; tuned: TunedClass }
  | { event: "failed"; class: string; reason: string }
  | { event: "done" };

/** The job as one line of text. */
export function encodeJob(job: TuneJob): string {
  return JSON.stringify(
    job,
    (_, value) => value instanceof Uint32Array ? { u32: [...value] } : value,
  );
}

export function decodeJob(text: string): TuneJob {
  return JSON.parse(
    text,
    (_, value) => Array.isArray(value?.u32) ? Uint32Array.from(value.u32) : value,
  );
}

/** Measures the calls of a job as long as there is time. */
async function runTuneJob(job: TuneJob, tell: (line: TuneLine) => void): Promise<void> {
  const { card } = job, create = job.device === "vulkan" ? createVulkanDevice : createWebgpuDevice;
  const open = () => create({ card, trace: "stamps" });
  const end = performance.now() + job.budgetMs;
  let device: WebgpuDevice = await open();
  const reopen = async () => {
    device.close();
    return device = await open();
  };
  try {
    for (const [i, call] of job.calls.entries()) {
      const left = end - performance.now();
      // The most important call is measured in any case.
      if (left <= 0 && i > 0) break;
      try {
        const tuned = await tuneCall(device, call, {
          budgetMs: Math.max(0, left) / (job.calls.length - i) / 2,
          deadline: end,
          bad: job.bad[call.class] ?? {},
          trying: (candidate) => tell({ event: "trying", class: call.class, candidate }),
          wrong: (candidate, reason) =>
            tell({ event: "wrong", class: call.class, candidate, reason }),
          reopen,
        });
        tell({ event: "tuned", tuned });
      } catch (error) {
        tell({ event: "failed", class: call.class, reason: messageOf(error) });
        await reopen();
      }
    }
  } finally {
    device.close();
  }
}

/**
 * The process: reads the job from its input, and writes its lines to its output. When nobody reads
 * them any more (the tuner was killed), the card is left at once: `console.log` would go on.
 */
export async function tuneFromInput(): Promise<void> {
  const job = decodeJob(await new Response(Deno.stdin.readable).text());
  const tell = (line: TuneLine) => {
    const bytes = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
    try {
      for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
    } catch (error) {
      if (error instanceof Deno.errors.BrokenPipe) Deno.exit(1);
      throw error;
    }
  };
  await runTuneJob(job, tell);
  tell({ event: "done" });
}
