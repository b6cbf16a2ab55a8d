/** For tests of ranks as processes: finds the process of a rank and sends it a signal. */
import assert from "node:assert/strict";
import { delay } from "./waiting.ts";

/** The end of a command. */
export interface Ended {
  code: number;
  out: string;
  err: string;
}

/**
 * A process: the number of a rank; "starter": the command with --ranks, which passes signals on;
 * "launcher": the program of MPI that this command has started.
 */
export type Target = number | "starter" | "launcher";

/**
 * Starts ranks, waits for a moment, sends a signal to one of them, and waits until all have ended.
 * @param start starts the ranks with these variables in their environment
 * @param isNow whether the moment has come
 * @param rank which process gets the signal
 */
export async function signalled(
  signal: Deno.Signal,
  start: (env: Record<string, string>) => Promise<Ended>,
  isNow: () => Promise<boolean>,
  rank: Target = 1,
): Promise<Ended> {
  const mark = crypto.randomUUID();
  let hasEnded = false;
  const end = start({ RGX_TEST_MARK: mark }).finally(() => hasEnded = true);
  while (!await isNow()) {
    assert.ok(!hasEnded, "the ranks have ended too early");
    await delay(5);
  }
  Deno.kill(await processOf(mark, rank), signal);
  const result = await end;
  // The launcher may end before the ranks that it has asked to end, and these hold the folder.
  while (await processesOf(mark).next().then(({ done }) => !done)) {
    await delay(20);
  }
  return result;
}

/** Number of lines of a file that may not be there yet. */
export async function lineCount(path: string): Promise<number> {
  return (await Deno.readTextFile(path).catch(() => "")).split("\n").length - 1;
}

/** Number of answers in the results folder of a benchmark, which may not be there yet. */
export async function answersIn(folder: string): Promise<number> {
  const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name).catch(() => []);
  let count = 0;
  for (const name of names) {
    if (name.startsWith("samples_")) count += await lineCount(`${folder}/${name}`);
  }
  return count;
}

/** The living processes with a mark in their environment, and that environment. */
async function* processesOf(mark: string): AsyncGenerator<{ id: number; words: string[] }> {
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^[0-9]+$/.test(name)) continue;
    const environment = await Deno.readTextFile(`/proc/${name}/environ`).catch(() => "");
    const words = environment.split("\0");
    if (words.includes(`RGX_TEST_MARK=${mark}`)) yield { id: Number(name), words };
  }
}

/** The process that has a mark in its environment. */
async function processOf(mark: string, rank: Target): Promise<number> {
  for await (const { id, words } of processesOf(mark)) {
    if (rank === "launcher") {
      const name = await Deno.readTextFile(`/proc/${id}/comm`);
      if (/^(mpirun|mpiexec)/.test(name)) return id;
      continue;
    }
    if (rank === "starter") {
      const command = await Deno.readTextFile(`/proc/${id}/cmdline`);
      const isRank = words.some((word) => /^(OMPI_COMM_WORLD|PMI)_RANK=/.test(word));
      if (!isRank && command.startsWith(`${Deno.execPath()}\0`)) return id;
      continue;
    }
    const isRank = words.includes(`OMPI_COMM_WORLD_RANK=${rank}`) ||
      words.includes(`PMI_RANK=${rank}`);
    if (isRank) return id;
  }
  throw new Error(`rank ${rank} was not found`);
}
