/**
 * `deno task bench:peers`: compares rgx with other programs, on SmolLM2-135M from its Q4_1 file.
 *
 *     deno task bench:peers --trl PYTHON --llama PYTHON [--rounds 3] [--threads 2] [--model GGUF]
 *       [--write]
 *     deno task bench:peers --tiny --trl PYTHON [--rounds 20] [--write]
 *
 * `--trl` is a Python with trl, peft and torch: a GRPO step of both programs in float32, with this
 * number of threads, and in bfloat16 where the processor has a unit for it. `--llama` is a Python
 * with llama-cpp-python: prefill and decoding of both, on one thread. A part without its Python is
 * left out. `--write` puts the result into docs/performance.md, as the section of this processor.
 * `--tiny` measures a GRPO step of a small model instead, tinystories-656k, in some minutes: in
 * float32 and in bfloat16, with and without the activations of sampling.
 *
 * All programs are loaded first and then measured in turns, so that other work on the machine
 * affects all of them. The best round counts. torch's threads spin while they wait, so on a busy
 * machine a measurement with one thread says more. Rates on one thread are per second of processor
 * time, which does not count other programs. Memory is the peak in /proc, so this runs on Linux
 * only.
 */
import { parseArgs } from "node:util";
import { bytesText } from "../core/bytes.ts";
import type {
  DecodeJob,
  DecodeTimes,
  LongJob,
  LongTimes,
  StepJob,
  StepTimes,
} from "./peers/jobs.ts";
import { nativeLibraries } from "../kernels/native/library.ts";
import { Contestant } from "./peers/contestant.ts";
import { convertModel, textPrompts } from "./peers/model.ts";
import { tinySection } from "./peers/tiny_step.ts";
import { deaths, inTurns, rgxCommand, table } from "./peers/turns.ts";
import { writeSection } from "./performance_page.ts";
import { largeModel } from "../tests/large_model.ts";

/** The settings of rgx for a step in float32. */
const WEIGHTS = [
  { name: "rgx, weights as in the file", dtype: "auto" },
  { name: "rgx, weights widened to float32", dtype: "float32" },
  { name: "rgx, `use_rollout_activations`", dtype: "auto", keeps: true },
] as const;

/** Programs that make a step in bfloat16, where the processor has a unit for it. */
const IN_BF16 = {
  rgx: "rgx in bfloat16, weights as in the file",
  kept: "rgx in bfloat16, `use_rollout_activations`",
  trl: "TRL, `bf16: true`",
};

/** The settings of rgx for decoding. llama.cpp always rounds activations to 8 bits. */
const DECODING = [
  { name: "rgx, the file", dtype: "auto" },
  { name: "rgx, the file, `--activations int8`", dtype: "auto", activations: "int8" },
  { name: "rgx, weights as bf16", dtype: "bfloat16" },
  { name: "rgx, weights widened to float32", dtype: "float32" },
] as const;

