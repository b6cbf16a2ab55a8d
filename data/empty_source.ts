/**
 * Problems of an environment that needs no data: each is empty, and the environment shows its own
 * start. The number of a problem determines the environment's seed.
 */
import type { Split } from "../core/philox.ts";
import { UsageError } from "../core/errors.ts";
import type { Entry } from "../tasks/types.ts";
import type { ProblemSource } from "./problem_source.ts";
import { FILE_SOURCE } from "./score_completion.ts";

/**
 * In the metadata of an empty problem: how the environment may begin. Where a prompt is wanted
 * before it has begun, to plan a run, it stands for the start.
 */
export const SAMPLE_START = "sample_start";

/** @param name the environment's name @param start what it has shown once */
export function emptySource(name: string, count: number, start: string): ProblemSource {
  return {
    name,
    endless: true,
    mix: null,
    length: (split) => split === "train" ? count : Infinity,
    entry(split: Split, index: number, redraw = 0): Entry {
      const again = redraw === 0 ? "" : `, ${redraw}`;
      return {
        // What tells it from others; the prompt is the message, to which the start is added.
        question: `${name}, ${split} ${index}${again}`,
        messages: [{ role: "user", content: "" }],
        answer: null,
        metadata: { source_dataset: FILE_SOURCE, source_index: index, [SAMPLE_START]: start },
      };
    },
    setConfig() {
      throw new UsageError(`${name}: an environment without a task has no parameters`);
    },
  };
}
