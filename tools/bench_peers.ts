/**
 * `deno task bench:peers`: compares rgx with other programs, on SmolLM2-135M from its Q4_1 file.
 *
 *     deno task bench:peers --trl PYTHON --llama PYTHON [--rounds 3] [--threads 2] [--model GGUF]
 *     deno task bench:peers --tiny --trl PYTHON [--rounds 20]
 *
 * `--trl` is a Python with trl, peft and torch: both programs make a GRPO step in float32, and in
 * bfloat16 where the processor has a unit for it. `--llama` is a Python with llama-cpp-python: both
 * programs read prompts and decode, on one thread and on all. A part without its Python is left
 * out. `--tiny` measures a GRPO step of a small model instead, tinystories-656k, in some minutes.
 *
 * All programs are loaded first and then measured in turns, so that other work on the machine
 * affects all of them. The best round counts. torch's threads spin while they wait, so on a busy
 * machine a measurement with one thread says more. Rates on one thread are per second of processor
 * time, which does not count other programs. Memory is the peak in /proc, so this runs on Linux
 * only.
 */
import { parseArgs } from "node:util";
import { nativeLibraries } from "../kernels/native/library.ts";
import { goldenPath } from "../tests/golden.ts";
import { largeModel } from "../tests/large_model.ts";
import { deaths, inTurns, rgxCommand } from "./peers/contestant.ts";
import type { DecodeJob, DecodeTimes, StepJob, StepTimes } from "./peers/jobs.ts";
import { convertModel, storyPrompts } from "./peers/model.ts";
import { table } from "./performance_page.ts";

/** A program, and the differences of its job. */
interface Program {
  name: string;
  isTrl?: true;
  more: Partial<StepJob> & { dtype?: string };
}

/** Programs that make a step in float32. */
const STEPS: readonly Program[] = [
  { name: "rgx, weights as in the file", more: {} },
  { name: "rgx, weights widened to float32", more: { dtype: "float32" } },
  { name: "rgx, `use_rollout_activations`", more: { keeps: true } },
  { name: "TRL", isTrl: true, more: {} },
];

/** Programs that make a step in bfloat16. */
const STEPS_IN_BF16: readonly Program[] = [
  { name: "rgx in bfloat16, weights as in the file", more: {} },
  { name: "rgx in bfloat16, `use_rollout_activations`", more: { keeps: true } },
  { name: "TRL, `bf16: true`", isTrl: true, more: {} },
];

/** The settings of rgx for decoding. llama.cpp always rounds activations to 8 bits. */
const DECODING = [
  { name: "rgx, the file", dtype: "auto" },
  { name: "rgx, the file, `--activations int8`", dtype: "auto", activations: "int8" },
  { name: "rgx, weights as bf16", dtype: "bfloat16" },
  { name: "rgx, weights widened to float32", dtype: "float32" },
] as const;

const nameOf = (program: string, threads: number) => `${program}, threads ${threads}`;

/** The shape of a step: prompts × completions of exactly so many tokens. */
interface StepShape {
  prompts: number;
  promptTokens: number;
  threads: readonly number[];
}