async function stepSection(
  python: string,
  model: string,
  { rounds, threads }: { rounds: number; threads: number },
): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    const converted = `${folder}/model`;
    await convertModel(model, converted);
    const job: StepJob = {
      model,
      threads,
      promptIds: await textPrompts(model, 2, 128),
      completions: 8,
      newTokens: 64,
      rank: 16,
      computeDtype: "float32",
    };
    const inBf16 = { ...job, computeDtype: "bfloat16" as const };
    const trlCommand = (peer: StepJob): [string, ...string[]] => [
      python,
      "tools/peers/trl_step.py",
      JSON.stringify({ ...peer, model: converted }),
    ];
    const hasUnit = nativeLibraries().codes[0]?.bf16 != null;
    const { alive, died, versions } = await inTurns<StepTimes>([
      ...WEIGHTS.map(({ name, ...more }) => ({ name, command: rgxCommand({ ...job, ...more }) })),
      { name: "TRL", command: trlCommand(job) },
    ], rounds);
    if (hasUnit) {
      // A second group, because the memory of a machine may not hold TRL twice.
      const group = await inTurns<StepTimes>([
        { name: IN_BF16.rgx, command: rgxCommand({ ...inBf16, dtype: "auto" }) },
        { name: IN_BF16.kept, command: rgxCommand({ ...inBf16, dtype: "auto", keeps: true }) },
        { name: IN_BF16.trl, command: trlCommand(inBf16) },
      ], rounds);
      for (const [name, one] of group.alive) alive.set(name, one);
      died.push(...group.died);
    }
    const measured = [...alive].map(([name, one]) => ({
      name,
      seconds: one.best(({ seconds }) => seconds, Math.min),
      cpu: one.best(({ cpuSeconds }) => cpuSeconds, Math.min),
      generate: one.best(({ generate }) => generate, Math.min),
      train: one.best(({ seconds, generate }) => seconds - generate, Math.min),
      bytes: one.best(({ peakBytes }) => peakBytes, Math.max),
    }));
    const trl = measured.find(({ name }) => name === "TRL");
    const trlBf16 = measured.find(({ name }) => name === IN_BF16.trl);
    const ratio = (value: number | undefined, of: number) =>
      value === undefined ? "–" : (value / of).toFixed(2);
    const rows = measured.map(({ name, seconds, cpu, generate, train, bytes }) => [
      name,
      ...[seconds, generate, train, cpu].map((value) => value.toFixed(1)),
      (bytes / 1e9).toFixed(2),
      ratio(trl?.seconds, seconds),
      ratio(trl?.cpu, cpu),
      ...(hasUnit ? [ratio(trlBf16?.seconds, seconds)] : []),
      trl === undefined ? "–" : (bytes / trl.bytes).toFixed(2),
    ]);
    return [
      "### A GRPO step",
      `2 prompts of 128 tokens × 8 completions of exactly 64, LoRA of rank 16 on all linear layers, ` +
      "rewards of ±1, computed in float32 where nothing else is said, no activations computed " +
      "twice, " +
      (hasUnit ? "rows in bfloat16 measured in turns after the others, " : "") +
      [threads === 1 ? "one thread" : `${threads} threads`, ...versions].join("; ") +
      `. Seconds of the fastest of ${rounds} steps; processor: of all ` +
      "threads together. Memory: the peak of the process.",
      table([
        "",
        "step",
        "generate",
        "train",
        "processor",
        "GB",
        "× TRL's speed",
        "the same of the processor",
        ...(hasUnit ? ["× TRL's speed in bf16"] : []),
        "of TRL's memory",
      ], rows),
      ...deaths(died),
    ].join("\n\n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function decodeSection(python: string, model: string, rounds: number): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    const job: DecodeJob = {
      model,
      threads: 1,
      promptTokens: 512,
      sequences: 16,
      newTokens: 64,
    };
    const llama = (more: object) =>
      [
        python,
        "tools/peers/llama_cpp_decode.py",
        JSON.stringify({ ...job, ...more }),
      ] as [string, ...string[]];
    const { alive, died, versions } = await inTurns<DecodeTimes>([
      ...DECODING.map(({ name, ...how }) => ({ name, command: rgxCommand({ ...job, ...how }) })),
      { name: "llama.cpp, the file", command: llama({}) },
      {
        name: "llama.cpp, made Q4_0 and repacked",
        command: llama({ quantize: `${folder}/q4_0.gguf` }),
      },
    ], rounds);
    const kinds = ["prefill", "one", "many"] as const;
    const measured = [...alive].map(([name, one]) => ({
      name,
      rates: kinds.map((kind) => one.best((times) => times[kind].cpu, Math.max)),
      bytes: one.best(({ peakBytes }) => peakBytes, Math.max),
    }));
    const peer = measured.find(({ name }) => name === "llama.cpp, the file");
    const times = (rate: number, kind: number) =>
      peer === undefined ? "" : ` (${(rate / peer.rates[kind]!).toFixed(2)})`;
    const rows = measured.map(({ name, rates, bytes }) => [
      name,
      ...rates.map((rate, i) => `${rate.toFixed(0)}${times(rate, i)}`),
      (bytes / 1e9).toFixed(2),
    ]);
    return [
      "### Prompts and decoding",
      "Tokens a second of processor time on one thread, in brackets as a multiple of llama.cpp's " +
      `from the same file; ${
        [`the best of ${rounds} rounds`, ...versions].join("; ")
      }. A prompt of 512 ` +
      "tokens; 64 tokens after one, alone and 16 at once. rgx draws its tokens and keeps their " +
      "log-probabilities, llama.cpp only computes the logits.",
      table(["", "prompt", "1 sequence", "16 sequences", "GB"], rows),
      ...deaths(died),
    ].join("\n\n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Compares two threads with one, in wall-clock time. */
async function threadsSection(python: string, model: string, rounds: number): Promise<string> {
  const job = { model, promptTokens: 512, sequences: 16, newTokens: 64 };
  const kinds = ["prefill", "one", "many"] as const;
  const programs = [
    ...DECODING.map(({ name, ...how }) => ({
      name,
      command: (threads: number) => rgxCommand({ ...job, ...how, threads }),
    })),
    {
      name: "llama.cpp, the file",
      command: (threads: number): [string, ...string[]] => [
        python,
        "tools/peers/llama_cpp_decode.py",
        JSON.stringify({ ...job, threads }),
      ],
    },
  ];
  const nameOf = (name: string, threads: number) => `${name}, threads ${threads}`;
  const { alive, died } = await inTurns<DecodeTimes>(
    programs.flatMap(({ name, command }) =>
      [1, 2].map((threads) => ({ name: nameOf(name, threads), command: command(threads) }))
    ),
    rounds,
  );
  const rates = (name: string, threads: number) => {
    const one = alive.get(nameOf(name, threads));
    return one && kinds.map((kind) => one.best((times) => times[kind].clock, Math.max));
  };
  const rows = programs.flatMap(({ name }) => {
    const alone = rates(name, 1), both = rates(name, 2);
    if (both === undefined) return [];
    const times = (rate: number, k: number) =>
      alone === undefined ? "" : ` (${(rate / alone[k]!).toFixed(2)})`;
    return [[name, ...both.map((rate, k) => `${rate.toFixed(0)}${times(rate, k)}`)]];
  });
  return [
    "### Two threads",
    "Tokens a second of the clock on two threads, in brackets as a multiple of one thread in the " +
    "same run; otherwise as above.",
    table(["", "prompt", "1 sequence", "16 sequences"], rows),
    ...deaths(died),
  ].join("\n\n");
}

/** Compares the last steps of a long sequence with the first. */
async function longSection(model: string): Promise<string> {
  const job: LongJob = { model, threads: 1, newTokens: 2048, window: 256 };
  const { contestant } = await Contestant.start<LongTimes>({
    name: "rgx, long",
    command: rgxCommand({ ...job, dtype: "auto" }),
  });
  const { first, last, plannedBytes, usedBytes } = await contestant.round();
  await contestant.end();
  const row = (what: string, { step, attention }: LongTimes["first"]) => [
    what,
    ...[step, attention, step - attention].map((ms) => ms.toFixed(2)),
  ];
  return [
    "### A long answer",
    `One sequence of ${job.newTokens} tokens after a prompt of one, on one thread, milliseconds a ` +
    `token. Memory of tensors: ${bytesText(usedBytes)} of ${bytesText(plannedBytes)} planned.`,
    table(["", "together", "attention", "all else"], [
      row(`first ${job.window} tokens`, first),
      row(`last ${job.window} tokens`, last),
    ]),
  ].join("\n\n");
}

/** The load of the machine: the mean number of running or waiting threads in the last minute. */
function load(): string {
  return Deno.loadavg()[0]!.toFixed(1);
}

/** How the programs of a table were measured, and under which load. */
function loads(before: string): string {
  return "All programs of a table were loaded and then measured in turns. The load of the machine " +
    `was ${before} before and ${load()} at the end, on ${navigator.hardwareConcurrency} cores: ` +
    "where that is more than the threads that are measured, the processor's time says more than " +
    "the clock.";
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
      write: { type: "boolean", default: false },
    },
  });
  const { trl, llama, tiny } = values;
  const rounds = Math.max(1, Number(values.rounds ?? (tiny ? 20 : 3)));
  if (tiny ? trl === undefined : trl === undefined && llama === undefined) {
    const names = tiny ? "--trl" : "--trl, with --llama, or both";
    console.error(`nothing to compare with: name a Python with ${names}`);
    Deno.exit(2);
  }
  if (tiny) {
    const before = load(),
      table = await tinySection(trl!, rounds),
      text = [
        "Written by `deno task bench:peers --tiny`. " + loads(before),
        table,
      ].join("\n\n");
    console.log(text);
    if (values.write) await writeSection("tiny", text);
    Deno.exit();
  }
  const model = values.model ?? largeModel();
  if (model === null) {
    console.error("no model: name SmolLM2's GGUF file with --model, or set RGX_TEST_LARGE=1");
    Deno.exit(2);
  }
  const before = load(), parts: string[] = [];
  if (trl !== undefined) {
    parts.push(await stepSection(trl, model, { rounds, threads: Number(values.threads) }));
  }
  if (llama !== undefined) {
    parts.push(await decodeSection(llama, model, rounds));
    if (navigator.hardwareConcurrency > 1) parts.push(await threadsSection(llama, model, rounds));
  }
  parts.push(await longSection(model));
  const intro =
    "Written by `deno task bench:peers`, on the model SmolLM2-135M from its Q4_1 file. " +
    loads(before);
  const text = [intro, ...parts].join("\n\n");
  console.log(text);
  if (values.write) await writeSection("peers", text);
}
