/**
 * The commands of a test run. Two run at a time, so the longest come first and both finish
 * together. What mostly waits runs beside them.
 */
import { SAFE_V8_FLAGS, V8_FLAGS } from "../../core/program_command.ts";
import { ROOT, sourcesIn } from "../architecture/imports.ts";
import type { Job } from "./processes.ts";

/** A check that counts as one test, or a run of `deno test`. */
export interface PlannedJob extends Job {
  kind: "check" | "tests";
  /** Its processes wait for each other and for limits of time: it runs beside the others. */
  waits?: boolean;
  /** It is about dist/rgx, which `.ci/run` builds meanwhile. */
  needsExecutable?: boolean;
  /** Test files that run as one module. */
  together?: readonly string[];
}

/** Files with examples that are run. */
const DOCUMENTED = ["library/", "docs/library.md"];

/** Pages whose examples are checked; `ts ignore` marks a part of a larger file. */
const PAGES = [...Deno.readDirSync(new URL("../../docs/", import.meta.url))]
  .filter(({ name }) => name.endsWith(".md"))
  .map(({ name }) => `docs/${name}`);

/** They wait for jobs of a real SLURM for minutes, and use little processor time. */
const SLURM = ["tests/jobs/slurm_cluster_test.ts", "tests/jobs/slurm_ranks_test.ts"];

const EXECUTABLE = "tests/project/executable_test.ts";

/** Starts the program for every command of the pages. */
const PAGES_TEST = "tests/project/pages_test.ts";

function check(name: string, ...args: string[]): PlannedJob {
  return { kind: "check", name, args };
}

/**
 * Tests that run WASM kernels. V8's flags affect neither native kernels nor those of a card, and
 * gradients are checked on the reference device.
 */
const runsWasm = (path: string) =>
  !/gradients|units|limits/.test(path) &&
  /^kernels\/(?:devices\/(?:weight_loader|wasm\/recording)|ops\/.*\/wasm|conformance\/)/.test(path);

export function tests(
  name: string,
  args: readonly string[],
  env: Record<string, string> = {},
  flags = V8_FLAGS,
): PlannedJob {
  return { kind: "tests", name, args: ["test", "-A", "--no-check", flags, ...args], env };
}

const CHECKS: PlannedJob[] = [
  check("types", "check", "--quiet", "."),
  check("lint", "lint", "--quiet"),
  check("format", "fmt", "--check", "--quiet"),
];

/**
 * Files and folders of tests that take more than a second: they start processes, draw charts, work
 * on larger models, or try very many inputs. (`deno test --ignore` obeys only below the first of
 * several folders, so the plan lists files.)
 */
const SLOW = [
  "bench/published_benchmark_test.ts",
  "bench/remote/",
  "bench/workers/",
  "cli/stop_control_test.ts",
  "cluster/requeue_test.ts",
  "configs/recorded_keys_test.ts",
  "core/lock_nodes_test.ts",
  "reports/dashboard/browser_test.ts",
  "bench/evaluation/exported_prompts_test.ts",
  "hub/connections_test.ts",
  "kernels/conformance/attention_gradients_test.ts",
  "kernels/conformance/gradients_test.ts",
  "kernels/conformance/sample_test.ts",
  "kernels/devices/wasm/device_test.ts",
  "kernels/devices/wasm/recording_test.ts",
  "kernels/conformance/matrix_units_test.ts",
  "kernels/devices/vulkan/",
  "kernels/devices/webgpu/",
  "kernels/devices/weight_loader_test.ts",
  "kernels/ops/attention_decode/wasm_test.ts",
  "kernels/ops/matmul/wasm/int8_test.ts",
  "kernels/ops/matmul/wasm/stored_test.ts",
  "kernels/ops/matmul/wasm_test.ts",
  "models/architectures/config_fuzz_test.ts",
  "models/causal_lm_threads_test.ts",
  "models/export/export_test.ts",
  "models/export/gguf_tokenizer_export_test.ts",
  "models/generation/generation_test.ts",
  "models/generation/memory/",
  "models/network/weights/load_weights_test.ts",
  "models/network/weights/weight_storage_test.ts",
  "models/smollm2_test.ts",
  "models/tokenizers/chat_template_golden_test.ts",
  "models/tokenizers/chat_template_test.ts",
  "models/tokenizers/tokenizer_golden_test.ts",
  "reports/charts/",
  "rewards/custom/",
  "tasks/categories/code/",
  "tasks/conformance_test.ts",
  "tasks/custom/",
  "tasks/diversity_test.ts",
  "tasks/generation_test.ts",
  "training/tracking/",
  "training/duration/",
  "training/evaluation/held_out_eval_test.ts",
  "training/generations_test.ts",
  "training/memory/",
  "training/memory_flat_test.ts",
  "training/options_test.ts",
  "training/resume_test.ts",
  "training/run/run_folder_test.ts",
  "training/stored_weights_test.ts",
  "training/webgpu_test.ts",
];

