/**
 * Kills, full disks and errors at numbered calls that touch a run's files, by a library that is
 * preloaded (faults.c); and a clock that goes back. After each, the run resumes to the same bits.
 */
import assert from "node:assert/strict";
import { argv } from "../command_line.ts";
import { assertClean, assertSameRun, type Result, rgx, startRgx, tinyConfig } from "../support.ts";
import { runCommand } from "../../core/machine/run_command.ts";
import { RandomStream } from "../../core/philox.ts";
import type { Campaign } from "./campaign.ts";

/** A short run with all kinds of files: checkpoints, tables, trackers, a report. */
const SHORT = argv`sft.max_steps=12 training.max_steps=4 training.save_steps=1
  training.save_total_limit=2 report_to=[tensorboard,wandb,trackio] --threads 1`;

/** Compiles faults.c. @returns its path; null without a compiler, or on another system */
export async function faultLibrary(folder: string): Promise<string | null> {
  if (Deno.build.os !== "linux") return null;
  const source = new URL("faults.c", import.meta.url).pathname, path = `${folder}/faults.so`;
  const compiled = await runCommand(["cc", "-O1", "-shared", "-fPIC", "-o", path, source, "-ldl"]);
  return compiled?.success ? path : null;
}

/**
 * Runs `rgx` as a process of its own, killed after three minutes.
 * @param work done while it runs
 * @param shell a command of a shell before it
 */
export async function alone(
  args: readonly string[],
  env: Record<string, string> = {},
  work: (pid: number, hasEnded: () => boolean) => unknown = () => {},
  shell?: string,
): Promise<Result & { signal: string | null }> {
  const session = startRgx(args, { env, shell }), { child } = session;
  const timer = setTimeout(() => child.kill("SIGKILL"), 180_000);
  let hasEnded = false;
  child.status.then(() => {
    hasEnded = true;
    clearTimeout(timer);
  });
  const [ended] = await Promise.all([session.end, work(child.pid, () => hasEnded)]);
  return ended;
}

/** What the log of faults.c says of a call. */
async function callOf(log: string, number: number): Promise<string> {
  const line = (await Deno.readTextFile(log).catch(() => "")).split("\n")
    .find((line) => line.startsWith(`${number} `));
  return line ?? `${number} (not reached)`;
}

/** The numbers of calls that are tried: all, or this many that are spread evenly over them. */
function spread(total: number, count: number, random: RandomStream): number[] {
  if (count >= total) return Array.from({ length: total }, (_, i) => i + 1);
  return Array.from({ length: count }, (_, i) => {
    const from = Math.floor(i * total / count), to = Math.floor((i + 1) * total / count);
    return random.int(from + 1, to);
  });
}

const KINDS = {
  kill: "kill -9 within a call on the run's files",
  full: "disk full from a call on",
  error: "a call fails with EIO",
} as const;

/** Part of the campaign. */
export async function disk(campaign: Campaign): Promise<void> {
  const { folder, isShort } = campaign, library = await faultLibrary(folder);
  if (library === null) return campaign.tried("disk: no C compiler, so nothing tried", 0);
  const config = await tinyConfig(folder), log = `${folder}/calls`;
  const trackers = { TRACKIO_DIR: `${folder}/run/trackio`, WANDB_DIR: `${folder}/run` };
  const fault = (text: string) => ({
    ...trackers,
    LD_PRELOAD: library,
    RGX_FAULT: text,
    RGX_FAULT_LOG: log,
  });
  const run = `${folder}/run`, whole = `${folder}/whole`;
  const args = (output: string) => ["train", config, ...SHORT, "--output-dir", output, "--resume"];
  const first = await alone(args(whole), fault(`count 0 ${whole}`));
  assert.equal(first.code, 0, first.err);
  const total = (await Deno.readTextFile(log)).trimEnd().split("\n").length;
  campaign.tried("calls on files in one run", total);
  const random = RandomStream.forPurpose(campaign.seed, "shuffle", "faults of the disk");
  for (const kind of ["kill", "full", "error"] as const) {
    const count = isShort ? 1 : kind === "kill" ? 120 : 200;
    for (const number of spread(total, count, random)) {
      await Deno.remove(run, { recursive: true }).catch(() => {});
      await Deno.remove(log).catch(() => {});
      const ended = await alone(args(run), fault(`${kind} ${number} ${run}`));
      await campaign.try(KINDS[kind], `call ${await callOf(log, number)}`, async () => {
        if (kind === "kill") assert.ok([null, "SIGKILL"].includes(ended.signal), ended.err);
        else {
          assertClean(ended);
          assert.ok([0, 1, 2].includes(ended.code), `exit code ${ended.code}\n${ended.err}`);
          if (ended.code !== 0) assert.match(ended.err, /^error: .*\/run\b/m, "no file is named");
        }
        const again = await rgx(args(run), { env: trackers });
        assert.equal(again.code, 0, `${ended.err}\nand resumed:\n${again.err}`);
        await assertSameRun(run, whole);
        const left = names(run).filter((name) => /\.(tmp|old|new)-|\.rgx\.lock/.test(name));
        assert.deepEqual(left, [], `left behind\n${ended.err}`);
      });
    }
  }
  await campaign.try("the clock goes back by an hour, many times in a run", "", async () => {
    await Deno.remove(run, { recursive: true });
    const ended = await alone(args(run), fault("clock 50"));
    assert.equal(ended.code, 0, ended.err);
    await assertSameRun(run, whole);
  });
}

/** The names of all files in a folder and below it. */
function names(folder: string): string[] {
  return Array.from(Deno.readDirSync(folder), ({ name, isDirectory }) => {
    return isDirectory ? [name, ...names(`${folder}/${name}`)] : [name];
  }).flat();
}
