/**
 * `deno task bench:peers`: compares rgx with other programs, on SmolLM2-135M from its Q4_1 file.
 *
 *     deno task bench:peers --trl PYTHON --llama PYTHON [--rounds 3] [--threads 2] [--model GGUF]
 *       [--write]
 *
 * `--trl` is a Python with trl, peft and torch: a GRPO step of both programs in float32, with this
 * number of threads. `--llama` is a Python with llama-cpp-python: prefill and decoding of both, on
 * one thread. A part without its Python is left out. `--write` puts the result into
 * docs/performance.md, where `deno task bench` keeps it.
 *
 * All programs are loaded first and then measured in turns, so that other work on the machine
 * affects all of them. The best round counts. torch's threads spin while they wait, so on a busy
 * machine a measurement with one thread says more. Rates on one thread are per second of processor
 * time, which does not count other programs. Memory is the peak in /proc, so this runs on Linux
 * only.
 */
import { parseArgs } from "node:util";
import { bytesText } from "../core/bytes.ts";
import { readModelFolder } from "../models/model_folder.ts";
import {
  type DecodeJob,
  type DecodeTimes,
  lines,
  type LongJob,
  type LongTimes,
  type StepJob,
  type StepTimes,
} from "./peers/jobs.ts";
import { PEERS_SECTION, writeSection } from "./performance_page.ts";
import { largeModel } from "../tests/large_model.ts";
import { V8_FLAGS } from "./v8_flags.ts";

const ROOT = new URL("../", import.meta.url);

/** A process that does the same work each time it gets a line. */
class Contestant<Times> {
  readonly rounds: Times[] = [];
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #answers: AsyncGenerator<string>;

  private constructor(readonly name: string, command: string, args: string[]) {
    this.#child = new Deno.Command(command, {
      args,
      cwd: ROOT,
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#answers = lines(this.#child.stdout);
  }

  /** Starts a process and waits until it is ready. `version` is what the program reports. */
  static async start<Times>(
    name: string,
    [command, ...args]: [string, ...string[]],
  ): Promise<{ contestant: Contestant<Times>; version: string }> {
    const contestant = new Contestant<Times>(name, command, args);
    const { version } = await contestant.#answer() as { version: string };
    return { contestant, version };
  }

  async round(): Promise<void> {
    await this.#input.write(new TextEncoder().encode("go\n"));
    this.rounds.push(await this.#answer() as Times);
  }

  async #answer(): Promise<unknown> {
    const { value, done } = await this.#answers.next();
    if (done) throw new Error(`${this.name} ended early`);
    return JSON.parse(value);
  }

  async end(): Promise<void> {
    await this.#input.close().catch(() => {});
    await this.#child.status;
  }

  /** The best value of all rounds. @param better Math.min or Math.max */
  best(of: (times: Times) => number, better: (...values: number[]) => number): number {
    return better(...this.rounds.map(of));
  }
}

interface Entry {
  name: string;
  command: [string, ...string[]];
}

/** Starts all processes, measures them in turns, and ends them. */
async function inTurns<Times>(
  entries: readonly Entry[],
  rounds: number,
): Promise<{ contestants: Contestant<Times>[]; versions: string[] }> {
  const contestants: Contestant<Times>[] = [], versions = new Set<string>();
  try {
    for (const { name, command } of entries) {
      const { contestant, version } = await Contestant.start<Times>(name, command);
      contestants.push(contestant);
      versions.add(version);
    }
    for (let round = 1; round <= rounds; round++) {
      for (const contestant of contestants) {
        await contestant.round();
        const times = JSON.stringify(contestant.rounds.at(-1));
        console.error(`round ${round} of ${rounds}, ${contestant.name}: ${times}`);
      }
    }
  } finally {
    for (const contestant of contestants) await contestant.end();
  }
  return { contestants, versions: [...versions].filter((version) => version !== "rgx") };
}

