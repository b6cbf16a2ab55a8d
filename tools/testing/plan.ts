/**
 * The commands of a test run. Two run at a time, so the longest come first and both finish
 * together.
 */
import { SAFE_V8_FLAGS, V8_FLAGS } from "../v8_flags.ts";
import type { Job } from "./processes.ts";

/** A check that counts as one test, or a run of `deno test`. */
export interface PlannedJob extends Job {
  kind: "check" | "tests";
}

/** Files with examples that are run. */
const DOCUMENTED = ["mod.ts", "docs/library.md"];

/** Waits for jobs of a real SLURM for two minutes, and uses little processor time. */
const SLURM_CLUSTER = "tests/jobs/slurm_cluster_test.ts";

const BUILD = "kernels/devices/wasm/build.ts";

function check(name: string, ...args: string[]): PlannedJob {
  return { kind: "check", name, args };
}

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
  check("kernels.wasm is what its sources build", "run", "-A", BUILD, "--check"),
];

/**
 * Tests that start processes, a cluster or a software graphics card, or try thousands of inputs.
 */
const SLOW = [
  "kernels/devices/webgpu/",
  "kernels/**/webgpu_test.ts",
  "kernels/conformance/gradients_test.ts",
  "models/generation/generation_test.ts",
  "models/smollm2_test.ts",
  "training/duration/",
  "training/memory/",
  "training/memory_flat_test.ts",
  "training/resume_test.ts",
  "training/webgpu_test.ts",
  "rewards/custom/",
  "core/lock_nodes_test.ts",
  "tasks/diversity_test.ts",
];

/** The quick ones among the tests in `tests/`. */
const QUICK_ACROSS_ROOMS = [
  "tests/architecture_test.ts",
  "tests/commands/doctor_test.ts",
  "tests/commands/tasks_export_test.ts",
  "tests/commands/train_dry_run_test.ts",
  "tests/commands/train_sampling_test.ts",
];

/** The important tests, in a minute on two cores. */
export function fastPlan(): PlannedJob[] {
  const env = { RGX_TEST_WEBGPU: "off", RGX_TEST_FAST: "1" };
  const ignore = `--ignore=${SLOW.join(",")}`;
  return [
    tests("models, training", [ignore, "models/", "training/"], env),
    tests("kernels", [ignore, "kernels/"], env),
    CHECKS[0]!,
    tests("tasks, configs", [ignore, "tasks/", "configs/"], env),
    tests("the other rooms", [
      ignore,
      ...["core/", "hub/", "tracking/", "data/", "rewards/", "evaluation/", "bench/", "reports/"],
      ...["cluster/", "cli/", "tools/"],
    ], env),
    tests("across rooms", QUICK_ACROSS_ROOMS, env),
    ...CHECKS.slice(1),
  ];
}

/** All tests. The kernels run once more with bounds checks, where an access out of bounds traps. */
export function fullPlan(): PlannedJob[] {
  return [
    tests("kernels", ["kernels/"]),
    tests("a real SLURM", [SLURM_CLUSTER]),
    tests("training", ["training/"]),
    tests("across rooms", [`--ignore=${SLURM_CLUSTER}`, "tests/"]),
    tests("models", ["models/"]),
    // V8's flags affect neither kernels on a card nor those of the reference device.
    tests(
      "kernels with bounds checks",
      [
        "--ignore=kernels/devices/webgpu,kernels/**/webgpu_test.ts," +
        "kernels/conformance/gradients_test.ts",
        "kernels/",
      ],
      { RGX_TEST_WEBGPU: "off", RGX_TEST_REFERENCE: "off" },
      SAFE_V8_FLAGS,
    ),
    tests("tasks", ["tasks/"]),
    tests("configs, rewards", ["configs/", "rewards/"]),
    tests("bench, evaluation, reports", ["bench/", "evaluation/", "reports/"]),
    tests("the other rooms", [
      ...["core/", "hub/", "tracking/", "data/", "cluster/", "cli/", "tools/"],
    ]),
    ...CHECKS,
    check("types of examples", "check", "--quiet", "--doc-only", ...DOCUMENTED),
    tests("examples in the library's documentation", ["--doc", ...DOCUMENTED]),
  ];
}
