/**
 * `deno task bench`: runs the benchmarks one after the other and writes docs/performance.md. The
 * machine must be idle, because other work changes the results.
 *
 * `--memory` adds the memory over many steps, which takes a minute. `--python PYTHON` names a
 * Python with reasoning-gym, whose rates are measured, too. The sections that other
 * programs write are kept.
 */
import { fenced, keepSections, processor, readPage, writePage } from "./performance_page.ts";
import { V8_FLAGS } from "../core/program_command.ts";

const ROOT = new URL("../", import.meta.url);

const TASKS_TEXT =
  "`deno task bench:tasks`: entries made and answers scored per second of processor time at default parameters, in " +
  "one thread; processor time is that of all threads of the process, so the garbage collector counts. Python is " +
  "reasoning-gym on the same machine, task by task in turns.";

/** The output of a benchmark. @throws Error if it fails */
async function output(script: string, args: readonly string[] = []): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", V8_FLAGS, script, ...args],
    cwd: ROOT,
    stdout: "piped",
    stderr: "inherit",
  });
  const { success, stdout } = await command.output();
  if (!success) throw new Error(`${script} failed`);
  return new TextDecoder().decode(stdout).trim();
}

/** Graphics cards have a page of their own, because they are measured on other machines. */
const CARDS =
  "[gpu.md](gpu.md) has what `deno task gpu:campaign` has measured on graphics cards: " +
  "conformance, kernels, products, decoding and a GRPO step of a model of Qwen2.5-0.5B's size, beside the " +
  "same in torch.";

if (import.meta.main) {
  const matmul = await output("kernels/ops/matmul/wasm_bench.ts");
  const steps = await output("training/grpo_step_bench.ts", ["25"]);
  const memory = Deno.args.includes("--memory")
    ? await output("training/grpo_step_bench.ts", ["--memory", "500"])
    : null;
  const python = Deno.args.indexOf("--python");
  const tasks = await output(
    "tools/bench_tasks.ts",
    python < 0 ? [] : Deno.args.slice(python, python + 2),
  );
  const cores = navigator.hardwareConcurrency;
  const parts = [
    "# Performance",
    "Written by `deno task bench --memory`. Ratios count, not milliseconds: everything in a table was " +
    "measured in one run, in turns; where other work disturbs, the fastest runs say most. " +
    `Measured with Deno ${Deno.version.deno} on ${await processor()}, ${cores} cores.`,
    "## A GRPO step",
    "tinystories-656k (d 128, 2 layers, vocabulary 2048), 4 prompts × 8 completions, 64 prompt tokens " +
    "and exactly 64 new ones, LoRA r 16, one micro-batch, rewards ±1 so that every completion has a " +
    "gradient. `quickstart` is the shape of the quickstart: d 96, 2 layers, 85 characters, all weights " +
    "trained, 32 prompts × 16 completions of some 10 tokens, with the forward pass of a reference (beta " +
    "0.2). The reference is TRL 1.16, which took " +
    "0.63–0.92 s for the first step on a machine of this kind. The last column is what it saves that the " +
    "eight completions of a prompt share it, in generation, forward and backward.",
    steps,
    ...(memory === null
      ? []
      : ["## Memory", "Resident memory over 500 steps of the quickstart's shape.", fenced(memory)]),
    "## On a GPU",
    CARDS,
    "## Matrix products",
    "GFLOP/s in f32, best of many runs.",
    fenced(matmul),
    "## Tasks",
    TASKS_TEXT,
    tasks,
  ];
  await writePage(keepSections(parts.join("\n\n"), await readPage()));
}