/** The command of rgx's process. */
function rgxCommand(job: object): [string, ...string[]] {
  return [Deno.execPath(), "run", "-A", V8_FLAGS, "tools/peers/rgx.ts", JSON.stringify(job)];
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = columns.map((_, i) => i === 0 ? "---" : "---:");
  return [columns, rule, ...rows].map(line).join("\n");
}

const WEIGHTS = [
  { name: "rgx, weights as in the file", dtype: "auto" },
  { name: "rgx, weights widened to float32", dtype: "float32" },
] as const;

/** The settings of rgx for decoding. llama.cpp always rounds activations to 8 bits. */
const DECODING = [
  { name: "rgx, the file", dtype: "auto" },
  { name: "rgx, the file, `--activations int8`", dtype: "auto", activations: "int8" },
  { name: "rgx, weights as bf16", dtype: "bfloat16" },
  { name: "rgx, weights widened to float32", dtype: "float32" },
] as const;

/** Two prompts with this number of tokens. */
async function prompts(model: string, tokens: number): Promise<number[][]> {
  const { tokenizer } = await readModelFolder(model);
  const text = await Deno.readTextFile(new URL("ARCHITECTURE.md", ROOT));
  return [1000, 3000].map((at) => tokenizer!.encode(text.slice(at)).slice(0, tokens));
}

async function stepSection(
  python: string,
  model: string,
  { rounds, threads }: { rounds: number; threads: number },
): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    const converted = `${folder}/model`;
    const { success } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "main.ts", "convert", model, "--output", converted],
      ...{ cwd: ROOT, stdout: "null", stderr: "inherit" },
    }).output();
    if (!success) throw new Error("the model was not converted");
    const job: StepJob = {
      model,
      threads,
      promptIds: await prompts(model, 128),
      completions: 8,
      newTokens: 64,
      rank: 16,
    };
    const peer = JSON.stringify({ ...job, model: converted });
    const { contestants, versions } = await inTurns<StepTimes>([
      ...WEIGHTS.map(({ name, dtype }) => ({ name, command: rgxCommand({ ...job, dtype }) })),
      { name: "TRL", command: [python, "tools/peers/trl_step.py", peer] },
    ], rounds);
    const measured = contestants.map((one) => ({
      name: one.name,
      seconds: one.best(({ seconds }) => seconds, Math.min),
      cpu: one.best(({ cpuSeconds }) => cpuSeconds, Math.min),
      generate: one.best(({ generate }) => generate, Math.min),
      train: one.best(({ seconds, generate }) => seconds - generate, Math.min),
      bytes: one.best(({ peakBytes }) => peakBytes, Math.max),
    }));
    const trl = measured.at(-1)!;
    const rows = measured.map(({ name, seconds, cpu, generate, train, bytes }) => [
      name,
      ...[seconds, generate, train, cpu].map((value) => value.toFixed(1)),
      (bytes / 1e9).toFixed(2),
      (trl.seconds / seconds).toFixed(2),
      (trl.cpu / cpu).toFixed(2),
      (bytes / trl.bytes).toFixed(2),
    ]);
    return [
      "### A GRPO step",
      `2 prompts of 128 tokens × 8 completions of exactly 64, LoRA of rank 16 on all linear layers, ` +
      "rewards of ±1, computed in float32, no activations computed twice, " +
      `${threads === 1 ? "one thread" : `${threads} threads`}; ` +
      `${versions.join("; ")}. Seconds of the fastest of ${rounds} steps; processor: of all ` +
      "threads together. Memory: the most that the process has had.",
      table([
        ...["", "step", "generate", "train", "processor", "GB"],
        ...["× TRL's speed", "the same of the processor", "of TRL's memory"],
      ], rows),
    ].join("\n\n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function decodeSection(python: string, model: string, rounds: number): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    const job: DecodeJob = {
      ...{ model, threads: 1, promptTokens: 512, sequences: 16, newTokens: 64 },
    };
    const llama = (more: object) =>
      [
        python,
        "tools/peers/llama_cpp_decode.py",
        JSON.stringify({ ...job, ...more }),
      ] as [string, ...string[]];
    const { contestants, versions } = await inTurns<DecodeTimes>([
      ...DECODING.map(({ name, ...how }) => ({ name, command: rgxCommand({ ...job, ...how }) })),
      { name: "llama.cpp, the file", command: llama({}) },
      {
        name: "llama.cpp, made Q4_0 and repacked",
        command: llama({ quantize: `${folder}/q4_0.gguf` }),
      },
    ], rounds);
    const kinds = ["prefill", "one", "many"] as const;
    const measured = contestants.map((one) => ({
      name: one.name,
      rates: kinds.map((kind) => one.best((times) => times[kind].cpu, Math.max)),
      bytes: one.best(({ peakBytes }) => peakBytes, Math.max),
    }));
    const peer = measured.find(({ name }) => name === "llama.cpp, the file")!;
    const rows = measured.map(({ name, rates, bytes }) => [
      name,
      ...rates.map((rate, i) => `${rate.toFixed(0)} (${(rate / peer.rates[i]!).toFixed(2)})`),
      (bytes / 1e9).toFixed(2),
    ]);
    return [
      "### Prompts and decoding",
      "Tokens a second of processor time on one thread, in brackets as a multiple of llama.cpp's " +
      `from the same file; the best of ${rounds} rounds; ${versions.join("; ")}. A prompt of 512 ` +
      "tokens; 64 tokens after one, alone and 16 at once. rgx draws its tokens and keeps their " +
      "log-probabilities, llama.cpp only computes the logits.",
      table(["", "prompt", "1 sequence", "16 sequences", "GB"], rows),
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
  const { contestants } = await inTurns<DecodeTimes>(
    programs.flatMap(({ name, command }) =>
      [1, 2].map((threads) => ({ name: `${name}, threads ${threads}`, command: command(threads) }))
    ),
    rounds,
  );
  const rows = programs.map(({ name }, i) => {
    const [alone, both] = contestants.slice(2 * i, 2 * i + 2).map((one) =>
      kinds.map((kind) => one.best((times) => times[kind].clock, Math.max))
    );
    return [
      name,
      ...both!.map((rate, k) => `${rate.toFixed(0)} (${(rate / alone![k]!).toFixed(2)})`),
    ];
  });
  return [
    "### Two threads",
    "Tokens a second of the clock on two threads, in brackets as a multiple of one thread in the " +
    "same run; otherwise as above.",
    table(["", "prompt", "1 sequence", "16 sequences"], rows),
  ].join("\n\n");
}

