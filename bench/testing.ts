/** Helpers for tests of benchmarks: a tiny model, temporary folders, and collected events. */
import type { Device } from "../kernels/device.ts";
import { createReferenceDevice } from "../kernels/devices/reference/device.ts";
import { test } from "../core/testing.ts";
import { tinyModelFolder } from "../training/tiny_model_testing.ts";
import { type Benchmark, benchmark, type BenchmarkOptions } from "./benchmark.ts";
import type { BenchEvent } from "./benchmark_run.ts";

/** Measures the tiny model on sums, into the folder `out`, where nothing else is said. */
type Bench = (options?: Partial<BenchmarkOptions>) => ReturnType<typeof collected>;

/** A test with the tiny model in the folder `model`, and a device. */
export function modelTest(
  name: string,
  work: (folder: string, model: string, device: Device, bench: Bench) => Promise<void>,
): void {
  test.inFolder(name, async (folder) => {
    using device = createReferenceDevice({ float: "f32" });
    const model = `${folder}/model`;
    await tinyModelFolder(model);
    const usual = { models: [model], tasks: ["chain_sum"], outputDir: `${folder}/out`, device };
    await work(folder, model, device, (options) => collected({ ...usual, ...options }));
  });
}

/** Runs a benchmark and returns its events, too. */
export async function collected(
  options: BenchmarkOptions,
): Promise<Benchmark & { events: BenchEvent[] }> {
  const events: BenchEvent[] = [];
  const done = await benchmark({
    sampling: { max_new_tokens: 8 },
    numExamples: 5,
    prompt: { add_instructions: false }, // the tiny model has few positions
    ...options,
    onEvent: (event) => {
      events.push(event);
      options.onEvent?.(event);
    },
  });
  return { ...done, events };
}
