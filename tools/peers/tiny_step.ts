/**
 * A GRPO step of a small model beside TRL's, in the shape of `deno task bench:grpo`. Almost all of
 * TRL's time is not arithmetic here.
 */
import { goldenPath } from "../../tests/golden.ts";
import type { StepJob, StepTimes } from "./jobs.ts";
import { storyPrompts } from "./model.ts";
import { deaths, inTurns, rgxCommand, table } from "./turns.ts";

/** What is measured, each with one thread and with two. */
const PROGRAMS = ["rgx", "TRL"] as const;

/** The section without its heading. @param python a Python with trl, peft and torch */
export async function tinySection(python: string, rounds: number): Promise<string> {
  const model = goldenPath("models/tinystories-656k");
  const job: Omit<StepJob, "threads"> = {
    model,
    promptIds: await storyPrompts(model, 4, 64),
    completions: 8,
    newTokens: 64,
    rank: 16,
    computeDtype: "float32",
  };
  const threads = navigator.hardwareConcurrency > 1 ? [1, 2] : [1];
  const nameOf = (program: string, count: number) => `${program}, threads ${count}`;
  const { alive, died, versions } = await inTurns<StepTimes>(
    threads.flatMap((count) =>
      PROGRAMS.map((program) => {
        const shape = { ...job, threads: count }, name = nameOf(program, count);
        if (program === "TRL") {
          return { name, command: [python, "tools/peers/trl_step.py", JSON.stringify(shape)] };
        }
        return { name, command: rgxCommand({ ...shape, dtype: "auto" }) };
      })
    ),
    rounds,
  );
  const measured = (program: string, count: number) => {
    const one = alive.get(nameOf(program, count));
    return one && {
      seconds: one.best(({ seconds }) => seconds, Math.min),
      generate: one.best(({ generate }) => generate, Math.min),
      train: one.best(({ seconds, generate }) => seconds - generate, Math.min),
      cpu: one.best(({ cpuSeconds }) => cpuSeconds, Math.min),
      bytes: one.best(({ peakBytes }) => peakBytes, Math.max),
    };
  };
  const rows = threads.flatMap((count) => {
    const trl = measured("TRL", count);
    const times = (value: number | undefined, of: number) =>
      value === undefined ? "–" : (value / of).toFixed(1);
    return PROGRAMS.flatMap((program) => {
      const found = measured(program, count);
      if (found === undefined) return [];
      const { seconds, generate, train, cpu, bytes } = found;
      return [[
        program,
        `${count}`,
        ...[seconds, generate, train, cpu].map((value) => (1000 * value).toFixed(0)),
        (bytes / 1e9).toFixed(2),
        times(trl?.seconds, seconds),
        times(trl?.cpu, cpu),
      ]];
    });
  });
  return [
    "4 prompts of 64 tokens × 8 completions of exactly 64, model tinystories-656k, LoRA of rank 16 " +
    `on all linear layers, rewards of ±1, computed in float32; ${versions.join("; ")}. ` +
    `Milliseconds of the fastest of ${rounds} steps; processor: of all threads together. Memory: ` +
    "the most that the process has had.",
    table([
      ...["", "threads", "step", "generate", "train", "processor", "GB"],
      ...["× TRL's speed", "the same of the processor"],
    ], rows),
    ...deaths(died),
  ].join("\n\n");
}
