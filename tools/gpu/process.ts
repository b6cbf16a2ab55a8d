/** The process in which a campaign measures one device, and the clock that ends it. */
import { readLines } from "../../core/line_pipe.ts";
import { V8_FLAGS } from "../../core/program_command.ts";
import type { CampaignResult } from "./page.ts";

/** Set in the environment of such a process. It prints a result, in one line, after each part. */
export const IN_PROCESS = "RGX_CAMPAIGN_PROCESS";

/**
 * Runs `script` with `args`.
 * @param on called with all that was found, after each part
 * @param signal ends the process, which may hang in a driver
 * @returns null when it has come to its end, else what happened to it
 */
export async function measuredInProcess(
  script: string,
  args: readonly string[],
  on: (found: CampaignResult) => Promise<void>,
  signal: AbortSignal,
): Promise<string | null> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", V8_FLAGS, script, ...args],
    env: { [IN_PROCESS]: "1" },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const kill = () => {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended in this moment.
    }
  };
  signal.addEventListener("abort", kill);
  try {
    for await (const lines of readLines(child.stdout)) {
      const results = lines.filter((line) => line.startsWith("{"));
      if (results.length > 0) await on(JSON.parse(results.at(-1)!));
    }
    const { code, signal: by } = await child.status;
    if (signal.aborted) return "it took longer than its time, and was ended";
    if (by !== null) return `its process was ended by ${by}`;
    return code === 0 ? null : `its process ended with code ${code}`;
  } finally {
    signal.removeEventListener("abort", kill);
  }
}
