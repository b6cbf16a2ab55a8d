/** Test data: a run and one point to track, with a temporary folder. */
import { withFolder } from "../../core/testing.ts";
import type { TrackedRun } from "./tracker.ts";

export const RUN_ID = "0123456789abcdef0123456789abcdef";

export async function withTracked(
  test: (run: TrackedRun, folder: string) => void | Promise<void>,
  changes: Partial<TrackedRun> = {},
): Promise<void> {
  await withFolder(async (folder) => {
    await test({
      name: "run one",
      project: "my project",
      outputDir: `${folder}/out`,
      id: RUN_ID,
      config: { training: { learning_rate: 1e-6 } },
      resumedFrom: 0,
      start: new Date("2026-03-04T05:06:07.008Z"),
      host: "node1",
      pid: 77,
      ...changes,
    }, folder);
  });
}

export const POINT = {
  step: 3,
  time: new Date("2026-03-04T05:07:00Z"),
  metrics: { "train/loss": 0.5, "eval/accuracy": 0.25 },
};