async function stepSection(
  python: string,
  model: string,
  { prompts, promptTokens, threads }: StepShape,
  rounds: number,
): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    const ofTrl = model.endsWith(".gguf") ? `${folder}/model` : model;
    if (ofTrl !== model) await convertModel(model, ofTrl);
    const job = {
      model,
      promptIds: await storyPrompts(model, prompts, promptTokens),
      completions: 8,
      newTokens: 64,
      rank: 16,
    };
    const measure = (programs: readonly Program[], computeDtype: StepJob["computeDtype"]) =>
      inTurns<StepTimes>(
        threads.flatMap((count) =>
          programs.map(({ name, isTrl, more }) => {
            const own = { ...job, computeDtype, threads: count, dtype: "auto", ...more };
            const command: [string, ...string[]] = isTrl
              ? [python, "tools/peers/trl_step.py", JSON.stringify({ ...own, model: ofTrl })]
              : rgxCommand(own);
            return { name: nameOf(name, count), command };
          })
        ),
        rounds,
      );
    const { alive, died, versions } = await measure(STEPS, "float32");
    const bf16 = nativeLibraries().codes[0]?.bf16;
    if (bf16 === "amx" || bf16 === "avx512") {
      // A second group, because the memory of a machine may not hold TRL twice.
      const group = await measure(STEPS_IN_BF16, "bfloat16");
      for (const [name, one] of group.alive) alive.set(name, one);
      died.push(...group.died);
    }
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
    const ratio = (value: number | undefined, of: number) =>
      value === undefined ? "–" : (value / of).toFixed(2);
    const rows = threads.flatMap((count) => {
      const [trl, trlBf16] = [STEPS, STEPS_IN_BF16].map((all) => measured(all.at(-1)!.name, count));
      return [...STEPS, ...STEPS_IN_BF16].flatMap(({ name }) => {
        const found = measured(name, count);
        if (found === undefined) return [];
        const { seconds, generate, train, cpu, bytes } = found;
        return [[
          name,
          `${count}`,
          ...[seconds, generate, train, cpu].map((value) => value.toPrecision(3)),
          (bytes / 1e9).toFixed(2),
          ratio(trl?.seconds, seconds),
          ratio(trl?.cpu, cpu),
          ratio(trlBf16?.seconds, seconds),
          trl === undefined ? "–" : (bytes / trl.bytes).toFixed(2),
        ]];
      });
    });
    return [
      "### A GRPO step",
      `${prompts} prompts of ${promptTokens} tokens × 8 completions of exactly 64, LoRA of rank 16 ` +
      "on all linear layers, rewards of ±1, computed in float32 where nothing else is said, no " +
      "activations computed twice, rows in bfloat16 measured in turns after the others; " +
      `${versions.join("; ")}. Seconds of the fastest of ${rounds} steps; processor: of all ` +
      "threads together. Memory: the peak of the process.",
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
        "× TRL's speed in bf16",
        "of TRL's memory",
      ], rows),
      ...deaths(died),
    ].join("\n\n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Prompts and decoding: rates of the processor on one thread, rates of the clock on two. */
async function decodeSection(python: string, model: string, rounds: number): Promise<string> {
  const job: Omit<DecodeJob, "threads"> = {
    model,
    promptTokens: 512,
    sequences: 16,
    newTokens: 64,
  };
  const threads = navigator.hardwareConcurrency > 1 ? [1, 2] : [1];
  const folder = await Deno.makeTempDir();
  const llama = (more: object) => (count: number): [string, ...string[]] => [
    python,
    "tools/peers/llama_cpp_decode.py",
    JSON.stringify({ ...job, ...more, threads: count }),
  ];
  const programs = [
    ...DECODING.map(({ name, ...how }) => ({
      name,
      command: (count: number) => rgxCommand({ ...job, ...how, threads: count }),
    })),
    { name: "llama.cpp, the file", command: llama({}) },
    {
      name: "llama.cpp, made Q4_0 and repacked",
      command: llama({ quantize: `${folder}/q4_0.gguf` }),
    },
  ];
  try {
    const { alive, died, versions } = await inTurns<DecodeTimes>(
      programs.flatMap(({ name, command }) =>
        threads.map((count) => ({ name: nameOf(name, count), command: command(count) }))
      ),
      rounds,
    );
    const kinds = ["prefill", "one", "many"] as const;
    const rates = (name: string, count: number) => {
      const one = alive.get(nameOf(name, count)), how = count === 1 ? "cpu" : "clock";
      return one && kinds.map((kind) => one.best((times) => times[kind][how], Math.max));
    };
    const rows = threads.flatMap((count) => {
      const peer = rates("llama.cpp, the file", count);
      return programs.flatMap(({ name }) => {
        const own = rates(name, count), one = alive.get(nameOf(name, count));
        if (own === undefined || one === undefined) return [];
        const times = (rate: number, i: number) => peer && ` (${(rate / peer[i]!).toFixed(2)})`;
        return [[
          name,
          `${count}`,
          ...own.map((rate, i) => `${rate.toFixed(0)}${times(rate, i) ?? ""}`),
          (one.best(({ peakBytes }) => peakBytes, Math.max) / 1e9).toFixed(2),
        ]];
      });
    });
    return [
      "### Prompts and decoding",
      "Tokens a second: of processor time on one thread, of the clock on two; in brackets as a " +
      "multiple of llama.cpp's from the same file; " +
      `${[`the best of ${rounds} rounds`, ...versions].join("; ")}. A prompt of 512 tokens; 64 ` +
      "tokens after one, alone and 16 at once. rgx draws its tokens and keeps their " +
      "log-probabilities, llama.cpp only computes the logits.",
      table(["", "threads", "prompt", "1 sequence", "16 sequences", "GB"], rows),
      ...deaths(died),
    ].join("\n\n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The load of the machine: the mean number of running or waiting threads in the last minute. */
function load(): string {
  return Deno.loadavg()[0]!.toFixed(1);
}

/** Ends the program because an argument is missing. */
function refuse(message: string): never {
  console.error(message);
  Deno.exit(2);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      trl: { type: "string" },
      llama: { type: "string" },
      model: { type: "string" },
      rounds: { type: "string" },
      tiny: { type: "boolean", default: false },
      threads: { type: "string", default: "2" },
    },
  });
  const { trl, llama, tiny } = values;
  const rounds = Math.max(1, Number(values.rounds ?? (tiny ? 20 : 3)));
  if (trl === undefined && (tiny || llama === undefined)) {
    const names = tiny ? "--trl" : "--trl, with --llama, or both";
    refuse(`nothing to compare with: name a Python with ${names}`);
  }
  const model = tiny ? goldenPath("models/tinystories-656k") : values.model ?? largeModel() ??
    refuse("no model: name SmolLM2's GGUF file with --model, or set RGX_TEST_LARGE=1");
  const before = load(), parts: string[] = [];
  if (trl !== undefined) {
    const shape = tiny
      ? { prompts: 4, promptTokens: 64, threads: navigator.hardwareConcurrency > 1 ? [1, 2] : [1] }
      : { prompts: 2, promptTokens: 128, threads: [Number(values.threads)] };
    parts.push(await stepSection(trl, model, shape, rounds));
  }
  if (llama !== undefined && !tiny) parts.push(await decodeSection(llama, model, rounds));
  const text = [
    `Written by \`deno task bench:peers\`${tiny ? " with `--tiny`" : ""}, on the model ` +
    `${tiny ? "tinystories-656k" : "SmolLM2-135M from its Q4_1 file"}. All programs of a table ` +
    "were loaded and then measured in turns. The load of the machine was " +
    `${before} before and ${load()} at the end, on ${navigator.hardwareConcurrency} cores: where ` +
    "that is more than the threads that are measured, the processor's time says more than the clock.",
    ...parts,
  ].join("\n\n");
  console.log(text);
}
