/** The process in which a campaign measures parts on one device, and the clock that ends it. */
import { readLines } from "../../core/line_pipe.ts";
import { V8_FLAGS } from "../../core/program_command.ts";
import type { CampaignResult } from "./page.ts";

/** Names, in the environment of such a process, the file with what was found before (JSON). */
export const IN_PROCESS = "RGX_CAMPAIGN_PROCESS";

/** A line of the process. */
export type CampaignLine =
  /** `seconds`: what the part may take. */
  | { event: "begins"; part: string; seconds: number }
  /** `found`: all that was found on the device until then. */
  | { event: "ended"; part: string; found: CampaignResult };

export interface ProcessOptions {
  /** What was found on this device before; null: nothing. */
  before: Partial<CampaignResult> | null;
  on: (line: CampaignLine) => Promise<void>;
  /**
   * Milliseconds that a part may take beyond what it was given: a driver may compile for a while,
   * and a program in Python has a minute at least.
   */
  graceMs?: number;
}

/** The second one is for all that is no part, such as opening the device. */
const GRACE_MS = 120_000, BETWEEN_MS = 120_000;

/**
 * Runs `script` with `args`.
 * @returns null when it has come to its end, else what happened to it
 */
export async function measuredInProcess(
  script: string,
  args: readonly string[],
  { before, on, graceMs = GRACE_MS }: ProcessOptions,
): Promise<string | null> {
  const file = await Deno.makeTempFile({ prefix: "rgx-campaign-", suffix: ".json" });
  await Deno.writeTextFile(file, JSON.stringify(before));
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", V8_FLAGS, script, ...args],
    env: { [IN_PROCESS]: file },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  let hangs = false;
  const kill = () => {
    hangs = true;
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended in this moment.
    }
  };
  let watch = setTimeout(kill, BETWEEN_MS);
  try {
    for await (const lines of readLines(child.stdout)) {
      for (const text of lines) {
        const line = lineOf(text);
        if (line === null) continue;
        clearTimeout(watch);
        watch = setTimeout(
          kill,
          line.event === "begins" ? 1000 * line.seconds + graceMs : BETWEEN_MS,
        );
        await on(line);
      }
    }
    const { code, signal } = await child.status;
    if (hangs) return "it took longer than its time, and was ended";
    if (signal !== null) return `its process was ended by ${signal}`;
    return code === 0 ? null : `its process ended with code ${code}`;
  } finally {
    clearTimeout(watch);
    await Deno.remove(file);
  }
}

/** Null for what a driver prints. */
function lineOf(text: string): CampaignLine | null {
  try {
    const line = JSON.parse(text);
    return line?.event === "begins" || line?.event === "ended" ? line : null;
  } catch {
    return null;
  }
}
