/**
 * The measured process of `deno task bench:steady`. For every line on stdin it makes GRPO steps for
 * some seconds and answers with their number and the exact time.
 */
import { createWasmDevice } from "../../kernels/devices/wasm/device.ts";
import { quickstartStep } from "../../training/grpo_step_bench.ts";
import { lines } from "../peers/jobs.ts";
import { largeStep } from "./large_step.ts";
import type { StepsJob, StepsTimes } from "./steps_job.ts";

if (import.meta.main) {
  const { model, threads, seconds }: StepsJob = JSON.parse(Deno.args[0]!);
  const device = await createWasmDevice(threads === null ? {} : { threads });
  const { step, shape } = model === null
    ? await quickstartStep(device)
    : await largeStep(model, device);
  await step.run(shape);
  console.log(JSON.stringify({ version: `${device.threads} threads, ${device.tiles}` }));
  for await (const _line of lines(Deno.stdin.readable)) {
    const start = performance.now();
    let steps = 0, took = 0;
    while (took < seconds) {
      await step.run(shape);
      // As the trainer does between steps, so that finished promises and timers are freed.
      await new Promise((resolve) => setTimeout(resolve, 0));
      steps++;
      took = (performance.now() - start) / 1000;
    }
    console.log(JSON.stringify({ steps, seconds: took } satisfies StepsTimes));
  }
  step.dispose();
  device.close();
}
