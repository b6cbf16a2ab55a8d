/** The process in which a campaign measures one device, and the clock that ends it. */
import { readLines } from "../../core/line_pipe.ts";
import { V8_FLAGS } from "../../core/program_command.ts";
import type { CampaignResult } from "./page.ts";

/** Set in the environment of such a process. It prints a result, in one line, after each part. */
export const IN_PROCESS = "RGX_CAMPAIGN_PROCESS";

/** A process ends by itself soon after its time; one that does not has this much more. */
const MORE_TIME = 0.1, MIN_MORE_MS = 30_000;

/**
 * Runs `script` with `args`.
 * @param limitMs what the process was told to take
 * @param on called with all that was found, after each part
 * @returns null when it has come to its end, else what happened to it
 */
export async function measuredInProcess(
  script: string,
  args: readonly string[],
  limitMs: number,
  on: (found: CampaignResult) => Promise<void>,
  moreMs = Math.max(MIN_MORE_MS, MORE_TIME * limitMs),
): Promise<string | null> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", V8_FLAGS, script, ...args],
    env: { [IN_PROCESS]: "1" },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  let late = false;
  const clock = setTimeout(() => {
    late = true;
    child.kill("SIGKILL");
  }, limitMs + moreMs);
  try {
    for await (const lines of readLines(child.stdout)) {
      const results = lines.filter((line) => line.startsWith("{"));
      if (results.length > 0) await on(JSON.parse(results.at(-1)!));
    }
    const { code, signal } = await child.status;
    if (late) return `ended after ${((limitMs + moreMs) / 60_000).toFixed(1)} minutes: no answer`;
    if (signal !== null) return `its process was ended by ${signal}`;
    return code === 0 ? null : `its process ended with code ${code}`;
  } finally {
    clearTimeout(clock);
  }
}
