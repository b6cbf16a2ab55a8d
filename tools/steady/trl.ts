/** TRL as a measured process of `deno task bench:steady`, with the step of SmolLM2. */
import { convertModel, textPrompts } from "../peers/model.ts";
import type { StepJob } from "../peers/jobs.ts";
import type { Command } from "./cgroup.ts";
import { LARGE_STEP } from "./steps_job.ts";

/** Passes the command of a process of TRL to `work`, which must end it. */
export async function withTrlCommand<T>(
  python: string,
  model: string,
  threads: number,
  work: (command: Command) => Promise<T>,
): Promise<T> {
  const folder = await Deno.makeTempDir(), { promptTokens, ...shape } = LARGE_STEP;
  try {
    const converted = `${folder}/model`;
    await convertModel(model, converted);
    const promptIds = await textPrompts(model, 1, promptTokens);
    const job: StepJob = {
      model: converted,
      threads,
      promptIds,
      ...shape,
      computeDtype: "float32",
    };
    return await work([python, "tools/peers/trl_step.py", JSON.stringify(job)]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
