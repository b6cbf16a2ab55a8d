/**
 * For tests only: why a test is left out on this machine. `deno test` counts ignored tests without a
 * reason; `tests/run.ts` reads the lines that are printed here, and its last lines count by reason.
 */

/** Begins the line that reports one ignored test. */
export const SKIPPED = "skipped test: ";

/**
 * For `Deno.test({ ignore: needs(there, "a software Vulkan") })`: one call for each test.
 * @param isThere whether this machine has what the test needs
 * @param reason what is missing, the same words in every test that needs it
 * @returns true where the test has to be ignored
 */
export function needs(isThere: boolean, reason: string): boolean {
  if (!isThere) console.log(`${SKIPPED}${reason}`);
  return !isThere;
}

/** The reasons that several files share. */
export const NEEDED = {
  webgpu: "no adapter for WebGPU (a card, or Mesa's software Vulkan)",
  largeModel: "SmolLM2-135M is not here (RGX_TEST_LARGE=1 fetches it)",
  executable: "dist/rgx is not built (deno task compile)",
  slurm: "SLURM is not installed",
  python: "a Python peer was not asked for (see CONTRIBUTING.md)",
  system: "the operating system lacks what the test is about",
} as const;
