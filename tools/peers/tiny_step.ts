/**
 * A GRPO step of a small model beside TRL's, in the shape of `deno task bench:grpo`. Almost all of
 * TRL's time is not arithmetic here.
 */
import { nativeLibraries } from "../../kernels/native/library.ts";
import { goldenPath } from "../../tests/golden.ts";
import type { StepJob, StepTimes } from "./jobs.ts";
import { storyPrompts } from "./model.ts";
import { deaths, inTurns, rgxCommand, table } from "./turns.ts";

/** A program and its settings. */
interface Program {
  name: string;
  peer: "rgx" | "TRL";
  more: Partial<Pick<StepJob, "computeDtype" | "keeps">>;
}

/** What is measured, each with one thread and with two. */
const PROGRAMS: readonly Program[] = [
  { name: "rgx", peer: "rgx", more: {} },
  { name: "rgx, `use_rollout_activations`", peer: "rgx", more: { keeps: true } },
  { name: "TRL", peer: "TRL", more: {} },
];

/** The same in bfloat16, where the processor has a unit for it. */
const IN_BF16: readonly Program[] = [
  { name: "rgx in bfloat16", peer: "rgx", more: { computeDtype: "bfloat16" } },
  {
    name: "rgx in bfloat16, `use_rollout_activations`",
    peer: "rgx",
    more: { computeDtype: "bfloat16", keeps: true },
  },
  { name: "TRL, `bf16: true`", peer: "TRL", more: { computeDtype: "bfloat16" } },
];

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
  const hasUnit = nativeLibraries().codes[0]?.bf16 != null;
  const programs = hasUnit ? [...PROGRAMS, ...IN_BF16] : PROGRAMS;
  const nameOf = (program: string, count: number) => `${program}, threads ${count}`;
  const { alive, died, versions } = await inTurns<StepTimes>(
    threads.flatMap((count) =>
      programs.map(({ name: program, peer, more }) => {
        const shape = { ...job, ...more, threads: count }, name = nameOf(program, count);
        const command: [string, ...string[]] = peer === "TRL"
          ? [python, "tools/peers/trl_step.py", JSON.stringify(shape)]
          : rgxCommand({ ...shape, dtype: "auto" });
        return { name, command };
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
    const trl = measured("TRL", count), trlBf16 = measured(IN_BF16.at(-1)!.name, count);
    const times = (value: number | undefined, of: number) =>
      value === undefined ? "–" : (value / of).toFixed(1);
    return programs.flatMap(({ name }) => {
      const found = measured(name, count);
      if (found === undefined) return [];
      const { seconds, generate, train, cpu, bytes } = found;
      return [[
        name,
        `${count}`,
        ...[seconds, generate, train, cpu].map((value) => (1000 * value).toFixed(0)),
        (bytes / 1e9).toFixed(2),
        times(trl?.seconds, seconds),
        times(trl?.cpu, cpu),
        ...(hasUnit ? [times(trlBf16?.cpu, cpu)] : []),
      ]];
    });
  });
  return [
    "4 prompts of 64 tokens × 8 completions of exactly 64, model tinystories-656k, LoRA of rank 16 " +
    `on all linear layers, rewards of ±1, computed in float32 where nothing else is said; ` +
    `${versions.join("; ")}. ` +
    `Milliseconds of the fastest of ${rounds} steps; processor: of all threads together. Memory: ` +
    "the peak of the process.",
    table([
      "",
      "threads",
      "step",
      "generate",
      "train",
      "processor",
      "GB",
      "× TRL's speed",
      "the same of the processor",
      ...(hasUnit ? ["of the processor, × TRL in bf16"] : []),
    ], rows),
    ...deaths(died),
  ].join("\n\n");
}
