/**
 * Runs calls on `webgpu` and `vulkan` on the same card in turns, each with the kernels that were
 * chosen for it. The clock is that of the host, so the host's part counts too, and so does not how
 * long the tick of a device's time stamps is.
 */
import { createVulkanDevice } from "../devices/vulkan/device.ts";
import { choicePoint } from "../devices/webgpu/choice_points.ts";
import { createWebgpuDevice } from "../devices/webgpu/device.ts";
import type { RecordedCall } from "../ops/common/recorded_call.ts";
import { CallBench, disagreement } from "./tune_call.ts";

const RACERS = ["webgpu", "vulkan"] as const;
type ByDevice<T> = Record<typeof RACERS[number], T>;

export interface RaceJob {
  card: number | null;
  /** The most important call first. */
  calls: RecordedCall[];
  /** Kernels by class; of a class without one, the rule's is used. */
  choices: ByDevice<Record<string, string>>;
  budgetMs: number;
}

/** A call on both devices: milliseconds, and why vulkan's results are wrong (null: they agree). */
export type RaceLine = {
  event: "raced";
  class: string;
  count: number;
  ms: ByDevice<number>;
  wrong: string | null;
};

const ROUNDS = 5;
/** Milliseconds of one measurement, which begins and ends with a read. */
const MEASURED_MS = 5;

/** @throws RgxError when a device cannot be opened, or a call does not fit into its memory */
export async function race(job: RaceJob, tell: (line: RaceLine) => void): Promise<void> {
  const end = performance.now() + job.budgetMs, { card } = job;
  const webgpu = await createWebgpuDevice({ card, trace: "off" });
  try {
    const vulkan = await createVulkanDevice({ card, trace: "off" });
    try {
      for (const [i, call] of job.calls.entries()) {
        if (i > 0 && performance.now() > end) break;
        tell(await raceCall({ webgpu, vulkan }, call, job.choices));
      }
    } finally {
      vulkan.close();
    }
  } finally {
    webgpu.close();
  }
}

async function raceCall(
  devices: ByDevice<CallBench["device"]>,
  call: RecordedCall,
  choices: RaceJob["choices"],
): Promise<RaceLine> {
  const point = choicePoint(call.point), args = { ...call.scalars, ...call.tensors };
  const benches: { name: typeof RACERS[number]; kernel: string; bench: CallBench }[] = [];
  try {
    for (const name of RACERS) {
      const device = devices[name];
      device.computeDtype = call.computeDtype;
      const kernel = choices[name][call.class] ?? point.candidates(args, device)[0]!;
      benches.push({ name, kernel, bench: new CallBench(device, call, point) });
    }
    const [first, second] = benches as [typeof benches[0], typeof benches[0]];
    const found = await second.bench.outputs(second.kernel);
    const expected = await first.bench.outputs(first.kernel);
    // Both kernels may differ from the right result by the tolerance.
    const wrong = disagreement(point, args, found, expected, 2);
    const times: ByDevice<number[]> = { webgpu: [], vulkan: [] };
    let repeat = 1;
    for (let round = 0; round <= ROUNDS; round++) {
      for (const { name, kernel, bench } of round % 2 === 0 ? benches : benches.toReversed()) {
        const ms = await bench.milliseconds(kernel, repeat);
        // The first round compiles, and says how often a call is to be repeated.
        if (round > 0) times[name].push(ms);
        else repeat = Math.max(repeat, Math.min(50, Math.round(MEASURED_MS / Math.max(0.1, ms))));
      }
    }
    const ms = { webgpu: Math.min(...times.webgpu), vulkan: Math.min(...times.vulkan) };
    return { event: "raced", class: call.class, count: call.count, ms, wrong };
  } finally {
    for (const { bench } of benches) bench.close();
  }
}