/** The test files in some folders. */
function testFiles(...folders: string[]): string[] {
  return folders.flatMap((folder) => [...sourcesIn(folder)]).filter((path) =>
    path.endsWith("_test.ts")
  );
}

/** The test files of some rooms without the slow ones. */
function quickTests(...rooms: string[]): string[] {
  return testFiles(...rooms).filter((path) => !SLOW.some((slow) => path.startsWith(slow)));
}

/** The quick ones among the tests in `tests/`. */
const QUICK_ACROSS_ROOMS = [
  "tests/answers/corpus_test.ts",
  "tests/project/architecture_test.ts",
  "tests/commands/train_dry_run_test.ts",
];

/** The important tests, in a minute on two cores. */
export function fastPlan(): PlannedJob[] {
  const env = { RGX_TEST_WEBGPU: "off", RGX_TEST_FAST: "1" };
  return [
    tests("tasks, configs", quickTests("tasks", "configs"), env),
    tests("models", quickTests("models"), env),
    tests("kernels", quickTests("kernels"), { ...env, RGX_TEST_REFERENCE: "off" }),
    tests(
      "the other rooms",
      quickTests(
        "core",
        "hub",
        "data",
        "rewards",
        "bench",
        "reports",
        "cluster",
        "cli",
        "tools",
      ),
      env,
    ),
    tests("training", quickTests("training"), env),
    tests("across rooms", QUICK_ACROSS_ROOMS, env),
    ...CHECKS,
  ];
}

/**
 * All tests. A quarter of the kernels' cases run once more with bounds checks, where an access out
 * of bounds traps. (The native kernels, of the same sources, run between unmapped pages.)
 */
export function fullPlan(): PlannedJob[] {
  const own = ["tests/commands/", "tests/jobs/", PAGES_TEST, EXECUTABLE];
  const onEachDevice = testFiles("models").filter((path) =>
    Deno.readTextFileSync(new URL(path, ROOT)).includes("each_device_testing.ts")
  );
  return [
    { ...tests("a real SLURM", SLURM), waits: true },
    { ...tests("jobs and ranks", [`--ignore=${SLURM}`, "tests/jobs/"]), waits: true },
    { ...tests("the executable", [EXECUTABLE]), needsExecutable: true },
    // They share the pipelines of one emulated card, too.
    { ...tests("conformance of the kernels", []), together: testFiles("kernels/conformance") },
    tests("the commands of the pages", [PAGES_TEST]),
    // They share what they import, and the pipelines of one emulated card.
    { ...tests("models on each device", []), together: onEachDevice },
    tests("models", [`--ignore=${onEachDevice}`, "models/"]),
    { ...tests("commands", []), together: testFiles("tests/commands", "cli") },
    { ...tests("training", []), together: testFiles("training") },
    {
      ...tests("the other kernels", []),
      together: testFiles("kernels").filter((path) => !path.startsWith("kernels/conformance/")),
    },
    {
      ...tests("across rooms", []),
      together: testFiles("tests").filter((path) => !own.some((one) => path.startsWith(one))),
    },
    {
      ...tests(
        "kernels with bounds checks",
        [],
        { RGX_TEST_WEBGPU: "off", RGX_TEST_REFERENCE: "off", RGX_NATIVE: "0", RGX_TEST_STEP: "4" },
        SAFE_V8_FLAGS,
      ),
      together: testFiles("kernels").filter(runsWasm),
    },
    {
      ...tests("the categories of tasks, data", []),
      together: testFiles("tasks/categories", "data"),
    },
    {
      ...tests("tasks", []),
      together: testFiles("tasks").filter((path) => !path.startsWith("tasks/categories/")),
    },
    { ...tests("configs", []), together: testFiles("configs") },
    { ...tests("rewards", []), together: testFiles("rewards") },
    {
      ...tests("bench, reports, serve", []),
      together: testFiles("bench", "reports", "serve"),
    },
    {
      ...tests("core, hub, cluster", []),
      together: testFiles("core", "hub", "cluster"),
    },
    tests("tools", ["tools/"]),
    ...CHECKS,
    check("types of examples", "check", "--quiet", "--doc-only", "library/", ...PAGES),
    tests("examples in the library's documentation", ["--doc", ...DOCUMENTED]),
  ];
}