/** Compares the last steps of a long sequence with the first. */
async function longSection(model: string): Promise<string> {
  const job: LongJob = { model, threads: 1, newTokens: 2048, window: 256 };
  const { contestants: [one] } = await inTurns<LongTimes>(
    [{ name: "rgx, long", command: rgxCommand({ ...job, dtype: "auto" }) }],
    1,
  );
  const [{ first, last, plannedBytes, usedBytes }] = one!.rounds as [LongTimes];
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

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      trl: { type: "string" },
      llama: { type: "string" },
      model: { type: "string" },
      rounds: { type: "string", default: "3" },
      threads: { type: "string", default: "2" },
      write: { type: "boolean", default: false },
    },
  });
  const { trl, llama } = values, rounds = Math.max(1, Number(values.rounds));
  if (trl === undefined && llama === undefined) {
    console.error("nothing to compare with: name a Python with --trl, with --llama, or both");
    Deno.exit(2);
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
    "Written by `deno task bench:peers`, on the model SmolLM2-135M from its Q4_1 file. All " +
    "programs of a table were loaded and then measured in turns. The load of the machine was " +
    `${before} before and ${load()} at the end, on ${navigator.hardwareConcurrency} cores: where ` +
    "that is more than the threads that are measured, the processor's time says more than the clock.";
  const text = [intro, ...parts].join("\n\n");
  console.log(text);
  if (values.write) await writeSection(PEERS_SECTION, text);
}
