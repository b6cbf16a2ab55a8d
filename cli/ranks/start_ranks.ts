/**
 * `--ranks N`, or the keys of a configuration that ask for ranks: starts this command again as N
 * ranks, with the launcher of this machine, passes signals on, and says at the end what was saved.
 * Within a job of SLURM the launcher is srun.
 */
import { EXIT, UsageError } from "../../core/errors.ts";
import { slurmJob } from "../../core/machine/job.ts";
import { programCommand } from "../../core/program_command.ts";
import { launchOf } from "../../cluster/ranks/mpi/launch.ts";
import { findLibrary } from "../../cluster/ranks/mpi/library.ts";
import { starterVariables } from "../../cluster/ranks/watch/rank_watch.ts";
import type { AskedRanks } from "./asked_ranks.ts";
import { launcherHere } from "./find_launcher.ts";
import { onSignals } from "../signals.ts";
import { listenNoMore } from "../stop_control.ts";
import { log } from "../terminal/terminal.ts";

/**
 * Whether a launcher has started this process as one of several ranks.
 * @param ranks the value of `--ranks`
 * @throws UsageError when it is not the number of those that were started
 */
export function isRank(ranks: number | undefined): boolean {
  const launch = launchOf();
  if (launch === null) return false;
  if (ranks === undefined || launch.size === ranks) return true;
  throw new UsageError(
    `--ranks ${ranks}: the launcher has started ${launch.size} ranks (${launch.from})`,
    { advice: "Leave --ranks out: the launcher decides, as in mpirun -np N rgx …" },
  );
}

/** Signals that ask a run to save and stop. */
const STOPS: readonly Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGHUP"];

/**
 * Starts the ranks and waits for them.
 * @param args the arguments of this program
 * @param kept names the state from which a resume can continue, such as "F is"; null = nothing
 * @returns the exit code of the command
 */
export async function runRanks(
  { count, places }: AskedRanks,
  args: readonly string[],
  kept: Kept,
): Promise<number> {
  const launcher = await launcherHere();
  if (launcher.note !== null) log(`note: ${launcher.note}`);
  if (launcher.name !== "srun") {
    // Otherwise each rank would report that the run does not fit.
    findLibrary({ size: count, rank: 0, from: launcher.command, abi: launcher.name });
  }
  const isRoot = Deno.build.os !== "windows" && Deno.uid() === 0;
  const child = new Deno.Command(launcher.command, {
    args: [
      // Outside of a job there is one node.
      ...(places === null || slurmJob() === null ? [] : launcher.placed(places)),
      ...launcher.args,
      String(count),
      ...programCommand(),
      ...args,
    ],
    env: {
      ...(isRoot ? { OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1" } : {}),
      // When this process is killed, the ranks end, too.
      ...starterVariables(),
    },
    // In a process group of its own: Ctrl-C in a terminal would make it kill the ranks.
    detached: true,
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  let asked = 0;
  const stopListening = onSignals(STOPS, (signal) => {
    try {
      // A second Ctrl-C ends them at once.
      child.kill(++asked > 1 && signal === "SIGINT" ? "SIGTERM" : launcher.stop);
    } catch {
      // The ranks have ended.
    }
  });
  // Otherwise a signal would end this process at once, and leave the ranks behind.
  listenNoMore();
  const { code, signal } = await child.status;
  stopListening();
  const how = signal === null
    ? `a rank was killed (the launcher ended with ${code}), so all have ended`
    : `the launcher was killed (${launcher.command}, ${signal}), so all ranks end`;
  return await explainEnd(code, how, kept);
}

type Kept = () => Promise<string | null>;

/** Codes that the ranks themselves end with, after they have said why. */
const OWN_CODES: readonly number[] = [EXIT.ok, EXIT.failure, EXIT.usage, EXIT.resumable];

/** The exit code of the command. If a rank or the launcher was killed, prints what was saved. */
async function explainEnd(code: number, how: string, kept: Kept): Promise<number> {
  if (OWN_CODES.includes(code)) return code;
  const what = await kept().catch(() => null);
  log(`error: ${how}`);
  if (what === null) return EXIT.failure;
  log(`help: ${what} kept: the same command with --resume continues, with any number of ranks`);
  return EXIT.resumable;
}
