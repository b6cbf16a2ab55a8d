/**
 * For tests only: why a test cannot run on this machine. `deno test` counts ignored tests without a
 * reason. `tools/testing/summary.ts` reads the lines that are printed here, and counts by reason.
 */

/** The beginning of the line that reports an ignored test. */
export const SKIPPED = "skipped test: ";

/**
 * The value of `ignore` for a test: `ignore: needs(isInstalled, NEEDED.slurm)`. Call it once for
 * each test.
 * @param isThere whether this machine has what the test needs
 * @param reason what is missing, in the same words for every test that needs it
 * @returns whether the test must be ignored
 */
export function needs(isThere: boolean, reason: string): boolean {
  if (!isThere) console.log(`${SKIPPED}${reason}`);
  return !isThere;
}

/** Reasons that several files share. */
export const NEEDED = {
  webgpu: "no adapter for WebGPU (a card, or Mesa's software Vulkan)",
  vulkan: "no Vulkan driver (a card's, or Mesa's software Vulkan)",
  vulkanHeaders: "Vulkan's headers (1.3.255 or later) are not here (libvulkan-dev)",
  validationLayer: "Vulkan's validation layer was not asked for (RGX_TEST_VULKAN=1)",
  longVulkan: "tensors of some GiB on Vulkan were not asked for (RGX_TEST_VULKAN=1)",
  lavapipe: "no driver with cooperative matrices (tools/testing/lavapipe.sh)",
  largeModel: "SmolLM2-135M is not here (RGX_TEST_LARGE=1 fetches it)",
  executable: "dist/rgx is not built (deno task compile)",
  slurm: "SLURM is not installed (apt-get install slurmctld slurmd slurm-client munge)",
  mpi: "Open MPI or MPICH is not installed (apt-get install openmpi-bin mpich)",
  shellcheck: "shellcheck is not installed (apt-get install shellcheck)",
  chromium: "Chromium is not installed (apt-get install chromium)",
  python: "a Python peer was not asked for (see CONTRIBUTING.md)",
  pythonProgram: "python3 is not installed",
  smallDisk: "no file system can be mounted (only root on Linux can)",
  compiler: "no C compiler on Linux (apt-get install gcc)",
  zig: "zig's compiler is not installed (pip install ziglang, see CONTRIBUTING.md)",
  arm64: "no Deno for ARM64 was named (RGX_TEST_ARM64, see CONTRIBUTING.md)",
  native: "no native kernels for this machine",
  bf16: "this processor has neither AMX nor AVX512-BF16",
  node: "Node 22 and npm are not installed (RGX_TEST_NODE names another Node)",
  poppler: "poppler is not installed (apt-get install poppler-utils)",
  terminal: "no terminal can be provided (script, of util-linux)",
  system: "the operating system lacks what the test is about",
} as const;
